"""The eigen-solver: leading eigenspaces with a bound that is proved."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import block_diag

from fairspan.problem.spectrum import top_space
from fairspan.problem.subspace import SubspaceProblem
from tests import reference

SIZES = [(2, 1), (5, 2), (5, 5), (40, 10), (255, 3), (256, 1), (300, 3), (300, 37), (300, 100)]


def matrix_with_spectrum(values, seed: int = 0) -> np.ndarray:
    d = len(values)
    Q = np.linalg.qr(np.random.default_rng(seed).standard_normal((d, d)))[0]
    matrix = (Q * values) @ Q.T
    return (matrix + matrix.T) / 2


def check_against_numpy(matrix, k, found, slack=1e-11):
    expected = np.linalg.eigvalsh(matrix)[::-1][:k]
    size = max(np.abs(matrix).sum(axis=1).max(), 1e-300)
    assert found.vectors.shape == (len(matrix), k)
    assert found.vectors.T @ found.vectors == pytest.approx(np.eye(k), abs=1e-12)
    assert found.values == pytest.approx(expected, abs=slack * size)
    assert np.trace(found.vectors.T @ matrix @ found.vectors) == pytest.approx(
        expected.sum(), abs=slack * k * size
    )
    # The bound may not lie below the truth by more than numpy's own rounding, nor far above it.
    assert found.bound >= expected.sum() - 1e-15 * k * size
    assert found.bound <= expected.sum() + slack * k * size


@pytest.mark.parametrize(("d", "k"), SIZES)
def test_the_leading_eigenspace_is_numpys(d, k):
    rng = np.random.default_rng(d + k)
    matrix = matrix_with_spectrum(rng.normal(0, 1, d) * np.exp(rng.normal(0, 1, d)))
    check_against_numpy(matrix, k, top_space(matrix, k))


@pytest.mark.parametrize("d", [30, 300])
@pytest.mark.parametrize(
    "name",
    ["zero", "identity", "tie at k", "near tie at k", "low rank", "negative", "huge", "tiny"],
)
def test_spectra_that_are_hard_to_separate_are_solved_and_bounded(d, name):
    k = 3
    values = np.sort(np.random.default_rng(d).exponential(1.0, d))[::-1].copy()
    changes = {
        "zero": lambda v: 0 * v,
        "identity": lambda v: np.ones(d),
        "tie at k": lambda v: np.concatenate([v[:k], v[k - 1 : k], v[k + 1 :]]),
        "near tie at k": lambda v: np.concatenate([v[:k], [v[k - 1] - 1e-13], v[k + 1 :]]),
        "low rank": lambda v: np.concatenate([v[: k - 1], np.zeros(d - k + 1)]),
        "negative": lambda v: -v[::-1],
        "huge": lambda v: 1e120 * v,
        "tiny": lambda v: 1e-120 * v,
    }
    matrix = matrix_with_spectrum(changes[name](values), seed=d)
    check_against_numpy(matrix, k, top_space(matrix, k))


def test_a_misleading_start_does_not_hide_the_leading_space():
    d, k = 300, 2
    values = np.concatenate([[9.0, 8.0], np.linspace(1, 0, d - 2)])
    matrix = matrix_with_spectrum(values, seed=4)
    vectors = np.linalg.eigh(matrix)[1]
    for start in (vectors[:, :k], vectors[:, -k:], vectors[:, 100:102]):
        check_against_numpy(matrix, k, top_space(matrix, k, start))


@pytest.mark.parametrize("d", [4, 300])
def test_every_eigen_solve_gives_a_subspace_and_a_cut_that_no_subspace_crosses(d):
    rng = np.random.default_rng(d)
    moments = reference.random_moments(rng, 3, d)
    problem = SubspaceProblem(moments, np.array([0.2, 0.3, 0.5]), 2)
    for count in range(1, 6):
        weights = rng.standard_normal(3)
        found = problem.best_subspace(weights)
        assert problem.n_eigensolves == count
        assert found.errors == pytest.approx(reference.group_errors(moments, found.subspace))
        assert weights @ found.errors == pytest.approx(found.sigma, rel=1e-9)
        assert weights @ found.errors >= found.sigma
        for _ in range(100):
            errors = reference.group_errors(moments, reference.random_subspace(rng, d, 2))
            assert weights @ errors >= found.sigma


def test_errors_within_rounding_of_zero_are_zero():
    rng = np.random.default_rng(0)
    moments = reference.random_moments(rng, 2, 9, rank=3)
    problem = SubspaceProblem(moments, np.array([0.5, 0.5]), 3)
    assert problem.best_subspace(np.array([1.0, 0.0])).errors[0] == 0.0
    assert problem.best_subspace(np.array([0.0, 1.0])).errors[1] == 0.0
    assert problem.best_subspace(np.array([0.0, 1.0])).errors[0] > 0.1


@pytest.mark.parametrize("seed", range(30))
def test_no_rounding_brings_a_bound_below_a_sum_that_is_known_exactly(seed):
    rng = np.random.default_rng(seed)
    sizes, factors = rng.choice(np.arange(40, 120), 5, replace=False), rng.integers(1, 1000, 5)
    # Blocks of equal integers: their only eigenvalues but 0 are size times factor.
    matrix = block_diag(*[np.full((m, m), float(a)) for m, a in zip(sizes, factors, strict=True)])
    order = rng.permutation(len(matrix))
    k = int(rng.integers(1, 4))
    found = top_space(matrix[np.ix_(order, order)], k)
    assert found.bound >= float(np.sort(sizes * factors)[-k:].sum())


def most_kept(matrix: np.ndarray, k: int) -> np.longdouble:
    """Sum of the k largest eigenvalues, by orthogonal iteration with more digits."""
    V = np.linalg.eigh(matrix)[1][:, -k:].astype(np.longdouble)
    matrix = matrix.astype(np.longdouble)
    for _ in range(3):
        V = matrix @ V
        for i in [*range(k), *range(k)]:
            V[:, i] -= V[:, :i] @ (V[:, :i].T @ V[:, i])
            V[:, i] /= np.sqrt(V[:, i] @ V[:, i])
    return (V * (matrix @ V)).sum()


@pytest.mark.skipif(np.finfo(np.longdouble).eps > 1e-18, reason="needs numbers of more digits")
@pytest.mark.parametrize("seed", range(50))
def test_eigenvalues_far_apart_are_bounded_where_all_are_asked_for(seed):
    values = 10.0 ** np.random.default_rng(seed).uniform(0, 7, 4) * [1, 1, 1, 1e-9]
    matrix = matrix_with_spectrum(values, seed)
    assert top_space(matrix, 3).bound >= most_kept(matrix, 3)
