"""Plot of a trade-off: total error against gap, with an inset of the attainable region."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairspan.frontier.frontier import Frontier
from fairspan.ground import palette
from fairspan.ground.types import Label
from fairspan.plotting._axes import axes_or_new, tidy
from fairspan.solvers.two_groups.trace import Enclosure, TradeOff


def plot_frontier(frontier: Frontier, ax: Any = None) -> Any:
    """Draw the trade-off between total error and gap and, for two groups, what is attainable.

    Parameters
    ----------
    frontier : Frontier
        From :func:`fairspan.fairness_frontier`.
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
    >>> from fairspan import fairness_frontier, plotting
    >>> data = load_breast_cancer()
    >>> frontier = fairness_frontier(
    ...     data.data, 3, sensitive_features=data.target, standardize=True
    ... )
    >>> ax = plotting.plot_frontier(frontier, ax=Figure().subplots())
    >>> ax.get_xlabel()
    'gap: error of 0 minus error of 1'
    """
    if not isinstance(frontier, Frontier):
        raise TypeError(
            f"frontier is a {type(frontier).__name__}; pass the result of fairness_frontier."
        )
    axes = axes_or_new(ax, (8.5, 5.5))
    trade_off = frontier.trade_off
    by_rows = np.allclose(frontier.weighted_error, frontier.total_error, rtol=1e-12)
    if trade_off is None:
        _draw_points(axes, frontier, "o-")
    else:
        _set_view(axes, frontier, trade_off.curve)
        _draw_curve(axes, trade_off)
        _draw_points(axes, frontier, "o")
        _draw_region(axes, trade_off, frontier.group_labels)
    plural = "s" if frontier.n_components > 1 else ""
    axes.set_title(f"The price of equal errors, {frontier.n_components} component{plural}")
    axes.set_xlabel(f"gap: {_difference(frontier)}")
    axes.set_ylabel(f"total error ({'mean over all rows' if by_rows else 'groups as weighted'})")
    tidy(axes)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(frameon=False, loc="lower left")
    elif trade_off is not None and set(frontier.status) == {"optimal"}:
        place = {"transform": axes.transAxes, "fontsize": "small", "style": "italic"}
        axes.text(0.02, 0.03, "proved: no subspace below the curve", color=palette.TEXT, **place)
    return axes


def _difference(frontier: Frontier) -> str:
    """Name the gap by its groups, the one with the larger error first."""
    if len(frontier.group_labels) > 2:
        return f"largest minus smallest error of {len(frontier.group_labels)} groups"
    worst = int(np.argmax(frontier.group_errors[0]))
    labels = frontier.group_labels
    return f"error of {labels[worst]} minus error of {labels[1 - worst]}"


def _set_view(axes: Any, frontier: Frontier, curve: Enclosure) -> None:
    gap = np.concatenate([curve.inner[:, 0], frontier.gap])
    total = np.concatenate([curve.inner[:, 1], frontier.weighted_error])
    width = float(gap.max()) or 1.0
    height = float(np.ptp(total)) or 0.1 * float(total.max()) or 1.0
    axes.set_xlim(0.0, 1.15 * width)
    axes.set_ylim(total.min() - 0.25 * height, total.max() + 0.6 * height)


def _draw_curve(axes: Any, trade_off: TradeOff) -> None:
    """Draw the curve with its two ends."""
    curve, errors = trade_off.curve, trade_off.region.inner
    for sign in (1.0, -1.0):
        difference, total = sign * (errors[:, 0] - errors[:, 1]), errors @ trade_off.problem.shares
        axes.fill(difference, total, color=palette.REGION, lw=0, zorder=0)
    axes.plot(*curve.inner.T, color=palette.CURVE, lw=2.5, solid_capstyle="round", zorder=3)
    (pca_gap, pca_total), (gap, total) = curve.inner[0], curve.inner[-1]
    more = 100 * (total / pca_total - 1) if pca_total > 0 else 0.0
    fair = "equal errors" if gap <= 1e-6 * pca_gap else f"smallest gap {gap:.3g}"
    _mark(axes, (gap, total), palette.FAIR)
    _mark(axes, (pca_gap, pca_total), palette.PCA)
    text = {"textcoords": "offset points", "weight": "bold", "zorder": 6}
    far = gap > 0.5 * pca_gap
    price, side = f"{fair}: {more:+.1f} % total error", "right" if far else "left"
    offset = (-10 if far else 10, 7)
    axes.annotate(price, (gap, total), offset, color=palette.FAIR, ha=side, **text)
    axes.annotate("PCA", (pca_gap, pca_total), (0, -17), color=palette.PCA, ha="center", **text)


def _mark(axes: Any, point: Any, color: str, size: float = 10.0) -> None:
    axes.plot(*point, "o", color=color, ms=size, mec="white", mew=1.2, zorder=5, clip_on=False)


def _draw_points(axes: Any, frontier: Frontier, style: str) -> None:
    """Draw the points by radius, except those on the curve."""
    if style == "o" and not frontier.radius.any():
        return
    for place, radius in enumerate(np.unique(frontier.radius)):
        by_group = bool(np.isnan(radius))
        rows = np.isnan(frontier.radius) if by_group else frontier.radius == radius
        color = palette.SERIES[place % len(palette.SERIES)]
        label = "radius by group" if by_group else f"radius {radius:g}"
        xy = frontier.gap[rows], frontier.weighted_error[rows]
        axes.plot(*xy, style, color=color, ms=4.5, lw=1.2, zorder=4, label=label)


def _draw_region(axes: Any, trade_off: TradeOff, labels: tuple[Label, ...]) -> None:
    """Draw the inset: all attainable pairs of group errors, with the curve on its edge."""
    region, errors = trade_off.region, np.array([line.point for line in trade_off.lines])
    # In the corner that the curve leaves free.
    gaps = np.abs(errors[:, 0] - errors[:, 1])
    corner = (0.1, 0.2) if gaps[-1] > 0.5 * gaps[0] else (0.63, 0.54)
    inset = axes.inset_axes((*corner, 0.35, 0.4))
    inset.fill(*region.inner.T, color=palette.REGION, lw=0)
    inset.plot(*np.vstack([region.outer, region.outer[:1]]).T, color=palette.TEXT, lw=0.8)
    low, high = region.inner.min(axis=0), region.inner.max(axis=0)
    margin = 0.06 * float((high - low).max() or 1.0)
    diagonal = np.array([max(low - margin), min(high + margin)])
    inset.plot(diagonal, diagonal, color=palette.TEXT, lw=0.8, ls=(0, (5, 4)), zorder=1)
    inset.plot(*errors.T, color=palette.CURVE, lw=2.5, zorder=3)
    _mark(inset, errors[-1], palette.FAIR, 6)
    _mark(inset, errors[0], palette.PCA, 6)
    first, second = labels
    inset.set_xlabel(f"error of {first}", fontsize="small", labelpad=2)
    inset.set_ylabel(f"error of {second}", fontsize="small", labelpad=2)
    title = {"transform": inset.transAxes, "fontsize": "small", "color": palette.TEXT}
    inset.text(0.02, 1.02, "all attainable errors (dashed: equal)", **title)
    inset.tick_params(labelsize="small", length=2)
    tidy(inset)
