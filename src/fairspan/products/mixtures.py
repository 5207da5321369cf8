"""More than two groups: the mixture of pieces that is stationary at the answer, and its proof.

The certificates of :mod:`fairspan.certificate` ask a problem for lines, for a leading eigenspace
and for what leads out of it. A lifted problem answers for the whole space, so that the closed form,
smaller boxes and the relaxation prove there what they prove of moments; nothing is split.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fairspan.certificate.branch import Prover
from fairspan.certificate.work import Work
from fairspan.ground.types import FloatArray
from fairspan.objectives.mixture import Mixture
from fairspan.objectives.robust import RobustFairObjective
from fairspan.problem.subspace import SubspaceProblem
from fairspan.products.lifted import LiftedProblem
from fairspan.solvers import SolverOptions, SolverResult, solve
from fairspan.solvers.many_groups.bounds import plain_bound
from fairspan.solvers.many_groups.certified_newton import find
from fairspan.solvers.many_groups.newton import error_floor

_EFFORT = 1e-3
"""Of the proof inside the basis, which is not the one that counts."""
_STEPS = 50
"""Most steps from the answer to the mixture that is stationary there."""
_WORK = 150.0
"""Of one proof, in eigen-solves of 100 features."""


@dataclass(frozen=True)
class _Answer:
    """The answer inside a basis, as provers know it."""

    subspace: FloatArray
    errors: FloatArray
    value: float
    mixture: Mixture
    history: list[float]
    touch: None = None
    leading: None = None


def mixed_answer(
    problem: SubspaceProblem, objective: RobustFairObjective, options: SolverOptions
) -> tuple[SolverResult, FloatArray]:
    """Solve a small problem, and give the slopes of the mixture that is stationary at its answer.

    Parameters
    ----------
    problem : SubspaceProblem
        Small.
    objective : RobustFairObjective
        Of more than two groups.
    options : SolverOptions
        For the solver.

    Returns
    -------
    result : SolverResult
        The answer, with the pieces of the mixture.
    weights : ndarray of shape (n_groups,)
        The slopes.
    """
    found = solve(problem, objective, replace(options, effort=_EFFORT))
    near = find(problem, objective, _STEPS, found.components.T, is_near=True)
    if near.value < found.objective:
        found = replace(
            found, components=near.subspace.T, group_errors=near.errors, objective=near.value
        )
    slopes = near.mixture.slopes(np.maximum(near.errors, error_floor(problem)))
    return replace(found, pieces=near.mixture.pieces), slopes


def mixed_bound(
    inside: SolverResult, lifted: LiftedProblem, objective: RobustFairObjective, tol: float
) -> float:
    """Bound an objective of more than two groups in the whole space.

    Parameters
    ----------
    inside : SolverResult
        The answer of :func:`mixed_answer`.
    lifted : LiftedProblem
        Answers for the whole space.
    objective : RobustFairObjective
        What is minimised.
    tol : float
        The relative gap to reach.

    Returns
    -------
    float
        Proved: no subspace has a smaller objective.
    """
    pairs, weights = zip(*inside.pieces, strict=True)
    mixture = Mixture.of_pairs(objective, list(pairs), np.array(weights) / sum(weights))
    known = _Answer(inside.components.T, inside.group_errors, inside.objective, mixture, [])
    prover = Prover(lifted, objective, known, tol, Work(_WORK), lambda _: known)
    bound = prover.quick()
    if bound < prover.enough:
        bound = max(bound, prover.thorough(), plain_bound(lifted, objective))
    return bound
