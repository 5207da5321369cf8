"""A plot of decisions: disparity against performance."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from fairspan.ground import palette
from fairspan.plotting._axes import axes_or_new, finished

if TYPE_CHECKING:
    from fairspan.downstream.result import DownstreamResult

_MARKERS = "osD^vP*X<>"


def plot_downstream(
    result: DownstreamResult, x: str | None = None, y: str | None = None, ax: Any = None
) -> Any:
    """Draw two metrics of a model after each projection, with intervals over splits.

    Parameters
    ----------
    result : DownstreamResult
        What :func:`fairspan.downstream.assess_downstream` returned.
    x, y : str, optional
        Metrics; by default the first one measured and the last one.
    ax : matplotlib axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    matplotlib.axes.Axes
        The axes; colours show the method, markers the number of components. Points have
        their fairness weights written next to them if there are several.
    """
    axes = axes_or_new(ax)
    names = x or result.metrics[0], y or result.metrics[-1]
    found = [
        {(row["method"], row["n_components"], row["fairness_weight"]): row for row in table}
        for table in (
            [row for row in result.summary(name) if row["group"] is None] for name in names
        )
    ]
    methods = list(dict.fromkeys(key[0] for key in found[0]))
    sizes = list(dict.fromkeys(key[1] for key in found[0]))
    places = Counter(_place(key, across, found[1][key]) for key, across in found[0].items())
    for key, across in found[0].items():
        up = found[1][key]
        at = across["mean"], up["mean"]
        colour = palette.SERIES[methods.index(key[0]) % len(palette.SERIES)]
        # Methods that do the same are drawn around each other: the first ones larger.
        places[_place(key, across, up)] -= 1
        axes.errorbar(
            *at,
            xerr=_bars(across),
            yerr=_bars(up),
            fmt=_MARKERS[sizes.index(key[1]) % len(_MARKERS)],
            color=colour,
            elinewidth=0.8,
            markersize=6 + 4 * places[_place(key, across, up)],
        )
        if len({key[2] for key in found[0]} - {None}) > 1 and key[2] is not None:
            axes.annotate(f"{key[2]:g}", at, (4, 4), textcoords="offset points", color=colour)
    for method in methods:
        colour = palette.SERIES[methods.index(method) % len(palette.SERIES)]
        axes.plot([], [], "s", color=colour, label=method)
    for place, k in enumerate(sizes):
        if k is not None:
            marker = _MARKERS[place % len(_MARKERS)]
            label = f"{k} component{'s' * (k > 1)}"
            axes.plot([], [], marker, color=palette.TEXT, fillstyle="none", label=label)
    x, y = (name.replace("_", " ") for name in names)
    return finished(axes, x, y, fontsize="small", loc="center left", bbox_to_anchor=(1.01, 0.5))


def _place(key: Any, across: dict[str, Any], up: dict[str, Any]) -> tuple[Any, ...]:
    """Say where a marker is seen, and of which kind it is."""
    return key[1], round(across["mean"], 4), round(up["mean"], 4)


def _bars(row: dict[str, Any]) -> list[list[float]] | None:
    if row["low"] is None or row["low"] != row["low"]:
        return None
    return [[row["mean"] - row["low"]], [row["high"] - row["mean"]]]
