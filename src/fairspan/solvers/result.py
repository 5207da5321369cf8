"""What every solver returns: a point and the evidence for it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from fairspan.ground.types import FloatArray
from fairspan.objectives.mixture import Pieces
from fairspan.problem.subspace import SubspaceProblem

_ROUNDING = 1e-13
"""Objectives below this share of the total variance are rounding; gaps are measured against it."""
_TOLD = 1e-5
"""Gaps beyond this share are reported even where rounding explains them."""
SMALLEST_LOSS = 1e-4
"""What may be negative may vanish: gaps of such values, below this share of the total variance, are
measured against that share."""


class Relaxed(NamedTuple):
    """A mixture of projections: its matrix 0 <= P <= I of trace k, and its group errors."""

    matrix: FloatArray
    errors: FloatArray


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
        "optimal" (the gap is within the tolerance, or what is left is rounding), "feasible" or
        "iteration_limit" (the solver was stopped).
    scale : float
        Total variance of the data, the groups counted as in the objective.
    solver : str
        Name of the solver.
    n_eigensolves : int
        Eigen-solves of a matrix of full size, those for the bound included.
    history : ndarray of shape (n_iterations, 2)
        Best value after each iteration; beside it the bound proved by then, or in the end.
    is_hidden : bool
        Whether features vary so little beside others that rounding hides the objective, of which
        nothing is known then.
    lowest : float
        No value of the objective is below this.
    size : float or None
        With references, which may make the objective 0 or negative: its value without them, against
        which the gap is measured. None where that is the objective itself.
    threshold : float
        Of exact fairness: the fairness weight from which on a penalty on the gap yields the same
        errors, infinite where only the limit of heavy weights does. 0 for other objectives.
    effort : float
        Work of the proof, in units of what a fit may cost.
    was_cut : bool
        Whether the time that was given ended the proof, so that another run may prove more or less.
    relaxed : Relaxed or None
        A mixture of projections that is better than the subspace, where one was found.
    bound_weights : ndarray of shape (n_groups,) or None
        PCA with groups weighted like this proves the bound of the least largest loss; where pieces
        are minimised they are the slopes at the answer.
    pieces : tuple
        The pieces that meet at the answer and their weights, where they are known: a start for
        objectives that are much like this one.
    improvable : float
        Proved: no subspace lowers the error of every group by more; infinite where not known.
    failure_probability : float
        How probably the bound may be wrong; 0 where it is deterministic.
    n_passes : int
        Passes over the rows, where the fit made some of its own.
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
    is_hidden: bool = False
    lowest: float = 0.0
    size: float | None = None
    threshold: float = 0.0
    effort: float = 0.0
    was_cut: bool = False
    relaxed: Relaxed | None = field(default=None, repr=False)
    bound_weights: FloatArray | None = field(default=None, repr=False)
    pieces: Pieces = field(default=(), repr=False)
    improvable: float = field(default=math.inf, repr=False)
    failure_probability: float = 0.0
    n_passes: int = 0

    @property
    def n_iter(self) -> int:
        """Number of iterations, 1 or more; a descent's history begins before its first step."""
        return max(len(self.history) - (self.solver == "subgradient"), 1)

    @property
    def proof(self) -> str:
        """What kind of proof the bound has: "deterministic", or with which probability it holds."""
        return kind_of_proof(self.failure_probability)

    @property
    def optimality_gap(self) -> float:
        """Distance between value and bound, as a share of the objective; 1 where it is hidden."""
        if self.is_hidden:
            return 1.0
        return relative_gap(
            self.objective, self.lower_bound, self.scale, lowest=self.lowest, size=self.size
        )


def kind_of_proof(failure_probability: float) -> str:
    """Name the kind of proof that bounds have, by how probably one of them may be wrong."""
    if failure_probability == 0:
        return "deterministic"
    return f"with probability 1 - {failure_probability:g}"


def settled(
    result: SolverResult,
    problem: SubspaceProblem,
    fairness_weight: float = 0.0,
    unsure: float = 0.0,
) -> SolverResult:
    """Withdraw every claim about an objective that is no more than rounding.

    What rounding may hide of the value counts in the gap. Below the lowest value that the objective
    can have, a bound says nothing: it is raised to that.

    Parameters
    ----------
    result : SolverResult
        What a solver found.
    problem : SubspaceProblem
        Knows its rounding, and whether it hides features.
    fairness_weight : float
        How much differences of errors count in the objective.
    unsure : float
        How far the objective may be above its value: see :func:`hidden_value`.

    Returns
    -------
    SolverResult
        The result, not proved where rounding hides its objective.
    """
    if unsure > 0:
        size = abs(result.objective) if result.size is None else result.size
        much = unsure > _TOLD * size
        status = "feasible" if much and result.status == "optimal" else result.status
        result = replace(result, lower_bound=result.lower_bound - unsure, status=status)
    if result.lower_bound < result.lowest <= result.objective:
        result = replace(result, lower_bound=result.lowest)
    size = result.objective if result.size is None else result.size
    if not problem.has_hidden_features or size > problem.resolution(fairness_weight):
        return result
    return replace(result, status="feasible", is_hidden=True)


