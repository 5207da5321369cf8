"""A concave quadratic over weights that sum to 1: the small program inside every Newton step."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fairspan.ground.types import FloatArray

_RIDGE = 1e-13
"""Keeps the curvature positive, as a share of the program's size."""


def simplex_quadratic(
    linear: FloatArray, quadratic: FloatArray, start: FloatArray | None = None
) -> FloatArray:
    """Maximise linear . w - w' quadratic w / 2 over weights that are not negative and sum to 1.

    Parameters
    ----------
    linear : ndarray of shape (n,)
        Any real numbers.
    quadratic : ndarray of shape (n, n)
        Symmetric, positive semidefinite.
    start : ndarray of shape (n,), optional
        Weights to begin with; those of a program that is almost the same save most of the work.

    Returns
    -------
    ndarray of shape (n,)
        The weights, by an active-set method.
    """
    n = len(linear)
    # A constant changes nothing, and in units of its size the program is well scaled.
    linear = linear - linear.max()
    size = float(np.trace(quadratic)) + float(np.abs(linear).max())
    if size == 0:
        return np.asarray(np.eye(n)[0])
    linear, Q = linear / size, quadratic / size + _RIDGE * np.eye(n)
    best = int(np.argmax(linear - 0.5 * np.diag(Q)))
    w = np.eye(n)[best] if start is None else start
    free = w > 0
    for _ in range(20 * n):
        target, level = _on_face(linear, Q, free)
        if (target[free] < 0).any():
            falling = free & (target < w)
            steps = np.where(falling, w / np.where(falling, w - target, 1.0), np.inf)
            leaving = int(np.argmin(np.where(target < 0, steps, np.inf)))
            w = np.maximum(w + min(steps[leaving], 1.0) * (target - w), 0.0)
            w[leaving], free[leaving] = 0.0, False
            continue
        w = target
        excess = np.where(free, -np.inf, linear - Q @ w - level)
        entering = int(np.argmax(excess))
        if excess[entering] <= _RIDGE:
            break
        free[entering] = True
    return np.asarray(w / w.sum())


def _on_face(
    linear: FloatArray, Q: FloatArray, free: npt.NDArray[np.bool_]
) -> tuple[FloatArray, float]:
    """Solve with some weights free and the others 0; the level is the multiplier of the sum."""
    index = np.flatnonzero(free)
    n = len(index)
    system = np.ones((n + 1, n + 1))
    system[:n, :n], system[n, n] = Q[np.ix_(index, index)], 0.0
    # Solved as one system: eliminating the weights would cancel where Q is almost singular.
    solved = np.linalg.solve(system, np.append(linear[index], 1.0))
    target = np.zeros(len(linear))
    target[index] = solved[:n]
    return target, float(solved[n])
