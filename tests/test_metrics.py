"""Metrics: equal to slow computations row by row, for estimators and plain components alike."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ks_2samp
from sklearn.decomposition import PCA
from sklearn.svm import SVC

from fairspan import CollapsedRuleWarning, GroupMoments, RobustFairPCA, metrics
from fairspan.judging.leakage import COSTS, Search, ks_distance
from fairspan.judging.linear_svm import linear_svm
from tests.estimators.test_samadi import random_groups


@pytest.fixture(scope="module")
def fitted():
    X, groups = random_groups(0, 3, n=600)
    train, test = slice(0, 250), slice(250, None)
    model = RobustFairPCA(
        3, standardize=True, tol=1e-3, n_init=0, max_iter=50, solver="subgradient"
    )
    with pytest.warns(UserWarning, match="status"):
        model.fit(X[train], sensitive_features=groups[train])
    return model, X[train], groups[train], X[test], groups[test]


def row_errors(model, X, centre):
    Z = (X - centre) / model.scale_
    return np.sum((Z - Z @ model.components_.T @ model.components_) ** 2, axis=1)


@pytest.mark.parametrize("centering", ["global", "group"])
def test_errors_equal_those_of_the_rows(fitted, centering):
    model, X, groups, X_test, groups_test = fitted
    expected, total = [], 0.0
    for label in range(3):
        centre = X.mean(axis=0) if centering == "global" else X[groups == label].mean(axis=0)
        errors = row_errors(model, X_test[groups_test == label], centre)
        expected.append(errors.mean())
        total += errors.sum() / len(X_test)
    found = metrics.group_errors(model, X_test, groups_test, centering=centering)
    assert found.values == pytest.approx(expected, rel=1e-10)
    assert found.by_group == pytest.approx(dict(enumerate(expected)))
    case = (model, X_test, groups_test)
    assert metrics.total_error(*case, centering=centering) == pytest.approx(total, rel=1e-10)
    assert metrics.error_gap(*case, centering=centering) == pytest.approx(
        np.ptp(expected), rel=1e-10
    )
    moments = GroupMoments.from_arrays(X_test, groups_test)
    assert metrics.error_gap(model, moments, centering=centering) == pytest.approx(np.ptp(expected))


def test_training_errors_are_those_of_the_estimator(fitted):
    model, X, groups, _, _ = fitted
    assert metrics.group_errors(model, X, groups).values == pytest.approx(model.group_errors_)


def test_plain_components_need_only_what_belongs_to_them(fitted):
    model, _, _, X, groups = fitted
    how = {"mean": model.mean_, "scale": model.scale_, "training": model.moments_}
    for centering in ("global", "group"):
        plain = metrics.group_errors(model.components_, X, groups, centering=centering, **how)
        expected = metrics.group_errors(model, X, groups, centering=centering)
        assert plain.values == pytest.approx(expected.values)
    own = metrics.group_errors(model.components_, X, groups)
    V = model.components_
    centred = X - X.mean(axis=0)
    rows = np.sum((centred - centred @ V.T @ V) ** 2, axis=1)
    assert own.overall == pytest.approx(rows.mean(), rel=1e-10)


def test_weights_repeat_rows(fitted):
    model, _, _, X, groups = fitted
    weight = np.arange(len(X)) % 3 + 1
    repeated = metrics.group_errors(model, np.repeat(X, weight, axis=0), np.repeat(groups, weight))
    weighted = metrics.group_errors(model, X, groups, sample_weight=weight)
    assert weighted.values == pytest.approx(repeated.values, rel=1e-10)


def test_excess_over_the_pooled_pca_and_over_each_group_s_own(fitted):
    model, X, groups, X_test, groups_test = fitted
    Z, Z_test = ((rows - model.mean_) / model.scale_ for rows in (X, X_test))
    errors = metrics.group_errors(model, X_test, groups_test).values

    def lost(V, rows):
        return np.mean(np.sum((rows - rows @ V.T @ V) ** 2, axis=1))

    pooled = np.linalg.svd(Z)[2][:3]
    expected = [e - lost(pooled, Z_test[groups_test == a]) for a, e in enumerate(errors)]
    found = metrics.excess_error(model, X_test, groups_test)
    assert found.values == pytest.approx(expected, rel=1e-8)
    own = [np.linalg.svd(Z[groups == a])[2][:3] for a in range(3)]
    expected = [e - lost(own[a], Z_test[groups_test == a]) for a, e in enumerate(errors)]
    found = metrics.excess_error(model, X_test, groups_test, reference="group")
    assert found.values == pytest.approx(expected, rel=1e-8)
    assert (metrics.excess_error(model, X, groups, reference="group").values > 0).all()


def test_explained_variance_and_error_add_up(fitted):
    model, _, _, X, groups = fitted
    kept = metrics.explained_variance(model, X, groups, centering="group").values
    lost = metrics.group_errors(model, X, groups, centering="group").values
    ratio = metrics.explained_variance(model, X, groups, centering="group", ratio=True).values
    assert kept / (kept + lost) == pytest.approx(ratio)
    Z = (X[groups == 1] - model.moments_.means[1]) / model.scale_
    assert kept[1] == pytest.approx(np.mean(np.sum((Z @ model.components_.T) ** 2, axis=1)))


def test_everything_by_group_as_a_frame(fitted):
    pd = pytest.importorskip("pandas")
    model, _, _, X, groups = fitted
    frame = metrics.by_group(model, X, groups)
    assert isinstance(frame, pd.DataFrame)
    assert frame["rows"].tolist() == np.bincount(groups).tolist()
    errors = metrics.group_errors(model, X, groups)
    assert errors.to_frame()["error"].tolist() == frame["error"].tolist()


def test_scikit_learn_s_pca_is_judged_too(fitted):
    _, X, groups, X_test, groups_test = fitted
    model = PCA(3).fit(X)
    expected = np.mean(np.sum((X_test - model.inverse_transform(model.transform(X_test))) ** 2, 1))
    assert metrics.total_error(model, X_test) == pytest.approx(expected)
    training = GroupMoments.from_arrays(X, groups)
    found = metrics.group_errors(model, X_test, groups_test, centering="group", training=training)
    assert len(found.values) == 3


def test_what_is_wrong_is_said(fitted):
    model, _, _, X, groups = fitted
    with pytest.raises(ValueError, match="centering"):
        metrics.group_errors(model, X, groups, centering="none")
    with pytest.raises(ValueError, match="unknown"):
        metrics.group_errors(model, X, groups + 7, centering="group")
    with pytest.raises(ValueError, match="orthonormal"):
        metrics.group_errors(2 * model.components_, X, groups)
    with pytest.raises(ValueError, match="features"):
        metrics.group_errors(model, X[:, :5], groups)
    with pytest.raises(ValueError, match="already contain"):
        metrics.group_errors(model, model.moments_, groups)


@pytest.mark.parametrize("equal", [True, False])
def test_bootstrap_intervals_cover_as_they_should(equal):
    V = np.eye(1, 3)
    spread = np.array([[1.0, 1.0, 1.0], [1.0, 1.0, 1.0 if equal else 1.6], [1.0, 1.0, 1.0]])
    truth = (spread[:, 1:] ** 2).sum(axis=1)
    trials, covered = 150, {"error": 0, "total": 0, "gap": 0}
    for seed in range(trials):
        rng = np.random.default_rng(seed)
        groups = np.repeat([0, 1, 2], [150, 100, 120])
        X = rng.standard_normal((len(groups), 3)) * spread[groups]
        found = metrics.bootstrap_intervals(
            V, X, groups, mean=np.zeros(3), n_bootstrap=400, random_state=seed
        )
        low, high = found.by_group[0]
        covered["error"] += low <= truth[0] <= high
        shares = np.bincount(groups) / len(groups)
        covered["total"] += found.total[0] <= shares @ truth <= found.total[1]
        covered["gap"] += found.gap[0] <= np.ptp(truth) <= found.gap[1]
    # 95 % with a standard error of 1.8 %; the band of the gap may cover more.
    assert 0.88 <= covered["error"] / trials <= 0.99
    assert 0.88 <= covered["total"] / trials <= 0.99
    assert covered["gap"] / trials >= 0.90


def test_bootstrap_intervals_hold_the_errors_and_depend_on_the_seed_alone(fitted):
    model, _, _, X, groups = fitted
    errors = metrics.group_errors(model, X, groups).values
    found = metrics.bootstrap_intervals(model, X, groups, random_state=1)
    again = metrics.bootstrap_intervals(model, X, groups, random_state=1)
    assert np.array_equal(found.errors, again.errors)
    assert (found.errors[:, 0] < errors).all()
    assert (errors < found.errors[:, 1]).all()
    with pytest.raises(ValueError, match="too few"):
        metrics.bootstrap_intervals(model, X[:3], [0, 1, 2])


def test_a_group_of_very_few_rows_has_no_bootstrap_interval(fitted):
    model, _, _, X, groups = fitted
    few = np.where(np.arange(len(X)) < 1, "single", np.array(groups).astype(str))
    found = metrics.bootstrap_intervals(model, X, few, random_state=1)
    alone = found.labels.index("single")
    assert np.isnan(found.errors).any(axis=1).tolist() == [
        a == alone for a in range(len(found.labels))
    ]
    assert np.isfinite(found.gap).all()
    found = metrics.bootstrap_intervals(model, X, few == "single", random_state=1)
    assert np.isnan(found.gap).all()
    assert np.isfinite(found.total).all()


@pytest.mark.parametrize("cost", [1e-3, 1.0, 30.0])
def test_the_linear_rule_is_the_exact_support_vector_machine(cost):
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((300, 3))
    y = np.where(Z @ [1.0, -0.5, 0.2] + rng.standard_normal(300) > 0.6, 1.0, -1.0)
    found = linear_svm(Z, y, cost)
    reference = SVC(kernel="linear", C=cost, tol=1e-10).fit(Z, y)
    assert found.weights == pytest.approx(reference.coef_[0], rel=1e-4, abs=1e-6)
    assert found.gap <= 1e-10


@pytest.mark.parametrize("seed", [41, 66, 107])
def test_the_linear_rule_survives_a_column_that_is_constant_but_for_few_rows(seed):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(40) < 20, 1.0, -1.0)
    Z = rng.normal(size=(40, 2))
    Z[:, 1] = 1e-15 * rng.normal(size=40)
    Z[:3, 1] = 1.0
    Z = (Z - Z.mean(axis=0)) / Z.std(axis=0)
    for cost in (1e2, 1e4, 1e6):
        assert linear_svm(Z, y, cost).gap <= 1e-6


def test_the_distance_of_scores_is_kolmogorov_and_smirnov_s():
    rng = np.random.default_rng(1)
    scores = rng.integers(0, 20, 200).astype(float)
    y = np.where(rng.random(200) < 0.3, 1.0, -1.0)
    expected = ks_2samp(scores[y > 0], scores[y < 0]).statistic
    assert ks_distance(scores, y) == pytest.approx(expected)


def test_leakage_is_one_for_separate_groups_and_small_for_equal_ones():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((400, 4))
    groups = np.repeat(["a", "b"], 200)
    V = np.eye(2, 4)
    assert metrics.linear_leakage(V, X, groups) < 0.25
    assert metrics.linear_leakage(V, X, groups, held_out=True, n_folds=3) < 0.25
    apart = X + 20.0 * (groups == "b")[:, None]
    assert metrics.linear_leakage(V, apart, groups) == pytest.approx(1.0)
    assert metrics.linear_leakage(V, apart, groups, held_out=True) == pytest.approx(1.0)
    three = np.repeat(["a", "b", "c", "a"], 100)
    for name in "ac":  # the first group and the last
        apart = X + 20.0 * (three == name)[:, None]
        assert metrics.linear_leakage(V, apart, three) == pytest.approx(1.0)


def machine_s_distance(seen, y_seen, new, y_new, cost, rule):
    """The distance of new rows under scikit-learn's machine."""
    counting = "balanced" if rule == "balanced" else None
    machine = SVC(kernel="linear", C=cost, class_weight=counting, tol=1e-8).fit(seen, y_seen)
    scores = new @ machine.coef_[0]
    return ks_2samp(scores[y_new > 0], scores[y_new < 0]).statistic


