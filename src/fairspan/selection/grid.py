"""A grid of objectives on one set of moments, solved together."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from fairspan.ground.types import FloatArray
from fairspan.objectives.robust import RobustFairObjective
from fairspan.problem.subspace import SubspaceProblem
from fairspan.solvers import Boundary, SolverOptions, SolverResult, solve
from fairspan.solvers.neighbours import Neighbours
from fairspan.solvers.options import Patience
from fairspan.solvers.result import relative_gap
from fairspan.solvers.two_groups.curve import Curve, Place, follow
from fairspan.solvers.two_groups.lines import Point, clip, corner
from fairspan.solvers.two_groups.pieces import TwoPieces

_SURE = 1e-3
"""A minimum may be this far, relatively, from what is proved; descents end much nearer."""
_APART = 1e-7
"""Lines closer than this, in radians, have no corner worth having."""


class Optimum(NamedTuple):
    """The best subspace found for one objective, and its proved relative gap."""

    subspace: FloatArray
    gap: float


def solve_grid(
    problem: SubspaceProblem,
    objectives: Sequence[RobustFairObjective],
    options: SolverOptions,
    patience: Patience,
) -> list[Optimum]:
    """Minimise many objectives over the subspaces of one problem.

    For two groups all minimisers lie on one curve, which is followed from one to the next with few
    eigen-solves. What it finds is held against the supporting lines of the curve; where these
    leave room for another minimum, the certified solver decides.

    Parameters
    ----------
    problem : SubspaceProblem
        Moments and number of components.
    objectives : sequence of RobustFairObjective
        What to minimise; neighbours in the sequence should be alike.
    options : SolverOptions
        Options for each objective that is not followed; for three groups and more, whose descents
        end near a minimum in any case, the tolerance of the proof is at least 1e-3.
    patience : Patience
        The work that they share.

    Returns
    -------
    list of Optimum
        The minimisers, in the order of the objectives.
    """
    pair = problem.n_groups == 2 and options.solver == "auto" and problem.k < problem.d
    if pair and problem.is_large:
        known, walk = Boundary(problem), SolverOptions("boundary", tol=options.tol)
        return [_optimum(solve(problem, o, walk, boundary=known)) for o in objectives]
    followed = _follow_all(problem, objectives) if pair else [None] * len(objectives)
    if problem.n_groups > 2 and options.solver in ("auto", "newton"):
        options = replace(options, tol=max(options.tol, _SURE))
    optima: list[Optimum] = []
    near = Neighbours()
    for objective, found in zip(objectives, followed, strict=True):
        if found is None:
            how = near.options(patience.options(options), objective)
            result = patience.settle(solve(problem, objective, how))
            near.learn(objective, result)
            found = _optimum(result)
        optima.append(found)
    return optima


def _optimum(found: SolverResult) -> Optimum:
    return Optimum(found.components.T, found.optimality_gap)


def _follow_all(
    problem: SubspaceProblem, objectives: Sequence[RobustFairObjective]
) -> list[Optimum | None]:
    """Follow the curve through all minimisers; None for those that are not certain."""
    curve = Curve(problem)
    angle = math.atan2(objectives[0].shares[1], objectives[0].shares[0])
    first, last = math.inf, -math.inf
    upper = (float(problem.traces[0]), float(problem.traces[1]))
    places: list[Place | None] = [None] * len(objectives)
    # Minimisers move with the fairness weight, and little with the radius.
    for i in sorted(range(len(objectives)), key=lambda i: objectives[i].fairness_weight):
        objective = objectives[i]
        place = places[i] = follow(curve, objective, angle)
        angle = angle if place is None else place.angle
        low, high = TwoPieces(objective).angle_range(upper)
        first, last = min(first, low), max(last, high)
    edge = _edge(curve, [place for place in places if place], first, last)
    optima: list[Optimum | None] = []
    for objective, place in zip(objectives, places, strict=True):
        optima.append(None)
        if place is not None:
            errors = np.array(place.errors)
            value, size = objective.value(errors), objective.unreferenced(errors)
            gap = relative_gap(value, _bound(objective, edge), problem.scale, size=size)
            # What rounding hides is not followed: the solvers know what they may claim.
            hidden = problem.has_hidden_features and objective.size(errors) <= problem.resolution(
                objective.fairness_weight
            )
            if gap <= _SURE and not hidden:
                optima[-1] = Optimum(place.subspace, gap)
    return optima


def _edge(curve: Curve, places: list[Place], first: float, last: float) -> FloatArray:
    """Return the polygon of supporting lines around the curve between two angles."""
    ends = [curve.at(first), curve.at(last)]
    lines = sorted([*places, *ends, *curve.anchored], key=attrgetter("angle"))
    apart = [lines[0]]
    for line in lines[1:]:
        if line.angle - apart[-1].angle > _APART:
            apart.append(line)
    path: list[Point] = []
    for left, right in itertools.pairwise(apart):
        between = corner(left.errors, left.angle, right.errors, right.angle)
        path += clip([left.errors, between, right.errors], (0.0, 0.0))
    return np.array(path)


def _bound(objective: RobustFairObjective, edge: FloatArray) -> float:
    """Return the least value on the polygon: a concave piece is least at an end of an edge."""
    base, up, down = objective.parts(edge)
    pieces = base.sum(axis=1)[:, None] + up - down[:, ::-1]
    return float(np.minimum(pieces[:-1], pieces[1:]).max(axis=1).min())
