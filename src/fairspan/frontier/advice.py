"""A first look at the gap between groups: how large, how sure, and what closing it would cost."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from fairspan import words
from fairspan.exceptions import HiddenFeatureWarning, SmallGroupWarning
from fairspan.fitting import least_rows, prepare, warn_of_small_groups
from fairspan.frontier.frontier import Frontier, fairness_frontier
from fairspan.ground import defaults
from fairspan.ground.parameters import check_components, check_number
from fairspan.ground.rows import check_rows
from fairspan.ground.types import FLOATS, BoolArray, FloatArray, Label
from fairspan.judging.bootstrap import bootstrap_intervals
from fairspan.moments.group_moments import GroupMoments
from fairspan.moments.groups import Groups, encode_groups

_BISECTIONS = 50
_CLOSED = 1e-9
"""A gap below this share of the variance is none."""


@dataclass(frozen=True)
class Advice:
    """What the data says about the gap between groups; ``print`` it.

    Attributes
    ----------
    group_labels : tuple
        The groups, sorted.
    group_counts : ndarray of shape (n_groups,)
        Their rows.
    n_components : int
        Number of components.
    pca_errors : ndarray of shape (n_groups,)
        Errors of the groups under plain PCA.
    pca_error_intervals : ndarray of shape (n_groups, 2)
        Their intervals; NaN for groups with too few rows.
    pca_gap : float
        Largest minus smallest of them.
    pca_gap_interval : ndarray of shape (2,)
        The interval of the gap between the groups with enough rows; NaN if there are no two.
    level : float
        Confidence level of the intervals.
    distinguishable : bool
        Whether the interval of the gap lies above 0, by more than rounding. Groups with too few
        rows have no say in it.
    too_small : tuple
        Groups with too few rows: fewer than 10, or no more than components. Resampling so few
        rows does not show how much they vary.
    pca_total : float
        Total error of plain PCA.
    disparity : str
        What the fairness weights below count: "gap" for two groups and "largest" for more, as in
        RobustFairPCA. Only projections are considered of which none is known that serves every
        group better; for more than two groups "gap" hardly has any.
    smallest_gap : float
        The smallest gap found at any fairness weight.
    total_at_smallest_gap : float
        Total error there.
    target_gap : float
        The gap that was asked for.
    weight_for_target : float or None
        The smallest fairness weight (at radius 0) found to reach it; None if none does.
    total_at_target : float or None
        Total error there.
    errors_at_target : ndarray of shape (n_groups,)
        Errors of the groups there; at the smallest gap if the target is not reached.
    levels_down : bool
        Whether smaller gaps were left out because another projection serves every group better.
    components_for_target : int
        The number of components from which on plain PCA stays within the target.
    status : str
        "optimal" if every point of the trade-off behind the prices is proved, else "feasible".
    optimality_gap : float
        The largest relative gap between value and proved bound among these points; 1 where rounding
        hides the objective.
    is_hidden : bool
        Whether rounding hides the objective of some of these points.
    """

    group_labels: tuple[Label, ...]
    group_counts: Any
    n_components: int
    pca_errors: FloatArray
    pca_error_intervals: FloatArray
    pca_gap: float
    pca_gap_interval: FloatArray
    level: float
    distinguishable: bool
    too_small: tuple[Label, ...]
    pca_total: float
    disparity: str
    smallest_gap: float
    total_at_smallest_gap: float
    target_gap: float
    weight_for_target: float | None
    total_at_target: float | None
    errors_at_target: FloatArray
    levels_down: bool
    components_for_target: int
    status: str
    optimality_gap: float
    is_hidden: bool

    def __str__(self) -> str:
        # Where the gap is rounding, so are differences between the errors.
        errors = self.pca_errors if self.pca_gap > 0 else np.zeros_like(self.pca_errors)
        lines = [
            words.headline(self.group_labels, errors.tolist(), self.n_components, self.is_hidden),
            *self._groups(),
        ]
        if self.pca_gap > 0 and not self.is_hidden:
            interval = self.pca_gap_interval.tolist()
            few = self.too_small
            lines += [
                words.doubt(self.pca_gap, interval, self.level, self.distinguishable, few),
                f"The smallest gap found{self._counted} is {words.number(self.smallest_gap)}, "
                f"{words.price(self.pca_total, self.total_at_smallest_gap)}.",
                *filter(None, (words.TEMPLATES["levels down"] if self.levels_down else "",)),
                self._target(),
                *filter(None, (self._payers(),)),
            ]
        if self.status != "optimal":
            lines.append(words.proof(self.status, self.optimality_gap, self.is_hidden))
        lines.append(
            "This describes reconstruction error on these rows, with the projection held fixed in "
            "the intervals; it says nothing about the fairness of decisions made downstream."
        )
        return "\n".join(lines)

    def _groups(self) -> list[str]:
        columns = (self.group_counts.tolist(), self.pca_errors, self.pca_error_intervals)
        lines = []
        for label, count, error, interval in zip(self.group_labels, *columns, strict=True):
            ends = " to ".join(map(words.number, interval))
            sure = "no interval" if label in self.too_small else ends
            name, rows = words.group_name(label), words.plural(count, "row")
            lines.append(f"  {name}: {words.number(error)} ({sure}), {rows}")
        return lines

    @property
    def _counted(self) -> str:
        return "" if self.disparity == "gap" else f' with disparity="{self.disparity}"'

    def _payers(self) -> str:
        errors = (self.pca_errors.tolist(), self.errors_at_target.tolist())
        weight = self.weight_for_target
        method = "the smallest gap" if weight is None else f"weight {words.number(weight)}"
        return words.who_pays(self.group_labels, *errors, method)

    def _target(self) -> str:
        target = words.number(self.target_gap)
        needed = words.plural(self.components_for_target, "component")
        alone = f"Plain PCA needs {needed} to stay within {target}."
        if self.weight_for_target is None or self.total_at_target is None:
            return f"No fairness weight was found that brings the gap to {target}. {alone}"
        weight = f"{words.number(self.weight_for_target)}{self._counted}"
        return (
            f"A fairness weight of {weight} at radius 0 brings the gap to at most "
            f"{target} {words.price(self.pca_total, self.total_at_target)}. {alone}"
        )


def advise(
    X: Any,
    sensitive_features: Any,
    *,
    n_components: int = defaults.N_COMPONENTS,
    target_gap: float | None = None,
    standardize: bool = False,
    level: float = defaults.LEVEL,
    n_bootstrap: int = defaults.N_BOOTSTRAP,
    random_state: Any = None,
) -> Advice:
    """Assess the gap between groups under PCA, and the price of closing it.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The data.
    sensitive_features : array-like, frame or dict
        The group of each row; at least two groups.
    n_components : int, default=2
        Number of components.
    target_gap : float, optional
        The gap to reach; a tenth of PCA's if not given.
    standardize : bool, default=False
        Divide features by their standard deviation.
    level : float, default=0.95
        Confidence level of the intervals.
    n_bootstrap : int, default=1000
        Bootstrap replicates behind the intervals. Groups of fewer than 10 rows, or with no more
        rows than components, get none, and a SmallGroupWarning names them.
    random_state : int, RandomState instance, Generator or None, default=None
        Seed of the bootstrap.

    Returns
    -------
    Advice
        The findings; printing them gives a short summary.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> import fairspan
    >>> data = load_breast_cancer()
    >>> groups = data.target_names[data.target]
    >>> advice = fairspan.advise(
    ...     data.data, groups, n_components=3, standardize=True, random_state=0
    ... )
    >>> advice.distinguishable, round(advice.pca_gap, 2), round(advice.weight_for_target, 2)
    (False, 1.61, 0.52)
    """
    X = check_rows(X, FLOATS)
    groups = encode_groups(sensitive_features, len(X))
    if len(groups.labels) < 2:
        raise ValueError(f"There is one group ({groups.labels[0]!r}); a gap needs at least 2.")
    moments = GroupMoments.from_groups(X, groups).dense()
    k = check_components(n_components, moments.n_features)
    prepared = prepare(moments, standardize)
    scaled = prepared.inner
    warn_of_small_groups(moments, k)
    errors, components = _pca_errors(scaled)
    large = moments.counts >= least_rows(k)
    units = {"mean": moments.mean, "scale": prepared.scale}
    drawn = {"level": level, "n_bootstrap": n_bootstrap, "random_state": random_state}
    error_intervals, gap_interval = _intervals(components[:k], X, groups, large, **units, **drawn)
    rounding = _CLOSED * float(np.einsum("a,aii->", moments.shares, scaled.second_moments))
    gaps = _without_rounding(np.ptp(errors, axis=1), rounding)
    gap_interval = _without_rounding(gap_interval, rounding)
    target = 0.1 * float(gaps[k - 1])
    if target_gap is not None:
        target = check_number("target_gap", target_gap)
    disparity = "gap" if moments.n_groups == 2 else "largest"
    frontier = _trade_off(scaled, k, disparity)
    best = int(np.argmin(np.where(frontier.dominated, np.inf, frontier.gap)))
    weight, at_target = _reach(frontier, target)
    at_target = frontier.group_errors[best] if at_target is None else at_target
    above = np.flatnonzero(gaps > target)
    return Advice(
        group_labels=moments.labels,
        group_counts=moments.counts,
        n_components=k,
        pca_errors=errors[k - 1],
        pca_error_intervals=_without_rounding(error_intervals, rounding),
        pca_gap=float(gaps[k - 1]),
        pca_gap_interval=gap_interval,
        level=level,
        distinguishable=bool(gap_interval[0] > 0),
        too_small=tuple(a for a, enough in zip(moments.labels, large, strict=True) if not enough),
        pca_total=float(moments.shares @ errors[k - 1]),
        disparity=disparity,
        smallest_gap=float(_without_rounding(frontier.gap[best], rounding)),
        total_at_smallest_gap=float(frontier.total_error[best]),
        target_gap=target,
        weight_for_target=weight,
        total_at_target=None if weight is None else float(moments.shares @ at_target),
        errors_at_target=at_target,
        levels_down=bool(frontier.gap.min() < frontier.gap[best] - rounding),
        components_for_target=int(above[-1]) + 2 if len(above) else 1,
        status="optimal" if set(frontier.status) == {"optimal"} else "feasible",
        optimality_gap=float(frontier.optimality_gap.max()),
        is_hidden=any(frontier.is_hidden),
    )


def _intervals(
    components: FloatArray, X: FloatArray, groups: Groups, large: BoolArray, **options: Any
) -> tuple[FloatArray, FloatArray]:
    """Intervals of group errors and gap; NaN for groups that are not large enough to resample."""
    errors, gap = np.full((len(large), 2), np.nan), np.full(2, np.nan)
    if large.any():
        rows = large[groups.codes]
        found = bootstrap_intervals(components, X[rows], groups.codes[rows], **options)
        errors[large] = found.errors
        gap = found.gap if large.sum() > 1 else gap
    return errors, gap


def _trade_off(moments: GroupMoments, k: int, disparity: str) -> Frontier:
    """For a first look, points that are optimal to a few digits are as good as proved ones."""
    with warnings.catch_warnings():
        # Of the last two a warning was given already.
        for category in (ConvergenceWarning, HiddenFeatureWarning, SmallGroupWarning):
            warnings.simplefilter("ignore", category)
        return fairness_frontier(moments, k, disparity=disparity)


def _without_rounding(values: FloatArray, rounding: float) -> FloatArray:
    return np.where(values <= rounding, 0.0, values)


def _pca_errors(moments: GroupMoments) -> tuple[FloatArray, FloatArray]:
    """Errors of the groups under PCA with 1, 2, ... components, (d, n_groups), and components."""
    second = moments.second_moments
    _, vectors = np.linalg.eigh(np.einsum("a,aij->ij", moments.shares, second))
    vectors = vectors[:, ::-1]
    kept = np.einsum("di,adi->ai", vectors, second @ vectors)
    # Summed from the end, what the last components keep is not lost in the whole.
    left = np.cumsum(kept[:, ::-1], axis=1)[:, ::-1]
    lost = np.hstack([left[:, 1:], np.zeros((len(left), 1))])
    return np.maximum(lost, 0.0).T, vectors.T


def _reach(frontier: Frontier, target: float) -> tuple[float, FloatArray] | tuple[None, None]:
    """The smallest fairness weight whose optimum keeps the gap within a target, and its errors."""
    reached = np.flatnonzero((frontier.gap <= target * (1 + 1e-9)) & ~frontier.dominated)
    finite = reached[np.isfinite(frontier.fairness_weight[reached])]
    if not len(finite):
        return None, None
    first = finite[np.argmin(frontier.fairness_weight[finite])]
    weight, best = float(frontier.fairness_weight[first]), frontier.group_errors[first]
    if frontier.trade_off is None or weight == 0:
        return weight, best
    # On the complete curve the gap falls with the weight, so that the weight can be halved in on.
    below = frontier.fairness_weight[frontier.fairness_weight < weight]
    low, high = float(below.max()) if len(below) else 0.0, weight
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        errors = np.asarray(frontier.trade_off.errors(middle))
        if float(np.ptp(errors)) <= target * (1 + 1e-9):
            high, best = middle, errors
        else:
            low = middle
    return high, best
