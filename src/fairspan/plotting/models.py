"""Plots of a fitted model: its components, rows projected on them, and how it was solved."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fairspan.estimators.robust import pca_of
from fairspan.ground import palette
from fairspan.ground.parameters import check_integer, is_integer, is_listing
from fairspan.ground.rows import named_column
from fairspan.moments.groups import Groups
from fairspan.plotting._axes import axes_or_new, finished, tidy
from fairspan.solvers.result import SolverResult
from fairspan.words import share_at_most


def plot_loadings(model: Any, *, component: int = 0, n_features: int = 12, ax: Any = None) -> Any:
    """Draw the largest loadings of a component, compared with those of plain PCA.

    Parameters
    ----------
    model : fitted estimator of this package
        The projection; its moments give PCA.
    component : int, default=0
        Which component, counted from 0.
    n_features : int, default=12
        Most features to show.
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
    >>> data = load_breast_cancer(as_frame=True)
    >>> pca = RobustFairPCA(3, standardize=True).fit(data.data, sensitive_features=data.target)
    >>> ax = plotting.plot_loadings(pca, n_features=2, ax=Figure().subplots())
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['mean concave points', 'mean concavity']
    """
    check_is_fitted(model)
    if check_integer("component", component, 0) >= len(model.components_):
        raise ValueError(
            f"component={component} is too large; the model has {len(model.components_)} "
            "components, counted from 0."
        )
    check_integer("n_features", n_features, 1)
    if not hasattr(model, "moments_"):
        raise ValueError(
            "The model was saved with moments=False, so PCA of the same rows is not known; save "
            "with moments=True."
        )
    plain = pca_of(model)
    ours, theirs = model.components_[component], plain.components_[component]
    # Components have no direction of their own: PCA's is turned to agree.
    theirs = theirs if ours @ theirs >= 0 else -theirs
    shown = np.argsort(-np.maximum(np.abs(ours), np.abs(theirs)), kind="stable")[:n_features]
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        names = [f"feature {j + 1}" for j in range(len(ours))]
    axes = axes_or_new(ax)
    places = np.arange(len(shown))
    axes.hlines(places, theirs[shown], ours[shown], color=palette.PALE, lw=2, zorder=1)
    axes.plot(theirs[shown], places, "o", color=palette.PCA, label="PCA")
    axes.plot(ours[shown], places, "D", color=palette.CURVE, label=type(model).__name__)
    axes.axvline(0.0, color=palette.TEXT, lw=0.8, zorder=0)
    axes.set_yticks(places, [names[j] for j in shown])
    axes.invert_yaxis()
    axes.set_xlabel(f"loading of component {component + 1}")
    axes.legend(frameon=False)
    return tidy(axes)


@named_column
def plot_projection(
    model: Any,
    X: Any,
    sensitive_features: Any = None,
    *,
    components: tuple[int, int] = (0, 1),
    ax: Any = None,
) -> Any:
    """Draw rows on two components, coloured by group.

    Parameters
    ----------
    model : fitted estimator
        A projection with at least two components.
    X : array-like of shape (n_rows, n_features)
        The rows.
    sensitive_features : array-like, frame, dict or str, optional
        The group of each row. A str names a column of X, which is then not a feature.
    components : tuple of two int, default=(0, 1)
        Which components, counted from 0.
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
    >>> pca = RobustFairPCA(2, standardize=True).fit(data.data, sensitive_features=data.target)
    >>> ax = plotting.plot_projection(pca, data.data, data.target, ax=Figure().subplots())
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('component 1', 'component 2')
    """
    check_is_fitted(model)
    chosen: list[Any] = list(components) if is_listing(components) else []
    known = range(len(model.components_))
    if len(chosen) != 2 or not all(is_integer(one) and one in known for one in chosen):
        raise ValueError(
            f"components={components!r} must be two of the {len(known)} components of the model, "
            "counted from 0."
        )
    first, second = chosen
    projected = np.asarray(model.transform(X))
    groups = Groups.of(sensitive_features, len(projected))
    axes = axes_or_new(ax)
    for code, label in enumerate(groups.labels):
        rows = projected[groups.codes == code]
        color = palette.SERIES[code % len(palette.SERIES)]
        axes.scatter(
            rows[:, first], rows[:, second], s=14, alpha=0.6, lw=0, color=color, label=str(label)
        )
    x, y = (f"component {place + 1}" for place in chosen)
    return finished(axes, x, y, legend=len(groups.labels) > 1)


def plot_history(model: Any, *, ax: Any = None) -> Any:
    """Draw the best value and the certified bound after each iteration.

    Parameters
    ----------
    model : fitted estimator or SolverResult
        What was solved.
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
    >>> pca = RobustFairPCA(3, standardize=True).fit(data.data, sensitive_features=data.target)
    >>> ax = plotting.plot_history(pca, ax=Figure().subplots())
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['best value', 'proved bound']
    """
    result = getattr(model, "result_", model)
    if not isinstance(result, SolverResult):
        raise TypeError(
            f"model is a {type(model).__name__}; give a fitted estimator of fairspan, or its "
            "result_."
        )
    if not len(result.history):
        raise ValueError(f"Solver {result.solver!r} has no history, because it did not iterate.")
    # The last step may be a look between two points, after which nothing more is recorded.
    value, bound = np.vstack([result.history, [result.objective, result.lower_bound]]).T
    iterations = np.arange(1, len(value) + 1)
    axes = axes_or_new(ax)
    axes.step(iterations, value, where="post", color=palette.CURVE, lw=2, label="best value")
    proved = np.isfinite(bound)
    if proved.any():
        at, low, high = iterations[proved], bound[proved], value[proved]
        axes.step(at, low, where="post", color=palette.FAIR, lw=2, label="proved bound")
        axes.fill_between(at, low, high, step="post", color=palette.REGION, lw=0, zorder=0)
    axes.set_title(f"{result.solver}: proved within {share_at_most(result.optimality_gap)}")
    axes.xaxis.get_major_locator().set_params(integer=True)
    return finished(axes, "iteration", "objective")
