"""Linear functions of X below the objective: chords on a box, and tangents at a known projector."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np

from fairspan.certificate.box import Box
from fairspan.certificate.closed_form import parabola
from fairspan.ground.types import UNIT, FloatArray, IntArray
from fairspan.objectives.mixture import Mixture
from fairspan.objectives.robust import RobustFairObjective
from fairspan.problem.subspace import SubspaceProblem


class Columns(NamedTuple):
    """Weights that make mixtures of pieces, A φ - B ψ: what each adds to A, B and the constant.

    Weights that are not negative and whose sums are 1 give a mixture that never exceeds the
    objective.
    """

    above: FloatArray
    below: FloatArray
    sums: FloatArray
    constants: FloatArray

    def mixture(self, objective: RobustFairObjective, weights: FloatArray) -> Mixture:
        """Give the mixture of some weights."""
        constant = float(self.constants @ weights)
        return Mixture(objective, self.above @ weights, self.below @ weights, constant)

    def chords(self, objective: RobustFairObjective, box: Box) -> tuple[FloatArray, FloatArray]:
        """Give the intercept and the slopes, (n_groups, n), of what each weight adds on a box."""
        ones, none = np.ones(objective.n_groups), np.zeros(objective.n_groups)
        φ = Mixture(objective, ones, none).chords(box.lower, box.upper)
        # ψ enters with a minus sign, and its chords come with it.
        ψ = Mixture(objective, none, ones).chords(box.lower, box.upper)
        intercepts = φ[0] @ self.above + ψ[0] @ self.below + self.constants
        return intercepts, φ[1][:, None] * self.above + ψ[1][:, None] * self.below


def compared_groups(objective: RobustFairObjective) -> IntArray:
    """Give the groups that are compared."""
    everyone = np.arange(objective.n_groups)
    return everyone if objective.in_gap is None else everyone[objective.in_gap]


def columns(objective: RobustFairObjective, raised: IntArray, lowered: IntArray) -> Columns:
    """Give weights for mixtures of pieces in which some groups are counted up and some down.

    Mixtures depend on weights of pairs only through the row sums r and column sums z. Without radii
    any two such vectors will do. With radii pairs (a, a) must be left out, and weights of other
    pairs with these sums exist exactly if r_a + z_a <= 1 for every a. Where no group is counted
    down, any r will do.

    Parameters
    ----------
    objective : RobustFairObjective
        The objective.
    raised, lowered : ndarray of int
        Groups that may be counted up, and down.

    Returns
    -------
    Columns
        The weights: one if nothing is compared, pairs if there are few, else r, z and slacks.
    """
    n, c = objective.n_groups, objective.counting
    base, eye = objective.shares[:, None], np.eye(n)
    if not c.up.any():
        return Columns(base, np.zeros((n, 1)), np.ones((1, 1)), np.zeros(1))
    up, added = base + c.up[:, None] * eye[:, raised], c.up_constant[raised]
    if not objective.counts_down:
        return Columns(up, np.zeros_like(up), np.ones((1, len(raised))), added)
    down, fall = (x[:, None] * eye[:, lowered] for x in (-c.down_worst, c.down_best))
    taken = -c.down_constant[lowered]
    both = np.intersect1d(raised, lowered)
    if objective.radii.any() and min(len(raised), len(lowered)) <= 3:
        pairs = [
            (i, j)
            for i, j in itertools.product(*map(range, (len(raised), len(lowered))))
            if raised[i] != lowered[j]
        ]
        i, j = np.array(pairs).T
        constants = added[i] + taken[j]
        return Columns(up[:, i] + down[:, j], fall[:, j], np.ones((1, len(pairs))), constants)
    above, below = np.hstack([up, down]), np.hstack([0 * up, fall])
    constants = np.concatenate([added, taken])
    counts = len(raised), len(lowered)
    sums = np.repeat(np.eye(2), counts, axis=1)
    if not objective.radii.any() or not len(both):
        return Columns(above, below, sums, constants)
    held = np.hstack([both[:, None] == raised, both[:, None] == lowered])
    slack = np.eye(len(both))
    return Columns(
        np.hstack([above, np.zeros((n, len(both)))]),
        np.hstack([below, np.zeros((n, len(both)))]),
        np.block([[sums, np.zeros((2, len(both)))], [held.astype(float), slack]]),
        np.concatenate([constants, np.zeros(len(both))]),
    )


class Centre:
    """A projector P, and tangents of pieces at its errors that bound them at every projector.

    For a positive N that commutes with P, Γ(X) = <N, (X - P)^2> is linear in X at projectors,
    <N - NP - PN, X> + <N, P>. A mixture is at least its tangent minus a parabola, and the parabola
    at most L Γ.

    Parameters
    ----------
    problem : SubspaceProblem
        The moments.
    V : ndarray of shape (d, k)
        Orthonormal columns that span P.
    slope : ndarray of shape (n_groups,)
        Weights of the errors; N is modelled on how fast their sum grows away from P.
    mixtures : list of Mixture
        Whose tangents are wanted.
    errors : ndarray of shape (n_groups,)
        Errors of P, positive where the radius is.
    """

    def __init__(
        self,
        problem: SubspaceProblem,
        V: FloatArray,
        slope: FloatArray,
        mixtures: list[Mixture],
        errors: FloatArray,
    ) -> None:
        k = problem.k
        basis = np.linalg.qr(V, mode="complete")[0]
        C = basis.T @ problem.combination(slope) @ basis
        inside, first = np.linalg.eigh(C[:k, :k])
        outside, second = np.linalg.eigh(C[k:, k:])
        Q = np.hstack([basis[:, :k] @ first, basis[:, k:] @ second])
        growth = _growth(inside, outside, 1e-12 * float(problem.traces.max()))
        self.projector = V @ V.T
        top = np.arange(problem.d) < k
        # In the basis Q, N is diagonal and P keeps the first k: N - NP - PN changes their sign.
        self.matrix = (Q * np.where(top, -growth, growth)) @ Q.T
        self.constant = float(growth[:k].sum())
        rounding = 8 * problem.d * UNIT * float(np.abs(growth).sum())
        self.reach = float(np.sort(np.where(top, -growth, growth))[-k:].sum()) + self.constant
        self.reach += rounding
        self.mixtures, self.errors = mixtures, errors
        self.slopes = np.array(
            [mixture.slopes(np.where(errors > 0, errors, 1.0)) for mixture in mixtures]
        ).T
        self.values = np.array([m.value(errors) for m in mixtures]) - errors @ self.slopes
        turned = Q.T @ problem.moments @ Q
        pairs = 2 / (growth[:, None] + growth)
        apart = top[:, None] != top
        self._full, self._off = _gram(turned, pairs), _gram(turned, pairs * apart)
        root = 1 / np.sqrt(growth)
        scaled = turned * root[:, None] * root
        blocks = scaled[:, :k, :k], scaled[:, k:, k:]
        self._diagonal = np.maximum(*(np.linalg.eigvalsh(block)[:, -1] for block in blocks))

    def distance(self, X: FloatArray) -> float:
        """Give Γ(X)."""
        return float(np.vdot(self.matrix, X)) + self.constant

    def losses(self, lower: FloatArray, reach: float) -> FloatArray:
        """Give an L for each tangent, where errors are above lower and Γ is at most reach."""
        found = []
        for mixture in self.mixtures:
            κ = parabola(mixture, self.errors, lower)
            root = np.sqrt(0.5 * κ)
            full = _largest(root[:, None] * self._full * root)
            off = _largest(root[:, None] * self._off * root)
            square = 0.5 * float(κ @ self._diagonal**2) * max(reach, 0.0)
            found.append(min(full, (np.sqrt(max(off, 0.0)) + np.sqrt(square)) ** 2))
        return np.array(found) * (1 + 1e-9)


def _growth(inside: FloatArray, outside: FloatArray, least: float) -> FloatArray:
    """Distances of eigenvalues from the middle of the gap, with a floor that ignores one pair."""
    level = 0.5 * float(inside[0] + outside[-1])
    others = np.abs(np.concatenate([inside[1:], outside[:-1]]) - level)
    floor = max(least, 1e-3 * float(np.abs(inside).max()))
    if len(others):
        floor = max(floor, 0.3 * float(others.min()))
    return np.maximum(np.abs(np.concatenate([inside, outside]) - level), floor)


def _gram(turned: FloatArray, factors: FloatArray) -> FloatArray:
    flat = turned.reshape(len(turned), -1)
    return np.asarray((flat * factors.ravel()) @ flat.T)


def _largest(matrix: FloatArray) -> float:
    return float(np.linalg.eigvalsh(matrix)[-1])
