"""The published algorithm of FairPCA: weights on groups grow with their losses."""

from __future__ import annotations

from typing import Literal

import numpy as np

from fairspan.ground.types import FloatArray
from fairspan.solvers.minimax.game import Relaxed
from fairspan.solvers.minimax.minimax import LossGame

Iterate = Literal["best", "average", "last"]


def solve_multiplicative_weights(
    game: LossGame, *, learning_rate: float, max_iter: int, iterate: Iterate = "best"
) -> tuple[Relaxed, FloatArray]:
    """Run the multiplicative-weights method of Samadi et al. on second moments.

    Each step answers the weights w with the best subspace, then multiplies w_a by
    exp(learning_rate * loss_a). The published answer is the average of the projections, or the
    last one if its largest loss is smaller. It is stable only while the learning rate stays below
    2 / (w (1 - w) |h''|) at the optimum, h the value of the game as a function of w.

    Parameters
    ----------
    game : LossGame
        The game; its bound profits from every step.
    learning_rate : float
        How fast weights react, positive.
    max_iter : int
        Number of steps.
    iterate : {"best", "average", "last"}
        Which answer to give; "best" is the one of the other two with the smaller largest loss.

    Returns
    -------
    relaxed : Relaxed
        The answer, a matrix that is a projection only for the last iterate.
    subspace : ndarray of shape (d, k)
        The answer itself, or the leading eigenvectors of the average.
    """
    d, n_groups = game.problem.d, game.problem.n_groups
    log_weights = np.zeros(n_groups)
    average, losses = np.zeros((d, d)), np.zeros(n_groups)
    for _ in range(max_iter):
        weights = np.exp(log_weights - log_weights.max())
        reply = game.reply(weights / weights.sum())
        log_weights += learning_rate * reply.losses
        average += reply.subspace @ reply.subspace.T
        losses += reply.losses
    mean_losses = losses / max_iter
    mean = Relaxed(average / max_iter, mean_losses, float(mean_losses.max()))
    last = Relaxed(reply.subspace @ reply.subspace.T, reply.losses, float(reply.losses.max()))
    if iterate == "last" or (iterate == "best" and last.value <= mean.value):
        return last, reply.subspace
    return mean, np.linalg.eigh(mean.matrix)[1][:, -game.problem.k :]
