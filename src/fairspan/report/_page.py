"""A report's content as texts: the html page with everything inside, and the model card."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable
from importlib.resources import files
from typing import Any

from fairspan import words
from fairspan.ground import palette
from fairspan.words import Findings

_SCRIPTS = ("state.js", "optimum.js", "words.js", "charts.js", "page.js")
_CODE = """\
from fairspan import RobustFairPCA

pca = RobustFairPCA(
    {n_components},
    fairness_weight={fairness_weight},
    radius={radius},
    standardize={standardize},
).fit(X, sensitive_features=groups)"""
_EQUAL = 1e-6
"""A gap below this share of the total error is drawn as none."""


def findings(content: dict[str, Any]) -> Findings:
    """Give what there is to say about the report's own setting."""
    page = content["by_components"][content["setting"]["n_components"] - 1]
    pca, chosen = page["pca"], page["chosen"]
    return Findings(
        labels=[group["label"] for group in content["groups"]],
        before=pca["errors"],
        after=chosen["errors"],
        total_before=_total(content, pca),
        total_after=_total(content, chosen),
        n_components=page["k"],
        n_features=content["data"]["features"],
        status=chosen["status"],
        gap=chosen["proved"],
        hidden=chosen["hidden"],
        hidden_before=pca["hidden"],
    )


def _total(content: dict[str, Any], point: dict[str, Any]) -> float:
    shares = (group["share"] for group in content["groups"])
    return float(sum(share * error for share, error in zip(shares, point["errors"], strict=True)))


def model_card(content: dict[str, Any]) -> str:
    """Write the model card of a report's setting.

    Parameters
    ----------
    content : dict
        The content of a report.

    Returns
    -------
    str
        A Markdown text; names are escaped.
    """
    setting, found = content["setting"], findings(content)
    chosen = content["by_components"][setting["n_components"] - 1]["chosen"]
    result = [f"objective: {chosen['objective']:.8g}"]
    if not found.hidden:
        result += [f"proved lower bound: {words.at_least(chosen['lower_bound'], 8)}"]
        result += [f"relative gap between them: {words.share_at_most(found.gap)}"]
    parts = [
        f"# Model card: {_escaped(content['title'])}",
        "\n".join(map(_escaped, found.sentences)),
        "## Data",
        _listed(f"{name}: {value}" for name, value in _data_facts(content)),
        "## Groups",
        _group_table(content),
        "## Model",
        _listed(f"{name}: {value}" for name, value in _model_facts(content)),
        f"```python\n{_CODE.format(**setting)}\n```",
        "## Result",
        _listed(result),
        "## Scope",
        content["scope"],
        "## Versions",
        _versions(content),
    ]
    return "\n\n".join(parts) + "\n"


def require_bokeh() -> None:
    """Raise where the charting library is missing, with the extra that brings it."""
    try:
        import bokeh  # noqa: F401
    except ImportError as error:
        raise ImportError(
            'A report\'s page needs Bokeh: pip install "fairspan[report]".'
        ) from error