def folds_of(y, n_folds, seed):
    order = np.arange(len(y))
    np.random.RandomState(seed).shuffle(order)
    for chunk in np.array_split(order, n_folds):
        yield order[~np.isin(order, chunk)], chunk


def best_cost(Z, y, costs, n_folds, seed, rule):
    sums = [
        sum(
            machine_s_distance(Z[into], y[into], Z[out], y[out], cost, rule)
            for into, out in folds_of(y, n_folds, seed)
        )
        for cost in costs
    ]
    return costs[int(np.argmax(sums))], np.ptp(sums)


@pytest.mark.parametrize("rule", ["balanced", "published"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_cost_and_the_distance_are_those_of_its_description(seed, rule):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(90) < 0.4, 1.0, -1.0)
    X = rng.standard_t(2, size=(90, 4)) * [4, 2, 1, 1] + (0.8 * y)[:, None]
    options = {"costs": (1e-4, 1.0), "n_folds": 3, "random_state": seed, "rule": rule}
    search = options["costs"], 3, seed, rule

    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    cost, differ = best_cost(Z, y, *search)
    assert differ > 1e-3
    expected = machine_s_distance(Z, y, Z, y, cost, rule)
    assert metrics.linear_leakage(np.eye(4), X, y, **options) == pytest.approx(expected)

    # Held out, a fold is scaled, its cost chosen and its rule found by the other folds alone.
    parts = []
    for into, out in folds_of(y, 3, seed):
        mean, spread = X[into].mean(axis=0), X[into].std(axis=0)
        seen, new = (X[into] - mean) / spread, (X[out] - mean) / spread
        cost, _ = best_cost(seen, y[into], *search)
        parts.append(machine_s_distance(seen, y[into], new, y[out], cost, rule))
    found = metrics.linear_leakage(np.eye(4), X, y, held_out=True, **options)
    assert found == pytest.approx(np.mean(parts))


def unequal(rng, n=400):
    """A small group inside a large one, with means a little apart."""
    groups = np.where(np.arange(n) % 5, "large", "small")
    return rng.standard_normal((n, 3)) + 0.3 * (groups == "small")[:, None], groups


def test_the_published_rule_collapses_on_unequal_overlapping_groups_and_says_so():
    X, groups = unequal(np.random.default_rng(4))
    y = np.where(groups == "small", 1.0, -1.0)
    # The best machine calls every row large: its value is that of weights 0 and intercept -1.
    found = linear_svm(X, y, 1.0)
    assert found.is_collapsed
    assert np.linalg.norm(found.weights) < 1e-6
    best = 2.0 * np.sum(y > 0)
    assert np.maximum(1 - y * (X @ found.weights + found.intercept), 0).sum() == pytest.approx(best)
    with pytest.warns(CollapsedRuleWarning, match="weights are 0"):
        metrics.linear_leakage(np.eye(3), X, groups, rule="published")
    # A rule exists, and the default finds it without a warning.
    assert metrics.linear_leakage(np.eye(3), X, groups) > 0.15


@pytest.mark.parametrize("cost", COSTS)
def test_collapse_is_detected_at_every_cost(cost):
    for seed in range(6):
        X, groups = unequal(np.random.default_rng(seed), n=300)
        y = np.where(groups == "small", 1.0, -1.0)
        assert linear_svm((X - X.mean(axis=0)) / X.std(axis=0), y, cost).is_collapsed


def test_a_collapse_in_some_of_the_held_out_folds_is_warned_of():
    rng = np.random.default_rng(0)
    small = np.arange(100) % 5 == 0
    X = rng.standard_normal((100, 2)) + small[:, None]
    # Of the rules found on four folds of five, three have collapsed and two have not.
    with pytest.warns(CollapsedRuleWarning):
        metrics.linear_leakage(np.eye(2), X, small, rule="published", held_out=True, costs=[1.0])


def test_means_a_little_apart_are_no_collapse():
    rows = np.random.default_rng(7).standard_normal((50, 2))
    y = np.repeat([-1.0, 1.0], 100)
    X = np.concatenate([rows, -rows, rows, -rows]) + 1e-3 * y[:, None]
    assert not linear_svm(X, y, 1e-4).is_collapsed


@pytest.mark.parametrize("cost", [1e-2, 1.0])
def test_balanced_classes_are_the_exact_machine_s_with_class_weights(cost):
    X, groups = unequal(np.random.default_rng(5))
    y = np.where(groups == "small", 1.0, -1.0)
    share = np.where(y > 0, np.mean(y > 0), np.mean(y < 0))
    found = linear_svm(X, y, cost, 0.5 / share)
    reference = SVC(kernel="linear", C=cost, class_weight="balanced", tol=1e-6).fit(X, y)
    assert found.weights == pytest.approx(reference.coef_[0], rel=1e-3, abs=1e-5)
    assert not found.is_collapsed
    assert found.gap <= 1e-10


def test_leakage_depends_on_the_basis_because_columns_are_scaled():
    X, groups = unequal(np.random.default_rng(8))
    X *= [3.0, 1.0, 0.3]
    turn = np.linalg.qr(np.random.default_rng(9).normal(size=(3, 3)))[0]
    found = [metrics.linear_leakage(V, X, groups, costs=[1e-4]) for V in (np.eye(3), turn)]
    assert found[0] != found[1]


def test_a_small_cost_is_no_collapse():
    X, groups = unequal(np.random.default_rng(6))
    y = np.where(groups == "small", 1.0, -1.0)
    apart = linear_svm(X + 3.0 * (y > 0)[:, None], y, 1e-9)
    assert np.linalg.norm(apart.weights) < 1e-6
    assert not apart.is_collapsed


def test_classes_with_equal_means_leak_nothing_to_a_balanced_rule():
    rows = np.random.default_rng(7).standard_normal((50, 2))
    X = np.concatenate([rows, -rows, 2 * rows, -2 * rows])
    groups = np.repeat([0, 1], 100)
    found = Search(is_balanced=True, costs=[1.0]).separation(X, np.where(groups, 1.0, -1.0))
    assert found == (0.0, True)


def test_leakage_needs_groups_and_rows_of_both_in_every_fold():
    X = np.random.default_rng(3).standard_normal((30, 3))
    with pytest.raises(ValueError, match="only one group"):
        metrics.linear_leakage(np.eye(1, 3), X, np.zeros(30))
    with pytest.raises(ValueError, match="fewer folds"):
        metrics.linear_leakage(np.eye(1, 3), X, np.arange(30) < 2)


def test_more_features_than_rows():
    rng = np.random.default_rng(5)
    X, groups = rng.standard_normal((30, 50)), np.arange(30) % 2
    model = RobustFairPCA(2).fit(X, sensitive_features=groups)
    centred = X - X.mean(axis=0)
    lost = centred - centred @ model.components_.T @ model.components_
    expected = [np.mean(np.sum(lost[groups == a] ** 2, axis=1)) for a in (0, 1)]
    found = metrics.group_errors(model, X, groups)
    assert found.values == pytest.approx(expected, rel=1e-10)


def test_a_linear_rule_that_is_not_solved_is_an_error(monkeypatch):
    rng = np.random.default_rng(0)
    Z, y = rng.normal(size=(60, 3)), np.where(rng.random(60) < 0.4, 1.0, -1.0)
    assert linear_svm(Z, y, 1.0).gap <= 1e-6
    monkeypatch.setattr("fairspan.judging.linear_svm._STEPS", 2)
    with pytest.raises(RuntimeError, match="did not converge"):
        linear_svm(Z, y, 1.0)
