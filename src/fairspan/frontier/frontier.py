"""The whole trade-off between total error and gap, and all that is attainable, from moments alone.

At radius 0 the best compromises of two groups are the points where supporting lines of the
attainable errors touch, from PCA (the gap counts nothing) to the fairest subspace. Drawn to a
proved accuracy they are complete: no other subspace is better in one and no worse in the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from fairspan.fitting import Counting, prepare, warn_of_small_groups
from fairspan.frontier.points import Point, curve_points, solve_points
from fairspan.frontier.request import check_numbers, check_radii, moments_to_compare
from fairspan.ground import defaults
from fairspan.ground.parameters import (
    check_components,
    check_max_time,
    check_number,
)
from fairspan.ground.renamed import not_used
from fairspan.ground.types import BoolArray, FloatArray, Label
from fairspan.ground.warn import warn
from fairspan.judging.dominance import dominated
from fairspan.solvers import SolverOptions
from fairspan.solvers.options import Patience
from fairspan.solvers.two_groups.trace import Enclosure, TradeOff
from fairspan.words import group_name

_WEIGHTS = (0.0, *np.geomspace(0.01, 10.0, 25).tolist())
"""Fairness weights where none are given and the points are not those of the curve."""


@dataclass(frozen=True, repr=False)
class Frontier:
    """Optimal subspaces by fairness weight, and the region that subspaces attain.

    Attributes
    ----------
    group_labels : tuple
        The groups, sorted.
    n_components : int
        Number of components.
    fairness_weight : ndarray of shape (n_points,)
        The fairness weight each point is optimal for.
    radius : ndarray of shape (n_points,)
        The radius of each; not a number where it was given by group.
    group_errors : ndarray of shape (n_points, n_groups)
        Mean squared reconstruction error of each group.
    total_error : ndarray of shape (n_points,)
        Mean error of all rows.
    weighted_error : ndarray of shape (n_points,)
        Mean error of the groups as ``group_weights`` counts them, which the objective is about; the
        total error by default.
    gap : ndarray of shape (n_points,)
        Largest minus smallest error of the groups that are compared.
    objective : ndarray of shape (n_points,)
        Value of the objective.
    lower_bound : ndarray of shape (n_points,)
        Proved: no subspace has a smaller objective.
    optimality_gap : ndarray of shape (n_points,)
        Their relative distance; 1 where rounding hides the objective.
    status : tuple of str
        "optimal" for each point that is proved, as in :class:`fairspan.solvers.SolverResult`.
    is_hidden : tuple of bool
        Whether rounding hides the objective of a point, of which nothing is known then.
    total_error_interval, gap_interval, group_error_interval : None
        Deprecated: intervals from the rows of a fit are too short, and there are none any more.
    n_eigensolves : int
        Eigen-solves that the points took.
    trade_off : TradeOff or None
        Two groups: finds ``curve`` and ``region`` when they are asked for.
    dominated : ndarray of shape (n_points,)
        Whether a projection was found that serves every group better than the point does;
        :func:`fairspan.dominating_projection` returns it.
    """

    group_labels: tuple[Label, ...]
    n_components: int
    fairness_weight: FloatArray
    radius: FloatArray
    group_errors: FloatArray
    total_error: FloatArray
    weighted_error: FloatArray
    gap: FloatArray
    objective: FloatArray
    lower_bound: FloatArray
    optimality_gap: FloatArray
    status: tuple[str, ...]
    is_hidden: tuple[bool, ...]
    n_eigensolves: int
    trade_off: TradeOff | None = field(repr=False)
    dominated: BoolArray
    total_error_interval: ClassVar[None] = None
    gap_interval: ClassVar[None] = None
    group_error_interval: ClassVar[None] = None

    def __repr__(self) -> str:
        groups = ", ".join(map(repr, self.group_labels[:4]))
        more = ", ..." if len(self.group_labels) > 4 else ""
        return (
            f"Frontier({len(self.gap)} points, n_components={self.n_components}, groups {groups}"
            f"{more}, gap {self.gap.max():.4g} to {self.gap.min():.4g}, total error "
            f"{self.total_error.min():.4g} to {self.total_error.max():.4g})"
        )

    @property
    def curve(self) -> Enclosure | None:
        """Two groups: the complete trade-off at radius 0 as paths of (gap, total error).

        It leads from PCA to the fairest subspace; no subspace lies below ``curve.outer``.
        """
        return None if self.trade_off is None else self.trade_off.curve

    @property
    def region(self) -> Enclosure | None:
        """Two groups: polygons of group errors inside and around all that subspaces attain."""
        return None if self.trade_off is None else self.trade_off.region

    def to_frame(self) -> Any:
        """Return the points as a table.

        Returns
        -------
        pandas.DataFrame
            A row for each point; the errors of group a are in the column "error_a".
        """
        try:
            import pandas as pd  # type: ignore[import-untyped, unused-ignore]
        except ImportError as error:
            raise ImportError("Frontier.to_frame needs pandas: pip install pandas.") from error
        return pd.DataFrame(columns_of(self))

    def plot(self, ax: Any = None) -> Any:
        """Draw the trade-off and, for two groups, what is attainable.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; a new figure if not given.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.
        """
        from fairspan.plotting import plot_frontier

        return plot_frontier(self, ax)


def columns_of(frontier: Frontier) -> dict[str, Any]:
    """All that is known of the points, a value for each."""
    labels = list(map(group_name, frontier.group_labels))
    columns: dict[str, Any] = {
        "fairness_weight": frontier.fairness_weight,
        "radius": frontier.radius,
    }
    columns |= {f"error_{name}": frontier.group_errors[:, a] for a, name in enumerate(labels)}
    for name in ("total_error", "gap", "objective", "lower_bound", "optimality_gap", "status"):
        columns[name] = getattr(frontier, name)
    columns["hidden"] = frontier.is_hidden
    columns["dominated"] = frontier.dominated
    return columns


def fairness_frontier(
    X_or_moments: Any,
    n_components: int = defaults.N_COMPONENTS,
    *,
    sensitive_features: Any = None,
    fairness_weights: Any = None,
    disparity: str = "gap",
    reference: str | Mapping[Any, float] = "none",
    radius: Any = defaults.RADIUS,
    n_bootstrap: int | None = None,
    standardize: bool = False,
    group_weights: str | Mapping[Any, float] = "share",
    missing_groups: str = "raise",
    effort: float = defaults.EFFORT,
    max_time: float | None = None,
    random_state: Any = None,
) -> Frontier:
    """Find the trade-off between the total error and the gap between groups.

    Without fairness weights, two groups at radius 0 give the complete curve: every best compromise
    from PCA to the fairest subspace, to a proved accuracy. Else the points are the optima of a
    grid, which share their eigen-solves. For two groups the result also draws the complete curve
    and the attainable region, when asked for them.

    Parameters
    ----------
    X_or_moments : array-like of shape (n_samples, n_features) or GroupMoments
        The data, or all that is needed of it.
    n_components : int, default=2
        Number of components, from 1 to n_features.
    sensitive_features : array-like, frame or dict, optional
        The group of each row of X.
    fairness_weights : float or array-like, optional
        Fairness weights of the points; with more than two groups, a radius, or another disparity
        than the gap, 26 weights from 0 to 10 if not given.
    disparity : {"gap", "largest"}, default="gap"
        What the fairness weights count, as in RobustFairPCA. The complete curve is that of the gap.
    reference : {"none", "own"} or mapping, default="none"
        What each group's error is compared with, as in RobustFairPCA.
    radius : float, mapping or sequence of them, default=0.0
        One radius, as in RobustFairPCA, or several: then the points are a grid.
    n_bootstrap : int, optional
        Deprecated and not used: :func:`fairspan.inference.crossfit` gives intervals.
    standardize : bool, default=False
        Divide features by their standard deviation over all rows; constant features stay.
    group_weights : {"share", "equal"} or mapping, default="share"
        How much each group counts in the total error, as in RobustFairPCA.
    missing_groups : {"raise", "own_group", "total_only"}, default="raise"
        Rows whose group is missing, as in RobustFairPCA; with "total_only" they count in the total
        error and not in the gap.
    effort : float, default=1.0
        Multiplies the work that proofs may cost, as in RobustFairPCA; all points share that of a
        few fits.
    max_time : float, default=None
        Seconds that all points together may look for better minima and proofs where there are more
        than two groups.
    random_state : int, RandomState instance, Generator or None, default=None
        Not used any more: the seed of what ``n_bootstrap`` drew.

    Returns
    -------
    Frontier
        The points with their proofs.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fairspan import fairness_frontier
    >>> data = load_breast_cancer()
    >>> groups = data.target_names[data.target]
    >>> frontier = fairness_frontier(data.data, 3, sensitive_features=groups, standardize=True)
    >>> frontier.gap[[0, -1]].round(3), frontier.total_error[[0, -1]].round(3)
    (array([1.614, 0.   ]), array([8.209, 8.58 ]))
    """
    weights = (
        None if fairness_weights is None else check_numbers("fairness_weights", fairness_weights)
    )
    radii = check_radii(radius)
    not_used("n_bootstrap", n_bootstrap)
    check_number("effort", effort, positive=True)
    check_max_time(max_time)
    counting = Counting(group_weights, missing_groups, disparity, reference).checked()
    moments = moments_to_compare(X_or_moments, sensitive_features, counting)
    k = check_components(n_components, moments.n_features)
    problem = prepare(moments, standardize, room=k).problem(k, counting)
    warn_of_small_groups(moments, k)
    trade_off = TradeOff(problem) if problem.n_groups == 2 else None
    if trade_off is not None and weights is None and not any(radii) and counting.is_paper:
        # Where nothing is asked for, the complete curve.
        points = curve_points(trade_off)
    else:
        asked = [(weight, radius) for radius in radii for weight in weights or _WEIGHTS]
        boundary = None if trade_off is None else trade_off.boundary
        patience = Patience(effort, len(asked), max_time)
        points = solve_points(problem, moments, asked, counting, boundary, patience)
    _warn_of_gaps(points)
    weight, size, found, value, bound, proved, status, hidden, slopes = zip(*points, strict=True)
    errors = np.array(found)
    return Frontier(
        group_labels=moments.labels,
        n_components=problem.k,
        fairness_weight=np.array(weight),
        radius=np.array([r if isinstance(r, Real) else np.nan for r in size], dtype=float),
        group_errors=errors,
        total_error=errors @ moments.shares,
        weighted_error=errors @ problem.shares,
        gap=counting.gap(errors, moments),
        objective=np.array(value),
        lower_bound=np.array(bound),
        optimality_gap=np.array(proved),
        status=status,
        is_hidden=hidden,
        n_eigensolves=problem.n_eigensolves,
        trade_off=trade_off,
        dominated=dominated(
            problem, errors, None if trade_off is None else trade_off.boundary, slopes
        ),
    )


def _warn_of_gaps(points: list[Point]) -> None:
    gaps = [point.optimality_gap for point in points if point.status != "optimal"]
    # Where rounding hides the objective, a warning has named the features.
    if gaps and min(gaps) < 1:
        warn(
            f"{len(gaps)} of {len(points)} points are not proved optimal to a relative gap of "
            f"{SolverOptions.tol}; the largest gap is {max(gaps):.2g}.",
            ConvergenceWarning,
        )
