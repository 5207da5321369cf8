"""Newton descent with proof: find a stationary point, prove it, and look further only if needed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from fairspan.certificate.branch import Prover
from fairspan.certificate.work import Work
from fairspan.ground.types import FloatArray
from fairspan.objectives.mixture import Mixture, Pieces
from fairspan.objectives.robust import RobustFairObjective
from fairspan.problem.subspace import SubspaceProblem
from fairspan.solvers.descent import random_subspaces
from fairspan.solvers.many_groups.bounds import plain_bound
from fairspan.solvers.many_groups.leading_newton import follow_leading
from fairspan.solvers.many_groups.levelling import levelled
from fairspan.solvers.many_groups.newton import Stationary, descend, error_floor
from fairspan.solvers.many_groups.reduced_newton import descend_reduced
from fairspan.solvers.result import SolverResult, is_closed, safe_bound
from fairspan.solvers.two_groups.angle import solve_boundary

_FEW_STARTS = 4
_MANY_STARTS = 40
_MOST_GROUPS = 12
"""Of more groups, so many are served best by a start of their own, and fewer starts are random."""
_LIGHT = 100.0
"""Up to this fairness weight descents need no lighter ones before them."""
_HEAVY = 1e6
"""A proof for a heavier weight may fail by rounding alone."""
_SETTLED = 1e-10
"""Steps near an answer end where they gain less, as a share of the value."""
_LOOSE = 1e-4
"""To such a tolerance leading eigenspaces lead from a neighbour's answer at once."""
_CLOSE = 1e-3
"""Leading eigenspaces are followed to this share of the tolerance."""
_BUDGET = 1500.0
"""Work of a proof, in eigen-solves of 100 features."""
_STAGES = (0.1, 0.5, 1.0)
"""How much of it is spent before further starts, after the promising ones, and after all."""


def solve_newton(
    problem: SubspaceProblem,
    objective: RobustFairObjective,
    *,
    tol: float = 1e-8,
    max_iter: int = 1000,
    effort: float = 1.0,
    max_time: float | None = None,
    start: FloatArray | None = None,
    pieces: Pieces = (),
    slope: FloatArray | None = None,
    rng: np.random.Generator | None = None,
) -> SolverResult:
    """Minimise the objective of any number of groups and prove how close to the minimum it is.

    Parameters
    ----------
    problem : SubspaceProblem
        Moments and number of components.
    objective : RobustFairObjective
        What to minimise.
    tol : float
        The relative gap to reach.
    max_iter : int
        Most Newton iterations of a descent.
    effort : float
        Multiplies the work that a proof may cost.
    max_time : float, optional
        A safety net: seconds after which the proof is given up. Without it the same call gives the
        same answer on any machine.
    start : ndarray of shape (d, k), optional
        Where to start; PCA is another start unless this one is proved at once.
    pieces : tuple
        The pieces that meet at the start and their weights, where they are known.
    slope : ndarray of shape (n_groups,), optional
        With pieces: how much each group's error counts at the answer, where that is predicted.
    rng : numpy.random.Generator, optional
        Source of further starts, used where the first proof fails.

    Returns
    -------
    SolverResult
        The best subspace found and the best bound proved.
    """
    solves_before = problem.n_eigensolves
    work = Work(0.0, max_time)
    descend_from = partial(find, problem, objective, max_iter)
    begin = partial(_begin, problem, objective, start, pieces, descend_from)
    # Near an answer that must be sharp, Newton steps are fewer, unless the slopes are predicted.
    follows = start is None or not pieces or tol >= _LOOSE or slope is not None
    followed = _follow(problem, objective, tol, start, pieces, slope, max_iter) if follows else None
    prover = Prover(problem, objective, followed or begin(), tol, work, descend_from)
    bound = prover.quick()
    # A start that is proved at once needs no other.
    if start is not None and bound < prover.enough:
        better = prover.learn(descend_from(problem.best_subspace(objective.shares).subspace))
        if followed is not None:
            better = prover.learn(begin()) or better
        bound = max(bound, prover.quick()) if better else bound
    found = prover.known
    if bound < prover.enough and problem.n_groups == 2:
        # For two groups the walk on the boundary proves every case, at less cost.
        walked = solve_boundary(problem, objective, tol=tol, max_iter=max_iter)
        if walked.objective < found.value:
            return replace(walked, n_eigensolves=problem.n_eigensolves - solves_before)
        bound, prover.grows = max(bound, walked.lower_bound), False
    elif bound < prover.enough:
        more = _look_further(prover, effort, rng or np.random.default_rng(0))
        found = prover.known
        bound = max(bound, more)
    weight, size = objective.fairness_weight, objective.unreferenced(found.errors)
    if problem.resolution(weight) > tol * objective.size(found.errors) and not problem.is_large:
        found = levelled(problem, objective, found)
    improvable = found.value - bound if prover.grows else math.inf
    if not is_closed(problem, found.value, bound, tol, weight, size=size):
        bound = max(bound, plain_bound(problem, objective))
        if weight > _HEAVY and objective.references is None:
            # No heavier weight has a smaller optimum, and rounding is not multiplied by it.
            lighter = replace(objective, fairness_weight=_HEAVY)
            less = solve_newton(
                problem, lighter, tol=tol, effort=effort, max_time=max_time, start=found.subspace
            )
            bound = max(bound, less.lower_bound)
    bound = safe_bound(bound, found.value, problem.scale, size)
    proved = is_closed(problem, found.value, bound, tol, weight, size=size)
    return SolverResult(
        components=found.subspace.T,
        group_errors=found.errors,
        objective=found.value,
        lower_bound=bound,
        status="optimal" if proved else "feasible",
        scale=problem.scale,
        solver="newton",
        n_eigensolves=problem.n_eigensolves - solves_before,
        history=np.array([(v, bound) for v in np.minimum.accumulate(found.history)]),
        effort=work.spent / _BUDGET,
        was_cut=work.was_cut,
        bound_weights=found.mixture.slopes(np.maximum(found.errors, error_floor(problem))),
        pieces=found.mixture.pieces,
        improvable=improvable,
    )


