"""The published algorithm of FairPCA: weights on groups grow with their losses."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from fairspan.objectives.largest_loss import LargestLoss
from fairspan.problem.subspace import SubspaceProblem
from fairspan.solvers.minimax.minimax import LossGame
from fairspan.solvers.result import Relaxed, SolverResult

Iterate = Literal["best", "average", "last"]


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
