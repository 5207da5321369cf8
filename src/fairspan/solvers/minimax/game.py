"""The least largest loss for any number of groups: Newton steps, then cuts.

A subspace V against weights w of the groups, see :mod:`fairspan.solvers.minimax.minimax`. Around V
the losses are linear in a tangent step T and their weighted sum has the diagonal curvature
L_il = 2 (x_i - y_l), x and y the eigenvalues of C(w) inside and outside V. The step that lowers
the largest loss most,

    min over T of max_a (loss_a + <G_a, T>) + <L T, T> / 2,   G_a = -2 V_perp' C_a V,

is a quadratic program in w over the simplex; its T moves V and its w is the next to be answered by
an eigen-solve, which proves a bound. A few such steps converge where the best relaxed solution is
a projection. Where it is not, the weights and the replies so far form a matrix game, whose linear
program gives the relaxed value; adding the reply to its weights closes the gap (Kelley's method).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linprog

from fairspan.ground.types import FloatArray
from fairspan.solvers.many_groups.simplex import simplex_quadratic
from fairspan.solvers.many_groups.tangent import expand
from fairspan.solvers.minimax.minimax import LossGame, Reply
from fairspan.solvers.result import SMALLEST_LOSS, relative_gap

_STEPS = (1.0, 0.4, 0.16, 0.064)
_NEWTON_STEPS = 60
_SHARP = 0.3
"""The relaxed problem is solved to this share of the tolerance, to leave room for rounding."""
_NOISE = (0.02, 0.05, 0.1, 0.1, 0.2, 0.2, 0.5, 0.5)


class Relaxed(NamedTuple):
    """A mixture of projections: its matrix, its losses and the largest of them."""

    matrix: FloatArray
    losses: FloatArray
    value: float


def solve_many_groups(game: LossGame, *, tol: float, max_iter: int) -> Relaxed:
    """Play a game of any number of groups.

    Parameters
    ----------
    game : LossGame
        The game; it holds the best subspace and the bound.
    tol : float
        The relative gap to reach.
    max_iter : int
        The largest number of cuts.

    Returns
    -------
    Relaxed
        The best mixture of projections; a single one where that is as good.
    """
    n_groups = game.problem.n_groups
    pool = list(game.replies)
    start = game.reply(np.full(n_groups, 1 / n_groups))
    pool.append(start)
    pool += _descend(game, start.subspace, start.weights, tol)
    relaxed, weights = unmixed(game), start.weights
    for _ in range(max_iter):
        if game.gap <= tol:
            return unmixed(game)
        weights, mixture, value = _matrix_game(np.array([reply.losses for reply in pool]))
        relaxed = _mix(pool, mixture)
        if relative_gap(value, game.bound, game.problem.scale, SMALLEST_LOSS) <= _SHARP * tol:
            break
        pool.append(game.reply(weights))
    _round(game, relaxed.matrix, weights, tol)
    return relaxed if relaxed.value < game.value else unmixed(game)


def _round(game: LossGame, matrix: FloatArray, weights: FloatArray, tol: float) -> None:
    """Look for good projections near a relaxed solution.

    Where all moments share eigenvectors, those are stationary without being good: noise leaves
    them. The noise is always the same, so that the result is.
    """
    rng = np.random.default_rng(0)
    leading = np.linalg.eigh(matrix)[1][:, -game.problem.k :]
    for noise in (0.0, *_NOISE):
        moved = leading + noise * rng.standard_normal(leading.shape)
        start = np.linalg.qr(moved)[0]
        game.offer(start)
        _descend(game, start, weights, tol)
        if game.gap <= tol:
            return


def _descend(game: LossGame, V: FloatArray, weights: FloatArray, tol: float) -> list[Reply]:
    """Newton steps from a subspace until none helps; give the replies met on the way."""
    met: list[Reply] = []
    losses = game.problem.errors(V) - game.offsets
    for _ in range(_NEWTON_STEPS):
        if game.gap <= 0.5 * tol:
            break
        V, complement, tangents, curvature = expand(game.problem, V, weights)
        Q = np.einsum("ali,bli->ab", tangents, tangents / curvature)
        weights = simplex_quadratic(losses, Q)
        reply = game.reply(weights)
        met.append(reply)
        step = complement @ (-np.einsum("a,ali->li", weights, tangents) / curvature)
        tried = [np.linalg.qr(V + s * step)[0] for s in _STEPS]
        best = min([reply.subspace, *tried], key=game.offer)
        found = game.problem.errors(best) - game.offsets
        if found.max() >= losses.max() * (1 - 1e-14):
            break
        V, losses = best, found
    return met


def _matrix_game(losses: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """Solve max over weights of min over rows of losses . weights, and the mixture of rows."""
    rows, n_groups = losses.shape
    scale = float(np.abs(losses).max()) or 1.0
    found: Any = linprog(
        np.append(np.zeros(n_groups), -1.0),
        A_ub=np.column_stack([-losses / scale, np.ones(rows)]),
        b_ub=np.zeros(rows),
        A_eq=np.append(np.ones(n_groups), 0.0)[None],
        b_eq=[1.0],
        bounds=[(0, None)] * n_groups + [(None, None)],
        method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if not found.success:
        raise RuntimeError(f"The linear program of the weights failed: {found.message}")
    weights = np.maximum(found.x[:-1], 0.0)
    mixture = np.maximum(-found.ineqlin.marginals, 0.0)
    return weights / weights.sum(), mixture / mixture.sum(), -float(found.fun) * scale


def _mix(pool: list[Reply], mixture: FloatArray) -> Relaxed:
    used = [(share, reply) for share, reply in zip(mixture, pool, strict=True) if share > 0]
    matrix = sum(share * (reply.subspace @ reply.subspace.T) for share, reply in used)
    losses = np.asarray(sum(share * reply.losses for share, reply in used))
    return Relaxed(np.asarray(matrix), losses, float(losses.max()))


def unmixed(game: LossGame) -> Relaxed:
    """Give the best subspace of a game as a mixture of one."""
    return Relaxed(game.subspace @ game.subspace.T, game.losses, game.value)
