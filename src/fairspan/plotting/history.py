"""Plot of the progress of a solver: the best value against the proved bound."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairspan.ground import palette
from fairspan.plotting._axes import axes_or_new, tidy
from fairspan.solvers.result import SolverResult
from fairspan.words import share_at_most


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
    axes.set_xlabel("iteration")
    axes.set_ylabel("objective")
    axes.set_title(f"{result.solver}: proved within {share_at_most(result.optimality_gap)}")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.legend(frameon=False)
    return tidy(axes)
