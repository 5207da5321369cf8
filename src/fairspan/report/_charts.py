"""The charts of a page: Bokeh figures with empty sources, which the script fills and colours.

Every model the script touches has a name. Colours come from the script alone, which knows whether
it is night.
"""

from __future__ import annotations

from typing import Any

_FONT = "system-ui, sans-serif"


def charts(content: dict[str, Any]) -> dict[str, Any]:
    """Make the charts.

    Parameters
    ----------
    content : dict
        The content of a report.

    Returns
    -------
    dict
        For each place on the page the JSON of its figure.
    """
    from bokeh.embed import json_item

    n_groups = len(content["groups"])
    figures = {"price": _price(), "groups": _groups(n_groups), "sizes": _sizes(content)}
    if n_groups == 2:
        figures["region"] = _region(*(group["label"] for group in content["groups"]))
    loadings = content["by_components"][-1]["loadings"]
    figures["loadings"] = _loadings(max(len(row["features"]) for row in loadings))
    if content["projected"]:
        figures["rows"] = _rows("distance" if content["projected"]["y_is_distance"] else "")
    return {name: json_item(figure, f"chart-{name}") for name, figure in figures.items()}


def safe_label(text: str, most: int = 24) -> str:
    """Shorten a name in the middle, and keep it from being read as mathematics."""
    if len(text) > most:
        text = f"{text[: most - most // 3 - 1]}…{text[-(most // 3) :]}"
    for mark in ("$$", "\\[", "\\("):
        text = text.replace(mark, f"{mark[0]}\u200b{mark[1]}")
    return text


def _figure(name: str, x_label: str, y_label: str, height: int) -> Any:
    from bokeh.models import Range1d
    from bokeh.plotting import figure

    plot = figure(
        name=f"figure-{name}",
        height=height,
        sizing_mode="stretch_width",
        toolbar_location=None,
        tools="",
        x_range=Range1d(0, 1, name=f"x-{name}"),
        y_range=Range1d(0, 1, name=f"y-{name}"),
        x_axis_label=x_label,
        y_axis_label=y_label,
        min_border_right=16,
        min_border_top=12,
        outline_line_color=None,
    )
    plot.background_fill_color = None
    plot.border_fill_color = None
    plot.axis.axis_label_text_font_style = "normal"
    plot.axis.axis_label_text_font = plot.axis.major_label_text_font = _FONT
    plot.axis.axis_label_text_font_size = plot.axis.major_label_text_font_size = "12px"
    plot.axis.major_tick_in = 0
    plot.axis.minor_tick_line_color = None
    plot.axis.ticker.desired_num_ticks = 5
    return plot


def _source(name: str, *columns: str) -> Any:
    from bokeh.models import ColumnDataSource

    return ColumnDataSource({column: [] for column in columns}, name=name)


def _draw(plot: Any, kind: str, name: str, *more: str, **style: Any) -> Any:
    """Draw what a source of its own holds in the columns x, y and more."""
    source = _source(name, "x", "y", *more)
    return getattr(plot, kind)("x", "y", source=source, name=f"glyph-{name}", **style)


def _marks(plot: Any, name: str) -> None:
    """Reference points and, on top, the chosen one; a tooltip names each."""
    from bokeh.models import HoverTool

    columns = ("marker", "colour", "edge", "alpha", "size", "name")
    style = {
        "marker": "marker",
        "fill_color": "colour",
        "fill_alpha": "alpha",
        "line_color": "edge",
        "line_width": 1.5,
        "size": "size",
    }
    marks = _draw(plot, "scatter", f"marks-{name}", *columns, **style)
    plot.add_tools(HoverTool(renderers=[marks], tooltips=[("", "@name")]))


