"""A first look at the gap between groups: how large, how sure, and what closing it would cost."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from fairspan import words
from fairspan.estimators.robust import RobustFairPCA
from fairspan.exceptions import HiddenFeatureWarning, SmallGroupWarning
from fairspan.fitting import prepare, warn_of_small_groups
from fairspan.frontier.frontier import Frontier, fairness_frontier
from fairspan.ground import defaults
from fairspan.ground.parameters import check_components, check_number
from fairspan.ground.renamed import not_used
from fairspan.ground.rows import check_rows, feature_names_of
from fairspan.ground.types import FLOATS, FloatArray, Label
from fairspan.inference.verdicts import verdict
from fairspan.moments.group_moments import GroupMoments
from fairspan.moments.groups import encode_groups
from fairspan.words import Verdict

_BISECTIONS = 50
_CLOSED = 1e-9
"""A gap below this share of the variance is none."""
_NO_RANGE = (np.nan, np.nan)


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
    verdict : Verdict or None
        What the rows tell about new ones: whether PCA serves groups differently and, for two
        groups, whether ``weight_for_target`` changes it. None where rounding hides it.
    pca_errors : ndarray of shape (n_groups,)
        Errors of the groups under plain PCA, on these rows.
    pca_gap : float
        Largest minus smallest of them.
    pca_total : float
        Total error of plain PCA, on these rows.
    disparity : str
        What the fairness weights below count: "gap" for two groups and "largest" for more, as in
        RobustFairPCA. Only projections are considered of which none is known that serves every
        group better; for more than two groups "gap" hardly has any.
    smallest_gap : float
        The smallest gap found at any fairness weight, on these rows.
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
    verdict: Verdict | None
    pca_errors: FloatArray
    pca_gap: float
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

    @property
    def distinguishable(self) -> bool:
        """Whether PCA is shown to serve groups differently on new rows."""
        return self.verdict is not None and self.verdict.is_shown

    @property
    def too_small(self) -> tuple[Label, ...]:
        """Groups with too few rows for a statement."""
        return tuple(
            label
            for label, count in zip(self.group_labels, self.group_counts, strict=True)
            if count < words.LEAST_ROWS
        )

    @property
    def level(self) -> float | None:
        """How often the intervals hold; None where no level may be claimed."""
        return None if self.verdict is None else self.verdict.level

    @property
    def pca_error_intervals(self) -> FloatArray:
        """Intervals of PCA's errors on new rows, (n_groups, 2); NaN where rows are too few."""
        found = self.verdict.intervals if self.verdict else ()
        return np.array([ends or _NO_RANGE for ends in found or [None] * len(self.group_labels)])

    @property
    def pca_gap_interval(self) -> FloatArray:
        """Interval of PCA's gap on new rows; NaN where rows are too few."""
        return np.array((self.verdict.gap_interval if self.verdict else None) or _NO_RANGE)

    def __str__(self) -> str:
        # Where the gap is rounding, so are differences between the errors.
        errors = self.pca_errors if self.pca_gap > 0 else np.zeros_like(self.pca_errors)
        known = self.verdict if self.pca_gap > 0 else None
        fitted = words.fitted(self.group_labels, errors.tolist(), self.n_components, self.is_hidden)
        lines = [known.headline if known else "", *self._groups(known), fitted]
        if self.pca_gap > 0 and not self.is_hidden:
            lines += [
                f"There, the smallest gap found{self._counted} is "
                f"{words.number(self.smallest_gap)}, "
                f"{words.price(self.pca_total, self.total_at_smallest_gap)}.",
                words.TEMPLATES["levels down"] if self.levels_down else "",
                self._target(),
                self._payers(),
            ]
        lines += [known.effect, known.caveats] if known else []
        if self.status != "optimal":
            lines.append(words.proof(self.status, self.optimality_gap, self.is_hidden))
        lines.append(
            "This is about reconstruction error; it says nothing about the fairness of decisions "
            "made downstream."
        )
        return "\n".join(filter(None, lines))

    def _groups(self, known: Verdict | None) -> list[str]:
        lines = []
        for a, (label, count) in enumerate(zip(self.group_labels, self.group_counts, strict=True)):
            name, rows = words.group_name(label), words.plural(int(count), "row")
            line = f"  {name}, {rows}: error {words.number(self.pca_errors[a])} on these rows"
            if known and known.errors:
                line += f", {words.bracketed(known.errors[a], known.intervals[a])} on new rows"
            lines.append(line)
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
        alone = f"Plain PCA needs {needed} to stay within {target} there."
        if self.weight_for_target is None or self.total_at_target is None:
            return (
                f"No fairness weight was found that brings the gap there to {target} without "
                f"another projection serving every group better. {alone}"
            )
        weight = f"{words.number(self.weight_for_target)}{self._counted}"
        price = words.price(self.pca_total, self.total_at_target)
        return (
            f"A fairness weight of {weight} at radius 0 brings the gap there to at most "
            f"{target} {price}. {alone}"
        )


