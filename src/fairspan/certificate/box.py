"""Boxes of group errors, and how to shrink them without losing a better subspace."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fairspan.certificate.work import Work
from fairspan.ground.types import UNIT, FloatArray
from fairspan.objectives.mixture import Mixture
from fairspan.problem.spectrum import whole_spectrum
from fairspan.problem.subspace import SubspaceProblem

_EVALUATIONS = 8


class Box(NamedTuple):
    """Bounds on the errors of the subspaces that matter."""

    lower: FloatArray
    upper: FloatArray

    @property
    def is_empty(self) -> bool:
        """Whether no errors are left."""
        return bool((self.lower > self.upper).any())


def root_box(problem: SubspaceProblem) -> Box:
    """Bounds on the errors of all subspaces: each group's own best and worst.

    Parameters
    ----------
    problem : SubspaceProblem
        Moments and number of components.

    Returns
    -------
    Box
        The bounds; one eigen-solve a group.
    """
    if problem.is_large:
        # The trailing end of a large spectrum is crowded, slow to find and almost 0.
        units = np.eye(problem.n_groups)
        lower = np.array([problem.best_subspace(unit).sigma for unit in units])
        return Box(np.maximum(lower, 0.0), problem.traces)
    ends = np.array([_extremes(problem, a) for a in range(problem.n_groups)]).T
    return Box(np.maximum(ends[0], 0.0), ends[1])


def _extremes(problem: SubspaceProblem, group: int) -> tuple[float, float]:
    """Bound the smallest and the largest error of a group by its eigenvalues."""
    problem.n_eigensolves += 1
    M, trace, k = problem.moments[group], float(problem.traces[group]), problem.k
    rounding = 4 * problem.d * UNIT * math.sqrt(float(np.vdot(M, M))) + 8 * UNIT * abs(trace)
    values, _, found = whole_spectrum(np.array(M), vectors=False)
    if not found:
        return 0.0, trace
    least, most = trace - float(values[-k:].sum()), trace - float(values[:k].sum())
    return least - rounding, most + rounding


def tighten(
    problem: SubspaceProblem,
    mixture: Mixture,
    box: Box,
    best: float,
    work: Work,
) -> Box:
    """Shrink a box around all subspaces in it that are better than a value.

    On the box the mixture is at least its chords, α + s . m, and better subspaces have
    α + s . m <= best. So for every y >= 0

        ± m_b >= σ(± e_b + y s) - y (best - α),

    σ the least weighted sum of errors, an eigen-solve: a concave function of y, maximised here.
    Whatever y is tried, the bound is proved.

    Parameters
    ----------
    problem : SubspaceProblem
        Moments and number of components.
    mixture : Mixture
        A mixture of pieces.
    box : Box
        Where to look.
    best : float
        Subspaces that are no better than this may be lost.
    work : Work
        What may be spent; what is tightened by then is kept.

    Returns
    -------
    Box
        A smaller box; perhaps empty, if no subspace in the box is better.
    """
    intercepts, slope = mixture.chords(box.lower, box.upper)
    room = best - float(intercepts.sum()) - mixture.constant
    # What rounding does to chords: next to 0 they are steep, and small beside the radius.
    sizes = mixture.gross.value(box.upper) + mixture.gross.value(box.lower) + abs(best)
    room += (16 + problem.n_groups) * UNIT * sizes
    lower, upper = box.lower.copy(), box.upper.copy()
    for b, unit in enumerate(np.eye(problem.n_groups)):
        if work.is_spent():
            break
        work.spend(2 * _EVALUATIONS * Work.eigensolve(problem.d))
        lower[b] = max(lower[b], _least(problem, unit, slope, room))
        upper[b] = min(upper[b], -_least(problem, -unit, slope, room))
    return Box(lower, upper)


def _least(problem: SubspaceProblem, unit: FloatArray, slope: FloatArray, room: float) -> float:
    """Maximise σ(unit + y slope) - y room over y >= 0 by bisection on its derivative."""
    y = 1.0 / max(float(np.abs(slope) @ np.abs(unit)), 1e-12)
    low, high, best = 0.0, np.inf, -np.inf
    for _ in range(_EVALUATIONS):
        found = problem.best_subspace(unit + y * slope)
        best = max(best, found.sigma - y * room - 4 * UNIT * abs(y * room))
        if float(slope @ found.errors) > room:
            low = y
        else:
            high = y
        y = _between(low, high)
    return best


def _between(low: float, high: float) -> float:
    if high == np.inf:
        return 2 * low
    return 0.5 * (low + high) if low > 0 else 0.25 * high


def most(matrix: FloatArray, proof: FloatArray, room: float, k: int, tries: int) -> float:
    """Bound <matrix, X> over projectors with <proof, X> >= -room.

    For every y >= 0 it is at most Λ_k(matrix + y proof) + y room, a convex function of y that is
    minimised here. Whatever y is tried, the bound is proved.

    Parameters
    ----------
    matrix, proof : ndarray of shape (d, d)
        Symmetric.
    room : float
        How far below 0 the second product may be.
    k : int
        Rank of the projectors.
    tries : int
        Eigen-solves.

    Returns
    -------
    float
        The bound, rounding included.
    """
    d = len(matrix)
    norms = float(np.linalg.norm(matrix)), float(np.linalg.norm(proof))
    y = norms[0] / max(norms[1], 1e-300)
    low, high, best = 0.0, np.inf, np.inf
    for _ in range(tries):
        values, vectors = np.linalg.eigh(matrix + y * proof)
        rounding = 8 * d * UNIT * (norms[0] + y * norms[1]) + 4 * UNIT * abs(y * room)
        best = min(best, float(values[-k:].sum()) + y * room + rounding)
        V = vectors[:, -k:]
        if float(np.vdot(V, proof @ V)) + room < 0:
            low = y
        else:
            high = y
        y = _between(low, high)
    return best
