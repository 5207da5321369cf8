"""Where to draw, and the look that all pictures share."""

from __future__ import annotations

from typing import Any


def axes_or_new(ax: Any, size: tuple[float, float] = (7.0, 4.5)) -> Any:
    """Give the axes, or those of a new figure."""
    if ax is not None:
        if not hasattr(ax, "spines"):
            raise TypeError(f"ax={ax!r} is no axes of matplotlib; leave it out for a new figure.")
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError('Plots need matplotlib: pip install "fairspan[plot]".') from error
    return plt.subplots(figsize=size, layout="constrained")[1]


def tidy(axes: Any) -> Any:
    """Leave out the lines that say nothing."""
    axes.spines[["top", "right"]].set_visible(False)
    return axes