def _begin(
    problem: SubspaceProblem,
    objective: RobustFairObjective,
    start: FloatArray | None,
    pieces: Pieces,
    descend_from: Callable[..., Stationary],
) -> Stationary:
    """Descend from the start, or else from PCA."""
    if start is None:
        return descend_from(problem.best_subspace(objective.shares).subspace)
    # Near the answer Newton steps need no company.
    return descend_from(start, is_near=True, pieces=pieces, settled=_SETTLED)


def _follow(
    problem: SubspaceProblem,
    objective: RobustFairObjective,
    tol: float,
    start: FloatArray | None,
    pieces: Pieces,
    slope: FloatArray | None,
    max_iter: int,
) -> Stationary | None:
    """Follow leading eigenspaces; None where they lead nowhere, or are dear."""
    if problem.is_large or objective.fairness_weight > _LIGHT:
        return None
    rounding = 0.25 * problem.resolution(objective.fairness_weight)
    close = _CLOSE * tol if slope is None else max(_CLOSE * tol, _SETTLED)
    if slope is None and start is not None and pieces:
        pairs, weights = zip(*pieces, strict=True)
        mixture = Mixture.of_pairs(objective, list(pairs), np.array(weights))
        slope = mixture.slopes(np.maximum(problem.errors(start), error_floor(problem)))

    def unproved(m: FloatArray, value: float) -> float:
        plain = objective.unreferenced(m)
        return max(close * (value if plain is None else plain), rounding)

    slope = objective.shares if slope is None else slope
    return follow_leading(problem, objective, slope, pieces, unproved, max_iter)


def find(
    problem: SubspaceProblem,
    objective: RobustFairObjective,
    max_iter: int,
    start: FloatArray,
    *,
    pieces: Pieces = (),
    is_near: bool = False,
    settled: float = 1e-14,
) -> Stationary:
    """Descend; where the gap counts for far more than the total, by ever larger weights.

    A descent that sees such a weight at once sticks to the ridge where it meets it.

    Parameters
    ----------
    problem : SubspaceProblem
        Moments and number of components.
    objective : RobustFairObjective
        What to minimise.
    max_iter : int
        Most iterations of a descent.
    start : ndarray of shape (d, k)
        Orthonormal columns.
    pieces, is_near, settled
        As in :func:`fairspan.solvers.many_groups.newton.descend`.

    Returns
    -------
    Stationary
        Where the last descent ended.
    """
    newton = partial(descend, pieces=pieces, is_near=is_near, settled=settled)
    method = descend_reduced if problem.is_large else newton
    last = objective.fairness_weight
    for weight in _LIGHT * 10.0 ** np.arange(max(math.ceil(math.log10(max(last, 1) / _LIGHT)), 0)):
        lighter = replace(objective, fairness_weight=float(weight))
        start = method(problem, lighter, start, max_iter=max_iter).subspace
    return method(problem, objective, start, max_iter=max_iter)


def _look_further(prover: Prover, effort: float, rng: np.random.Generator) -> float:
    """Prove harder; where that fails start elsewhere, and go on."""
    problem, bound = prover.problem, -math.inf
    stages = ((), _promising(problem, prover.known.errors, rng), _random(problem, effort, rng))
    granted = 0.0
    for starts, stage in zip(stages, _STAGES, strict=True):
        better = [prover.learn(prover.descend(subspace)) for subspace in starts]
        # Little work, as in a grid, is for the proof: a neighbour's answer seldom needs starts.
        until = max(min(stage, effort), stage * effort)
        prover.work.grant((until - granted) * _BUDGET)
        granted = until
        if any(better):
            bound = max(bound, prover.quick())
        if not prover.is_enough(bound):
            bound = max(bound, prover.thorough())
        # Without a limit of time nothing is cut, and the same call gives the same answer.
        if prover.is_enough(bound) or prover.work.was_cut:
            break
    return bound


def _promising(
    problem: SubspaceProblem, errors: FloatArray, rng: np.random.Generator
) -> Iterator[FloatArray]:
    """Subspaces from which a better minimum may be reached: those that serve some groups best."""
    n = problem.n_groups
    worst = np.sort(np.argsort(-errors, kind="stable")[:_MOST_GROUPS])
    for weights in [np.full(n, 1 / n), *np.eye(n)[worst], *rng.dirichlet(np.ones(n), _FEW_STARTS)]:
        yield problem.best_subspace(weights).subspace
    yield from random_subspaces(rng, _FEW_STARTS, problem.d, problem.k)


def _random(
    problem: SubspaceProblem, effort: float, rng: np.random.Generator
) -> Iterator[FloatArray]:
    if not problem.is_large:
        some = round(_MANY_STARTS * min(effort, 1.0, _MOST_GROUPS / problem.n_groups))
        yield from random_subspaces(rng, some, problem.d, problem.k)
