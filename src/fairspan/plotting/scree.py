"""A scree plot for groups: what each further component brings to each of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairspan.estimators.prefixes import Prefixes
from fairspan.ground import palette
from fairspan.plotting._axes import axes_or_new, finished
from fairspan.words import group_name, signed_percent


def plot_scree(prefixes: Any, ax: Any = None) -> Any:
    """Draw the error of each group for the first 1, 2, ... components, and the price of nesting.

    Parameters
    ----------
    prefixes : Prefixes or fitted RobustFairPCA
        From ``model.prefixes(optima=True)``; of a model, the optima are found first.
    ax : matplotlib axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.datasets import load_wine
    >>> from fairspan import RobustFairPCA, plotting
    >>> data = load_wine()
    >>> pca = RobustFairPCA(4, standardize=True, order="nested")
    >>> pca = pca.fit(data.data, sensitive_features=data.target == 0)
    >>> ax = plotting.plot_scree(pca, ax=Figure().subplots())
    >>> ax.get_xlabel()
    'components kept'
    """
    if hasattr(prefixes, "prefixes"):
        prefixes = prefixes.prefixes(optima=True)
    if not isinstance(prefixes, Prefixes):
        raise TypeError(
            f"prefixes is a {type(prefixes).__name__}; pass a fitted RobustFairPCA, or the result "
            "of its method prefixes."
        )
    axes = axes_or_new(ax)
    numbers, errors = prefixes.n_components, prefixes.group_errors
    order = np.argsort(-errors[0])
    if len(order) > palette.LINES:
        order = np.concatenate([order[: palette.LINES // 2], order[-(palette.LINES // 2) :]])
    for place, a in enumerate(order):
        color = palette.SERIES[place % len(palette.SERIES)]
        name = group_name(prefixes.group_labels[a])
        axes.plot(numbers, errors[:, a], "o-", color=color, ms=4.5, lw=1.6, label=name)
    axes.fill_between(numbers, errors.min(axis=1), errors.max(axis=1), color=palette.REGION, lw=0)
    axes.set_ylim(0, 1.25 * float(errors.max()) or 1.0)
    axes.set_xticks(numbers)
    axes.set_title("What the first components leave of each group")
    if prefixes.excess is not None:
        _draw_price(axes, prefixes)
    x, y = "components kept", "error of each group"
    corner = (1.0, 0.89 if prefixes.excess is not None else 1.0)
    return finished(axes, x, y, loc="upper right", bbox_to_anchor=corner, fontsize="small")


def _draw_price(axes: Any, prefixes: Prefixes) -> None:
    """Write the price of keeping the first j above each number, in the colour of its proof."""
    assert prefixes.excess is not None
    assert prefixes.status is not None
    at = {"transform": axes.get_xaxis_transform(), "fontsize": "small", "ha": "center", "va": "top"}
    for j, price, status in zip(
        prefixes.n_components, prefixes.excess.tolist(), prefixes.status, strict=True
    ):
        proved = status == "optimal"
        text = ("best" if price < 5e-5 else signed_percent(price)) + ("" if proved else "?")
        axes.text(j, 0.93, text, color=palette.FAIR if proved else palette.TEXT, **at)
    left = {"transform": axes.transAxes, "fontsize": "small", "color": palette.TEXT}
    unproved = "" if set(prefixes.status) == {"optimal"} else " (?: not proved)"
    axes.text(0.01, 0.995, f"objective above the best of that size{unproved}:", va="top", **left)
    if len(prefixes.group_labels) > 2:
        axes.text(0.01, 0.02, "the order is searched, not proved the best", va="bottom", **left)
