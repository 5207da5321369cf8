"""gap_test is exact where groups do not matter, and sees nothing but their errors."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import load_breast_cancer

from fairspan.inference import gap_test
from fairspan.inference.gap import log_ratio_pvalue, max_pvalues
from tests.inference.test_crossfit import data


def outcome(X, groups, k=2, **settings):
    return gap_test(
        X, sensitive_features=groups, n_components=k, **{"standardize": True, **settings}
    )


def log_ratio(errors, second):
    one, two = errors[second], errors[~second]
    spread = sum(part.var(ddof=1) / len(part) / part.mean() ** 2 for part in (one, two))
    return abs(np.log(one.mean() / two.mean())) / np.sqrt(spread)


def deviations(errors, codes):
    n, counts = len(errors), np.bincount(codes)
    means = np.bincount(codes, errors) / counts
    return np.abs(means - errors.mean()) / (errors.std(ddof=1) * np.sqrt(1 / counts - 1 / n))


def test_few_rows_have_the_p_value_of_all_permutations():
    rng = np.random.default_rng(0)
    errors, second = rng.lognormal(size=10), np.arange(10) < 4
    seen = log_ratio(errors, second)
    every = [np.isin(np.arange(10), chosen) for chosen in combinations(range(10), 4)]
    exact = np.mean([log_ratio(errors, labels) >= seen - 1e-9 for labels in every])
    found = [
        log_ratio_pvalue(errors, np.ones(10), second, np.random.default_rng(s)) for s in range(5)
    ]
    assert found[0][1] == 10_000
    assert np.mean([p for p, _ in found]) == pytest.approx(exact, abs=0.006)


@pytest.mark.parametrize("n_groups", [2, 5])
def test_many_rows_have_the_p_value_of_random_permutations(n_groups):
    rng = np.random.default_rng(1)
    sizes = {2: [120, 80], 5: [120, 40, 20, 12, 8]}[n_groups]
    errors = rng.lognormal(size=200)
    codes = rng.permutation(np.repeat(np.arange(n_groups), sizes))
    shuffled = [rng.permutation(codes) for _ in range(4000)]
    if n_groups == 2:
        null = np.array([log_ratio(errors, labels == 1) for labels in shuffled])
        expected = (null >= log_ratio(errors, codes == 1)).mean()
        found, _ = log_ratio_pvalue(errors, np.ones(200), codes == 1, rng)
        assert found == pytest.approx(expected, abs=0.04)
        return
    null = np.array([deviations(errors, labels).max() for labels in shuffled])
    stated = np.ones(n_groups, dtype=bool)
    found, adjusted, _ = max_pvalues(errors, np.ones(200), codes, stated, rng)
    seen = deviations(errors, codes)
    assert found == pytest.approx((null >= seen.max()).mean(), abs=0.04)
    assert adjusted == pytest.approx([(null >= one).mean() for one in seen], abs=0.04)
    assert adjusted.min() == found


@pytest.mark.parametrize("kind", ["two", "few of two", "weighted", "many"])
def test_random_labels_are_rejected_as_often_as_said(kind):
    rng, pvalues = np.random.default_rng(2), []
    for _ in range(400):
        errors, weights = rng.lognormal(sigma=1.5, size=40), np.ones(40)
        if kind == "weighted":
            weights = rng.lognormal(size=40)
        if kind == "many":
            codes = rng.permutation(np.repeat([0, 1, 2, 3], [20, 11, 7, 2]))
            stated = np.array([True, True, True, False])
            pvalues.append(max_pvalues(errors * weights, weights, codes, stated, rng)[0])
        else:
            second = rng.permutation(np.arange(40) < (5 if kind == "few of two" else 20))
            pvalues.append(log_ratio_pvalue(errors * weights, weights, second, rng)[0])
    for level in (0.05, 0.2, 0.5):
        low, high = stats.binom.ppf([0.0005, 0.9995], 400, level)
        assert low <= np.sum(np.array(pvalues) <= level) <= high


def test_names_order_units_and_copies_do_not_matter():
    X, groups = data(150)
    found = outcome(X, groups)
    assert not found.is_crossfitted
    assert outcome(X, np.array(["b", "a"])[groups]).pvalue == pytest.approx(found.pvalue)
    order = np.random.default_rng(0).permutation(len(X))
    assert outcome(X[order], groups[order]).pvalue == pytest.approx(found.pvalue)
    assert outcome(X * np.logspace(-3, 3, 6), groups).pvalue == pytest.approx(found.pvalue)
    people = np.repeat(np.arange(150), 3)
    copied = outcome(X[people], groups[people], clusters=people)
    assert copied.pvalue == pytest.approx(found.pvalue)
    weighted = outcome(X, groups, sample_weight=np.full(150, 3.0))
    assert weighted.pvalue == pytest.approx(found.pvalue)
    assert outcome(X[people], groups[people]).pvalue < found.pvalue


def test_a_gap_is_found_and_named():
    X, groups = data(300, n_groups=3)
    X[groups == 2] = (X[groups == 2] - 5) * 2 + 5
    two = outcome(X, np.where(groups == 2, "b", "a"))
    assert two.pvalue < 0.001
    assert two.excess[1] > 0 > two.excess[0]
    many = outcome(X, groups)
    assert many.adjusted[2] == many.pvalue < 0.001
    assert (np.sign(many.excess) == [-1, -1, 1]).all()
    assert not two.is_crossfitted


def test_groups_with_few_rows_get_no_statement():
    X, groups = data(300)
    kept = np.concatenate([np.flatnonzero(groups == 0), np.flatnonzero(groups == 1)[:4]])
    few = outcome(X[kept], groups[kept])
    assert np.isnan(few.pvalue)
    assert not few.has_statement[1]
    X, groups = data(300, n_groups=3)
    groups[0] = 7
    many = outcome(X, groups)
    assert np.array_equal(np.isnan(many.adjusted), [False, False, False, True])
    labels = np.where(groups == 2, None, groups.astype(object))
    some = outcome(X, labels, missing_groups="total_only")
    assert some.labels == (0, 1, 7)


def test_errors_that_are_rounding_show_nothing():
    X, groups = data()
    X[:, 2:] = X[:, :2] @ np.ones((2, 4))
    found = outcome(X, groups, standardize=False)
    assert (found.pvalue, found.is_rounding) == (1.0, True)
    assert found.adjusted.tolist() == [1.0, 1.0]
    same = np.tile([[1.0, 1.0], [-1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]], (10, 1))
    assert outcome(same, np.arange(40) % 8 // 4, k=1).is_rounding


def test_where_support_is_low_rows_are_cross_fitted():
    cancer = load_breast_cancer()
    found = outcome(cancer.data, cancer.target_names[cancer.target], k=3)
    assert found.is_crossfitted
    assert set(found.low_support) == {13, 16, 19}
    assert 0.05 < found.pvalue < 0.15
    clipped = outcome(cancer.data, cancer.target_names[cancer.target], k=3, clip=3.0)
    assert not clipped.is_crossfitted


def test_errors_of_the_test_do_not_see_the_labels():
    """Folds spread evenly over groups would, and permuting labels would not be exact."""
    rng = np.random.default_rng(0)
    X = rng.standard_t(2, (90, 4))
    totals = []
    for share in (0.1, 0.3, 0.5):
        found = outcome(X, rng.permutation(np.arange(90) < 90 * share), folds=5)
        assert found.is_crossfitted
        totals.append(found.counts @ found.group_errors)
    assert totals == pytest.approx([totals[0]] * 3, rel=1e-12)
