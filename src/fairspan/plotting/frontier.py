"""Plot of a trade-off: total error against gap, with an inset of the attainable region."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from fairspan.frontier.result import Frontier
from fairspan.ground import palette
from fairspan.ground.types import FloatArray, Label
from fairspan.judging.improvement import dominated
from fairspan.plotting._axes import axes_or_new, tidy
from fairspan.solvers.two_groups.trace import TradeOff
from fairspan.words import group_name

_DASHED = "dashed: another projection serves every group better"
_HOLLOW = "hollow: another projection serves every group better"
_SEEN = 0.05
"""A dashed part shorter than this share of the curve is under the mark of its end."""
_NAMED = 6
"""Most groups whose errors are drawn: those that change most."""


def plot_frontier(frontier: Frontier, ax: Any = None) -> Any:
    """Draw the trade-off between total error and gap, what is attainable, and who pays.

    Where the curve is dashed, another projection serves every group better. The inset shows all
    attainable errors of two groups; of more, and with references, how the error of each changes
    compared with PCA. With references, the gap is between errors above them.

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
    # The complete curve is about plain gaps; with references the points alone are drawn.
    trade_off = frontier.trade_off if frontier.references is None else None
    by_rows = np.allclose(frontier.weighted_error, frontier.total_error, rtol=1e-12)
    if trade_off is None:
        _set_view(axes, frontier, np.empty((0, 2)))
        _draw_points(axes, frontier, "o-")
        # The inset is wide: the text takes two lines.
        _draw_ends(axes, *_ends(frontier), separator=":\n")
        _draw_changes(axes, frontier)
    else:
        _set_view(axes, frontier, trade_off.curve.inner)
        split = _first_dominated(trade_off)
        _draw_curve(axes, trade_off, split)
        _draw_points(axes, frontier, "o")
        _draw_region(axes, trade_off, frontier.group_labels, split)
    plural = "s" if frontier.n_components > 1 else ""
    axes.set_title(f"The price of equal errors, {frontier.n_components} component{plural}")
    axes.set_xlabel(f"gap: {_difference(frontier)}")
    axes.set_ylabel(f"total error ({'mean over all rows' if by_rows else 'groups as weighted'})")
    tidy(axes)
    proved = trade_off is not None and set(frontier.status) == {"optimal"}
    place = {"transform": axes.transAxes, "fontsize": "small", "color": palette.TEXT}
    if proved:
        axes.text(0.02, 0.02, "proved: no subspace below the curve", style="italic", **place)
    # Several radii may have hollow points; the legend explains them once.
    known = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    if known:
        corner = (0.0, 0.05 if proved else 0.0)
        place = {"loc": "lower left", "fontsize": "small", "bbox_to_anchor": corner}
        axes.legend(known.values(), known, frameon=False, **place)
    return axes


def _gaps(frontier: Frontier) -> FloatArray:
    """What is drawn to the right: gaps above references where there are any."""
    above = frontier.gap_above_references
    return frontier.gap if above is None else above


def _difference(frontier: Frontier) -> str:
    """Name the gap by its groups, the one with the larger error first."""
    if frontier.gap_above_references is not None:
        return "largest minus smallest error above the references"
    if len(frontier.group_labels) > 2:
        return f"largest minus smallest error of {len(frontier.group_labels)} groups"
    worst = int(np.argmax(frontier.group_errors[0]))
    labels = frontier.group_labels
    return f"error of {labels[worst]} minus error of {labels[1 - worst]}"


def _set_view(axes: Any, frontier: Frontier, curve: FloatArray) -> None:
    gap = np.concatenate([curve[:, 0], _gaps(frontier)])
    total = np.concatenate([curve[:, 1], frontier.weighted_error])
    width = float(gap.max()) or 1.0
    height = float(np.ptp(total)) or 0.1 * float(total.max()) or 1.0
    axes.set_xlim(0.0, 1.15 * width)
    axes.set_ylim(total.min() - 0.25 * height, total.max() + 0.6 * height)


def _first_dominated(trade_off: TradeOff) -> int:
    """Where the dominated part of the curve begins; from there on all of it is."""
    points = np.array([line.point for line in trade_off.lines])
    marked = np.flatnonzero(dominated(trade_off.problem, points, trade_off.boundary))
    return int(marked[0]) if len(marked) else len(points)


def _draw_parts(axes: Any, path: FloatArray, split: int) -> None:
    """Draw a path, dashed from a place on."""
    style: dict[str, Any] = {"color": palette.CURVE, "lw": 2.5, "zorder": 3}
    if split:
        axes.plot(*path[: split + 1].T, solid_capstyle="round", **style)
    rest = path[max(split - 1, 0) :]
    if split < len(path):
        is_seen = (np.ptp(rest, axis=0) > _SEEN * np.ptp(path, axis=0)).any()
        axes.plot(*rest.T, ls=(0, (2.2, 1.1)), label=_DASHED if is_seen else None, **style)


def _draw_curve(axes: Any, trade_off: TradeOff, split: int) -> None:
    """Draw the curve with its two ends."""
    curve, errors = trade_off.curve, trade_off.region.inner
    for sign in (1.0, -1.0):
        difference, total = sign * (errors[:, 0] - errors[:, 1]), errors @ trade_off.problem.shares
        axes.fill(difference, total, color=palette.REGION, lw=0, zorder=0)
    _draw_parts(axes, curve.inner, split)
    _draw_ends(axes, curve.inner[0], curve.inner[-1])