def hidden_value(function: Any, problem: SubspaceProblem, errors: FloatArray) -> float:
    """Say how far an objective may be above its value where errors are within rounding of 0.

    They count as 0, and a radius makes the slope there infinite: rounding shows by its root.

    Parameters
    ----------
    function : Objective
        What was minimised; without radii nothing is hidden that a tolerance would show.
    problem : SubspaceProblem
        Knows its rounding.
    errors : ndarray of shape (n_groups,)
        Group errors.

    Returns
    -------
    float
        The difference, 0 or more.
    """
    hidden = (errors == 0) & (np.asarray(getattr(function, "radii", 0.0)) > 0)
    if problem.k == problem.d or not hidden.any():
        return 0.0
    highest = float(function.value(np.where(hidden, problem.rounding, errors)))
    return max(highest - float(function.value(errors)), 0.0)


def safe_bound(bound: float, objective: float, scale: float, size: float | None = None) -> float:
    """Cut what rounding adds to a bound; more than rounding is a defect, and raises.

    Parameters
    ----------
    bound : float
        A bound that was proved.
    objective : float
        A value that is attained.
    scale : float
        Total variance.
    size : float, optional
        Of the objective, where it may be 0 or negative.

    Returns
    -------
    float
        The bound, at most the objective.
    """
    # Errors within rounding of 0 count as 0; with a radius, that shows by its square root.
    size = abs(objective) if size is None else size
    if bound > objective + 1e-3 * max(size, SMALLEST_LOSS * scale):
        raise RuntimeError(
            f"A lower bound ({bound!r}) exceeds a value that is attained ({objective!r}). This is "
            "a defect of fairspan: please report it, with the data's moments if you can share them."
        )
    return min(bound, objective)


def is_closed(
    problem: SubspaceProblem,
    value: float,
    bound: float,
    tol: float,
    fairness_weight: float = 0.0,
    *,
    size: float | None = None,
) -> bool:
    """Say whether value and bound meet: to the tolerance, or as far as rounding can tell.

    Parameters
    ----------
    problem : SubspaceProblem
        Gives the scale and its rounding.
    value, bound : float
        A value that is attained, and a bound that is proved.
    tol : float
        The share of the value that they may be apart.
    fairness_weight : float
        How much differences of errors count in them.
    size : float, optional
        The value without references, where there may be some.

    Returns
    -------
    bool
        Whether nothing is left to prove.
    """
    gap = relative_gap(value, bound, problem.scale, size=size)
    return meets(value - bound, gap, tol, problem.resolution(fairness_weight))


def meets(distance: float, gap: float, tol: float, rounding: float) -> bool:
    """Say whether a distance is within the tolerance, or is rounding that hardly shows.

    Parameters
    ----------
    distance, gap : float
        Between value and bound, absolute and as a share of the value.
    tol : float
        The share that they may be apart.
    rounding : float
        How far rounding alone may set them apart.

    Returns
    -------
    bool
        Whether nothing is left to prove.
    """
    return gap <= tol or (distance <= rounding and gap <= _TOLD)


def relative_gap(
    objective: float,
    lower_bound: float,
    scale: float,
    smallest: float | None = None,
    *,
    lowest: float = 0.0,
    size: float | None = None,
) -> float:
    """Measure the gap as a share of the objective.

    Parameters
    ----------
    objective : float
        An attained value.
    lower_bound : float
        A proved bound.
    scale : float
        Total variance, for objectives that are zero up to rounding.
    smallest : float, optional
        The share of it against which gaps of still smaller objectives are measured: that of
        rounding, or more where objectives may be negative and vanish by chance.
    lowest : float
        No objective is below this, so that with a scale it is a bound for everything.
    size : float, optional
        What takes the place of the objective where references may make it 0 or negative: it
        without them. Nothing is known of the lowest value then.

    Returns
    -------
    float
        The relative gap, 0 or more.
    """
    if size is not None:
        smallest, lowest = _ROUNDING, -math.inf
    if smallest is None:
        smallest = _ROUNDING if lowest >= 0 else SMALLEST_LOSS
    unit = max(abs(objective) if size is None else size, smallest * scale)
    known = max(lower_bound, lowest) if scale > 0 and objective >= lowest else lower_bound
    return max(objective - known, 0.0) / unit if unit > 0 else 0.0
