"""Plots of group errors: with intervals, and against the number of components."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from fairspan import metrics
from fairspan.estimators.robust import RobustFairPCA
from fairspan.fitting import moments_of
from fairspan.ground import defaults, palette
from fairspan.ground.parameters import (
    check_components,
    check_integer,
    check_listing,
    check_replicates,
)
from fairspan.ground.rows import named_column
from fairspan.ground.types import FloatArray
from fairspan.moments.group_moments import GroupMoments
from fairspan.moments.small_groups import GroupRule
from fairspan.plotting._axes import axes_or_new, finished, tidy

_MOST_COMPONENTS = 10


@named_column
def plot_group_errors(
    models: Any,
    X: Any,
    sensitive_features: Any = None,
    *,
    n_bootstrap: int = defaults.N_BOOTSTRAP,
    random_state: Any = defaults.SEED,
    ax: Any = None,
) -> Any:
    r"""Draw the error of each group, with bootstrap intervals.

    Parameters
    ----------
    models : fitted estimator, or dict of names and fitted estimators
        One projection, or several side by side.
    X : array-like of shape (n_rows, n_features) or GroupMoments
        The data; moments have no intervals.
    sensitive_features : array-like, frame, dict or str, optional
        The group of each row. A str names a column of X, which is then not a feature.
    n_bootstrap : int, default=1000
        Bootstrap replicates, 20 or more; 0 for no intervals.
    random_state : int, RandomState instance or None, default=0
        Seed of the bootstrap; all models meet the same replicates if it is an int.
    ax : matplotlib axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fairspan import RobustFairPCA, plotting
    >>> data = load_breast_cancer()
    >>> groups = data.target_names[data.target]
    >>> pca = RobustFairPCA(3, standardize=True).fit(data.data, sensitive_features=groups)
    >>> ax = plotting.plot_group_errors(pca, data.data, groups, ax=Figure().subplots())
    >>> [label.get_text() for label in ax.get_xticklabels()]
    ['benign\n(357)', 'malignant\n(212)']
    """
    named = models if isinstance(models, dict) else {type(models).__name__: models}
    if not named:
        raise ValueError("models is empty; give a fitted estimator or a dict of them.")
    if check_integer("n_bootstrap", n_bootstrap, 0):
        check_replicates(n_bootstrap)
    rule = GroupRule.of(next(iter(named.values())))
    if isinstance(X, GroupMoments):
        moments, n_bootstrap = rule.moments(X), 0
    else:
        moments = rule.moments(X, sensitive_features)
    axes = axes_or_new(ax)
    places, width = np.arange(moments.n_groups), 0.8 / len(named)
    for j, (name, model) in enumerate(named.items()):
        judged = metrics.group_errors(model, moments)
        if judged.labels != moments.labels:
            raise ValueError(
                "The models were fitted with different small groups; draw each on its own axes."
            )
        errors = judged.values
        at = places + (j - (len(named) - 1) / 2) * width
        bars = axes.bar(at, errors, 0.94 * width, label=name, color=_color(j, len(named)))
        if n_bootstrap:
            found = metrics.bootstrap_intervals(
                model, X, sensitive_features, n_bootstrap=n_bootstrap, random_state=random_state
            )
            axes.vlines(at, *found.errors.T, color=palette.LIGHT["text"], lw=1.6)
        else:
            axes.bar_label(bars, fmt="%.3g", padding=2)
    labels = zip(moments.labels, moments.counts.tolist(), strict=True)
    axes.set_xticks(places, [f"{label}\n({count:,})" for label, count in labels])
    axes.set_ylabel("mean squared reconstruction error")
    axes.margins(y=0.15)
    if len(named) > 1:
        axes.legend(frameon=False, ncols=len(named), loc="upper left")
    return tidy(axes)


def plot_errors_by_components(
    X_or_moments: Any,
    sensitive_features: Any = None,
    *,
    n_components: Iterable[int] | None = None,
    fairness_weight: float = defaults.FAIRNESS_WEIGHT,
    radius: float = defaults.RADIUS,
    standardize: bool = False,
    ax: Any = None,
) -> Any:
    """Draw the errors of the best and the worst group against the number of components.

    Parameters
    ----------
    X_or_moments : array-like of shape (n_samples, n_features) or GroupMoments
        The data.
    sensitive_features : array-like, frame, dict or str, optional
        The group of each row of X. A str names a column of X, which is then not a feature.
    n_components : iterable of int, optional
        Numbers of components; from 1 up to 10, or to the number of features less one, if not given.
    fairness_weight, radius : float, default=1.0 and 0.0
        As in RobustFairPCA, which is compared with plain PCA.
    standardize : bool, default=False
        Divide features by their standard deviation.
    ax : matplotlib axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fairspan import plotting
    >>> data = load_breast_cancer()
    >>> ax = plotting.plot_errors_by_components(
    ...     data.data, data.target, n_components=[1, 2, 3], standardize=True,
    ...     ax=Figure().subplots())
    >>> ax.get_xlabel()
    'number of components'
    """
    moments = moments_of(X_or_moments, sensitive_features)
    if n_components is None:
        n_components = range(1, max(min(_MOST_COMPONENTS, moments.n_features - 1), 1) + 1)
    given = check_listing("n_components", n_components, "a sequence of integers", "number")
    numbers = sorted({check_components(k, moments.n_features) for k in given})
    axes = axes_or_new(ax)
    fair = ("RobustFairPCA", fairness_weight, radius, palette.CURVE)
    for name, weight, size, color in (("PCA", 0.0, 0.0, palette.PCA), fair):
        errors = np.array([_errors(moments, k, weight, size, standardize) for k in numbers])
        low, high = errors.min(axis=1), errors.max(axis=1)
        axes.fill_between(numbers, low, high, color=color, alpha=0.2, lw=0)
        axes.plot(numbers, high, "o-", color=color, ms=4, label=name)
        axes.plot(numbers, low, "o-", color=color, ms=4)
    axes.set_xticks(numbers)
    axes.set_ylim(bottom=0)
    return finished(axes, "number of components", "error, from best to worst group")


def _errors(
    moments: GroupMoments, k: int, weight: float, radius: float, standardize: bool
) -> FloatArray:
    model = RobustFairPCA(k, fairness_weight=weight, radius=radius, standardize=standardize)
    with warnings.catch_warnings():
        # The picture is about errors; proofs are for those who fit.
        warnings.simplefilter("ignore", ConvergenceWarning)
        errors: FloatArray = model.fit_moments(moments).group_errors_
    return errors


def _color(j: int, n: int) -> str:
    """Return the colour of a model; of several, the first is pale."""
    colors = (palette.CURVE,) if n == 1 else (palette.PALE, palette.CURVE, *palette.SERIES)
    return colors[j % len(colors)]
