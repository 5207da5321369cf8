"""The least largest loss: minimise over subspaces the largest of the group errors less offsets.

A game between a subspace, which wants the largest loss small, and weights on the groups, which
want the weighted loss large. For weights w one eigen-solve gives the best reply of the subspace,

    h(w) = min over subspaces of w . (m - b),

a concave function whose value bounds the game from below for every subspace, and whose slope is
the vector of losses of the reply. With two groups the best weights are found on a line; where
the eigengap closes there, replies on both sides differ, and the path between them holds a subspace
with equal losses. With more groups it is one more convex, increasing objective.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from fairspan.ground.types import FloatArray
from fairspan.objectives.largest_loss import LargestLoss
from fairspan.problem.subspace import SubspaceProblem
from fairspan.solvers.cutting_planes.search import solve_cutting_planes
from fairspan.solvers.result import SMALLEST_LOSS, SolverResult, relative_gap, safe_bound
from fairspan.solvers.two_groups.lines import Geodesic, root_between

_SLIDE_BELOW = 1e-5
"""From this relative gap of the weights on, subspaces between two replies are worth a look."""
_SLOW = 0.25
"""A step that leaves more than this share of the gap has not used the curve's shape well."""


def solve_least_loss(
    problem: SubspaceProblem, objective: LargestLoss, *, tol: float = 1e-9, max_iter: int = 1000
) -> SolverResult:
    """Minimise the largest loss of any number of groups, with proof.

    Parameters
    ----------
    problem : SubspaceProblem
        Moments and number of components.
    objective : LargestLoss
        What losses are measured against.
    tol : float
        The relative gap to reach; of a loss that vanishes beside the total variance, relative to a
        ten-thousandth of the latter.
    max_iter : int
        The largest number of eigen-solves.

    Returns
    -------
    SolverResult
        The best subspace and the best bound.
    """
    if problem.n_groups > 2:
        found = solve_cutting_planes(
            problem, objective, tol=tol, max_iter=max_iter, smallest=SMALLEST_LOSS
        )
        return replace(found, solver="exact")
    solves_before = problem.n_eigensolves
    game = LossGame(problem, objective)
    if problem.n_groups == 2:
        solve_two_groups(game, tol=tol, max_iter=max_iter)
    solves = problem.n_eigensolves - solves_before
    return replace(game.result(game.subspace, tol), solver="exact", n_eigensolves=solves)


class Reply(NamedTuple):
    """The best subspace against some weights: its losses and the proved value h(w)."""

    weights: FloatArray
    subspace: FloatArray
    losses: FloatArray
    value: float


class LossGame:
    """Subspaces against weights of groups, and the best that both have found so far.

    Parameters
    ----------
    problem : SubspaceProblem
        Moments and number of components.
    objective : LargestLoss
        What losses are measured against.

    Attributes
    ----------
    replies : list of Reply
        The best reply to all weight on one group, for each group.
    subspace : ndarray of shape (d, k)
        The best subspace found.
    losses : ndarray of shape (n_groups,)
        Its losses.
    value, bound : float
        Its largest loss, and what is proved for every subspace.
    weights : ndarray of shape (n_groups,)
        The weights whose best reply proves most.
    """

    def __init__(self, problem: SubspaceProblem, objective: LargestLoss) -> None:
        self.problem, self.objective = problem, objective
        self.offsets, self.scale = objective.offsets, problem.scale
        self.value, self.bound = math.inf, objective.lowest
        self.subspace: FloatArray = np.empty((0, 0))
        self.losses: FloatArray = np.empty(0)
        self.weights: FloatArray | None = None
        self.history: list[tuple[float, float]] = []
        self.replies = []
        for unit, found in zip(np.eye(problem.n_groups), problem.own_best, strict=True):
            losses = found.errors - self.offsets
            value = found.sigma - float(unit @ self.offsets)
            self.replies.append(self._keep(Reply(unit, found.subspace, losses, value)))

    @property
    def gap(self) -> float:
        """Relative distance between the value and the bound."""
        return relative_gap(self.value, self.bound, self.scale, SMALLEST_LOSS)

    def reply(self, weights: FloatArray) -> Reply:
        """Find the best subspace against weights: one eigen-solve."""
        found = self.problem.best_subspace(weights)
        value = found.sigma - float(weights @ self.offsets)
        return self._keep(Reply(weights, found.subspace, found.errors - self.offsets, value))

    def offer(self, subspace: FloatArray) -> float:
        """Keep a subspace if it is the best so far; give its value."""
        losses = self.problem.errors(subspace) - self.offsets
        return self._offer(subspace, losses)

    def slide(self, first: Reply, last: Reply) -> None:
        """Offer the subspace with equal losses on the path between two replies."""
        apart = (float(reply.losses[0] - reply.losses[1]) for reply in (first, last))
        # Differences of the size of rounding may change sign, and need no repair.
        if min(map(abs, apart)) <= 1e-13 * self.scale:
            return
        path = Geodesic(self.problem, first.subspace, last.subspace)
        equal = float(self.offsets[0] - self.offsets[1])

        def difference(s: float) -> float:
            errors = path.errors(s)
            return float(errors[0] - errors[1]) - equal

        self.offer(path.subspace(root_between(difference, accuracy=1e-12)))

    def result(self, subspace: FloatArray, tol: float) -> SolverResult:
        """Give a subspace with all that is proved."""
        errors = self.problem.errors(subspace)
        value = self.objective.value(errors)
        gap = relative_gap(value, self.bound, self.scale, SMALLEST_LOSS)
        return SolverResult(
            components=subspace.T,
            group_errors=errors,
            objective=value,
            lower_bound=safe_bound(self.bound, value, self.scale),
            status="optimal" if gap <= tol else "feasible",
            scale=self.scale,
            history=np.array(self.history),
            lowest=self.objective.lowest,
            bound_weights=self.weights,
        )

    def _keep(self, reply: Reply) -> Reply:
        if self.weights is None or reply.value > self.bound:
            self.weights = reply.weights
        self.bound = max(self.bound, reply.value)
        self._offer(reply.subspace, reply.losses)
        self.history.append((self.value, min(self.bound, self.value)))
        return reply

    def _offer(self, subspace: FloatArray, losses: FloatArray) -> float:
        value = float(losses.max())
        if value < self.value:
            self.value, self.subspace, self.losses = value, subspace, losses
        return value


