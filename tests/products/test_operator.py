"""Products with the rows are those of the second moments, whatever the rows are stored as."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from fairspan.moments.groups import Groups
from fairspan.products import dense, second_moments
from fairspan.products import sparse as products_sparse
from tests.products.rows import made, moments_of

KINDS = {
    "dense": np.asarray,
    "fortran": np.asfortranarray,
    "csr": sparse.csr_array,
    "csc": sparse.csc_array,
}


def with_zeros(seed, far=0.0):
    X, groups = made(seed, n=80, d=12)
    X[np.random.default_rng(seed).random(X.shape) < 0.7] = 0.0
    # A column far from zero, which is full.
    X[:, 3] = far + 0.1 * X[:, 3]
    return X, groups


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_images_and_traces_are_those_of_the_second_moments(kind, standardize, weighted):
    X, groups = with_zeros(1, far=1e4)
    rng = np.random.default_rng(2)
    weight = rng.integers(1, 4, len(X)).astype(float) if weighted else None
    operator = second_moments(
        KINDS[kind](X), Groups.of(groups, len(X)), sample_weight=weight, standardize=standardize
    )
    mean = np.average(X, axis=0, weights=weight)
    scale = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weight)) if standardize else None
    moments = moments_of(X, groups, weight, scale)
    block = np.linalg.qr(rng.standard_normal((12, 5)))[0]
    # Far columns cost the reference digits, not the operator.
    np.testing.assert_allclose(operator.images(block), moments @ block, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(operator.traces, np.einsum("aii->a", moments), rtol=1e-8)
    np.testing.assert_allclose(operator.mean, mean, rtol=1e-12)
    assert operator.passes == 2


@pytest.mark.parametrize("kind", KINDS)
def test_weights_and_entries_of_every_block_are_its_own(kind, monkeypatch):
    monkeypatch.setattr(dense, "_BLOCK_BYTES", 1)
    monkeypatch.setattr(products_sparse, "_BLOCK_ROWS", 64)
    X, groups = made(6, n=200, d=12)
    X[np.random.default_rng(6).random(X.shape) < 0.7] = 0.0
    weight = 1.0 + np.arange(200) // 50
    operator = second_moments(KINDS[kind](X), Groups.of(groups, 200), sample_weight=weight)
    moments = moments_of(X, groups, weight)
    np.testing.assert_allclose(operator.images(np.eye(12)), moments, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(operator.traces, np.einsum("aii->a", moments))


def test_single_precision_and_mapped_files_give_the_same(tmp_path):
    X, groups = made(3, n=200, d=40)
    X = X.astype(np.float32)
    path = tmp_path / "rows.npy"
    np.save(path, X)
    block = np.random.default_rng(0).standard_normal((40, 3))
    expected = second_moments(X.astype(np.float64), Groups.of(groups, 200)).images(block)
    for rows in (X, np.load(path, mmap_mode="r"), sparse.csr_array(X)):
        found = second_moments(rows, Groups.of(groups, 200)).images(block)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_repeated_entries_count_as_their_sum():
    X, groups = with_zeros(7)
    halves = sparse.csr_array(X)
    data, indices = np.repeat(halves.data / 2, 2), np.repeat(halves.indices, 2)
    twice = sparse.csr_array((data, indices, 2 * halves.indptr), X.shape)
    found = second_moments(twice, Groups.of(groups, len(X)))
    np.testing.assert_allclose(found.traces, np.einsum("aii->a", moments_of(X, groups)))
    assert twice.nnz == 2 * halves.nnz, "the rows that were given stay as they are"


@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_rounding_of_images_is_within_its_bound(kind):
    X, groups = with_zeros(4, far=0.5)
    # Sums in extended precision are the truth to which rounding is compared.
    precise = X.astype(np.longdouble)
    centered = precise - precise.mean(axis=0)
    operator = second_moments(KINDS[kind](X), Groups.of(groups, len(X)))
    block = np.linalg.qr(np.random.default_rng(5).standard_normal((12, 6)))[0]
    found = operator.images(block)
    for a in (0, 1):
        rows = centered[groups == a]
        exact = rows.T @ (rows @ block) / len(rows)
        off = float(np.linalg.norm((found[a] - exact).astype(float)))
        assert off <= operator.image_error(6)[a] <= 1e-12 * operator.traces[a]


def test_missing_values_and_groups_without_weight_are_refused():
    X, groups = made(6, n=30, d=5)
    with pytest.raises(ValueError, match="group 1; each group needs"):
        second_moments(X, Groups.of(groups, 30), sample_weight=(groups == 0).astype(float))
    X[3, 2] = np.nan
    with pytest.raises(ValueError, match=r"NaN.*columns with such values: 2"):
        second_moments(X, Groups.of(groups, 30))
