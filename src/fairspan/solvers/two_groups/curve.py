"""Two groups: many objectives on one set of moments, for a handful of eigen-solves.

The minimiser of every objective lies on the boundary of the attainable errors, a curve m(t) by
the angle t of its inner normal. On it J_0 is stationary at an angle t_0, J_1 at t_1 >= t_0, and
both are equal at t_r; the minimiser is the middle one of the three. Between a few eigen-solves the
curve is followed without any: near an eigenbasis, the leading eigenspace of cos(t) M_0 + sin(t) M_1
is the graph of a small matrix, which a short iteration finds to rounding. All is so small that
LAPACK's routines are called directly: what NumPy does around them would take longer.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dgeqrf, dorgqr, dposv

from fairspan.ground.types import FloatArray
from fairspan.objectives.robust import RobustFairObjective
from fairspan.problem.spectrum import top_space
from fairspan.problem.subspace import SubspaceProblem
from fairspan.solvers.two_groups.lines import Point
from fairspan.solvers.two_groups.pieces import TwoPieces

_ITERATIONS = 60
_SLOW = 0.05
"""Where a graph converges at a slower rate, an eigen-solve is the better way."""
_STEPS = 20
_EXACT, _FOUND = 1e-12, 1e-11
"""Relative values that end the search for a root, and that count as found."""
_CLOSE_TO_RIDGE = 0.05
"""Where the pieces differ by less than this share of the value, both may be active in the end."""
_NUDGE, _CLOSE, _FAR = 1e-4, 1e-14, math.pi / 4
"""Angles, in radians: a small step, no step at all, and a step that has lost its way."""


class _Anchor:
    """An eigen-solve on the curve: all eigenvectors, and both moments in their coordinates."""

    def __init__(self, problem: SubspaceProblem, angle: float) -> None:
        problem.n_eigensolves += 1
        k = problem.k
        weights = np.array([math.cos(angle), math.sin(angle)])
        self.angle, self.vectors = angle, top_space(problem.combination(weights), problem.d).vectors
        self.moments = self.vectors.T @ problem.moments @ self.vectors
        self.diagonals = np.einsum("aii->ai", self.moments)
        self.hollow = self.moments.copy()
        np.einsum("aii->ai", self.hollow)[:] = 0.0
        self.latest = np.zeros((problem.d - k, k))

    def graph(self, angle: float) -> FloatArray | None:
        """The leading eigenspace at a nearby angle as the span of [I; X]; None if not found."""
        x, y, k = math.cos(angle), math.sin(angle), self.latest.shape[1]
        diagonal = x * self.diagonals[0] + y * self.diagonals[1]
        growth = diagonal[:k] - diagonal[k:, None]
        if growth.min() <= 0:
            return None
        hollow = x * self.hollow[0] + y * self.hollow[1]
        left, right, share = hollow[:, :k], hollow[:, k:], 1.0 / growth
        X, before = self.latest, math.inf
        for _ in range(_ITERATIONS):
            image = left + right @ X
            new: FloatArray = (image[k:] - X @ image[:k]) * share
            X, step = new, new - X
            change = float(np.vdot(step, step))
            # What is still to come is less than this step times the rate.
            if change <= (1e-16 / _SLOW) ** 2:
                self.latest = X
                return X
            # Rounding ends the progress of what has converged.
            if not change <= _SLOW**2 * before:
                return X if change <= 1e-28 else None
            before = change
        return None


class Place(NamedTuple):
    """A point of the curve: its angle, its errors, and where its subspace is to be had."""

    angle: float
    errors: Point
    anchor: _Anchor
    graph: FloatArray

    @property
    def subspace(self) -> FloatArray:
        """Orthonormal columns."""
        basis = np.vstack([np.eye(self.graph.shape[1]), self.graph])
        reflectors, factors, _, _ = dgeqrf(basis)
        return np.asarray(self.anchor.vectors @ dorgqr(reflectors, factors)[0])


class Curve:
    """The boundary of the errors that two groups attain, as far as it has been followed.

    It does not depend on the fairness weight or the radius and may serve many objectives.

    Parameters
    ----------
    problem : SubspaceProblem
        A problem of two groups.
    """

    def __init__(self, problem: SubspaceProblem) -> None:
        self.problem = problem
        self.anchored: list[Place] = []
        self._latest: Place | None = None
        self._identity = np.eye(problem.k)

    def at(self, angle: float) -> Place:
        """Find the point of the curve at an angle, by an eigen-solve where it must be.

        Parameters
        ----------
        angle : float
            Angle of the inner normal.

        Returns
        -------
        Place
            The point.
        """
        if self._latest is not None and self._latest.angle == angle:
            return self._latest
        nearest = min(self.anchored, key=lambda known: abs(known.angle - angle), default=None)
        X = None if nearest is None else nearest.anchor.graph(angle)
        if nearest is None or X is None:
            anchor = _Anchor(self.problem, angle)
            self._latest = Place(angle, self._errors(anchor, anchor.latest), anchor, anchor.latest)
            self.anchored.append(self._latest)
        else:
            anchor = nearest.anchor
            self._latest = Place(angle, self._errors(anchor, X), anchor, X)
        return self._latest

    def _errors(self, anchor: _Anchor, X: FloatArray) -> Point:
        basis = np.concatenate([self._identity, X])
        inner = basis.T @ (anchor.moments @ basis)
        _, inverse, _ = dposv(basis.T @ basis, self._identity)
        kept = inner.reshape(2, -1) @ inverse.ravel()
        first, second = self.problem.lost(kept).tolist()
        return first, second


def follow(curve: Curve, objective: RobustFairObjective, start: float) -> Place | None:
    """Find the minimiser of an objective on the curve.

    Parameters
    ----------
    curve : Curve
        The curve.
    objective : RobustFairObjective
        An objective of two groups.
    start : float
        An angle near the minimiser's; the nearer, the faster.

    Returns
    -------
    Place or None
        Where the objective is stationary to rounding; None where the curve has a corner or an error
        is 0, which need more care.
    """
    pieces = TwoPieces(objective)
    place = curve.at(start)
    if min(place.errors) <= 0:
        return None
    # Gradients hardly turn with the errors, so that their angles are good guesses.
    first, last = (pieces.gradient_angle(a, place.errors) for a in (0, 1))
    piece = pieces.active(place.errors)
    close = abs(pieces.ridge(place.errors)) <= _CLOSE_TO_RIDGE * pieces.size(place.errors)
    if objective.fairness_weight > 0 and close and first < start < last:
        near = curve.at(start + (_NUDGE if piece else -_NUDGE))
        rise = pieces.ridge(near.errors) - pieces.ridge(place.errors)
        guess = start - pieces.ridge(place.errors) * (near.angle - start) / (rise or 1e-300)
        if first < guess < last:
            ridge = _ridge(curve, pieces, place, near)
            if ridge is None or _between_gradients(pieces, ridge):
                return ridge
    smooth = _stationary(curve, pieces, piece, place)
    if smooth is None or objective.fairness_weight == 0 or pieces.active(smooth.errors) == piece:
        return smooth
    ridge = _ridge(curve, pieces, place, smooth)
    if ridge is None or _between_gradients(pieces, ridge):
        return ridge
    return _stationary(curve, pieces, 1 - piece, ridge)


def _between_gradients(pieces: TwoPieces, place: Place) -> bool:
    """Whether some mixture of both gradients is normal to the curve."""
    first, last = (pieces.gradient_angle(a, place.errors) for a in (0, 1))
    return first <= place.angle <= last


def _stationary(curve: Curve, pieces: TwoPieces, piece: int, place: Place) -> Place | None:
    """Where a piece is stationary: its gradient has the angle of the normal."""

    def off(at: Place) -> float:
        return pieces.gradient_angle(piece, at.errors) - at.angle

    return _secant(curve, off, place, curve.at(place.angle + off(place)))


def _ridge(curve: Curve, pieces: TwoPieces, first: Place, last: Place) -> Place | None:
    """Where both pieces are equal."""
    scale = pieces.size(first.errors) or 1.0
    return _secant(curve, lambda at: pieces.ridge(at.errors) / scale, first, last)


def _secant(curve: Curve, off: Callable[[Place], float], first: Place, last: Place) -> Place | None:
    """Find the root of a smooth function of places; None if it is not found to rounding."""
    left, right = off(first), off(last)
    bracket = [first.angle, last.angle] if left * right < 0 else None
    if abs(left) < abs(right):
        first, left, last, right = last, right, first, left
    for _ in range(_STEPS):
        if min(last.errors) <= 0:
            return None
        if abs(right) <= _EXACT or abs(last.angle - first.angle) <= _CLOSE:
            break
        angle = last.angle - right * (last.angle - first.angle) / ((right - left) or 1e-300)
        if bracket is not None and not min(bracket) < angle < max(bracket):
            angle = 0.5 * (bracket[0] + bracket[1])
        elif not abs(angle - last.angle) <= _FAR:
            return None
        new = curve.at(angle)
        value = off(new)
        # Rounding ends the progress of what has converged.
        if abs(value) >= abs(right) and abs(right) <= _FOUND:
            break
        if bracket is not None or value * right < 0:
            kept = last.angle if value * right < 0 else _other_end(bracket, last.angle)
            bracket = [kept, angle]
        first, left, last, right = last, right, new, value
    return last if abs(right) <= _FOUND else None


def _other_end(bracket: list[float] | None, angle: float) -> float:
    """The end of a bracket that is not this one."""
    assert bracket is not None
    return bracket[0] if bracket[1] == angle else bracket[1]
