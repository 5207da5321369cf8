"""Objectives that are much alike: answers to some of them predict the others."""

from __future__ import annotations

import math
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
_FAR = 2.0
"""No further than this many times the distance between the last two of them."""


class Neighbours:
    """Answers to objectives of one problem that differ in fairness weight and radius."""

    def __init__(self) -> None:
        self._weights: list[float] = []
        self._known: dict[float, dict[bytes, SolverResult]] = {}
        self._last: dict[bytes, list[_Known]] = {}

    def learn(self, objective: RobustFairObjective, found: SolverResult) -> None:
        """Take in an answer."""
        weight, radii = objective.fairness_weight, objective.radii.tobytes()
        if weight not in self._known:
            insort(self._weights, weight)
        # The last answer to a weight comes last.
        others = {r: other for r, other in self._known.get(weight, {}).items() if r != radii}
        self._known[weight] = others | {radii: found}
        self._last[radii] = [(weight, found), *self._last.get(radii, [])[: _ORDER - 1]]

    def options(self, base: SolverOptions, objective: RobustFairObjective) -> SolverOptions:
        """Give options with a start near the answer: the last one to the nearest fairness weight.

        The radius moves minimisers less. Where other answers lead there, what they predict of the
        slopes is given, too.

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
        weight, radii = objective.fairness_weight, objective.radii.tobytes()
        if not self._weights:
            return base
        place = bisect(self._weights, weight)
        beside = self._weights[max(place - 1, 0) : place + 1]
        at = min(beside, key=lambda known: abs(known - weight))
        other, nearest = next(reversed(self._known[at].items()))
        last = self._last.get(radii, [])
        line = _smooth(last, weight)
        parts: list[tuple[float, SolverResult]] = []
        if line and line[0][1] is nearest:
            places = [place for place, _ in line]
            parts = [(_basis(places, i, weight), found) for i, (_, found) in enumerate(line)]
        elif at == weight and last and other in self._known[last[0][0]]:
            # What another radius changed at the weight before, it will change here.
            before = self._known[last[0][0]][other]
            parts = [(1.0, nearest), (1.0, last[0][1]), (-1.0, before)]
        slope, pieces = _combined(parts) or (None, nearest.pieces)
        return replace(base, start=nearest.components.T, pieces=pieces, slope=slope)


def _smooth(last: list[_Known], weight: float) -> list[_Known]:
    """Choose the last answers at which the same pieces meet, if they lead to a weight."""
    pairs = [_pairs(found) for _, found in last]
    other = next((i for i, some in enumerate(pairs) if some != pairs[0]), len(last))
    line = last[:other]
    if len(line) < 2:
        return []
    first, step = line[0][0], abs(line[1][0] - line[0][0])
    places = {place for place, _ in line} | {weight}
    is_near = len(places) == len(line) + 1 and abs(weight - first) <= _FAR * step
    return line if is_near else []


def _pairs(found: SolverResult) -> list[Pair]:
    return [pair for pair, _ in found.pieces]


def _combined(parts: list[tuple[float, SolverResult]]) -> tuple[FloatArray, Pieces] | None:
    """Combine slopes and weights of pieces, where all answers have them and the same pieces."""
    slope: FloatArray | float = 0.0
    weights: dict[Pair, float] = {}
    for share, found in parts:
        if found.bound_weights is None or not found.pieces:
            return None
        slope = slope + share * found.bound_weights
        for pair, weight in found.pieces:
            weights[pair] = weights.get(pair, 0.0) + share * weight
    used = [(pair, weight) for pair, weight in weights.items() if weight > 1e-12]
    total = sum(weight for _, weight in used)
    if not used:
        return None
    return np.asarray(slope), tuple((pair, weight / total) for pair, weight in used)


def _basis(places: list[float], i: int, at: float) -> float:
    """Lagrange's polynomial that is 1 at one place and 0 at the others."""
    others = (other for j, other in enumerate(places) if j != i)
    return math.prod((at - other) / (places[i] - other) for other in others)
