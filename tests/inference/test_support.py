"""The support of a column is the effective number of rows that carry its variance."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse, stats

from fairspan.inference import gap_test, support


def columns(n=500):
    rng = np.random.default_rng(0)
    made = [rng.normal(size=n), rng.lognormal(size=n), rng.random(n) < 0.02, np.arange(n) % 2]
    return np.column_stack(made) + 3.0


def test_it_is_the_number_of_rows_over_the_kurtosis():
    X = columns()
    expected = len(X) / stats.kurtosis(X, fisher=False)
    assert support(X) == pytest.approx(expected)
    assert support(sparse.csr_array(X - 3)) == pytest.approx(expected)
    assert support(X.astype(np.float32)) == pytest.approx(expected, rel=1e-3)
    assert support(1e60 * X) == pytest.approx(expected)
    assert support(X)[3] == pytest.approx(len(X))


def test_copies_of_a_row_are_one_row():
    X, people = columns(100), np.repeat(np.arange(100), 4)
    assert support(X[people], clusters=people) == pytest.approx(support(X))
    assert support(X[people]) == pytest.approx(4 * support(X))
    weight = np.random.default_rng(0).integers(1, 5, 100)
    people = np.repeat(np.arange(100), weight)
    expected = support(X[people], clusters=[f"p{i}" for i in people])
    assert support(X, sample_weight=weight) == pytest.approx(expected)


def test_one_row_is_a_support_of_one_and_none_of_zero():
    X = np.full((1000, 3), 0.1)
    X[7, 1] = 1e12
    X[7, 2] = 0.2
    assert support(X) == pytest.approx([0, 1, 1], rel=0.01)


def test_a_constant_column_changes_no_verdict():
    rng = np.random.default_rng(0)
    groups = np.repeat(["a", "b"], 60)
    X = rng.normal(size=(120, 3)) * np.where(groups == "a", 1.0, 2.0)[:, None]
    with_constant = np.column_stack([X, np.full(120, 7.0)])
    found = [
        gap_test(rows, sensitive_features=groups, n_components=1, random_state=0)
        for rows in (X, with_constant)
    ]
    assert found[0].pvalue == found[1].pvalue
    assert not found[1].low_support


def test_the_limit_allows_for_the_kurtosis_of_a_small_sample():
    """scipy's estimator without bias decides; the sample's own would let some columns pass."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.standard_t(4, 150) for _ in range(400)])
    corrected = 150 / (3 + stats.kurtosis(X, bias=False))
    scarce = corrected < 20
    assert (scarce & (support(X) >= 20)).any()
    groups = np.arange(150) % 2
    found = gap_test(X, sensitive_features=groups, n_components=1, folds=2).low_support
    assert sorted(found) == np.flatnonzero(scarce).tolist()
    assert [found[j] for j in sorted(found)] == pytest.approx(corrected[scarce])
