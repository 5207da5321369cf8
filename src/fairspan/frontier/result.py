"""What a frontier is: points with their proofs, and for two groups all that is attainable."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from fairspan.ground.types import BoolArray, FloatArray, IntArray, Label
from fairspan.solvers.result import kind_of_proof
from fairspan.solvers.two_groups.trace import Enclosure, TradeOff
from fairspan.words import RULES, group_name


@dataclass(frozen=True, repr=False)
class Frontier:
    """Optimal subspaces by fairness weight, and the region that subspaces attain.

    Attributes
    ----------
    group_labels : tuple
        The groups, sorted.
    group_counts : ndarray of shape (n_groups,)
        Their numbers of rows.
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
        Deprecated: intervals from the rows of a fit are too short, so none are computed.
    n_eigensolves : int
        Eigen-solves that the points took.
    trade_off : TradeOff or None
        Two groups: finds ``curve`` and ``region`` when they are asked for.
    dominated : ndarray of shape (n_points,)
        Whether a projection was found that serves every group better than the point does;
        :func:`fairspan.dominating_projection` returns it.
    references : ndarray of shape (n_groups,) or None
        What errors are compared with, where references were asked for; with ``reference="own"``
        each group's own best error.
    gap_above_references : ndarray of shape (n_points,) or None
        Largest minus smallest error above them.
    route : str
        Which way the points were found, "moments" or "products".
    failure_probability : float
        How probably any of the bounds may be wrong; 0 where all are deterministic.
    n_passes : int
        Passes over the rows that products took, all points together.
    """

    group_labels: tuple[Label, ...]
    group_counts: IntArray
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
    references: FloatArray | None = None
    gap_above_references: FloatArray | None = None
    route: str = "moments"
    failure_probability: float = 0.0
    n_passes: int = 0
    total_error_interval: ClassVar[None] = None
    gap_interval: ClassVar[None] = None
    group_error_interval: ClassVar[None] = None

    def __repr__(self) -> str:
        groups = ", ".join(map(repr, self.group_labels[:4]))
        more = ", ..." if len(self.group_labels) > 4 else ""
        gap = self.gap.min() if self.gap.min() > RULES["zero"] * self.total_error.max() else 0.0
        return (
            f"Frontier({len(self.gap)} points, n_components={self.n_components}, groups {groups}"
            f"{more}, gap {self.gap.max():.4g} to {gap:.4g}, total error "
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

    @property
    def proof(self) -> str:
        """What kind of proof the bounds have: "deterministic", or with which probability."""
        return kind_of_proof(self.failure_probability)

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
    if frontier.gap_above_references is not None:
        columns["gap_above_references"] = frontier.gap_above_references
    columns["hidden"] = frontier.is_hidden
    columns["dominated"] = frontier.dominated
    return columns
