"""How to solve: the settings of all solvers, and work shared by many fits."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fairspan.ground import defaults
from fairspan.ground.types import FloatArray
from fairspan.objectives.mixture import Pieces
from fairspan.solvers.result import SolverResult

SOLVERS = ("auto", "newton", "boundary", "subgradient")
"""What RobustFairPCA can be solved by."""
RETRACTIONS = ("qr", "polar")
STARTS = ("both", "random", "pca")
ITERATES = ("best", "average", "last")
_FITS = 4.0
"""Fits that are made together may cost as much as this many fits alone."""
_HARD = 0.1
"""A fit among many may take this share of what is left: most of them leave theirs."""


@dataclass(frozen=True)
class SolverOptions:
    """How to solve: the solver's name and its settings; a solver reads those it knows.

    Attributes
    ----------
    solver : str
        "auto", or one of the solvers in ``fairspan.solvers.door``.
    tol : float
        The relative gap to reach.
    max_iter : int
        The largest number of eigen-solves, steps or iterations.
    effort : float
        Of "newton": multiplies the work that a proof may cost.
    max_time : float or None
        Of "newton": seconds after which the proof is given up, a safety net.
    start : ndarray of shape (d, k), optional
        Of "newton": a subspace near the answer, such as the answer to a problem much like this one.
    pieces : tuple
        Of "newton": the pieces that meet there and their weights, where they are known.
    slope : ndarray of shape (n_groups,), optional
        Of "newton" and "boundary": how much each group's error counts at the answer, where that is
        predicted.
    n_init, retraction, start_at_pca : int, {"qr", "polar"} and bool
        Of "subgradient": random starts, how a step returns to the manifold, and whether PCA is
        one more start.
    iterate : str
        Which iterate to give: "best" or "last" of "subgradient", and also "average" of
        "multiplicative_weights".
    learning_rate : float
        Of "multiplicative_weights": how fast weights react to losses.
    rng : numpy.random.Generator, optional
        Source of random starts.
    """

    solver: str = "auto"
    tol: float = defaults.TOL
    max_iter: int = defaults.MAX_ITER
    effort: float = defaults.EFFORT
    max_time: float | None = None
    n_init: int = defaults.N_INIT
    retraction: Any = "qr"
    rng: np.random.Generator | None = None
    start_at_pca: bool = True
    iterate: Any = "best"
    learning_rate: float = 1.0
    start: FloatArray | None = None
    pieces: Pieces = ()
    slope: FloatArray | None = None


class Patience:
    """Work that many fits share: each may take its part of what is left.

    Parameters
    ----------
    effort : float
        Multiplies the work, which is that of a few fits for all of them together.
    n_fits : int
        How many there are.
    max_time : float or None
        Seconds for all of them, a safety net.
    """

    def __init__(self, effort: float, n_fits: int, max_time: float | None = None) -> None:
        self._left = _FITS * effort
        self._fits = n_fits
        self._end = None if max_time is None else time.monotonic() + max_time

    def options(self, base: SolverOptions) -> SolverOptions:
        """Give the options of the next fit."""
        left = max(self._left, 0.0)
        share = max(left / max(self._fits, 1), _HARD * min(left, 1.0))
        seconds = None if self._end is None else max(self._end - time.monotonic(), 0.0)
        if seconds is not None:
            seconds /= max(self._fits, 1)
        return replace(base, effort=share, max_time=seconds)

    def settle(self, result: SolverResult) -> SolverResult:
        """Count what a fit has spent; what it left is there for the others."""
        self._left -= result.effort
        self._fits -= 1
        return result
