"""reduction_test claims a smaller, or a larger, gap only where new rows show it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from fairspan import RobustFairPCA
from fairspan.inference import crossfit, reduction_test, verdict
from fairspan.inference.sample import Sample
from fairspan.inference.verdicts import _verdict as judged
from tests.inference.test_crossfit import data, fair


def two_worlds(n=600, seed=0):
    """Groups that vary in other directions: PCA serves the one that varies more."""
    rng = np.random.default_rng(seed)
    groups = np.arange(n) % 2
    spread = np.where(groups[:, None] == 1, [5, 4, 1, 1, 1, 1], [1, 1, 4, 3, 1, 1])
    return rng.standard_normal((n, 6)) * spread, groups


def reference(plain, fair, second):
    """The verdict by scipy's Welch test."""
    found = []
    for change in (plain - fair, plain + fair):
        test = stats.ttest_ind(change[second], change[~second], equal_var=False)
        found.append((np.sign(test.statistic), test.pvalue / 2))
    same = found[0][0] == found[1][0]
    shown = max(p for _, p in found) < (0.05 if same else 0.025)
    return ("reduced" if same else "widened") if shown else "not shown"


def test_a_gap_that_closes_is_reduced_and_one_that_opens_widened():
    X, groups = two_worlds()
    found = reduction_test(fair(standardize=False), X, sensitive_features=groups)
    assert found.verdict == "reduced"
    assert abs(found.fair.difference) < abs(found.plain.difference)
    partial = RobustFairPCA(
        2, fairness_weight=0.0, radius=0.0, group_weights={0: 1e-3, 1: 1.0}, tol=1e-3
    )
    narrow = X * np.where(groups[:, None] == 1, 1, 0.9)
    assert reduction_test(partial, narrow, sensitive_features=groups).verdict == "widened"


@pytest.mark.parametrize("seed", range(8))
def test_verdicts_are_those_of_two_welch_tests(seed):
    X, groups = two_worlds(60, seed)
    found = reduction_test(fair(standardize=False), X, sensitive_features=groups)
    expected = reference(found.plain.row_errors, found.fair.row_errors, groups == 1)
    assert found.verdict == expected


def test_both_are_cross_fitted_on_the_same_folds():
    X, groups = data()
    found = reduction_test(fair(), X, sensitive_features=groups)
    alone = crossfit(fair(), X, sensitive_features=groups)
    pca = crossfit(fair(fairness_weight=0.0), X, sensitive_features=groups)
    assert np.array_equal(found.fair.row_errors, alone.row_errors)
    assert found.plain.row_errors == pytest.approx(pca.row_errors, rel=1e-6)
    clipped = reduction_test(fair(clip=2.0), X, sensitive_features=groups)
    pca = crossfit(fair(fairness_weight=0.0, clip=2.0), X, sensitive_features=groups)
    assert clipped.plain.row_errors == pytest.approx(pca.row_errors, rel=1e-6)


def test_random_labels_are_no_claim():
    X, _ = two_worlds(200)
    rng = np.random.default_rng(0)
    verdicts = [
        reduction_test(fair(1), X, sensitive_features=rng.integers(0, 2, 200), folds=5).verdict
        for _ in range(60)
    ]
    assert sum(verdict != "not shown" for verdict in verdicts) <= stats.binom.ppf(0.999, 60, 0.05)


def test_more_groups_and_few_rows_have_no_verdict():
    X, groups = data(90, n_groups=3)
    assert reduction_test(fair(), X, sensitive_features=groups).verdict is None
    X, groups = data(200)
    kept = np.concatenate([np.flatnonzero(groups == 0), np.flatnonzero(groups == 1)[:4]])
    assert reduction_test(fair(), X[kept], sensitive_features=groups[kept]).verdict is None


def test_a_verdict_gives_each_method_its_own_numbers():
    X, groups = two_worlds()
    found = verdict(fair(standardize=False), X, sensitive_features=groups)
    test = reduction_test(fair(standardize=False), X, sensitive_features=groups)
    assert found.change == test.verdict == "reduced"
    assert found.errors == pytest.approx(test.plain.group_errors)
    assert found.fair_errors == pytest.approx(test.fair.group_errors)
    assert found.difference == pytest.approx(test.plain.difference)
    assert found.fair_difference == pytest.approx(test.fair.difference)
    assert abs(found.fair_difference) < 0.5 * abs(found.difference)
    assert found.difference_interval == pytest.approx(tuple(test.plain.difference_interval))
    assert found.fair_difference_interval == pytest.approx(tuple(test.fair.difference_interval))


def test_a_verdict_is_about_the_groups_that_are_compared():
    """Rows without a label sort before the groups here, and are not one of them."""
    X, groups = two_worlds()
    labels = np.array(["x", "y"], dtype=object)[groups]
    labels[::7] = None
    rule = {"missing_groups": "total_only", "standardize": False}
    found = verdict(fair(**rule), X, sensitive_features=labels)
    test = reduction_test(fair(**rule), X, sensitive_features=labels)
    assert test.plain.labels == ("missing", "x", "y")
    assert found.labels == ("x", "y")
    assert found.errors == pytest.approx(test.plain.group_errors[1:])
    assert found.fair_errors == pytest.approx(test.fair.group_errors[1:])
    assert found.difference == pytest.approx(found.errors[1] - found.errors[0])


@pytest.mark.parametrize("n_groups", [2, 3])
def test_a_range_that_is_missing_has_its_reason(n_groups):
    """Weights and clusters leave few independent rows, and low support takes their ranges."""
    rng = np.random.default_rng(0)
    people = rng.integers(0, 40, 160)
    X = rng.standard_t(2, (160, 5))
    weight = rng.exponential(size=160)
    found = verdict(
        RobustFairPCA(2),
        X,
        sensitive_features=people % n_groups,
        sample_weight=weight,
        clusters=people,
    )
    assert all(5 <= size < 20 for size in found.sizes)
    assert found.intervals == (None,) * n_groups
    assert found.difference_interval is None
    assert found.gap_interval is None
    assert "Groups of fewer than 20 rows get no range: '0' (" in found.caveats
    assert all(f"effectively {size:.3g}" in found.caveats for size in found.sizes)


def test_to_claim_a_wider_gap_takes_more_evidence():
    """Effects of all sizes, so that some p-values lie between the two limits."""
    rng = np.random.default_rng(0)
    X, groups = data(80)
    sample = Sample.of(X, groups, None, None)
    second, noise = groups == 1, rng.random((2, 80))
    claims = set()
    for effect in np.linspace(0, 0.6, 61):
        larger, smaller = noise[0] + effect * second, 0.3 * noise[1]
        for plain, fair_errors in ((larger, smaller), (smaller, larger)):
            expected = reference(plain, fair_errors, second)
            assert judged(sample, plain, fair_errors) == expected
            claims.add(expected)
    assert claims == {"reduced", "widened", "not shown"}
