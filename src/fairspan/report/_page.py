"""From the numbers of a report to one html text with everything inside."""

from __future__ import annotations

import html
import json
import re
from importlib.resources import files
from typing import Any

from fairspan.ground import palette
from fairspan.report._card import data_facts, model_facts
from fairspan.report._sentences import TEMPLATES, sentences

_SCRIPTS = ("state.js", "optimum.js", "words.js", "charts.js", "page.js")


def require_bokeh() -> None:
    """Raise where the charting library is missing, with the extra that brings it."""
    try:
        import bokeh  # noqa: F401
    except ImportError as error:
        raise ImportError(
            'A report\'s page needs Bokeh: pip install "fairspan[report]".'
        ) from error


def page(content: dict[str, Any]) -> str:
    """Write the page.

    Parameters
    ----------
    content : dict
        The content of a report.

    Returns
    -------
    str
        An html text that needs nothing else.
    """
    require_bokeh()
    from bokeh.resources import Resources

    from fairspan.report._charts import charts, safe_label

    library = "\n".join(Resources(mode="inline", components=["bokeh"], log_level="error").js_raw)
    data = {
        **content,
        "sentences": TEMPLATES,
        "palette": {"light": palette.LIGHT, "dark": palette.DARK, "series": palette.SERIES},
        "short_labels": [safe_label(group["label"]) for group in content["groups"]],
        "short_features": {
            name: safe_label(name, 22)
            for one in content["by_components"]
            for row in one["loadings"]
            for name in row["features"]
        },
    }
    headline, effect, proof = (
        html.escape(text).replace(" %", "&nbsp;%") for text in sentences(content)
    )
    parts = {
        "title": html.escape(content["title"]),
        "headline": headline,
        "effect": effect,
        "proof": proof,
        "scope": html.escape(content["scope"]),
        "facts": _facts(data_facts(content) + model_facts(content) + _packages(content)),
        "style": _colours() + _file("page.css"),
        "library": library.replace("</script", "<\\/script"),
        "data": embedded_json(data),
        "charts": embedded_json(charts(content)),
        "script": "\n".join(map(_file, _SCRIPTS)),
    }
    # One pass, so that no text of the data is taken for a place to fill.
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], _file("page.html"))


def embedded_json(value: Any) -> str:
    """Give JSON that can stand inside a script element: no character of it can end one."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _file(name: str) -> str:
    return files("fairspan.report").joinpath("page", name).read_text(encoding="utf-8")


def _colours() -> str:
    day, night = (
        "".join(f"--{name}:{colour};" for name, colour in colours.items())
        for colours in (palette.LIGHT, palette.DARK)
    )
    return (
        f":root{{color-scheme:light dark;{day}}}"
        f"@media screen and (prefers-color-scheme:dark){{:root{{{night}}}}}\n"
    )


def _facts(facts: list[tuple[str, str]]) -> str:
    rows = (f"<div><dt>{html.escape(a)}</dt><dd>{html.escape(b)}</dd></div>" for a, b in facts)
    return "".join(rows)


def _packages(content: dict[str, Any]) -> list[tuple[str, str]]:
    return [("versions", ", ".join(f"{a} {b}" for a, b in content["versions"].items()))]
