"""Advice says what the estimators would find, and no more than the data shows."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.decomposition import PCA

from fairspan import RobustFairPCA, SmallGroupWarning, advise, dominating_projection, words
from fairspan.inference import gap_test, reduction_test


def table(stretch, n=400):
    rng = np.random.default_rng(0)
    groups = rng.choice(["a", "b"], n)
    X = rng.standard_normal((n, 5)) * [3, 2, 1, 1, 1]
    X[groups == "b"] *= [1, 1, stretch, stretch, 1]
    return X, groups


def test_the_gap_of_pca_and_the_weight_that_closes_it_are_right():
    X, groups = table(2.0)
    target = 5.0
    found = advise(X, groups, standardize=False, target_gap=target, random_state=0)
    back = PCA(2).fit(X)
    errors = ((X - back.inverse_transform(back.transform(X))) ** 2).sum(axis=1)
    means = [errors[groups == g].mean() for g in "ab"]
    assert found.pca_errors == pytest.approx(means)
    assert found.pca_gap == pytest.approx(abs(means[0] - means[1]))
    assert found.pca_total == pytest.approx(errors.mean())
    assert found.distinguishable
    assert found.pca_gap_interval[0] > 0
    tested = gap_test(X, sensitive_features=groups, n_components=2)
    recipe = RobustFairPCA(2, fairness_weight=found.weight_for_target)
    change = reduction_test(recipe, X, sensitive_features=groups)
    assert (found.verdict.pvalue, found.verdict.change) == (tested.pvalue, change.verdict)
    assert np.array_equal(found.pca_gap_interval, change.plain.gap_interval)
    assert np.array_equal(found.pca_error_intervals, change.plain.group_intervals)

    def gap(weight):
        model = RobustFairPCA(2, fairness_weight=weight, radius=0.0)
        return model.fit(X, sensitive_features=groups).error_gap_

    assert gap(found.weight_for_target) <= target + 1e-6
    assert gap(0.999 * found.weight_for_target) > target
    k = found.components_for_target
    gaps = [np.ptp(_pca_means(X, groups, count)) for count in range(1, 5)]
    assert all(value <= target for value in gaps[k - 1 :])
    assert gaps[k - 2] > target
    text = str(found)
    assert text.startswith("PCA serves b worse than a (difference ")
    assert "Ranges are 95 % intervals." in text
    assert "nothing about the fairness" in text


def test_nothing_is_advised_that_serves_every_group_worse_than_another_projection():
    X, groups = table(2.0)
    found = advise(X, groups, target_gap=1.0, random_state=0)
    # The gap alone could be closed further, but by making the better served group worse.
    assert RobustFairPCA(2, fairness_weight=10.0).fit(X, sensitive_features=groups).error_gap_ <= 1
    assert found.weight_for_target is None
    assert found.levels_down
    assert "only where another projection serves every group better" in str(found)
    # What is said can be typed.
    weight = found.weight_for_smallest_gap
    model = RobustFairPCA(2, fairness_weight=weight).fit(X, sensitive_features=groups)
    assert model.error_gap_ == pytest.approx(found.smallest_gap, rel=1e-6)
    assert model.group_errors_ == pytest.approx(found.errors_at_target, rel=1e-6)
    assert f"(fairness weight {words.number(weight)})" in str(found)
    told = [f"{words.number(m)}" for m in (found.pca_errors[0], model.group_errors_[0])]
    assert f"a {' and '.join(told)}, b " in str(found)
    errors = {g: float(e) for g, e in zip("ab", found.errors_at_target, strict=True)}
    best = dominating_projection(errors, X, sensitive_features=groups, n_components=2)
    assert not best.dominates
    many = advise(X, np.where(X[:, 4] > 1, "c", groups), random_state=0)
    assert many.disparity == "largest"
    assert 'with disparity="largest"' in str(many)


def _pca_means(X, groups, k):
    model = PCA(k).fit(X)
    errors = ((X - model.inverse_transform(model.transform(X))) ** 2).sum(axis=1)
    return [errors[groups == g].mean() for g in "ab"]


def test_groups_that_are_alike_cannot_be_told_from_noise():
    X, groups = table(1.0)
    found = advise(X, groups, random_state=0)
    assert not found.distinguishable
    assert str(found).startswith("No difference between groups is shown (")


def test_three_groups_and_unreachable_targets_are_described():
    X, groups = table(2.0)
    groups = np.where(X[:, 4] > 1, "c", groups)
    found = advise(X, groups, standardize=False, target_gap=0.0, random_state=0)
    assert found.weight_for_target is None
    assert "No fairness weight" in str(found)
    with pytest.raises(ValueError, match="at least 2"):
        advise(X, ["a"] * len(X))
    with pytest.raises(ValueError, match="target_gap=-1"):
        advise(X, groups, target_gap=-1)


def test_a_group_of_very_few_rows_proves_nothing():
    X = np.random.default_rng(0).normal(size=(102, 6))
    with pytest.warns(SmallGroupWarning, match="'b': 1"):
        found = advise(X, ["a"] * 101 + ["b"])
    assert not found.distinguishable
    assert found.too_small == ("b",)
    assert np.isnan(found.pca_gap_interval).all()
    assert np.isnan(found.pca_error_intervals).all()
    assert "No statement about new rows: fewer than 5 rows in b (1).\n" in str(found)
    assert " to " not in str(found).partition("With 2 components")[0]


def test_groups_with_enough_rows_are_still_told_apart_beside_a_small_one():
    X, groups = table(2.0)
    groups = np.where(np.arange(len(X)) < 3, "c", groups)
    with pytest.warns(SmallGroupWarning, match="'c': 3"):
        found = advise(X, groups, standardize=False)
    assert found.distinguishable
    assert found.too_small == ("c",)
    assert np.isnan(found.pca_error_intervals).any(axis=1).tolist() == [False, False, True]
    assert str(found).startswith("PCA serves b (error ")
    assert "No statement about c (3) on new rows: fewer than 5 rows." in str(found)
    with pytest.warns(SmallGroupWarning):
        small = advise(X[:16], ["a", "b"] * 8)
    assert not small.distinguishable
    assert "fewer than 20 rows get no range: a (8) and b (8)." in str(small)


def test_where_nothing_is_lost_rounding_is_no_gap():
    X, groups = table(2.0)
    found = advise(X, groups, n_components=5, random_state=0)
    assert not found.distinguishable
    assert found.pca_gap == 0
    assert "PCA reconstructs all groups equally well on the fitted rows." in str(found)
    assert "difference" not in str(found)
