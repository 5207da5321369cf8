"""Where the sliders of a report can be set, and what the objective is at all of these settings.

The objective of two groups is written here for all settings at once; the tests hold it against
:class:`fairspan.objectives.robust.RobustFairObjective`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from fairspan.ground.types import FloatArray, IntArray
from fairspan.moments.group_moments import GroupMoments
from fairspan.objectives.counting import references_of
from fairspan.words import TEMPLATES

_FINE_WEIGHTS = (0.01, 100.0, 61)
_COARSE_WEIGHTS = (0.1, 0.25, 0.5, 1.0, 2.0, 5.0)
_FINE_RADII, _COARSE_RADII = 25, 3
"""Fine stops where the page solves on its own, coarse ones where each has been solved before."""
_LARGEST_RADIUS = 0.03
"""The largest radius of a group, as a share of the total variance."""
_SMALLEST_RADIUS = 1e-4
"""The smallest positive stop, as a share of the largest."""


class Notion(NamedTuple):
    """What the fairness weight counts: the disparity, and what errors are compared with."""

    disparity: str = "gap"
    reference: str | Mapping[Any, float] = "none"

    @property
    def name(self) -> str:
        """What the page's switch calls it."""
        what = {"gap": "gap between errors", "largest": "largest error"}[self.disparity]
        if self.reference == "none":
            return what
        return f"{what} above {TEMPLATES['each own' if self.reference == 'own' else 'each given']}"

    @property
    def code(self) -> str:
        """The arguments that choose it, as Python; none where they are the defaults."""
        plain = Notion()
        chosen = {
            name: value for name, value in self._asdict().items() if value != getattr(plain, name)
        }
        return "".join(f"\n    {name}={_repr(value)}," for name, value in chosen.items())


NOTIONS = (Notion(), Notion("largest"), Notion("largest", "own"))
"""What the page's switch offers in any case, the paper's first."""


@dataclass(frozen=True)
class Settings:
    """All combinations of notions, fairness weights and radii that the page offers.

    Attributes
    ----------
    weights, radii : list of float
        Stops, from 0 up.
    shares : ndarray of shape (n_groups,)
        Shares of the groups.
    sizes : ndarray of shape (n_groups,)
        Sizes of the groups, which set their radii.
    labels : tuple
        The groups.
    notions : tuple of Notion
        What the switch offers.
    own : ndarray of shape (n_groups,) or None
        Each group's own best error, for the number of components in question.
    every : int
        Only one of this many combinations is looked at.
    """

    weights: list[float]
    radii: list[float]
    shares: FloatArray
    sizes: FloatArray
    labels: tuple[Any, ...] = ()
    notions: tuple[Notion, ...] = NOTIONS
    own: FloatArray | None = None
    every: int = 1

    @classmethod
    def around(
        cls,
        moments: GroupMoments,
        fairness_weight: float,
        radius: float,
        variance: float,
        notion: Notion = NOTIONS[0],
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
        notion : Notion
            That of the report.

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
            labels=moments.labels,
            notions=NOTIONS if notion in NOTIONS else (*NOTIONS, notion),
        )

    @cached_property
    def all_weights(self) -> FloatArray:
        """Fairness weight of each combination."""
        weights = np.repeat(self.weights, len(self.radii))
        return np.tile(weights, len(self.notions))[:: self.every]

    @cached_property
    def all_group_radii(self) -> FloatArray:
        """Radius of each group in each combination, (n_combinations, n_groups)."""
        radii = np.tile(self.radii, len(self.notions) * len(self.weights))[:: self.every]
        return np.asarray(radii[:, None] / np.sqrt(self.sizes))

    @cached_property
    def all_lowered(self) -> FloatArray:
        """How much of the other group's error is taken away in each combination."""
        kept = np.array([notion.disparity == "gap" for notion in self.notions], dtype=float)
        each = np.repeat(kept, len(self.weights) * len(self.radii))[:: self.every]
        return np.asarray(self.all_weights * each)

    @cached_property
    def all_references(self) -> FloatArray:
        """Fairness weight times the reference of each group in each combination."""
        found, own = [], np.zeros_like(self.shares) if self.own is None else self.own
        for notion in self.notions:
            for radius in self.radii:
                radii = radius / np.sqrt(self.sizes)
                r = references_of(notion.reference, self.labels, radii, own)
                found.append(np.zeros_like(own) if r is None else r)
        by_notion = np.array(found).reshape(len(self.notions), 1, len(self.radii), -1)
        every = np.repeat(by_notion, len(self.weights), axis=1).reshape(-1, len(own))
        return np.asarray(self.all_weights[:, None] * every[:: self.every])

    @cached_property
    def all_offsets(self) -> FloatArray:
        """Without references the objective is at least this much larger, in each combination."""
        r = self.all_references
        least = r.min(axis=1)
        return np.asarray(np.where(self.all_lowered > 0, least - r.max(axis=1), least))

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
        weight, lowered = self.all_weights, self.all_lowered
        radii, beyond = self.all_group_radii, self.all_references
        if which is None:
            weight, lowered = weight[:, None], lowered[:, None]
            radii, beyond = radii[:, None, :], beyond[:, None, :]
        else:
            weight, lowered, radii, beyond = (x[which] for x in (weight, lowered, radii, beyond))
        taken = (lowered > 0)[..., None] * beyond
        root, edge = np.sqrt(np.maximum(m, 0.0)), np.sqrt(radii)
        high = (root + edge) ** 2
        low = np.maximum(root - edge, 0.0) ** 2
        parts = []
        for up, down in ((0, 1), (1, 0)):
            less = self.shares[down] - lowered
            counted = np.where(less >= 0, high[..., down], low[..., down])
            constant = taken[..., down] - beyond[..., up]
            parts.append((self.shares[up] + weight) * high[..., up] + less * counted + constant)
        return np.array(parts)


def _repr(value: str | Mapping[Any, float]) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(dict(value))


def _stops(values: FloatArray, given: float) -> list[float]:
    rounded = {float(f"{value:.2g}") for value in values.tolist()}
    return sorted({0.0, given} | rounded)
