"""Where the sliders of a report can stand, and what the objective is at all of these settings.

The objective of two groups is written here for all settings at once; the tests hold it against
:class:`fairspan.objectives.robust.RobustFairObjective`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fairspan.ground.types import FloatArray, IntArray
from fairspan.moments.group_moments import GroupMoments

_FINE_WEIGHTS = (0.01, 100.0, 61)
_COARSE_WEIGHTS = (0.1, 0.25, 0.5, 1.0, 2.0, 5.0)
_FINE_RADII, _COARSE_RADII = 25, 3
"""Fine stops where the page solves by itself, coarse ones where each has been solved before."""
_LARGEST_RADIUS = 0.03
"""The largest radius of a group, as a share of the total variance."""
_SMALLEST_RADIUS = 1e-4
"""The smallest positive stop, as a share of the largest."""


@dataclass(frozen=True)
class Settings:
    """All combinations of fairness weights and radii that the sliders offer.

    Attributes
    ----------
    weights, radii : list of float
        Stops, from 0 up.
    shares : ndarray of shape (n_groups,)
        Shares of the groups.
    sizes : ndarray of shape (n_groups,)
        Sizes of the groups, which set their radii.
    every : int
        Of all combinations only every so many are looked at.
    """

    weights: list[float]
    radii: list[float]
    shares: FloatArray
    sizes: FloatArray
    every: int = 1

    @classmethod
    def around(
        cls, moments: GroupMoments, fairness_weight: float, radius: float, variance: float
    ) -> Settings:
        """Choose stops that include the given setting.

        Parameters
        ----------
        moments : GroupMoments
            Moments of the data.
        fairness_weight, radius : float
            The setting of the report.
        variance : float
            Total variance, in the units of the projection.

        Returns
        -------
        Settings
            Many stops for two groups, few for more.
        """
        top = _LARGEST_RADIUS * variance * float(np.sqrt(moments.weights.min()))
        top = max(top, 2 * radius)
        fine = moments.n_groups == 2
        weights = np.geomspace(*_FINE_WEIGHTS) if fine else np.array(_COARSE_WEIGHTS)
        if fine:
            radii = np.geomspace(_SMALLEST_RADIUS * top, top, _FINE_RADII)
        else:
            radii = np.geomspace(0.01 * top, top, _COARSE_RADII)
        return cls(
            weights=_stops(weights, fairness_weight),
            radii=_stops(radii, radius),
            shares=moments.shares,
            sizes=moments.weights,
        )

    @cached_property
    def all_weights(self) -> FloatArray:
        """Fairness weight of each combination."""
        return np.repeat(self.weights, len(self.radii))[:: self.every]

    @cached_property
    def all_group_radii(self) -> FloatArray:
        """Radius of each group in each combination, (n_combinations, n_groups)."""
        radii = np.tile(self.radii, len(self.weights))[:: self.every]
        return np.asarray(radii[:, None] / np.sqrt(self.sizes))

    def both_pieces(self, m: FloatArray, which: IntArray | None = None) -> FloatArray:
        """Give J_0 and J_1 of two groups.

        Parameters
        ----------
        m : ndarray of shape (n_points, 2), or of shape (n, 2) with ``which``
            Pairs of group errors.
        which : ndarray of shape (n,), optional
            One combination for each pair, instead of all for all.

        Returns
        -------
        ndarray of shape (2, n_combinations, n_points), or (2, n) with ``which``
            The pieces.
        """
        weight, radii = self.all_weights, self.all_group_radii
        if which is None:
            weight, radii = weight[:, None], radii[:, None, :]
        else:
            weight, radii = weight[which], radii[which]
        root, edge = np.sqrt(np.maximum(m, 0.0)), np.sqrt(radii)
        high = (root + edge) ** 2
        low = np.maximum(root - edge, 0.0) ** 2
        parts = []
        for up, down in ((0, 1), (1, 0)):
            less = self.shares[down] - weight
            counted = np.where(less >= 0, high[..., down], low[..., down])
            parts.append((self.shares[up] + weight) * high[..., up] + less * counted)
        return np.array(parts)


def _stops(values: FloatArray, given: float) -> list[float]:
    rounded = {float(f"{value:.2g}") for value in values.tolist()}
    return sorted({0.0, given} | rounded)
