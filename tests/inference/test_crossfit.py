"""crossfit measures rows that a recipe has not seen, and says no more than they do."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse, stats
from sklearn.decomposition import PCA
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fairspan import FairPCA, GroupMoments, RobustFairPCA, RobustFairPCACV
from fairspan.inference import crossfit

TOL = 1e-3
"""Recipes of the references stop where the fits of folds do."""


SEARCH = RobustFairPCACV(
    2, fairness_weights=[1.0], radii=[0.0], standardize=True, tol=TOL, random_state=0
)


def data(n=120, d=6, n_groups=2, seed=0):
    rng = np.random.default_rng(seed)
    groups = np.arange(n) % n_groups
    X = rng.standard_normal((n, d)) @ np.diag(np.arange(1.0, d + 1))
    return X * (1 + 0.3 * groups[:, None] * rng.random(d)) + 5.0, groups


def fair(k=2, **settings):
    return RobustFairPCA(k, **{"radius": 0.0, "standardize": True, "tol": TOL, **settings})


def slow_errors(recipe, X, groups, folds):
    """The same by scikit-learn: scale and fit the training rows, then measure the others."""
    errors = np.empty(len(X))
    for fold in np.unique(folds):
        train, held = X[folds != fold], X[folds == fold]
        scaler = StandardScaler().fit(train)
        model = recipe.fit(scaler.transform(train), sensitive_features=groups[folds != fold])
        rows = scaler.transform(held) - model.mean_
        lost = rows - rows @ model.components_.T @ model.components_
        errors[folds == fold] = (lost**2).sum(axis=1)
    return errors


@pytest.mark.parametrize("n_groups", [1, 2, 3])
@pytest.mark.parametrize("shape", [(120, 6), (40, 60)])
def test_rows_are_measured_by_a_fit_without_their_fold(n_groups, shape):
    X, groups = data(*shape, n_groups)
    weight = float(n_groups > 1)
    found = crossfit(fair(fairness_weight=weight), X, sensitive_features=groups)
    reference = fair(fairness_weight=weight, standardize=False)
    slow = slow_errors(reference, X, groups, found.folds)
    assert found.row_errors == pytest.approx(slow, rel=1e-5)
    assert found.total == pytest.approx(slow.mean(), rel=1e-6)
    sizes = np.array([np.bincount(found.folds[groups == a], minlength=10) for a in set(groups)])
    assert np.ptp(sizes, axis=1).max() <= 1


def test_kfold_of_scikit_learn_gives_the_same_estimate_up_to_the_draw_of_the_folds():
    X, groups = data(400)
    found = crossfit(fair(), X, sensitive_features=groups)
    folds = np.empty(len(X), dtype=int)
    for number, (_, held) in enumerate(KFold(10, shuffle=True, random_state=0).split(X)):
        folds[held] = number
    slow = slow_errors(fair(standardize=False), X, groups, folds)
    assert found.total == pytest.approx(slow.mean(), rel=0.02)


@pytest.mark.parametrize(
    "recipe",
    [
        make_pipeline(StandardScaler(), fair(standardize=False)),
        make_pipeline(fair()),
        SEARCH,
        fair(clip=1e6),
        RobustFairPCA(2, radius={0: 0.0, 1: 0.0}, standardize=True, tol=TOL),
    ],
    ids=["scaler", "pipeline", "search", "clip", "radii"],
)
def test_recipes_that_are_the_same_have_the_same_errors(recipe):
    X, groups = data()
    expected = crossfit(fair(), X, sensitive_features=groups)
    assert crossfit(recipe, X, sensitive_features=groups).row_errors == pytest.approx(
        expected.row_errors, rel=1e-3
    )


def test_any_estimator_with_components_can_be_measured():
    X, groups = data()
    plain = crossfit(fair(fairness_weight=0.0, standardize=False), X, sensitive_features=groups)
    theirs = crossfit(PCA(2, random_state=0), X, sensitive_features=groups)
    assert theirs.row_errors == pytest.approx(plain.row_errors, rel=1e-6)
    assert crossfit(FairPCA(2), X, sensitive_features=groups).total > plain.total
    with pytest.raises(TypeError, match="StandardScaler has no components_ and mean_"):
        crossfit(make_pipeline(StandardScaler()), X, sensitive_features=groups)


def test_intervals_are_those_of_students_and_welchs_t():
    X, groups = data()
    found = crossfit(fair(), X, sensitive_features=groups)
    rows = found.row_errors
    for a in (0, 1):
        expected = stats.ttest_1samp(rows[groups == a], 0).confidence_interval()
        assert found.group_intervals[a] == pytest.approx(expected)
    assert found.total_interval == pytest.approx(stats.ttest_1samp(rows, 0).confidence_interval())
    welch = stats.ttest_ind(rows[groups == 1], rows[groups == 0], equal_var=False)
    assert found.difference == pytest.approx(np.diff(found.group_errors)[0])
    assert found.difference_interval == pytest.approx(welch.confidence_interval())
    low, high = found.difference_interval
    assert low < 0 < high
    assert found.gap_interval == pytest.approx([0, max(-low, high)])
    assert found.level == 0.95


def test_a_gap_that_is_clear_has_an_interval_above_zero():
    X, groups = data(400)
    X[groups == 1] = (X[groups == 1] - 5) * 3 + 5
    found = crossfit(fair(fairness_weight=0), X, sensitive_features=groups)
    assert found.gap_interval == pytest.approx(found.difference_interval)
    assert found.gap_interval[0] > 0
    swapped = crossfit(fair(fairness_weight=0), X, sensitive_features=1 - groups)
    assert swapped.gap_interval == pytest.approx(found.gap_interval)


def test_names_order_and_units_do_not_matter():
    X, groups = data()
    found = crossfit(fair(), X, sensitive_features=groups)
    renamed = crossfit(fair(), X, sensitive_features=np.array(["b", "a"])[groups])
    assert renamed.difference == pytest.approx(-found.difference, abs=1e-6)
    assert renamed.group_errors[::-1] == pytest.approx(found.group_errors)
    order = np.random.default_rng(0).permutation(len(X))
    moved = crossfit(fair(), X[order], sensitive_features=groups[order])
    assert moved.row_errors == pytest.approx(found.row_errors[order], rel=1e-6)
    other = crossfit(fair(), X * np.logspace(-3, 3, X.shape[1]) + 7, sensitive_features=groups)
    assert other.row_errors == pytest.approx(found.row_errors, rel=1e-5)
    again = crossfit(fair(), X, sensitive_features=groups)
    assert np.array_equal(again.row_errors, found.row_errors)
    drawn = crossfit(fair(), X, sensitive_features=groups, random_state=1)
    assert not np.array_equal(drawn.folds, found.folds)


def test_repeated_rows_in_clusters_say_as_much_as_the_rows():
    X, groups = data(60)
    found = crossfit(fair(), X, sensitive_features=groups)
    people = np.repeat(np.arange(60), 3)
    copied = crossfit(fair(), X[people], sensitive_features=groups[people], clusters=people)
    assert copied.row_errors[::3] == pytest.approx(found.row_errors, rel=1e-6)
    for name in ("total_interval", "group_intervals", "difference_interval", "sizes"):
        assert getattr(copied, name) == pytest.approx(getattr(found, name), rel=1e-6)
    assert list(copied.counts) == [90, 90]
    naive = crossfit(fair(), X[people], sensitive_features=groups[people])
    assert np.ptp(naive.total_interval) < 0.7 * np.ptp(found.total_interval)


def test_weights_are_clusters_of_repeated_rows():
    X, groups = data(60)
    weight = np.random.default_rng(0).integers(0, 4, 60)
    people = np.repeat(np.arange(60), weight)
    clustered = crossfit(fair(), X[people], sensitive_features=groups[people], clusters=people)
    weighted = crossfit(fair(), X, sensitive_features=groups, sample_weight=weight)
    for name in ("total", "total_interval", "group_intervals", "difference_interval", "sizes"):
        assert getattr(weighted, name) == pytest.approx(
            getattr(clustered, name), rel=1e-6, nan_ok=True
        )
    assert np.array_equal(np.isnan(weighted.row_errors), weight == 0)
    assert np.array_equal(weighted.folds < 0, weight == 0)
    recipe = make_pipeline(StandardScaler(), fair())
    with pytest.raises(ValueError, match="cannot be given to every step"):
        crossfit(recipe, X, sensitive_features=groups, sample_weight=weight)


def test_few_rows_have_no_interval():
    X, groups = data(400)
    for rows, stated, few in (
        (4, False, False),
        (5, True, True),
        (19, True, True),
        (20, True, False),
    ):
        kept = np.concatenate([np.flatnonzero(groups == 0), np.flatnonzero(groups == 1)[:rows]])
        found = crossfit(fair(), X[kept], sensitive_features=groups[kept])
        assert (found.has_statement[1], found.has_few_rows[1]) == (stated, few)
        for name in ("group_intervals", "difference_interval", "gap_interval"):
            value = getattr(found, name)[1:] if name == "group_intervals" else getattr(found, name)
            assert np.isfinite(value).all() == stated, name
        assert np.isfinite(found.total_interval).all()
    kept = np.concatenate([np.flatnonzero(groups == 0), np.flatnonzero(groups == 1)[:1]])
    with pytest.raises(ValueError, match="Group 1 has only one row"):
        crossfit(fair(), X[kept], sensitive_features=groups[kept])


def test_many_groups_have_differences_that_hold_at_once():
    X, groups = data(300, n_groups=3)
    groups[0] = 7
    found = crossfit(fair(), X, sensitive_features=groups)
    assert found.folds_without == {7: 1}
    assert list(found.has_statement) == [True, True, True, False]
    assert np.isnan(found.group_intervals[3]).all()
    expected = found.group_errors[:, None] - found.group_errors
    assert found.difference == pytest.approx(expected)
    known = np.isfinite(found.difference_interval[..., 0])
    assert np.array_equal(
        known, ~np.eye(4, dtype=bool) & (np.arange(4) < 3) & (np.arange(4)[:, None] < 3)
    )
    reach = np.diff(found.difference_interval, axis=-1)[known].ravel() / 2
    assert np.ptp(reach) < 1e-9
    # Wider than any two groups by themselves, narrower than Bonferroni for the two widest.
    rows = [found.row_errors[groups == a] for a in range(3)]
    alone = max(
        np.ptp(stats.ttest_ind(rows[a], rows[b], equal_var=False).confidence_interval(0.95)) / 2
        for a in range(3)
        for b in range(a)
    )
    assert alone < reach[0] < 1.35 * alone
    gap = np.ptp(found.group_errors[:3])
    assert found.gap_interval == pytest.approx([max(gap - reach[0], 0), gap + reach[0]])


def test_rows_without_a_label_count_in_the_total_alone():
    X, groups = data(90, n_groups=3)
    labels = np.where(groups == 2, None, groups.astype(object))
    found = crossfit(fair(missing_groups="total_only"), X, sensitive_features=labels)
    assert found.labels == (0, 1, "missing")
    assert found.difference == pytest.approx(found.group_errors[1] - found.group_errors[0])
    assert found.total == pytest.approx(found.row_errors.mean())


def test_a_column_constant_without_a_fold_keeps_its_unit():
    X, groups = data()
    X = np.column_stack([X, np.zeros(len(X))])
    X[3, -1] = 1e6
    for recipe in (
        fair(),
        SEARCH,
        make_pipeline(StandardScaler(), fair(standardize=False)),
    ):
        found = crossfit(recipe, X, sensitive_features=groups)
        assert found.constant_columns == [6]
        assert found.low_support == pytest.approx({6: 1.0}, rel=0.05)
        assert found.level is None
        if not hasattr(recipe, "steps"):
            # One of n rows has the variance of all of them.
            assert found.row_errors.max() == pytest.approx(len(X), rel=0.1)


def test_groups_with_few_rows_have_no_interval_where_support_is_low():
    X, groups = data()
    X[3, 0] = 1e3
    kept = np.concatenate([np.flatnonzero(groups == 0), np.flatnonzero(groups == 1)[:12]])
    found = crossfit(fair(), X[kept], sensitive_features=groups[kept])
    assert np.isfinite(found.group_intervals[0]).all()
    assert np.isnan(found.group_intervals[1]).all()
    assert np.isnan(found.difference_interval).all()


def test_sparse_rows_are_rows():
    X, groups = data()
    X[np.abs(X) < 4] = 0.0
    found = crossfit(fair(), X, sensitive_features=groups)
    same = crossfit(fair(), sparse.csr_array(X), sensitive_features=groups)
    assert same.row_errors == pytest.approx(found.row_errors, rel=1e-6)
    assert same.low_support == pytest.approx(found.low_support)


def test_what_cannot_be_answered_is_refused_in_words():
    X, groups = data()
    with pytest.raises(TypeError, match="only the errors on the fitted rows are available"):
        crossfit(fair(), GroupMoments.from_arrays(X, groups), sensitive_features=None)
    with pytest.raises(ValueError, match="Cluster 0 has rows of several groups"):
        crossfit(fair(), X, sensitive_features=groups, clusters=np.arange(len(X)) // 2)
    with pytest.raises(ValueError, match="clusters has missing values"):
        crossfit(fair(), X, sensitive_features=groups, clusters=[None] * len(X))
    with pytest.raises(ValueError, match=r"clusters has shape \(3,\) but X has 120 rows"):
        crossfit(fair(), X, sensitive_features=groups, clusters=[1, 2, 3])
    with pytest.raises(ValueError, match="folds=121 must not exceed"):
        crossfit(fair(), X, sensitive_features=groups, folds=121)
    dask = pytest.importorskip("dask.array")
    with pytest.raises(TypeError, match="X is a Dask collection"):
        crossfit(fair(), dask.from_array(X), sensitive_features=groups)
