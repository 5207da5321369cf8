"""Plot of the stationarity gap on the way of the paper's descent."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairspan.convergence import ConvergenceHistory
from fairspan.ground import palette
from fairspan.plotting._axes import axes_or_new, finished


def plot_convergence(history: ConvergenceHistory, *, ax: Any = None) -> Any:
    """Draw the stationarity gap of each recorded iterate next to the bound of the theorem.

    Parameters
    ----------
    history : ConvergenceHistory
        Result of :func:`fairspan.convergence.convergence_history`.
    ax : matplotlib axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Examples
    --------
    >>> import warnings
    >>> from matplotlib.figure import Figure
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fairspan import RobustFairPCA, plotting
    >>> from fairspan.convergence import convergence_history
    >>> data = load_breast_cancer()
    >>> pca = RobustFairPCA(3, solver="subgradient", max_iter=50, n_init=2, random_state=0)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")  # the descent proves little
    ...     _ = pca.set_params(standardize=True).fit(data.data, sensitive_features=data.target)
    >>> ax = plotting.plot_convergence(convergence_history(pca), ax=Figure().subplots())
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['gap of the iterate', 'smallest gap so far', 'bound of the theorem']
    """
    if not isinstance(history, ConvergenceHistory):
        raise TypeError(
            f"history is a {type(history).__name__}; make one with "
            "fairspan.convergence.convergence_history."
        )
    axes = axes_or_new(ax)
    smallest = np.minimum.accumulate(history.gaps)
    axes.plot(history.steps, history.gaps, color=palette.CURVE, lw=1, label="gap of the iterate")
    axes.step(
        history.steps, smallest, where="post", color=palette.FAIR, lw=2, label="smallest gap so far"
    )
    axes.axhline(history.rate_bound, color=palette.PCA, ls="--", label="bound of the theorem")
    axes.set_yscale("log")
    return finished(axes, "step", "stationarity gap")