def advise(
    X: Any,
    sensitive_features: Any,
    *,
    n_components: int = defaults.N_COMPONENTS,
    target_gap: float | None = None,
    standardize: bool = False,
    level: float | None = None,
    n_bootstrap: int | None = None,
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
    level, n_bootstrap
        Deprecated and not used: the intervals of :func:`fairspan.inference.crossfit` replace those
        of resampled training rows.
    random_state : int, RandomState instance, Generator or None, default=None
        Seed of the folds and permutations behind the verdict; None is a fixed one.

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
    ...     data.data, groups, n_components=3, standardize=True
    ... )
    >>> advice.distinguishable, round(advice.pca_gap, 2), round(advice.weight_for_target, 2)
    (False, 1.61, 0.52)
    """
    for name, given in (("level", level), ("n_bootstrap", n_bootstrap)):
        not_used(name, given)
    names, X = feature_names_of(X), check_rows(X, FLOATS)
    groups = encode_groups(sensitive_features, len(X))
    if len(groups.labels) < 2:
        raise ValueError(f"There is one group ({groups.labels[0]!r}); a gap needs at least 2.")
    moments = GroupMoments.from_groups(X, groups).dense()
    k = check_components(n_components, moments.n_features)
    prepared = prepare(moments, standardize)
    scaled = prepared.inner
    warn_of_small_groups(moments, k)
    errors = _pca_errors(scaled)
    rounding = _CLOSED * float(np.einsum("a,aii->", moments.shares, scaled.second_moments))
    gaps = _without_rounding(np.ptp(errors, axis=1), rounding)
    target = 0.1 * float(gaps[k - 1])
    if target_gap is not None:
        target = check_number("target_gap", target_gap)
    disparity = "gap" if moments.n_groups == 2 else "largest"
    frontier = _trade_off(scaled, k, disparity)
    best = int(np.argmin(np.where(frontier.dominated, np.inf, frontier.gap)))
    weight, at_target = _reach(frontier, target)
    at_target = frontier.group_errors[best] if at_target is None else at_target
    hidden = any(frontier.is_hidden)
    found = None
    if not hidden:
        recipe = RobustFairPCA(
            k, fairness_weight=weight or 0.0, disparity=disparity, standardize=standardize
        )
        found = verdict(
            recipe,
            X,
            sensitive_features=sensitive_features,
            feature_names=names,
            random_state=random_state,
        )
    above = np.flatnonzero(gaps > target)
    return Advice(
        group_labels=moments.labels,
        group_counts=moments.counts,
        n_components=k,
        verdict=found,
        pca_errors=errors[k - 1],
        pca_gap=float(gaps[k - 1]),
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
        is_hidden=hidden,
    )


def _trade_off(moments: GroupMoments, k: int, disparity: str) -> Frontier:
    """For a first look, points that are optimal to a few digits are as good as proved ones."""
    with warnings.catch_warnings():
        # Of the last two a warning was given already.
        for category in (ConvergenceWarning, HiddenFeatureWarning, SmallGroupWarning):
            warnings.simplefilter("ignore", category)
        return fairness_frontier(moments, k, disparity=disparity)


def _without_rounding(values: FloatArray, rounding: float) -> FloatArray:
    return np.where(values <= rounding, 0.0, values)


def _pca_errors(moments: GroupMoments) -> FloatArray:
    """Errors of the groups under PCA with 1, 2, ... components, (d, n_groups)."""
    second = moments.second_moments
    _, vectors = np.linalg.eigh(np.einsum("a,aij->ij", moments.shares, second))
    vectors = vectors[:, ::-1]
    kept = np.einsum("di,adi->ai", vectors, second @ vectors)
    # Summed from the end, what the last components keep is not lost in the whole.
    left = np.cumsum(kept[:, ::-1], axis=1)[:, ::-1]
    lost = np.hstack([left[:, 1:], np.zeros((len(left), 1))])
    return np.asarray(np.maximum(lost, 0.0).T)


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
