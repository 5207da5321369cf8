"""The convex relaxation on a box: chords for concave parts, all X with 0 <= X <= I and trace k.

The least of the largest linear piece over that set is found by column generation: a small linear
program mixes errors that are known to be attained, its multipliers give weights for an eigen-solve,
and that gives both a proved bound and a new point.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

from fairspan.certificate.box import Box
from fairspan.ground.types import FloatArray
from fairspan.objectives.mixture import Mixture
from fairspan.objectives.robust import Pair, RobustFairObjective, largest_difference
from fairspan.problem.subspace import SubspaceProblem

_MEMORY = 80
"""So many of the latest points are kept for the next box."""


@dataclass
class Relaxation:
    """What the relaxation on a box proves, where its solution lies, and the mixture behind it."""

    bound: float
    errors: FloatArray
    mixture: Mixture


class _Chords:
    """All pieces on a box, replaced by linear functions that are never larger."""

    def __init__(self, objective: RobustFairObjective, box: Box) -> None:
        one, none = np.ones(objective.n_groups), np.zeros(objective.n_groups)
        φ = Mixture(objective, one, none).chords(box.lower, box.upper)
        # ψ enters with a minus sign, and its chords come with it.
        ψ = Mixture(objective, none, one).chords(box.lower, box.upper)
        intercepts, slopes = (objective.split(φ[i], -ψ[i]) for i in (0, 1))
        self.objective = objective
        self.base, self.up, self.down = zip(intercepts, slopes, strict=True)

    def best_pair(self, m: FloatArray) -> Pair:
        if len(m) == 1 or self.objective.fairness_weight == 0:
            return (0, 0)
        up, down = (part[0] + part[1] * m for part in (self.up, self.down))
        up, down = self.objective.eligible(up, down)
        a, b = largest_difference(up, down)
        return int(a), int(b)

    def piece(self, pair: Pair) -> tuple[float, FloatArray]:
        intercept, slope = float(self.base[0].sum()), self.base[1].copy()
        a, b = pair
        if a != b:
            intercept += float(self.up[0][a] - self.down[0][b])
            slope[a] += self.up[1][a]
            slope[b] -= self.down[1][b]
        return intercept, slope


def relax(
    problem: SubspaceProblem,
    objective: RobustFairObjective,
    box: Box,
    *,
    points: list[FloatArray],
    enough: float,
    tol: float,
    deadline: float = np.inf,
    max_iter: int = 60,
) -> Relaxation:
    """Bound the objective of all subspaces whose errors lie in a box.

    Parameters
    ----------
    problem : SubspaceProblem
        Moments and number of components.
    objective : RobustFairObjective
        The objective.
    box : Box
        The box.
    points : list of ndarray of shape (n_groups,)
        Errors known to be attained; new ones are added, the oldest are dropped.
    enough : float
        A bound that makes further work needless.
    tol : float
        Accuracy at which the relaxation counts as solved, in units of the objective.
    deadline : float
        When to stop, in seconds of time.monotonic(); the bound proved by then is given.
    max_iter : int
        Most linear programs.

    Returns
    -------
    Relaxation
        The best bound proved, with the relaxed solution.
    """
    chords = _Chords(objective, box)
    centre = 0.5 * (box.lower + box.upper)
    pairs: list[Pair] = [chords.best_pair(centre)]
    best, mixture, errors = -np.inf, Mixture.of_pairs(objective, pairs, np.ones(1)), centre
    for _ in range(max_iter):
        mixed = _master(chords, pairs, points, box)
        if mixed is None:
            break
        level, weights, duals, errors = mixed
        pair = chords.best_pair(errors)
        intercept, slope = chords.piece(pair)
        violated = pair not in pairs and intercept + float(slope @ errors) > level + 0.1 * tol
        bound, found = _dual_bound(problem, chords, pairs, weights, duals, box)
        if bound > best:
            best, mixture = bound, Mixture.of_pairs(objective, pairs, weights)
        points.append(found)
        solved = not violated and level - best <= tol
        if best >= enough or solved or time.monotonic() > deadline:
            break
        if violated:
            pairs.append(pair)
    del points[:-_MEMORY]
    return Relaxation(best, errors, mixture)


def _dual_bound(
    problem: SubspaceProblem,
    chords: _Chords,
    pairs: list[Pair],
    weights: FloatArray,
    duals: FloatArray,
    box: Box,
) -> tuple[float, FloatArray]:
    """Bound from any weights of pairs and any sign-right multipliers of the box: an eigen-solve."""
    pieces = [chords.piece(pair) for pair in pairs]
    slope = sum((w * piece[1] for w, piece in zip(weights, pieces, strict=True)), 0 * duals)
    constant = sum(float(w) * piece[0] for w, piece in zip(weights, pieces, strict=True))
    # duals > 0 hold the errors below the box's upper end, duals < 0 above its lower end.
    held = float(np.minimum(duals, 0.0) @ box.lower + np.maximum(duals, 0.0) @ box.upper)
    found = problem.best_subspace(slope + duals)
    return constant - held + found.sigma, found.errors


def _master(
    chords: _Chords, pairs: list[Pair], points: list[FloatArray], box: Box
) -> tuple[float, FloatArray, FloatArray, FloatArray] | None:
    """Mix known points so that the largest piece is least: t >= pieces, box kept elastically.

    Gives the value, the weights of pairs, the multipliers of the box and the mixed errors; None if
    the linear program fails. Whatever it says is only a proposal: the bound is an eigen-solve's.
    """
    known = np.array(points)
    n, groups = known.shape
    pieces = [chords.piece(pair) for pair in pairs]
    slopes = np.array([piece[1] for piece in pieces])
    # Leaving the box costs more than any piece can gain by it.
    price = 10 * float(np.abs(slopes).max()) + 1.0
    costs = np.concatenate([np.zeros(n), [1.0], np.full(2 * groups, price)])
    eye, none = np.eye(groups), np.zeros((groups, 1))
    rows = [
        np.hstack(
            [slopes @ known.T, -np.ones((len(pairs), 1)), np.zeros((len(pairs), 2 * groups))]
        ),
        np.hstack([known.T, none, -eye, 0 * eye]),
        np.hstack([-known.T, none, 0 * eye, -eye]),
    ]
    limits = np.concatenate([[-piece[0] for piece in pieces], box.upper, -box.lower])
    total = np.concatenate([np.ones(n), np.zeros(1 + 2 * groups)])[None]
    bounds = [(0, None)] * n + [(None, None)] + [(0, None)] * (2 * groups)
    solved = linprog(costs, np.vstack(rows), limits, total, [1.0], bounds, method="highs")
    if solved.x is None or solved.fun is None or solved.ineqlin.marginals is None:
        return None
    multipliers = np.maximum(-solved.ineqlin.marginals, 0.0)
    weights = multipliers[: len(pairs)]
    weights = weights / weights.sum() if weights.sum() > 0 else np.full(len(pairs), 1 / len(pairs))
    above, below = multipliers[len(pairs) : len(pairs) + groups], multipliers[len(pairs) + groups :]
    return float(solved.fun), weights, above - below, solved.x[:n] @ known
