"""Mixtures of the objective's pieces: the multipliers of a minimax problem over pairs of groups.

A mixture with weights w on pairs (a, b) is h = sum w_ab J_ab, a separable concave function that
never exceeds the objective. Only its row sums r_a and column sums z_b matter:

    h(m) = c + sum_b A_b φ_b(m_b) - B_b ψ_b(m_b),
    A_b = p_b + λ r_b - min(p_b, λ) z_b >= 0,   B_b = max(λ - p_b, 0) z_b >= 0

(for the gap; z counts nothing where no group is counted down), c what references add.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairspan.ground.types import FloatArray
from fairspan.objectives.robust import Pair, RobustFairObjective

Pieces = tuple[tuple[Pair, float], ...]
"""Pairs of groups and the weights of their pieces."""


@dataclass(frozen=True)
class Mixture:
    """A mixture of pieces, by its two coefficients for each group and a constant.

    Where it is known, which pieces it is made of and their weights.
    """

    objective: RobustFairObjective
    above: FloatArray
    below: FloatArray
    constant: float = 0.0
    pieces: Pieces = ()

    @classmethod
    def of_pairs(
        cls, objective: RobustFairObjective, pairs: list[Pair], weights: FloatArray
    ) -> Mixture:
        """Mix pieces with weights that sum to 1."""
        rows, columns = np.zeros(objective.n_groups), np.zeros(objective.n_groups)
        for (a, b), weight in zip(pairs, weights.tolist(), strict=True):
            rows[a] += weight
            columns[b] += weight
        c = objective.counting
        above = np.maximum(objective.shares + c.up * rows - c.down_worst * columns, 0.0)
        constant = float(rows @ c.up_constant - columns @ c.down_constant)
        used = tuple((p, w) for p, w in zip(pairs, weights.tolist(), strict=True) if w > 0)
        return cls(objective, above, c.down_best * columns, constant, used)

    @property
    def gross(self) -> Mixture:
        """The same without cancellation, never smaller: what rounding is measured by."""
        c = self.objective.counting
        constant = float(np.abs(c.up_constant).max() + np.abs(c.down_constant).max())
        return Mixture(self.objective, self.above, -self.below, constant)

    def terms(self, m: FloatArray) -> FloatArray:
        """Each group's part of h(m)."""
        root, edge = np.sqrt(m), np.sqrt(self.objective.radii)
        fall = np.maximum(root - edge, 0.0) ** 2
        return np.asarray(self.above * (root + edge) ** 2 - self.below * fall)

    def value(self, m: FloatArray) -> float:
        """Value h(m)."""
        return float(self.terms(m).sum()) + self.constant

    def slopes(self, m: FloatArray) -> FloatArray:
        """Gradient of h at positive errors."""
        ratio = np.sqrt(self.objective.radii / m)
        return np.asarray(self.above * (1 + ratio) - self.below * np.maximum(1 - ratio, 0.0))

    def curvatures(self, m: FloatArray) -> FloatArray:
        """Second derivatives of h at positive errors, none of them positive."""
        radii = self.objective.radii
        bend = 0.5 * np.sqrt(radii) * m**-1.5
        return np.asarray(-bend * (self.above + np.where(m > radii, self.below, 0.0)))

    def chords(self, lower: FloatArray, upper: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Intercepts and slopes of each group's chord between two errors, the constant apart.

        The parts are concave: between the two errors they are never below their chords.
        """
        start, end, width = self.terms(lower), self.terms(upper), upper - lower
        slopes = np.where(width > 0, end - start, 0.0) / np.where(width > 0, width, 1.0)
        return start - slopes * lower, slopes
