"""Objectives that are much alike: answers to some of them predict the others."""

from __future__ import annotations

from bisect import bisect, insort
from dataclasses import replace

import numpy as np

from fairspan.ground.types import FloatArray
from fairspan.objectives.mixture import Pieces
from fairspan.objectives.robust import Pair, RobustFairObjective
from fairspan.solvers.options import SolverOptions
from fairspan.solvers.result import SolverResult

_Known = tuple[float, SolverResult]
_ORDER = 3
"""Answers that are extrapolated from: where the same pieces meet, all moves smoothly."""
_FAR = 1.5
"""No further than this many times the distance between the last two of them."""


class Neighbours:
    """Answers to objectives of one problem that differ in fairness weight and radius."""

    def __init__(self) -> None:
        self._weights: list[float] = []
        self._known: dict[float, _Known] = {}
        self._last: dict[bytes, list[_Known]] = {}

    def learn(self, objective: RobustFairObjective, found: SolverResult) -> None:
        """Take in an answer."""
        weight = objective.fairness_weight
        known = (weight, found)
        if weight not in self._known:
            insort(self._weights, weight)
        self._known[weight] = known
        last = self._last.get(objective.radii.tobytes(), [])
        self._last[objective.radii.tobytes()] = [known, *last[: _ORDER - 1]]

    def options(self, base: SolverOptions, objective: RobustFairObjective) -> SolverOptions:
        """Give options with a start near the answer: the last one to the nearest fairness weight.

        The radius moves minimisers less. Where answers with the same radii lead there, what they
        predict of the slopes is given, too.

        Parameters
        ----------
        base : SolverOptions
            All other options.
        objective : RobustFairObjective
            What is to be minimised.

        Returns
        -------
        SolverOptions
            The same where nothing is known yet.
        """
        weight = objective.fairness_weight
        if not self._weights:
            return base
        place = bisect(self._weights, weight)
        beside = self._weights[max(place - 1, 0) : place + 1]
        nearest = self._known[min(beside, key=lambda known: abs(known - weight))]
        slope, pieces = None, nearest[1].pieces
        line = _smooth(self._last.get(objective.radii.tobytes(), []), weight)
        if line and line[0] is nearest:
            slope, pieces = _extrapolated(line, weight)
        return replace(base, start=nearest[1].components.T, pieces=pieces, slope=slope)


def _smooth(last: list[_Known], weight: float) -> list[_Known]:
    """Choose the last answers at which the same pieces meet, if they lead to a weight."""
    pairs = [_pairs(found) for _, found in last]
    other = next((i for i, some in enumerate(pairs) if some != pairs[0]), len(last))
    line = last[:other]
    if len(line) < 2 or not pairs[0] or any(found.bound_weights is None for _, found in line):
        return []
    first, step = line[0][0], abs(line[1][0] - line[0][0])
    places = {place for place, _ in line} | {weight}
    is_near = len(places) == len(line) + 1 and abs(weight - first) <= _FAR * step
    return line if is_near else []


def _pairs(found: SolverResult) -> list[Pair]:
    return [pair for pair, _ in found.pieces]


def _extrapolated(line: list[_Known], weight: float) -> tuple[FloatArray | None, Pieces]:
    """Follow a polynomial through slopes and weights of pieces."""
    places = [place for place, _ in line]
    shares = np.array([_basis(places, i, weight) for i in range(len(line))])
    slope = shares @ np.array([found.bound_weights for _, found in line])
    weights = shares @ np.array([[w for _, w in found.pieces] for _, found in line])
    weights = np.maximum(weights, 0.0)
    return slope, tuple(zip(_pairs(line[0][1]), (weights / weights.sum()).tolist(), strict=True))


def _basis(places: list[float], i: int, at: float) -> float:
    """Lagrange's polynomial that is 1 at one place and 0 at the others."""
    others = (other for j, other in enumerate(places) if j != i)
    return float(np.prod([(at - other) / (places[i] - other) for other in others]))
