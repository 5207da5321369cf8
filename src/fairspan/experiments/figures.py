"""The paper's figures as svg and png, drawn from rows; equal rows give equal bytes."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fairspan.experiments import toy
from fairspan.experiments.comparison import titles
from fairspan.experiments.methods import TITLES
from fairspan.experiments.store import Row, write_atomically
from fairspan.plotting._axes import new_figure, tidy

COLORS = {
    "pca": "#666666",
    "rfpca": "#0072b2",
    "fairpca": "#d55e00",
    "fairpca-grid": "#e69f00",
    "cfpca-mean": "#009e73",
}
"""Colours that stay apart without colour vision."""
MARKERS = {"pca": "s", "rfpca": "o", "fairpca": "D", "fairpca-grid": "v", "cfpca-mean": "^"}
_NEED = "Figures need"
_EQUAL = 1e-9
"""Points that differ by a smaller share are equal: none dominates the other."""
_GROUPS = ("#9bb8d3", "#e3b59b")
_NAMES = TITLES | {
    "fairpca": "FairPCA (exact)",
    "fairpca-grid": "FairPCA (multiplicative weights)",
}


def save(figure: Any, output: Path, name: str) -> list[Path]:
    """Write a figure as svg and png.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        The figure.
    output : Path
        The folder.
    name : str
        Name of the files, without an ending.

    Returns
    -------
    list of Path
        The files.
    """
    from matplotlib import rc_context

    paths = []
    # Neither dates nor random names of svg elements: equal figures are equal files.
    for ending, facts in (("svg", {"Date": None}), ("png", {"Software": None})):
        content = io.BytesIO()
        with rc_context({"svg.hashsalt": "fairspan", "svg.fonttype": "none"}):
            figure.savefig(content, format=ending, dpi=120, metadata=facts)
        paths.append(output / f"{name}.{ending}")
        write_atomically(paths[-1], content.getvalue())
    return paths


def draw_toy(points: Sequence[Row], arrows: Sequence[Row]) -> Any:
    """Draw Figure 1: points of two groups and the directions of three methods.

    Parameters
    ----------
    points, arrows : sequence of dict
        Rows of :mod:`fairspan.experiments.toy`.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.
    """
    figure = new_figure((13, 5.4), _NEED)
    panels = {"population": "true covariances", "sample": "covariances of the points"}
    for axes, (source, label) in zip(figure.subplots(1, 2), panels.items(), strict=True):
        for group, name in enumerate(("majority", "minority")):
            xy = np.array([(row["x"], row["y"]) for row in points if row["group"] == group])
            style = {"s": 12, "color": _GROUPS[group], "marker": "o^"[group], "lw": 0}
            axes.scatter(*xy.T, label=f"{name} ({len(xy)})", **style)
        mine = [row for row in arrows if row["source"] == source]
        for i, row in enumerate(mine):
            _draw_arrow(axes, row, i)
        for name in ("pca", "rfpca", "fairpca"):
            axes.plot([], [], color=COLORS[name], lw=2, label=_NAMES[name])
        axes.set(xlim=(-7, 9), ylim=(-5, 6), aspect="equal", title=f"Arrows of the {label}")
        axes.set(xlabel="first feature", ylabel="second feature")
        tidy(axes)
    figure.axes[0].legend(frameon=False, loc="lower right")
    text = "RFPCA with radius 0; numbers at the arrows are fairness weights"
    figure.suptitle(text, fontsize="medium")
    return figure


def _draw_arrow(axes: Any, row: Row, number: int) -> None:
    angle = math.radians(row["angle"])
    # Weights of neighbouring arrows are written at different distances.
    length = 5.2 + 0.95 * (number % 3) if row["method"] == "rfpca" else 5.6
    direction = np.array([math.cos(angle), math.sin(angle)])
    color = COLORS[row["method"]]
    style = {"arrowstyle": "-|>", "color": color, "lw": 1.3, "shrinkA": 0, "shrinkB": 0}
    if row["method"] != "rfpca":
        # RFPCA's first and last arrows cover those of PCA and FairPCA but for their tails.
        axes.plot(*np.outer(-direction, [0, length]), color=color, lw=2)
        below = -direction * length - [0, 0.25]
        axes.annotate(TITLES[row["method"]], below, color=color, ha="center", va="top")
        return
    axes.annotate("", xy=tuple(length * direction), xytext=(0, 0), arrowprops=style)
    place = tuple((length + 0.1) * direction)
    text = {"rotation": row["angle"], "rotation_mode": "anchor", "va": "center", "color": color}
    axes.annotate(f"{row['fairness_weight']:g}", place, fontsize="small", **text)


def draw_pareto(rows: Sequence[Row]) -> Any:
    """Draw ABDiff against ARE over each method's grid.

    Parameters
    ----------
    rows : sequence of dict
        Rows of :func:`fairspan.experiments.curves.pareto`.

    Returns
    -------
    matplotlib.figure.Figure
        The figure, a panel for each data set.
    """
    names = _names(rows)
    figure = new_figure((4.8 * len(names), 4.6), _NEED)
    from matplotlib.ticker import FixedLocator, FormatStrFormatter, MaxNLocator, NullLocator

    for axes, name in zip(np.ravel(figure.subplots(1, len(names))), names, strict=True):
        mine = [row for row in rows if row["dataset"] == name]
        for method, color in COLORS.items():
            own = sorted((r["are"], r["abdiff"]) for r in mine if r["method"] == method)
            best = [one for one in own if not _is_dominated(one, mine)]
            worse = [one for one in own if one not in best]
            style = {"color": color, "marker": MARKERS[method], "ls": ""}
            axes.plot(*np.array(own).T, color=color, lw=1, alpha=0.6)
            # Open markers: some other point has both a smaller ARE and a smaller ABDiff.
            axes.plot(*np.array(worse).reshape(-1, 2).T, mfc="none", alpha=0.7, **style)
            axes.plot(*np.array(best).reshape(-1, 2).T, label=_NAMES[method], **style)
        axes.set(xscale="log", xlabel="ARE (log scale)", title=titles()[name])
        ticks = MaxNLocator(4).tick_values(*axes.get_xlim())
        axes.xaxis.set_major_locator(FixedLocator(ticks[1:-1]))
        axes.xaxis.set_major_formatter(FormatStrFormatter("%g"))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_ylim(bottom=0)
        tidy(axes)
    figure.axes[0].set_ylabel("ABDiff")
    handles, labels = figure.axes[0].get_legend_handles_labels()
    (opened,) = figure.axes[0].plot([], [], "o", mfc="none", color=COLORS["pca"])
    handles, labels = [*handles, opened], [*labels, "dominated: another point is better in both"]
    figure.legend(handles, labels, loc="outside lower center", ncols=3)
    return figure


def _is_dominated(point: tuple[float, float], rows: Sequence[Row]) -> bool:
    are, abdiff = (value * (1 - _EQUAL) for value in point)
    return any(row["are"] < are and row["abdiff"] < abdiff for row in rows)


def draw_components(rows: Sequence[Row]) -> Any:
    """Draw the error of each group against the number of components.

    Parameters
    ----------
    rows : sequence of dict
        Means of rows of :func:`fairspan.experiments.curves.components` over splits.

    Returns
    -------
    matplotlib.figure.Figure
        The figure: a row for each data set, in and out of sample.
    """
    names = _names(rows)
    figure = new_figure((9, 2.9 * len(names)), _NEED)
    grid = figure.subplots(len(names), 2, squeeze=False)
    for line, name in zip(grid, names, strict=True):
        mine = [row for row in rows if row["dataset"] == name]
        samples = (("error_in_sample", "in sample"), ("error", "out of sample"))
        for axes, (value, title) in zip(line, samples, strict=True):
            _draw_groups(axes, mine, value)
            axes.set_title(f"{titles()[name]}, {title}", fontsize="medium")
            axes.set_xticks(sorted({row["k"] for row in mine}))
            tidy(axes)
        line[0].set_ylabel("mean error of the group")
    for axes in grid[-1]:
        axes.set_xlabel("components")
    handles = figure.axes[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=3, fontsize="small")
    return figure


def _draw_groups(axes: Any, rows: Sequence[Row], value: str) -> None:
    for method in ("pca", "fairpca", "rfpca"):
        for group, line in ((0, "-"), (1, "--")):
            mine = [row for row in rows if row["method"] == method and row["group"] == group]
            style = {"color": COLORS[method], "marker": MARKERS[method], "ms": 3.5, "lw": 1.3}
            k, errors = [row["k"] for row in mine], [row[value] for row in mine]
            axes.plot(k, errors, line, label=f"{_NAMES[method]}, group {group}", **style)


def draw_radius(rows: Sequence[Row]) -> Any:
    """Draw scores against the minority's radius.

    Parameters
    ----------
    rows : sequence of dict
        Mean and deviation of the score for each radius of the majority and the minority.

    Returns
    -------
    matplotlib.figure.Figure
        The figure: the default large, the others next to it.
    """
    figure = new_figure((11, 5), _NEED)
    panels = figure.subplot_mosaic([[0, 0, 1], [0, 0, 2], [0, 0, 3]])
    for i, base in enumerate(toy.BASES):
        axes = panels[i]
        mine = [row for row in rows if row["base"] == base]
        alpha, mean, spread = (
            np.array([row[name] for row in mine]) for name in ("alpha", "mean", "deviation")
        )
        axes.fill_between(alpha, mean - spread, mean + spread, color="#cfe0ee", lw=0)
        axes.plot(alpha, mean, color=COLORS["rfpca"])
        best = int(np.argmin(mean))
        axes.plot(alpha[best], mean[best], "o", color=COLORS["fairpca"])
        text, place = f"{mean[best]:.2f} at {alpha[best]:.1f}", (alpha[best], mean[best])
        side = "right" if best > 80 else "center"
        axes.annotate(text, place, xytext=(0, -16), textcoords="offset points", ha=side)
        label = "0" if base == 0 else rf"{base:g}/$\sqrt{{n_0}}$"
        axes.set_title(f"radius of the majority: {label}", fontsize="medium")
        tidy(axes)
    panels[0].set(xlabel=r"$\alpha$; radius of the minority: $\alpha/\sqrt{n_1}$")
    panels[0].set_ylabel("ARE + ABDiff on the test set\n(mean and one standard deviation)")
    panels[3].set_xlabel(r"$\alpha$")
    return figure


def _names(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(row["dataset"] for row in rows))
