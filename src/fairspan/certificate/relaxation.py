"""The relaxation of many features: solved in a small basis, proved by eigen-solves in full."""

from __future__ import annotations

import numpy as np

from fairspan.certificate.box import Box
from fairspan.certificate.known import Known
from fairspan.certificate.node import Node, solve_node
from fairspan.certificate.pieces import columns, compared_groups
from fairspan.certificate.work import Work
from fairspan.objectives.robust import RobustFairObjective
from fairspan.problem.reduced import new_directions
from fairspan.problem.subspace import SubspaceProblem

_ROUNDS = 20
_COLUMNS = 120
"""The basis begins with no more than this many."""


def relax_large(
    problem: SubspaceProblem,
    objective: RobustFairObjective,
    known: Known,
    box: Box,
    *,
    enough: float,
    work: Work,
) -> float:
    """Bound the objective of all subspaces whose errors lie in a box.

    The basis holds the best subspace known, and the leading eigenspaces for the weights that were
    best in the basis so far.

    Parameters
    ----------
    problem : SubspaceProblem
        Moments and number of components.
    objective : RobustFairObjective
        The objective.
    known : Known
        The best subspace known.
    box : Box
        The box.
    enough : float
        A bound that makes further work needless.
    work : Work
        What may be spent.

    Returns
    -------
    float
        The best bound proved.
    """
    basis, bound = np.linalg.qr(known.subspace)[0], -np.inf
    images = (problem.moments[: _COLUMNS // problem.k] @ known.subspace).transpose(1, 0, 2)
    fresh = new_directions(images.reshape(problem.d, -1), basis)
    node = Node(box)
    compared = compared_groups(objective)
    weights = columns(objective, compared, compared)
    for _ in range(_ROUNDS):
        basis = np.hstack([basis, fresh])
        small = SubspaceProblem(
            basis.T @ problem.moments @ basis, problem.shares, problem.k, traces=problem.traces
        )
        solved = solve_node(small, objective, weights, node, enough=enough, work=work)
        found = problem.best_subspace(solved.slopes)
        work.spend(Work.eigensolve(problem.d))
        # In the basis the errors are too large, so what is proved there is not proved of all.
        bound = max(bound, solved.constant - float(solved.slopes @ problem.traces) + found.sigma)
        lacking = solved.node.bound - bound
        if bound >= enough or work.is_spent() or lacking <= 0.1 * (enough - bound):
            break
        node = Node(box, multipliers=solved.node.multipliers)
        fresh = new_directions(found.subspace, basis)
        if not fresh.shape[1]:
            break
    return bound
