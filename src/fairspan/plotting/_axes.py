"""Axes, and the common style of all plots."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from fairspan.ground.extras import needing


def axes_or_new(ax: Any, size: tuple[float, float] = (7.0, 4.5)) -> Any:
    """Return the axes, or those of a new figure."""
    if ax is not None:
        if not hasattr(ax, "spines"):
            raise TypeError(f"ax={ax!r} is not a matplotlib Axes; leave it out for a new figure.")
        return ax
    with matplotlib_for("Plots need"):
        import matplotlib.pyplot as plt
    return plt.subplots(figsize=size, layout="constrained")[1]


def new_figure(size: tuple[float, float], who: str) -> Any:
    """Return a figure that is not shown in a window."""
    with matplotlib_for(who):
        from matplotlib.figure import Figure
    return Figure(figsize=size, layout="constrained")


def matplotlib_for(who: str) -> AbstractContextManager[None]:
    """Say how to install matplotlib if its import fails."""
    return needing(f"{who} matplotlib", "plot")


def tidy(axes: Any) -> Any:
    """Hide the spines that carry no information."""
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def finished(axes: Any, x: str, y: str, *, legend: bool = True, **place: Any) -> Any:
    """Label the axes, add a legend without a frame, and hide what carries no information."""
    axes.set(xlabel=x, ylabel=y)
    if legend:
        axes.legend(frameon=False, **place)
    return tidy(axes)
