"""The local minimax model of a Newton step: linearised pieces, one Hessian, weights on pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairspan.ground.types import FloatArray
from fairspan.objectives.robust import Pair, RobustFairObjective, largest_difference
from fairspan.solvers.many_groups.simplex import simplex_quadratic


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

    def best_pair(self, dm: FloatArray) -> Pair:
        """The pair whose linearised piece is largest after a change of the errors."""
        if len(dm) == 1 or self.objective.fairness_weight == 0:
            return (0, 0)
        a, b = largest_difference(self.up + self.up_slope * dm, self.down + self.down_slope * dm)
        return int(a), int(b)

    def piece(self, pair: Pair) -> float:
        """Value of a piece at the point of linearisation."""
        a, b = pair
        return self.base if a == b else float(self.base + self.up[a] - self.down[b])

    def slope(self, pair: Pair) -> FloatArray:
        """Gradient of a piece."""
        a, b = pair
        slope = self.base_slope.copy()
        if a != b:
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
class Step:
    """Solution of the minimax model: pairs, their weights, the slope and the model's value."""

    pairs: list[Pair]
    weights: FloatArray
    slope: FloatArray
    value: float


def minimax_step(
    model: LinearModel, inverse: FloatArray, pairs: list[Pair], weights: FloatArray
) -> Step:
    """Minimise max over pairs of J + slope . dm + dm' inverse^-1 dm / 2, by its dual.

    The dual maximises w . J - (S w)' inverse (S w) / 2 over weights w of pairs; an active-set
    method takes in the pair that is largest at the current answer until none is left out.

    Parameters
    ----------
    model : LinearModel
        The pieces.
    inverse : ndarray of shape (n_groups, n_groups)
        Inverse Hessian in the space of errors, positive semidefinite.
    pairs : list of pairs
        Pairs to begin with, each once.
    weights : ndarray of shape (n_pairs,)
        Their weights to begin with, which sum to 1.

    Returns
    -------
    Step
        Weights and the slope they give; the step is dm = -inverse @ slope.
    """
    values = np.array([model.piece(pair) for pair in pairs])
    slopes = np.array([model.slope(pair) for pair in pairs])
    for _ in range(50):
        weights = simplex_quadratic(values, slopes @ inverse @ slopes.T, weights)
        slope = weights @ slopes
        dm = -inverse @ slope
        level = float(weights @ values) + float(slope @ dm)
        best = model.best_pair(dm)
        excess = model.piece(best) + float(model.slope(best) @ dm) - level
        if best in pairs or excess <= 1e-14 * max(abs(level), abs(model.base)):
            break
        pairs, weights = [*pairs, best], np.append(weights, 0.0)
        values = np.append(values, model.piece(best))
        slopes = np.vstack([slopes, model.slope(best)])
    used = np.flatnonzero(weights)
    return Step(
        [pairs[i] for i in used], weights[used], slope, level + 0.5 * float(slope @ inverse @ slope)
    )
