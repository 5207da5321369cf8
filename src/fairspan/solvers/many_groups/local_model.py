"""The local minimax model of a Newton step: linear pieces, one Hessian, weights on pieces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np

from fairspan.ground.types import FloatArray
from fairspan.objectives.robust import Pair, RobustFairObjective
from fairspan.solvers.many_groups.simplex import simplex_quadratic

Piece = TypeVar("Piece")

_RIDGE = 1e-13
"""A piece that exceeds the others by no more than this share is as large: so are weights known."""


class Model(Protocol[Piece]):
    """Linear functions of a change of the errors, of which the largest counts."""

    @property
    def base(self) -> float:
        """The size of values, against which they are rounded."""

    def largest(self, dm: FloatArray) -> Piece:
        """The piece that is largest after a change of the errors."""

    def piece(self, piece: Piece) -> float:
        """Value of a piece before the change."""

    def slope(self, piece: Piece) -> FloatArray:
        """Gradient of a piece."""


@dataclass
class LinearModel:
    """All pieces, linearised at given errors: J_ab + slope . dm."""

    objective: RobustFairObjective
    base: float
    up: FloatArray
    down: FloatArray
    base_slope: FloatArray
    up_slope: FloatArray
    down_slope: FloatArray

    @classmethod
    def at(cls, objective: RobustFairObjective, m: FloatArray) -> LinearModel:
        """Linearise at positive errors."""
        base, up, down = objective.parts(m)
        ratio = np.sqrt(objective.radii / m)
        slopes = objective.split(1 + ratio, np.maximum(1 - ratio, 0.0))
        return cls(objective, float(base.sum()), up, down, *slopes)

    @property
    def value(self) -> float:
        """The objective at the point of linearisation."""
        a, b = self.objective.largest_pair(self.up, self.down)
        return self.base + float(self.up[a] - self.down[b])

    def largest(self, dm: FloatArray) -> Pair:
        """The pair whose linearised piece is largest after a change of the errors."""
        if len(dm) == 1 or self.objective.fairness_weight == 0:
            return (0, 0)
        up, down = self.up + self.up_slope * dm, self.down + self.down_slope * dm
        a, b = self.objective.largest_pair(up, down)
        return int(a), int(b)

    def piece(self, pair: Pair) -> float:
        """Value of a piece at the point of linearisation."""
        a, b = pair
        return float(self.base + self.up[a] - self.down[b])

    def slope(self, pair: Pair) -> FloatArray:
        """Gradient of a piece."""
        a, b = pair
        slope = self.base_slope.copy()
        slope[a] += self.up_slope[a]
        slope[b] -= self.down_slope[b]
        return slope

    def corrected(self, m: FloatArray, dm: FloatArray) -> LinearModel:
        """The same slopes through the values attained after a step (second-order correction)."""
        base, up, down = self.objective.parts(m)
        return LinearModel(
            self.objective,
            float(base.sum() - self.base_slope @ dm),
            up - self.up_slope * dm,
            down - self.down_slope * dm,
            self.base_slope,
            self.up_slope,
            self.down_slope,
        )


@dataclass(frozen=True)
class Step(Generic[Piece]):
    """Solution of the minimax model: pieces, their weights, the slope and the model's value."""

    pieces: list[Piece]
    weights: FloatArray
    slope: FloatArray
    value: float


def minimax_step(
    model: Model[Piece],
    inverse: FloatArray,
    pieces: list[Piece],
    weights: FloatArray,
    *,
    accuracy: float = 0.0,
) -> Step[Piece]:
    """Minimise max over pieces of J + slope . dm + dm' inverse^-1 dm / 2, by its dual.

    The dual maximises w . J - (S w)' inverse (S w) / 2 over weights w of pieces; an active-set
    method takes in the piece that is largest at the current answer until none is left out.

    Parameters
    ----------
    model : Model
        The pieces.
    inverse : ndarray of shape (n_groups, n_groups)
        Inverse Hessian in the space of errors, positive semidefinite.
    pieces : list
        Pieces to begin with, each once.
    weights : ndarray of shape (n_pieces,)
        Their weights to begin with, which sum to 1.
    accuracy : float
        The share of the decrease by which a piece that is left out may exceed the others.

    Returns
    -------
    Step
        Weights and the slope they give; the step is dm = -inverse @ slope.
    """
    values = [model.piece(piece) for piece in pieces]
    slopes = np.array([model.slope(piece) for piece in pieces])
    images = slopes @ inverse
    quadratic = images @ slopes.T
    begun = len(pieces)
    for _ in range(50):
        weights = simplex_quadratic(np.array(values), quadratic, weights)
        slope = weights @ slopes
        dm = -(weights @ images)
        level = float(weights @ values) + float(slope @ dm)
        best = model.largest(dm)
        if best in pieces:
            break
        value, steep = model.piece(best), model.slope(best)
        excess = value + float(steep @ dm) - level
        least = max(_RIDGE * max(abs(level), abs(model.base)), accuracy * (model.base - level))
        # A piece that was taken in and is not used leaves the answer as it is.
        idle = accuracy > 0 and len(pieces) > begun and weights[-1] == 0
        if excess <= least or idle:
            break
        pieces, weights = [*pieces, best], np.concatenate([weights, [0.0]])
        values = [*values, value]
        slopes = np.concatenate([slopes, steep[None]])
        # With many groups the products are dear: only those of the new piece are made.
        images = np.concatenate([images, (steep @ inverse)[None]])
        known, quadratic = quadratic, np.empty((len(slopes), len(slopes)))
        quadratic[:-1, :-1] = known
        quadratic[-1] = quadratic[:, -1] = slopes @ images[-1]
    used = np.flatnonzero(weights).tolist()
    value = level - 0.5 * float(slope @ dm)
    return Step([pieces[i] for i in used], weights[used], slope, value)