def _region(first: str, second: str) -> Any:
    plot = _figure("region", f"error of {safe_label(first)}", f"error of {safe_label(second)}", 340)
    _draw(plot, "patch", "region")
    _draw(plot, "line", "diagonal", line_dash=[5, 4], line_width=1.2)
    _draw(plot, "line", "compromise", line_width=3, line_cap="round")
    _draw(plot, "line", "compromise-dominated", line_width=3, line_dash=[7, 4])
    _marks(plot, "region")
    return plot


def _price() -> Any:
    plot = _figure("price", "gap between groups", "total error", 340)
    plot.xaxis[0].name = "axis-price"
    beyond = _source("beyond", "x", "floor", "ceiling")
    plot.varea("x", "floor", "ceiling", source=beyond, name="glyph-beyond")
    _draw(plot, "line", "price", line_width=3, line_cap="round")
    _draw(plot, "line", "price-dominated", line_width=3, line_dash=[7, 4])
    _draw(plot, "scatter", "stops", size=5)
    _marks(plot, "price")
    return plot


def _groups(n_groups: int) -> Any:
    from bokeh.core.properties import value
    from bokeh.models import FixedTicker

    plot = _figure("groups", "mean squared error", "", 140)
    for name in ("pca", "chosen"):
        source = _source(f"bars-{name}", "y", "error", "text")
        plot.hbar("y", right="error", left=0, height=0.34, source=source, name=f"glyph-bars-{name}")
        style = {"text_baseline": "middle", "text_font_size": "12px", "text_font": value(_FONT)}
        plot.text(
            "error", "y", "text", source=source, x_offset=6, name=f"glyph-value-{name}", **style
        )
    plot.yaxis.ticker = FixedTicker(ticks=list(range(n_groups)))
    plot.yaxis.name = "axis-groups"
    plot.ygrid.visible = False
    plot.yaxis.major_tick_line_color = None
    return plot


def _sizes(content: dict[str, Any]) -> Any:
    from bokeh.models import FixedTicker, Span

    plot = _figure("sizes", "number of components", "error, from best to worst group", 340)
    source = _source("sizes", "k", "pca_low", "pca_high", "low", "high")
    for name, low, high in (("pca", "pca_low", "pca_high"), ("chosen", "low", "high")):
        plot.varea("k", low, high, source=source, fill_alpha=0.22, name=f"glyph-band-{name}")
        for edge in (low, high):
            plot.line("k", edge, source=source, line_width=2, name=f"glyph-{edge}")
            plot.scatter("k", edge, source=source, size=6, name=f"glyph-dot-{edge}")
    plot.add_layout(Span(location=1, dimension="height", line_dash=[3, 3], name="span-k"))
    stops = content["stops"]["components"]
    step = -(-len(stops) // 12)
    plot.xaxis.ticker = FixedTicker(ticks=stops[::step])
    plot.xgrid.visible = False
    return plot


def _loadings(n_features: int) -> Any:
    from bokeh.models import FixedTicker, Span

    plot = _figure("loadings", "loading", "", 84 + 24 * n_features)
    source = _source("loadings", "y_pca", "y_chosen", "pca", "chosen", "feature")
    ends = ("pca", "y_pca", "chosen", "y_chosen")
    plot.segment(*ends, source=source, line_width=2, name="glyph-shift")
    for name, marker, size in (("pca", "circle", 9), ("chosen", "diamond", 11)):
        style = {"marker": marker, "size": size, "name": f"glyph-loading-{name}"}
        plot.scatter(name, f"y_{name}", source=source, **style)
    plot.add_layout(Span(location=0, dimension="height", line_width=1, name="span-zero"))
    plot.yaxis.ticker = FixedTicker(ticks=list(range(n_features)))
    plot.yaxis.name = "axis-loadings"
    plot.yaxis.major_tick_line_color = None
    return plot


def _rows(second: str) -> Any:
    label = "distance from the line" if second == "distance" else "component 2"
    plot = _figure("rows", "component 1", label, 380)
    style = {"size": 5, "fill_alpha": 0.55, "line_color": None, "fill_color": "colour"}
    _draw(plot, "scatter", "rows", "colour", **style)
    return plot