def html_page(content: dict[str, Any]) -> str:
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

    from fairspan.report._charts import charts

    library = "\n".join(Resources(mode="inline", components=["bokeh"], log_level="error").js_raw)
    found = findings(content)
    texts = {
        "title": content["title"],
        "headline": found.headline,
        "effect": found.effect,
        "proof": found.proof,
        "scope": content["scope"],
        **_captions(content),
    }
    facts = _data_facts(content) + _model_facts(content) + [("versions", _versions(content))]
    rows = (f"<div><dt>{html.escape(a)}</dt><dd>{html.escape(b)}</dd></div>" for a, b in facts)
    # A number and its % stay in one line.
    parts = {name: html.escape(text).replace(" %", "&nbsp;%") for name, text in texts.items()} | {
        "facts": "".join(rows),
        "style": _colours() + _file("page.css"),
        "library": library.replace("</script", "<\\/script"),
        "data": embedded_json(_page_data(content)),
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


def _page_data(content: dict[str, Any]) -> dict[str, Any]:
    """The content, and all words that the script needs: it has none of its own."""
    from fairspan.report._charts import safe_label

    return content | {
        "by_components": [_spoken(content, page) for page in content["by_components"]],
        "words": {
            "templates": words.TEMPLATES,
            "rules": words.RULES,
            "code": _CODE,
            "method": Findings.method,
        },
        "names": [words.quoted(group["label"]) for group in content["groups"]],
        "palette": {"light": palette.LIGHT, "dark": palette.DARK, "series": palette.SERIES},
        "short_labels": [safe_label(group["label"]) for group in content["groups"]],
        "short_features": {
            name: safe_label(name, 22)
            for one in content["by_components"]
            for row in one["loadings"]
            for name in row["features"]
        },
    }


def _spoken(content: dict[str, Any], page: dict[str, Any]) -> dict[str, Any]:
    """Say of one number of components what no slider changes, and what is proved of each point."""

    def proved(point: dict[str, Any], gap: float) -> dict[str, Any]:
        proof = words.proof(point["status"], gap, point["hidden"])
        return point | {"proof": proof, "within": words.share_at_most(gap)}

    pca, labels = page["pca"], [group["label"] for group in content["groups"]]
    more: dict[str, Any] = {
        "headline": words.headline(labels, pca["errors"], page["k"], pca["hidden"]),
        "chosen": proved(page["chosen"], page["chosen"]["proved"]),
    }
    if "optima" in page:
        more["optima"] = [proved(point, point["proved"]) for point in page["optima"]]
    else:
        fair, curve = page["exactly_fair"]["errors"], page["curve"]
        is_equal = max(fair) - min(fair) <= _EQUAL * _total(content, pca)
        more["fair_name"] = "equal errors" if is_equal else "smallest gap"
        more["curve"] = proved(curve, curve["accuracy"])
    return page | more


def _captions(content: dict[str, Any]) -> dict[str, str]:
    """Numbers and words inside the page's own texts, and which of these it shows."""
    pages, stops, intervals = content["by_components"], content["stops"], content["intervals"]
    curves = [page["curve"] for page in pages if "curve" in page]
    kind = "two-groups" if curves else "more-groups"
    hidden = any(point["hidden"] for point in [*curves, *(page["pca"] for page in pages)])
    loadings, projected = pages[0]["loadings"][0], content["projected"] or {"left_out": 0}
    n, left_out = len(loadings["features"]), loadings["left_out"]
    rows = words.plural(projected["left_out"], "row")
    return {
        "kind": f"{kind} hides-claims" if hidden else kind,
        "intervals": (
            f"Intervals: {_bootstrap(intervals)}, projections held fixed."
            if intervals["replicates"]
            else "No intervals: none were asked for, or only moments were given."
        ),
        "where": "on the edge of" if content["data"]["features"] == 2 else "in",
        "accuracy": words.share_at_most(max((curve["accuracy"] for curve in curves), default=0)),
        "solved": str(len(stops["weights"]) * len(stops["radii"])),
        "largest": f" The largest {n} of {n + left_out} features." if left_out else "",
        "left_out": f" {rows}, chosen at random, left out." if projected["left_out"] else "",
        **{name: f"{content['setting'][name]:g}" for name in ("fairness_weight", "radius")},
    }


def _data_facts(content: dict[str, Any]) -> list[tuple[str, str]]:
    data, intervals = content["data"], content["intervals"]
    source = "group moments (no rows were seen)" if data["from_moments"] else "rows of a table"
    return [
        ("rows", f"{data['rows']:,}"),
        ("features", f"{data['features']:,}"),
        ("groups", str(len(content["groups"]))),
        ("sample weights", "yes" if data["weighted"] else "no"),
        ("read from", source),
        ("total variance", f"{data['variance']:.6g}"),
        ("intervals", _bootstrap(intervals) if intervals["replicates"] else "none"),
        ("rows shown in the report", "some, projected" if content["projected"] else "none"),
    ]


def _model_facts(content: dict[str, Any]) -> list[tuple[str, str]]:
    setting, found = content["setting"], findings(content)
    return [
        ("method", found.method),
        ("result", found.proof),
        ("components", str(setting["n_components"])),
        ("fairness weight", f"{setting['fairness_weight']:g}"),
        ("radius", f"{setting['radius']:g} (in squared units of the data)"),
        ("features standardised", "yes" if setting["standardize"] else "no"),
    ]


def _bootstrap(intervals: dict[str, Any]) -> str:
    return f"{100 * intervals['level']:.0f} % bootstrap, {intervals['replicates']} replicates"


def _versions(content: dict[str, Any]) -> str:
    return ", ".join(f"{name} {number}" for name, number in content["versions"].items())


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


def _group_table(content: dict[str, Any]) -> str:
    page = content["by_components"][content["setting"]["n_components"] - 1]
    lines = ["| group | rows | error, PCA | error, RobustFairPCA |", "|---|---:|---:|---:|"]
    for a, group in enumerate(content["groups"]):
        cells = [_escaped(group["label"]), f"{group['rows']:,}"]
        cells += [_error(page[name], a) for name in ("pca", "chosen")]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _error(point: dict[str, Any], a: int) -> str:
    text = words.number(point["errors"][a])
    if "interval" in point:
        text += f" ({' to '.join(map(words.number, point['interval'][a]))})"
    return text


def _listed(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _escaped(text: str) -> str:
    """Escape what Markdown or HTML would read as markup."""
    plain = " ".join(text.split())
    plain = plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_{}\[\]()#|~$!])", r"\\\1", plain)
