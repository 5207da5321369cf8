"""What every solver returns: a point and the evidence for it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from fairspan._types import FloatArray

SMALLEST_SCALE = 1e-4
"""Gaps of objectives below this share of the total variance are measured against that share."""


@dataclass(frozen=True)
class SolverResult:
    """A subspace, its value, and a proved bound on the value of every subspace.

    Attributes
    ----------
    components : ndarray of shape (n_components, n_features)
        Orthonormal rows.
    group_errors : ndarray of shape (n_groups,)
        Mean squared reconstruction error of each group.
    objective : float
        Value of the objective.
    lower_bound : float
        Proved: no subspace has a smaller objective.
    status : str
        "optimal" (the gap is within the tolerance), "feasible" (it is not) or
        "iteration_limit" (the solver was stopped).
    scale : float
        Total variance of the data, the groups counted as in the objective.
    solver : str
        Name of the solver.
    n_eigensolves : int
        Eigen-solves of a matrix of full size, those for the bound included.
    history : ndarray of shape (n_iterations, 2)
        Best value and proved bound after each iteration.
    """

    components: FloatArray = field(repr=False)
    group_errors: FloatArray
    objective: float
    lower_bound: float
    status: str
    scale: float
    solver: str = ""
    n_eigensolves: int = 0
    history: FloatArray = field(default_factory=lambda: np.empty((0, 2)), repr=False)

    @property
    def optimality_gap(self) -> float:
        """Distance between value and bound, relative to the objective unless it is tiny."""
        return relative_gap(self.objective, self.lower_bound, self.scale)


def safe_bound(bound: float, objective: float, scale: float) -> float:
    """Cut what rounding adds to a bound; more than rounding is a defect, and raises.

    Parameters
    ----------
    bound : float
        A bound that was proved.
    objective : float
        A value that is attained.
    scale : float
        Total variance.

    Returns
    -------
    float
        The bound, at most the objective.
    """
    # Errors within rounding of 0 count as 0; with a radius, that shows by its square root.
    if bound > objective + 1e-3 * max(abs(objective), SMALLEST_SCALE * scale):
        raise RuntimeError(
            f"A lower bound ({bound!r}) exceeds a value that is attained ({objective!r}). This is "
            "a defect of fairspan: please report it, with the data's moments if you can share them."
        )
    return min(bound, objective)


def relative_gap(objective: float, lower_bound: float, scale: float) -> float:
    """Measure the gap relative to the objective, or to a ten-thousandth of the total variance.

    Parameters
    ----------
    objective : float
        An attained value.
    lower_bound : float
        A proved bound.
    scale : float
        Total variance, for objectives that are zero up to rounding.

    Returns
    -------
    float
        The relative gap, 0 or more.
    """
    unit = max(abs(objective), SMALLEST_SCALE * scale)
    return max(objective - lower_bound, 0.0) / unit if unit > 0 else 0.0
