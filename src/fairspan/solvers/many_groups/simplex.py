"""A concave quadratic over weights that sum to 1: the small program inside every Newton step."""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dgesv

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
    if n == 1:
        return np.ones(1)
    # A constant changes nothing, and in units of its size the program is well scaled.
    linear = linear - linear.max()
    size = float(quadratic.trace()) - float(linear.min())
    if size == 0:
        return np.asarray(np.eye(n)[0])
    # Bordered by the sum of the weights, whose multiplier is the level. Solved as one system:
    # eliminating the weights would cancel where the program is almost singular.
    system, aim = np.ones((n + 1, n + 1)), np.ones(n + 1)
    np.divide(quadratic, size, out=system[:n, :n])
    np.divide(linear, size, out=aim[:n])
    system.flat[:: n + 2] += _RIDGE
    system[n, n] = 0.0
    if start is None:
        start = np.eye(n)[int(np.argmax(aim[:n] - 0.5 * system.diagonal()[:n]))]
    w = start.tolist()
    free = [i for i in range(n) if w[i] > 0]
    for _ in range(20 * n):
        target = _on_face(system, aim, free)
        leaving = _first_to_vanish(w, target, free)
        if leaving is not None:
            first, step = leaving
            w = [max(old + step * (new - old), 0.0) for old, new in zip(w, target, strict=False)]
            w[first] = 0.0
            free.remove(first)
            continue
        w = target[:n]
        excess = (aim - system @ target).tolist()
        left = [i for i in range(n) if i not in free]
        entering = max(left, key=excess.__getitem__, default=None)
        if entering is None or excess[entering] <= _RIDGE:
            break
        free = sorted([*free, entering])
    return np.asarray(np.array(w) / sum(w))


def _first_to_vanish(
    w: list[float], target: list[float], free: list[int]
) -> tuple[int, float] | None:
    """Of the weights that would become negative, the first to do so on the way, and how far."""
    steps = [(w[i] / (w[i] - target[i]) if w[i] > 0 else 0.0, i) for i in free if target[i] < 0]
    if not steps:
        return None
    step, first = min(steps)
    return first, step


def _on_face(system: FloatArray, aim: FloatArray, free: list[int]) -> list[float]:
    """Solve with some weights free and the others 0; the last number is the level."""
    n = len(aim) - 1
    if len(free) == n:
        return _solved(system, aim)
    index = [*free, n]
    target = [0.0] * (n + 1)
    some = _solved(system.take(index, axis=0).take(index, axis=1), aim.take(index))
    for i, value in zip(index, some, strict=True):
        target[i] = value
    return target


def _solved(system: FloatArray, aim: FloatArray) -> list[float]:
    # LAPACK itself: for a handful of unknowns all else would be checks.
    found, info = dgesv(system, aim)[2:]
    if info != 0:
        raise np.linalg.LinAlgError("Singular matrix")
    return list(found.tolist())
