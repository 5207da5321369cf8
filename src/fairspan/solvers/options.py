"""How to solve: the settings of all solvers, and time shared by many fits."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairspan.ground import defaults

SOLVERS = ("auto", "newton", "boundary", "subgradient")
"""What RobustFairPCA can be solved by."""
RETRACTIONS = ("qr", "polar")
ITERATES = ("best", "average", "last")


@dataclass(frozen=True)
class SolverOptions:
    """How to solve: the solver's name and its settings; a solver reads those it knows.

    Attributes
    ----------
    solver : str
        "auto", or one of the solvers in :mod:`fairspan.solvers.door`.
    tol : float
        The relative gap to reach.
    max_iter : int
        The largest number of eigen-solves, steps or iterations.
    max_time : float
        Of "newton": seconds after which the proof is given up.
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
    effort : float
        Of "newton": multiplies the work that a proof may cost.
    """

    solver: str = "auto"
    tol: float = defaults.TOL
    max_iter: int = defaults.MAX_ITER
    max_time: float = defaults.MAX_TIME
    n_init: int = defaults.N_INIT
    retraction: Any = "qr"
    rng: np.random.Generator | None = None
    start_at_pca: bool = True
    iterate: Any = "best"
    learning_rate: float = 1.0
    effort: float = 1.0


class Patience:
    """The seconds that many fits may search together: each may take its share of what is left.

    Parameters
    ----------
    seconds : float
        For all of them.
    n_fits : int
        How many there are.
    """

    def __init__(self, seconds: float, n_fits: int) -> None:
        self._deadline = time.monotonic() + seconds
        self._fits = n_fits

    def share(self) -> float:
        """Give the seconds of the next fit; those that finish early leave theirs to the others."""
        left = max(self._deadline - time.monotonic(), 0.0)
        share = left / max(self._fits, 1)
        self._fits -= 1
        return share