def solve_two_groups(game: LossGame, *, tol: float, max_iter: int) -> None:
    """Play a game of two groups until value and bound meet, or can come no closer.

    Parameters
    ----------
    game : LossGame
        A game of two groups; it holds the result.
    tol : float
        The relative gap to reach.
    max_iter : int
        The largest number of further eigen-solves.
    """
    high, low = (_End.of(reply) for reply in game.replies)
    before, slow = math.inf, 0
    for _ in range(max_iter):
        if game.gap <= 0.5 * tol:
            return
        crossing, ceiling = _crossing(low, high)
        left = relative_gap(ceiling, game.bound, game.scale, SMALLEST_LOSS)
        if left <= _SLIDE_BELOW:
            game.slide(low.reply, high.reply)
            if game.gap <= 0.5 * tol:
                return
        slow = slow + 1 if left > _SLOW * before else 0
        before = left
        # The cubic is right where h is smooth, the crossing where it has a corner; between the two
        # is a good guess when one fails, and the middle always makes progress.
        middle, cubic = 0.5 * (low.weight + high.weight), _cubic_peak(low, high)
        weight = (cubic, 0.5 * (cubic + crossing), middle)[slow % 3]
        weight = weight if low.weight < weight < high.weight else middle
        if not low.weight < weight < high.weight:
            return
        end = _End.of(game.reply(np.array([weight, 1.0 - weight])))
        low, high = (end, high) if end.slope >= 0 else (low, end)


class _End(NamedTuple):
    """An end of the bracket: weight of the first group, h there, its slope, the second loss."""

    weight: float
    value: float
    slope: float
    second: float
    reply: Reply

    @classmethod
    def of(cls, reply: Reply) -> _End:
        first, second = reply.losses.tolist()
        return cls(float(reply.weights[0]), reply.value, first - second, second, reply)


def _crossing(low: _End, high: _End) -> tuple[float, float]:
    """Where the tangents of h at two weights cross, and how high: h lies below both."""
    turn = low.slope - high.slope
    weight = (high.second - low.second) / turn if turn > 0 else math.nan
    return weight, low.second + weight * low.slope


def _cubic_peak(low: _End, high: _End) -> float:
    """Where the cubic that agrees with h and its slopes at two weights is highest."""
    width = high.weight - low.weight
    mixed = 3 * (high.value - low.value) / width - low.slope - high.slope
    root = math.sqrt(max(mixed**2 - low.slope * high.slope, 0.0))
    bend = low.slope - high.slope + 2 * root
    return high.weight - width * (root - mixed - high.slope) / bend if bend else math.nan
