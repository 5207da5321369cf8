"""A first look at the gap between groups: how large, how sure, and what closing it would cost."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.exceptions import ConvergenceWarning

from fairspan.estimators.clipping import clipped
from fairspan.estimators.robust import RobustFairPCA
from fairspan.exceptions import HiddenFeatureWarning, SmallGroupWarning
from fairspan.fitting import prepare, warn_of_small_groups
from fairspan.frontier.advice import Advice
from fairspan.frontier.frontier import fairness_frontier
from fairspan.frontier.result import Frontier
from fairspan.ground import defaults
from fairspan.ground.parameters import check_choice, check_components, check_number, not_used
from fairspan.ground.rows import check_rows, feature_names_of, named_column
from fairspan.ground.types import FLOATS, FloatArray
from fairspan.inference.verdicts import verdict
from fairspan.moments.group_moments import GroupMoments
from fairspan.moments.groups import check_sizes, encode_groups
from fairspan.moments.small_groups import treated

_BISECTIONS = 50
_CLOSED = 1e-9
"""A gap below this share of the total error counts as 0, and one within rounding."""


@named_column
def advise(
    X: Any,
    sensitive_features: Any,
    *,
    n_components: int = defaults.N_COMPONENTS,
    target_gap: float | None = None,
    standardize: bool = False,
    clip: float | None = None,
    small_groups: str = "keep",
    min_rows: int = defaults.MIN_ROWS,
    level: float | None = None,
    n_bootstrap: int | None = None,
    feature_names: Sequence[str] | None = None,
    random_state: Any = None,
) -> Advice:
    """Assess the gap between groups under PCA, and the price of closing it.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The data.
    sensitive_features : array-like, frame, dict or str
        The group of each row; at least two groups. A str names a column of X, which is then not a
        feature.
    n_components : int, default=2
        Number of components.
    target_gap : float, optional
        The gap to reach; a tenth of PCA's if not given.
    standardize : bool, default=False
        Divide features by their standard deviation.
    clip : float, optional
        Clip features at this number of standard deviations from their mean, as in RobustFairPCA.
    small_groups : {"keep", "pool"}, default="keep"
        What to do with groups of fewer than ``min_rows`` rows: they stay as they are, or become one
        group.
    min_rows : int, default=5
        See ``small_groups``.
    level, n_bootstrap
        Deprecated and not used: the intervals of :func:`fairspan.inference.crossfit` replace those
        of resampled training rows.
    feature_names : sequence of str, optional
        Names of the features; those of a frame are known.
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
    check_choice("small_groups", small_groups, ("keep", "pool"))
    if issparse(X):
        raise TypeError(
            "advise needs dense rows, but X is sparse; use X.toarray(). fairness_frontier takes "
            "sparse rows."
        )
    names, X = feature_names or feature_names_of(X), check_rows(X, FLOATS)
    groups = encode_groups(sensitive_features, len(X))
    if len(groups.labels) < 2:
        raise ValueError(f"There is one group ({groups.labels[0]!r}); a gap needs at least 2.")
    check_sizes(len(groups.labels), len(X))
    rows = X if clip is None else clipped(X, clip)
    moments = GroupMoments.from_groups(rows, groups).dense()
    moments = treated(moments, small_groups, min_rows)
    k = check_components(n_components, moments.n_features)
    prepared = prepare(moments, standardize)
    scaled = prepared.inner
    warn_of_small_groups(moments, k)
    errors = _pca_errors(scaled)
    roundings = _roundings(scaled, errors)
    gaps = _without_rounding(np.ptp(errors, axis=1), roundings)
    rounding, target = float(roundings[k - 1]), 0.1 * float(gaps[k - 1])
    if target_gap is not None:
        target = check_number("target_gap", target_gap)
    disparity = "gap" if moments.n_groups == 2 else "largest"
    frontier = _trade_off(scaled, k, disparity)
    best = int(np.argmin(np.where(frontier.dominated, np.inf, frontier.gap)))
    weight, at_target = _reach(frontier, target)
    at_target = frontier.group_errors[best] if at_target is None else at_target
    hidden = any(frontier.is_hidden)
    rules: dict[str, Any] = {"standardize": standardize, "clip": clip, "disparity": disparity}
    rules |= {"small_groups": small_groups, "min_rows": min_rows}
    recipe = RobustFairPCA(k, fairness_weight=weight or 0.0, **rules)
    about = {"sensitive_features": sensitive_features, "feature_names": names}
    above = np.flatnonzero(gaps > target)
    return Advice(
        group_labels=moments.labels,
        group_counts=moments.counts,
        n_components=k,
        verdict=None if hidden else verdict(recipe, X, random_state=random_state, **about),
        pca_errors=errors[k - 1],
        pca_gap=float(gaps[k - 1]),
        pca_total=float(errors[k - 1] @ moments.shares),
        disparity=disparity,
        smallest_gap=float(_without_rounding(frontier.gap[best], rounding)),
        weight_for_smallest_gap=float(frontier.fairness_weight[best]),
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


def _roundings(moments: GroupMoments, errors: FloatArray) -> FloatArray:
    """Gaps that count as 0, for each number of components."""
    variance = float(np.einsum("a,aii->", moments.shares, moments.second_moments))
    unsure = moments.n_features * np.finfo(np.float64).eps * variance
    return np.maximum(_CLOSED * (errors @ moments.shares), unsure)


def _without_rounding(values: FloatArray, rounding: FloatArray | float) -> FloatArray:
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
