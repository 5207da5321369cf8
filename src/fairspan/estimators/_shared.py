"""What several methods share: their warnings, and groups centred by their own means."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from fairspan.exceptions import NoGroupsWarning
from fairspan.ground.types import FloatArray
from fairspan.moments.group_moments import GroupMoments
from fairspan.solvers.result import SolverResult

_CALLER = 5
"""Frames between a warning here and the user's call of fit."""


def covariances(moments: GroupMoments) -> FloatArray:
    """Covariance of each group around its own mean (ddof 0).

    Parameters
    ----------
    moments : GroupMoments
        The moments.

    Returns
    -------
    ndarray of shape (n_groups, d, d)
        The covariances.
    """
    return np.asarray(moments.scatters / moments.weights[:, None, None])


def warn_of_one_group() -> None:
    """Warn that there are no two groups, so that the result is PCA."""
    warnings.warn(
        "There is only one group, so the result is PCA. Pass sensitive_features=....",
        NoGroupsWarning,
        stacklevel=_CALLER,
    )


def warn_unless_optimal(result: SolverResult, tol: float) -> None:
    """Warn when a result is not proved optimal to the tolerance, and state the gap.

    Parameters
    ----------
    result : SolverResult
        The result.
    tol : float
        The tolerance that was asked for.
    """
    if result.status != "optimal":
        warnings.warn(
            f"Solver {result.solver!r} ended with status {result.status!r}: the objective "
            f"{result.objective:.6g} is proved optimal to a relative gap of "
            f"{result.optimality_gap:.2g}, not to tol={tol}. More time may help or, where features "
            "differ much in size, standardize=True.",
            ConvergenceWarning,
            stacklevel=_CALLER,
        )
