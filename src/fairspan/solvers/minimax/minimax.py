"""The least largest loss: minimise over subspaces the largest of the group errors less offsets.

A game between a subspace, which wants the largest loss small, and weights on the groups, which
want the weighted loss large. For weights w one eigen-solve gives the best reply of the subspace,

    h(w) = min over subspaces of w . (m - b),

a concave function whose value bounds the game from below for every subspace, and whose slope is
the vector of losses of the reply. With two groups the best weights are found on a line; where
the eigengap closes there, replies on both sides differ, and the path between them holds a subspace
with equal losses. With more groups it is one more convex, increasing objective. The published
algorithm of FairPCA lets the weights of groups grow with their losses instead.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np

from fairspan.ground.types import FloatArray
from fairspan.objectives.largest_loss import LargestLoss
from fairspan.problem.geodesic import Geodesic
from fairspan.problem.subspace import SubspaceProblem, Support
from fairspan.solvers.cutting_planes.search import solve_cutting_planes
from fairspan.solvers.result import SMALLEST_LOSS, Relaxed, SolverResult, relative_gap, safe_bound
from fairspan.solvers.two_groups.lines import root_between

Iterate = Literal["best", "average", "last"]

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


def solve_multiplicative_weights(
    problem: SubspaceProblem,
    objective: LargestLoss,
    *,
    learning_rate: float = 1.0,
    max_iter: int = 1000,
    tol: float = 1e-9,
    iterate: Iterate = "best",
) -> SolverResult:
    """Run the multiplicative-weights method of Samadi et al. on second moments.

    Each step answers the weights w with the best subspace, then multiplies w_a by
    exp(learning_rate * loss_a). The published answer is the average of the projections, or the
    last one if its largest loss is smaller. It is stable only while the learning rate stays below
    2 / (w (1 - w) |h''|) at the optimum, h the value of the game as a function of w.

    Parameters
    ----------
    problem : SubspaceProblem
        Moments and number of components.
    objective : LargestLoss
        What losses are measured against.
    learning_rate : float
        How fast weights react, positive.
    max_iter : int
        Number of steps.
    tol : float
        The relative gap below which the result counts as optimal.
    iterate : {"best", "average", "last"}
        Which answer to give; "best" is the one of the other two with the smaller largest loss.

    Returns
    -------
    SolverResult
        The last subspace, or the leading eigenvectors of the average, which is its relaxation.
    """
    solves_before = problem.n_eigensolves
    game = LossGame(problem, objective)
    log_weights = np.zeros(problem.n_groups)
    average, losses = np.zeros((problem.d, problem.d)), np.zeros(problem.n_groups)
    for _ in range(max_iter):
        weights = np.exp(log_weights - log_weights.max())
        reply = game.reply(weights / weights.sum())
        log_weights += learning_rate * reply.losses
        average += reply.subspace @ reply.subspace.T
        losses += reply.losses
    mean, subspace, relaxed = losses / max_iter, reply.subspace, None
    if iterate == "average" or (iterate == "best" and mean.max() < reply.losses.max()):
        relaxed = Relaxed(average / max_iter, mean + objective.offsets)
        subspace = np.linalg.eigh(relaxed.matrix)[1][:, -problem.k :]
    return replace(
        game.result(subspace, tol),
        solver="multiplicative_weights",
        n_eigensolves=problem.n_eigensolves - solves_before,
        relaxed=relaxed,
    )


class Reply(NamedTuple):
    """The best subspace against some weights: its losses and the proved value h(w)."""

    weights: FloatArray
    subspace: FloatArray
    losses: FloatArray
    value: float

    @property
    def weight(self) -> float:
        """Weight of the first of two groups."""
        return float(self.weights[0])

    @property
    def slope(self) -> float:
        """Slope of h at that weight."""
        return float(self.losses[0] - self.losses[1])


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
    value, bound : float
        Its largest loss, and what is proved for every subspace.
    weights : ndarray of shape (n_groups,)
        The weights whose best reply proves most.
    """

    def __init__(self, problem: SubspaceProblem, objective: LargestLoss) -> None:
        self.problem, self.objective, self.scale = problem, objective, problem.scale
        self.value, self.bound = math.inf, objective.lowest
        self.subspace: FloatArray = np.empty((0, 0))
        self.weights: FloatArray | None = None
        self.history: list[tuple[float, float]] = []
        units = np.eye(problem.n_groups)
        self.replies = list(map(self._keep, units, problem.own_best))

    @property
    def gap(self) -> float:
        """Relative distance between the value and the bound."""
        return relative_gap(self.value, self.bound, self.scale, SMALLEST_LOSS)

    def reply(self, weights: FloatArray) -> Reply:
        """Find the best subspace against weights: one eigen-solve."""
        return self._keep(weights, self.problem.best_subspace(weights))

    def slide(self, first: Reply, last: Reply) -> None:
        """Offer the subspace with equal losses on the path between two replies."""
        # Differences of the size of rounding may change sign, and need no repair.
        if min(abs(first.slope), abs(last.slope)) <= 1e-13 * self.scale:
            return
        path = Geodesic(self.problem, first.subspace, last.subspace)
        offsets = self.objective.offsets
        equal = float(offsets[0] - offsets[1])

        def difference(s: float) -> float:
            errors = path.errors(s)
            return float(errors[0] - errors[1]) - equal

        subspace = path.subspace(root_between(difference, accuracy=1e-12))
        self._offer(subspace, self.problem.errors(subspace) - offsets)

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

    def _keep(self, weights: FloatArray, found: Support) -> Reply:
        offsets = self.objective.offsets
        losses, value = found.errors - offsets, found.sigma - float(weights @ offsets)
        if self.weights is None or value > self.bound:
            self.weights = weights
        self.bound = max(self.bound, value)
        self._offer(found.subspace, losses)
        self.history.append((self.value, min(self.bound, self.value)))
        return Reply(weights, found.subspace, losses, value)

    def _offer(self, subspace: FloatArray, losses: FloatArray) -> None:
        if losses.max() < self.value:
            self.value, self.subspace = float(losses.max()), subspace


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
    high, low = game.replies
    before, slow = math.inf, 0
    for _ in range(max_iter):
        if game.gap <= 0.5 * tol:
            return
        crossing, ceiling = _crossing(low, high)
        left = relative_gap(ceiling, game.bound, game.scale, SMALLEST_LOSS)
        if left <= _SLIDE_BELOW:
            game.slide(low, high)
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
        end = game.reply(np.array([weight, 1.0 - weight]))
        low, high = (end, high) if end.slope >= 0 else (low, end)


def _crossing(low: Reply, high: Reply) -> tuple[float, float]:
    """Where the tangents of h at two weights cross, and how high: h lies below both."""
    turn, second = low.slope - high.slope, float(low.losses[1])
    weight = (float(high.losses[1]) - second) / turn if turn > 0 else math.nan
    return weight, second + weight * low.slope


def _cubic_peak(low: Reply, high: Reply) -> float:
    """Where the cubic that agrees with h and its slopes at two weights is highest."""
    width = high.weight - low.weight
    mixed = 3 * (high.value - low.value) / width - low.slope - high.slope
    root = math.sqrt(max(mixed**2 - low.slope * high.slope, 0.0))
    bend = low.slope - high.slope + 2 * root
    return high.weight - width * (root - mixed - high.slope) / bend if bend else math.nan
