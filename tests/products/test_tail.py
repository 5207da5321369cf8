"""The bound on what a basis leaves out: how often it fails, and that it is never below."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import binom

from fairspan.moments.groups import Groups
from fairspan.products import second_moments
from fairspan.products.basis import Basis, LostOrthogonality
from fairspan.products.tail import Tail
from tests.products.rows import made, moments_of

WEIGHTS = np.array([0.8, 0.5])


def made_basis(seed, size=10, d=60, n=300):
    X, groups = made(seed, d=d, n=n)
    operator = second_moments(X, Groups.of(groups, len(X)))
    basis = Basis(operator)
    basis.grow(np.random.default_rng(seed).standard_normal((d, size)))
    rest = np.eye(d) - basis.columns @ basis.columns.T
    matrix = np.tensordot(WEIGHTS, moments_of(X, groups), 1)
    values, vectors = np.linalg.eigh(rest @ matrix @ rest)
    return basis, float(values[-1]), vectors[:, -1]


def run(basis, failure, rng, steps):
    tail = Tail(basis, WEIGHTS, failure, rng)
    for _ in range(steps):
        tail.step(basis.operator.images(tail.block))
    return tail


@pytest.mark.parametrize("failure", [0.1, 0.3])
def test_the_bound_fails_no_more_often_than_stated(failure):
    basis, truth, _ = made_basis(0)
    rng = np.random.default_rng(1)
    draws = 400
    failed = sum(run(basis, failure, rng, 2).lowest < truth for _ in range(draws))
    assert failed <= binom.ppf(1 - 1e-6, draws, failure)


def short_starts(failure, draws):
    """How often a random block is shorter along the leading vector than the proof assumes."""
    # Within the space left out, the length of u'Ω is that of a Gaussian vector.
    basis, _, leading = made_basis(2)
    short = 0
    rng, same = np.random.default_rng(3), np.random.default_rng(3)
    for _ in range(draws):
        tail = Tail(basis, WEIGHTS, failure, rng)
        drawn = same.standard_normal((60, tail.width))
        short += float(np.linalg.norm(leading @ drawn)) < tail.least
    return short


@pytest.mark.parametrize("failure", [0.1, 0.3])
def test_the_event_is_as_probable_as_stated(failure):
    low, high = binom.ppf([1e-6, 1 - 1e-6], 1000, failure)
    assert low <= short_starts(failure, 1000) <= high


def test_a_start_that_hardly_contains_the_leading_vector_is_the_event_that_fails():
    # The block is all but orthogonal to it: a sound bound is then, and only then, too low.
    basis, truth, leading = made_basis(4)

    class Blind:
        def __init__(self, least):
            self.least = least

        def standard_normal(self, shape):
            block = np.random.default_rng(5).standard_normal(shape)
            along = leading @ block
            return block - np.outer(leading, along) * (1 - self.least / np.linalg.norm(along))

    probe = Tail(basis, WEIGHTS, 1e-3, np.random.default_rng(0)).least
    assert run(basis, 1e-3, Blind(1.01 * probe), 6).lowest >= truth
    assert run(basis, 1e-3, Blind(1e-12), 3).lowest < truth


def test_more_steps_never_loosen_the_bound_and_come_near():
    basis, truth, _ = made_basis(6)
    tail = Tail(basis, WEIGHTS, 1e-10, np.random.default_rng(7))
    found = []
    for _ in range(5):
        tail.step(basis.operator.images(tail.block))
        found.append(tail.lowest)
        assert tail.ritz() <= truth * (1 + 1e-12)
    assert all(later <= earlier for earlier, later in pairwise(found))
    assert truth <= found[-1] <= 1.3 * truth


def test_nothing_left_out_is_found_to_be_nothing():
    rng = np.random.default_rng(8)
    X = rng.standard_normal((40, 5)) @ rng.standard_normal((5, 30))
    operator = second_moments(X, Groups.of(np.arange(40) % 2, 40))
    basis = Basis(operator)
    basis.grow(X[:12].T)
    tail = run(basis, 1e-6, rng, 1)
    assert 0 <= tail.lowest <= 1e-6 * operator.traces.sum()


def test_a_basis_that_is_not_orthonormal_is_refused():
    basis, _, _ = made_basis(9)
    assert basis.defect() < 1e-10
    basis._columns[:, 1] += 1e-9 * basis._columns[:, 0]
    with pytest.raises(LostOrthogonality, match="not orthonormal"):
        basis.residuals()


def test_rounding_never_enters_the_basis():
    basis, _, _ = made_basis(10, size=20)
    # What is left of the basis's own columns is rounding, and so is what is too short.
    mixed = basis.columns @ np.random.default_rng(11).standard_normal((20, 6))
    assert basis.grow(mixed) == 0
    assert basis.grow(1e-14 * np.random.default_rng(12).standard_normal((60, 3)), 1e-9) == 0
    assert basis.grow(np.random.default_rng(13).standard_normal((60, 80))) == 40
    assert basis.is_whole
    assert basis.defect() < 1e-10


def test_new_columns_that_are_almost_in_the_basis_are_cleaned_of_it():
    # One projection leaves rounding of the candidate, which is large next to what is new in it.
    basis, _, _ = made_basis(14, size=20)
    rng = np.random.default_rng(15)
    new = 1e-5 * rng.standard_normal((60, 3))
    assert basis.grow(basis.columns[:, :3] + new) == 3
    assert basis.size == 23
    products = basis.columns.T @ basis.columns
    np.testing.assert_allclose(products, np.eye(23), rtol=0, atol=1e-14)
