"""What rounding may do to a proof is counted: images that are off by what is stated hide nothing.

Real rounding is far too small to make a bound false in a test. Here products with the rows are off
by as much as the operator says they may be, in the direction that does most harm.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from fairspan.ground.types import UNIT
from fairspan.moments.groups import Groups
from fairspan.products import second_moments, tail
from fairspan.products.basis import Basis
from fairspan.products.lifted import LiftedProblem, Rests
from fairspan.products.tail import Tail
from tests.products.rows import made, moments_of
from tests.products.test_tail import WEIGHTS

D = 40


def exact(seed, strong=1.0):
    """An operator, and the second moments that it multiplies with."""
    X, groups = made(seed, d=D)
    X[:, 0] *= strong
    return second_moments(X, Groups.of(groups, len(X))), moments_of(X, groups)


def hide(operator, direction, amount, monkeypatch):
    """Let images lack an amount of a direction, and the operator say so."""
    images = operator.images
    monkeypatch.setattr(
        operator,
        "images",
        lambda block: images(block) - amount * np.outer(direction, direction @ block),
    )
    stated = np.full(operator.n_groups, abs(amount))
    monkeypatch.setattr(operator, "image_error", lambda columns: stated)


def outside(basis):
    """The projection on what is orthogonal to a basis."""
    inside = np.linalg.qr(basis.columns)[0]
    return np.eye(len(inside)) - inside @ inside.T


def test_a_direction_that_images_hide_is_not_below_the_bound(monkeypatch):
    for seed in range(5):
        operator, moments = exact(seed, strong=3.0)
        basis = Basis(operator)
        # The strong direction is left out.
        basis.grow(np.eye(D)[:, 1:9])
        rest = outside(basis)
        values, vectors = np.linalg.eigh(rest @ np.tensordot(WEIGHTS, moments, 1) @ rest)
        hide(operator, vectors[:, -1], 0.5 * values[-1] / WEIGHTS.sum(), monkeypatch)
        assert bound_of(basis, seed) >= values[-1]
        # An operator that does not say what it hides is believed.
        monkeypatch.setattr(operator, "image_error", lambda columns: np.zeros(2))
        assert bound_of(basis, seed) < values[-1]


def bound_of(basis, seed):
    run = Tail(basis, WEIGHTS, 1e-3, np.random.default_rng(seed))
    for _ in range(3):
        run.step(basis.operator.images(run.block))
    return run.lowest


def leaky(self, block):
    """Leave a thousandth of what is inside the basis."""
    return block - 0.999 * self._columns @ (self._columns.T @ block)


def sloppy(columns):
    """Factor columns to five digits."""
    block, small = np.linalg.qr(columns)
    return block, small * (1 + 1e-5)


@pytest.mark.parametrize("fault", ["images", "projection", "factors"])
def test_what_is_left_of_the_recursion_is_within_what_is_counted(fault, monkeypatch):
    operator, moments = exact(1)
    basis = Basis(operator)
    rng = np.random.default_rng(2)
    basis.grow(rng.standard_normal((D, 8)))
    rest = outside(basis)
    if fault == "images":
        hide(operator, rest @ np.ones(D) / np.linalg.norm(rest @ np.ones(D)), 1e-3, monkeypatch)
    elif fault == "projection":
        monkeypatch.setattr(Tail, "_project", leaky)
    else:
        monkeypatch.setattr(tail, "_factored", sloppy)
    same = np.random.default_rng(3)
    run = Tail(basis, WEIGHTS, 1e-6, np.random.default_rng(3))
    drawn = rest @ same.standard_normal((D, run.width))
    for _ in range(3):
        run.step(operator.images(run.block))
    blocks = np.hstack(run._blocks[:-1])
    left = rest @ np.tensordot(WEIGHTS, moments, 1) @ rest @ blocks - blocks @ run._matrix()
    left[:, -run.width :] -= run._blocks[-1] @ run._below[-1]
    assert 1e-6 < np.linalg.norm(rest @ left) <= run._error
    assert np.linalg.norm(rest @ (drawn - run._blocks[0] @ run._start)) <= run._start_error


def test_nothing_is_proved_from_a_start_that_rounding_may_have_made():
    operator, _ = exact(3)
    basis = Basis(operator)
    basis.grow(np.random.default_rng(3).standard_normal((D, 8)))
    run = Tail(basis, WEIGHTS, 1e-6, np.random.default_rng(4))
    run.step(operator.images(run.block))
    before = run.bound()
    run._start_error = 0.4 * run.least
    assert before < run.bound() < np.inf
    run._start_error = 0.6 * run.least
    assert run.bound() == np.inf


@pytest.mark.parametrize("amount", [0.05, -0.05, 1e-4, -1e-4])
def test_what_images_hide_is_added_to_everything_that_is_lifted(amount, monkeypatch):
    for seed in range(5):
        operator, moments = exact(seed)
        leading = np.linalg.eigh(np.tensordot(WEIGHTS, moments, 1))[1][:, -12:]
        hide(operator, leading[:, -1], amount, monkeypatch)
        basis = Basis(operator)
        basis.grow(leading)
        residuals = basis.residuals()
        small = basis.columns.T @ moments @ basis.columns
        off = np.linalg.norm(basis.small - small, axis=(1, 2))
        assert (off <= residuals.small_error).all()
        assert (off > 0.5 * abs(amount)).all(), "nothing is hidden"
        rests = Rests(basis, residuals)
        rest = outside(basis)
        assert (rests.by_group >= np.einsum("ij,aji->a", rest, moments)).all()
        rests.learn(
            WEIGHTS, float(np.linalg.eigvalsh(rest @ np.tensordot(WEIGHTS, moments, 1))[-1])
        )
        lifted = LiftedProblem(basis, operator.shares, 3, rests, residuals)
        values = np.linalg.eigvalsh(np.tensordot(WEIGHTS, moments, 1))
        assert lifted.best_subspace(WEIGHTS).sigma <= WEIGHTS @ operator.traces - values[-3:].sum()


def test_residuals_that_images_hide_are_counted(monkeypatch):
    operator, moments = exact(6)
    basis = Basis(operator)
    block = np.linalg.qr(np.random.default_rng(6).standard_normal((D, 6)))[0]
    images = operator.images
    # Images seem to stay inside the basis.
    monkeypatch.setattr(operator, "images", lambda some: block @ (block.T @ images(some)))
    true = (np.eye(D) - block @ block.T) @ moments @ block
    lengths = np.linalg.norm(true, axis=(1, 2))
    monkeypatch.setattr(operator, "image_error", lambda columns: lengths)
    basis.grow(block)
    residuals = basis.residuals()
    assert np.abs(residuals.grams).max() < 1e-20 * lengths.max() ** 2 + 1e-20
    lifted = LiftedProblem(basis, operator.shares, 2, Rests(basis, residuals), residuals)
    turn = block.T @ basis.columns
    for weights in (WEIGHTS, np.array([1.0, -0.4])):
        combined = np.tensordot(weights, true, 1) @ turn
        least = np.linalg.eigvalsh(lifted._outside(weights) - combined.T @ combined)[0]
        assert least >= -1e-12 * lengths.max() ** 2


def test_traces_are_known_up_to_rounding(monkeypatch):
    operator, _ = exact(7)
    basis = Basis(operator)
    basis.grow(np.eye(D))
    weights = np.array([1.0, -0.4])
    found = []
    for error in (np.zeros(2), np.array([0.1, 0.2])):
        monkeypatch.setattr(type(operator), "trace_error", property(lambda self, e=error: e))
        residuals = basis.residuals()
        lifted = LiftedProblem(basis, operator.shares, 3, Rests(basis, residuals), residuals)
        found.append(lifted.best_subspace(weights).sigma)
    assert found[1] == pytest.approx(found[0] - 0.1 - 0.4 * 0.2, abs=1e-12)


def test_the_defect_of_a_basis_is_not_below_the_truth():
    operator, _ = exact(8)
    basis = Basis(operator)
    basis.grow(np.random.default_rng(8).standard_normal((D, 8)))
    basis._columns[:, 1] += 1e-12 * basis._columns[:, 0]
    columns = basis.columns.astype(np.longdouble)
    off = float(np.linalg.norm((columns.T @ columns - np.eye(8)).astype(float)))
    assert 1e-12 < off <= basis.defect() < 1e-11


def test_images_may_be_off_by_every_sum_that_is_formed():
    operator, _ = exact(9)
    stated = []
    for depth in ((10**6, 0), (0, 10**6)):
        operator.rows.depth = depth
        stated.append([operator.image_error(columns) for columns in (1, 4)])
        assert (stated[-1] >= 1e6 * UNIT * operator.traces).all()
    # What is lost over features counts for each column.
    np.testing.assert_allclose(stated[1][1], 2 * stated[1][0], rtol=1e-3)


def test_means_of_sparse_rows_are_sums_over_all_features():
    rng = np.random.default_rng(10)
    n, d = 400, 5_000
    places = (d * rng.random((n, 4)) ** 6).astype(int)
    entries = np.ones(4 * n)
    X = sparse.csr_array((entries, places.ravel(), np.arange(0, 4 * n + 1, 4)), (n, d))
    groups = np.arange(n) % 2
    operator = second_moments(X, Groups.of(groups, n))
    dense = X.toarray()
    centre = np.linalg.norm(dense.mean(axis=0))
    for a in (0, 1):
        mean = np.linalg.norm(dense[groups == a].mean(axis=0))
        assert operator.image_error(1)[a] >= d * UNIT * centre * (2 * mean + centre)
    # As many numbers are added as the fullest column of a group has entries.
    fullest = max(np.count_nonzero(dense[groups == a], axis=0).max() for a in (0, 1))
    assert fullest <= operator.rows.depth[0] < n
    assert operator.rows.depth[1] == np.count_nonzero(dense, axis=1).max()


def test_columns_far_from_zero_are_sums_over_all_rows():
    X = np.zeros((300, 6))
    X[:, 2] = 1e6 + np.arange(300)
    X[::50, 4] = 1.0
    rows = second_moments(sparse.csr_array(X), Groups.of(np.arange(300) % 2, 300)).rows
    assert rows.depth[0] >= 300