def _draw_ends(
    axes: Any,
    first: FloatArray,
    last: FloatArray,
    name: str = "PCA",
    equal: str = "equal errors",
    separator: str = ": ",
) -> None:
    """Mark where the trade-off begins and where its gap is smallest, with the price."""
    (pca_gap, pca_total), (gap, total) = first, last
    more = 100 * (total / pca_total - 1) if pca_total > 0 else 0.0
    fair = equal if gap <= 1e-6 * pca_gap else f"smallest gap {gap:.3g}"
    _mark(axes, (gap, total), palette.FAIR)
    _mark(axes, (pca_gap, pca_total), palette.PCA)
    text = {"textcoords": "offset points", "weight": "bold", "zorder": 6}
    far = gap > 0.5 * pca_gap
    price, side = f"{fair}{separator}{more:+.1f} % total error", "right" if far else "left"
    offset = (-10 if far else 10, 7)
    axes.annotate(price, (gap, total), offset, color=palette.FAIR, ha=side, **text)
    axes.annotate(name, (pca_gap, pca_total), (0, -17), color=palette.PCA, ha="center", **text)


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
        xy = np.column_stack([_gaps(frontier)[rows], frontier.weighted_error[rows]])
        marked = frontier.dominated[rows]
        look: dict[str, Any] = {"color": color, "lw": 1.4, "zorder": 4}
        if style == "o-":
            for i in range(len(xy) - 1):
                axes.plot(*xy[i : i + 2].T, "--" if marked[i : i + 2].any() else "-", **look)
        axes.plot(*xy[~marked].T, "o", ms=5, label=label, **look)
        if marked.any():
            axes.plot(*xy[marked].T, "o", ms=5, mfc="white", label=_HOLLOW, **look)


def _ends(frontier: Frontier) -> tuple[FloatArray, FloatArray, str, str]:
    """Where the trade-off begins, where its gap is smallest, and what to call both."""
    gap = _gaps(frontier)
    first, last = _beginning(frontier), int(np.argmin(gap))
    weight, radius = frontier.fairness_weight[first], frontier.radius[first]
    name = "PCA" if weight == radius == 0 else f"weight {weight:g}"
    xy = np.column_stack([gap, frontier.weighted_error])
    equal = "equal errors" if frontier.references is None else "equal above the references"
    return xy[first], xy[last], name, equal


def _beginning(frontier: Frontier) -> int:
    radius = np.nan_to_num(frontier.radius, nan=np.inf)
    return int(np.lexsort([radius, frontier.fairness_weight])[0])


def _draw_changes(axes: Any, frontier: Frontier) -> None:
    """Draw the inset of more than two groups: what each pays, compared with the beginning."""
    first, gaps = _beginning(frontier), _gaps(frontier)
    # In the corner that the curve leaves free.
    far = gaps.min() > 0.5 * gaps[first]
    inset = axes.inset_axes((0.06, 0.2, 0.28, 0.38) if far else (0.52, 0.52, 0.28, 0.4))
    same = frontier.radius == frontier.radius[first] if frontier.radius[first] >= 0 else [True]
    errors, gaps = frontier.group_errors[same], gaps[same]
    before = frontier.group_errors[first]
    change = 100 * (errors / np.where(before > 0, before, np.nan) - 1)
    shown = np.argsort(-np.abs(np.nan_to_num(change)).max(axis=0))[:_NAMED]
    end = int(np.argmin(gaps))
    heights = _apart([change[end, a] for a in shown], 0.13 * float(np.ptp(change[:, shown]) or 1))
    for place, a in enumerate(shown):
        color = palette.SERIES[place % len(palette.SERIES)]
        inset.plot(gaps, change[:, a], color=color, lw=1.5)
        text = f"{group_name(frontier.group_labels[a])} {change[end, a]:+.0f} %"
        inset.annotate(
            text,
            (gaps[end], heights[place]),
            (5, 0),
            textcoords="offset points",
            color=color,
            fontsize="x-small",
            va="center",
            annotation_clip=False,
        )
    inset.axhline(0, color=palette.TEXT, lw=0.8, ls=(0, (5, 4)))
    inset.invert_xaxis()
    title = {"transform": inset.transAxes, "fontsize": "small", "color": palette.TEXT}
    inset.text(0.0, 1.02, "who pays: change of each group's error, %", **title)
    inset.set_xlabel("gap", fontsize="small", labelpad=2)
    inset.locator_params(axis="x", nbins=4)
    inset.tick_params(labelsize="small", length=2)
    tidy(inset)


def _apart(heights: list[float], least: float) -> list[float]:
    """Move labels apart so that none covers another."""
    placed = list(heights)
    order = sorted(range(len(heights)), key=heights.__getitem__)
    for below, above in itertools.pairwise(order):
        placed[above] = max(placed[above], placed[below] + least)
    return placed


def _draw_region(axes: Any, trade_off: TradeOff, labels: tuple[Label, ...], split: int) -> None:
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
    _draw_parts(inset, errors, split)
    _mark(inset, errors[-1], palette.FAIR, 6)
    _mark(inset, errors[0], palette.PCA, 6)
    first, second = labels
    inset.set_xlabel(f"error of {first}", fontsize="small", labelpad=2)
    inset.set_ylabel(f"error of {second}", fontsize="small", labelpad=2)
    title = {"transform": inset.transAxes, "fontsize": "small", "color": palette.TEXT}
    inset.text(0.02, 1.02, "all attainable errors (thin line: equal)", **title)
    inset.tick_params(labelsize="small", length=2)
    tidy(inset)
