"""A report's content as one html page with everything inside, and what both page and card say."""

from __future__ import annotations

import html
import json
import re
from importlib.resources import files
from operator import mul
from typing import Any

from fairspan import words
from fairspan.ground import palette
from fairspan.report._decisions import decisions_panel
from fairspan.report._scree import scree_panel

_SCRIPTS = ("state.js", "optimum.js", "words.js", "charts.js", "page.js")
_WIDE = '<div class="wide">'
"""Panels that hold this take the whole width of the page."""
_MANY = 8
"""More groups are sorted by error and folded to the worst and the best."""
_SENTENCES = ("headline", "change", "fitted", "effect", "variance", "payers", "caveats", "proof")
CODE = """\
from fairspan import RobustFairPCA

pca = RobustFairPCA(
    {n_components},
    fairness_weight={fairness_weight},{comparison}
    radius={radius},
    standardize={standardize},{clipping}
).fit(X, sensitive_features=groups)"""
"""The call that makes the model of a setting."""


def findings(content: dict[str, Any], page: dict[str, Any] | None = None) -> words.Findings:
    """Give what there is to say about the report's own weight and radius, and components."""
    page = page or own_page(content)
    pca, chosen, groups = page["pca"], page["chosen"], content["groups"]
    notion = content["notions"][content["setting"]["notion"]]
    shares = [group["share"] for group in groups]
    plain, fair = (float(sum(map(mul, shares, point["errors"]))) for point in (pca, chosen))
    variance = content["data"]["variance"]
    return words.Findings(
        _names(content),
        (pca["errors"], chosen["errors"]),
        (plain, fair),
        n_components=page["k"],
        n_features=content["data"]["features"],
        status=chosen["status"],
        gap=chosen["proved"],
        hidden=(pca["hidden"], chosen["hidden"]),
        verdict=_verdict(page),
        better=words.Better(**chosen["better"]),
        disparity=notion["disparity"],
        fairness_weight=content["setting"]["fairness_weight"],
        kept=(1 - plain / variance, 1 - fair / variance),
        references=_references(notion["reference"], page),
    )


def _names(content: dict[str, Any]) -> list[Any]:
    """Give the groups as sentences name them."""
    groups = content["groups"]
    return words.with_rows([one["label"] for one in groups], [one["rows"] for one in groups])


def _references(given: str | list[float], page: dict[str, Any]) -> words.References | None:
    """Give what errors are compared with, as the page's switch knows it."""
    if given == "none":
        return None
    return words.References(page["own"] if isinstance(given, str) else given, given == "own")


def own_page(content: dict[str, Any]) -> dict[str, Any]:
    page: dict[str, Any] = content["by_components"][content["setting"]["n_components"] - 1]
    return page


def _verdict(page: dict[str, Any]) -> words.Verdict | None:
    return None if page["verdict"] is None else words.Verdict(**page["verdict"])


def clipping(content: dict[str, Any]) -> str:
    """Give the argument that clips, as Python; nothing where it is the default."""
    clip = content["setting"].get("clip")
    return "" if clip is None else f"\n    clip={clip},"


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
    texts = {name: content[name] for name in ("title", "scope")} | _captions(content)
    panels = [
        f'<details open class="card"><summary><h2>{html.escape(title)}</h2></summary>{shown}'
        "</details>"
        for key, (title, panel) in PANELS.items()
        if content[key] is not None and (shown := panel(content))
    ]
    parts = {name: _joined(html.escape(text)) for name, text in texts.items()} | {
        "find": _find(content),
        "new_rows": _new_rows(content),
        "card": _card(content),
        "wide_panels": "".join(panel for panel in panels if _WIDE in panel),
        "panels": "".join(panel for panel in panels if _WIDE not in panel),
        "style": _colours() + _file("page.css"),
        "library": library.replace("</script", "<\\/script"),
        "data": embedded_json(_page_data(content)),
        "charts": embedded_json(charts(content)),
        "script": "\n".join(map(_file, _SCRIPTS)),
    }
    # One pass, so that no text of the data is taken for a place to fill.
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], _file("page.html"))


def _joined(text: str) -> str:
    """Keep a number and its %, and a p-value, in one line."""
    text = re.sub(r"\bp (=|&lt;) ", r"p&nbsp;\1&nbsp;", text)
    return text.replace(" %", "&nbsp;%")


def _card(content: dict[str, Any]) -> str:
    """The model card's facts, which do not follow the sliders."""
    facts = [fact for some in card_facts(content).values() for fact in some.items()]
    payers = findings(content).payers
    facts += [("who pays", payers)] if payers else []
    rows = (
        f"<div><dt>{html.escape(name)}</dt><dd>{html.escape(text)}</dd></div>"
        for name, text in [*facts, ("versions", versions(content))]
    )
    return (
        '<p class="muted">Describes the report&rsquo;s own setting, not that of the sliders.</p>'
        f'<dl class="facts" id="facts">{"".join(rows)}</dl>'
    )


def _new_rows(content: dict[str, Any]) -> str:
    """Give the table of errors by cross-fitting, which do not follow the sliders."""
    header, *rows = new_rows_table(content)
    if not rows:
        return f"<p>{html.escape(header[0])}</p>"
    if len(content["groups"]) > _MANY:
        known = own_page(content)["verdict"]
        errors = [
            error if size >= words.LEAST_ROWS else -1.0
            for error, size in zip(known["errors"], known["sizes"], strict=True)
        ]
        rows = [rows[a] for a in sorted(range(len(rows)), key=lambda a: -errors[a])]
    lines = [
        f'<th scope="row">{html.escape(name)}</th>'
        f"<td>{count}</td>"
        + "".join(
            f"<td>{error} <small>{mark}{ends}</small></td>"
            for error, mark, ends in (html.escape(cell).partition("(") for cell in cells)
        )
        for name, count, *cells in rows
    ]
    head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in header)
    return (
        '<p class="muted">Each row is measured by a projection that was fitted without it, at the '
        f"report&rsquo;s own setting, not that of the sliders.</p>{_find(content)}"
        f'<div class="scroll"><table id="new-rows"><thead><tr>{head}</tr></thead><tbody>'
        f"{''.join(f'<tr>{line}</tr>' for line in lines)}</tbody></table></div>"
    )


def _find(content: dict[str, Any]) -> str:
    """Give the means to find one of many groups, which the script fills."""
    if len(content["groups"]) <= _MANY:
        return ""
    return (
        '<p class="find"><input type="search" aria-label="Find a group" placeholder="Find a group">'
        '<button type="button" class="plain"></button><span class="muted"></span></p>'
    )


PANELS = {
    "decisions": ("Decisions", decisions_panel),
    "nested": ("Keeping the first components", scree_panel),
}
"""Sections that need no script: what of the content each shows, its title, and how."""


def embedded_json(value: Any) -> str:
    """Give JSON that is safe inside a script element: no character of it can end one."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _page_data(content: dict[str, Any]) -> dict[str, Any]:
    """The content, and all words that the script needs: it has none of its own."""
    from fairspan.report._charts import safe_label

    labels = [group["label"] for group in content["groups"]]
    pages = content["by_components"]
    features = {name for page in pages for row in page["loadings"] for name in row["features"]}

    def proved(point: dict[str, Any]) -> dict[str, Any]:
        gap = point["proved"]
        proof = words.proof(point["status"], gap, point["hidden"])
        return point | {"proof": proof, "within": words.share_at_most(gap)}

    def spoken(page: dict[str, Any]) -> dict[str, Any]:
        """How PCA serves the groups, and what is proved of every point."""
        found = findings(content, page)
        told = ("headline", "change", "fitted", "caveats")
        known: dict[str, Any] = {name: getattr(found, name) for name in told}
        known["elsewhere"] = found.elsewhere
        better = words.Better(**page["chosen"]["better"])
        known["chosen"] = proved(page["chosen"])
        # What minimises a sum of all errors is dominated by nothing.
        known["pca"] = proved(page["pca"]) | {"dominated": False}
        known["chosen"] |= {"better": better.sentence, "dominated": better.matters}
        if "curve" in page:
            known["curve"] = proved(page["curve"] | {"proved": page["curve"]["accuracy"]})
        return page | known | {"optima": list(map(proved, page.get("optima", ())))}

    return content | {
        "by_components": list(map(spoken, pages)),
        "words": {"templates": words.TEMPLATES, "rules": words.RULES},
        "method": words.Findings.method,
        "names": list(map(words.quoted, _names(content))),
        "code": CODE,
        "many": _MANY,
        "few": words.FEW_ROWS,
        "clipping": clipping(content),
        "palette": {"light": palette.LIGHT, "dark": palette.DARK, "series": palette.SERIES},
        "short_labels": list(map(safe_label, labels)),
        "short_features": {name: safe_label(name, 22) for name in features},
    }


def _captions(content: dict[str, Any]) -> dict[str, str]:
    """Words and numbers inside the page's own texts, and which of these it shows."""
    pages, stops, found = content["by_components"], content["stops"], findings(content)
    curves = [page["curve"] for page in pages if "curve" in page]
    kind = ["two-groups" if curves else "more-groups"]
    if len(content["groups"]) > _MANY:
        kind.append("many-groups")
    if any(point["hidden"] for point in [*curves, *(page["pca"] for page in pages)]):
        kind.append("hides-claims")
    return {
        **{name: getattr(found, name) for name in _SENTENCES},
        "kind": " ".join(kind),
        "few": few_rows_note(content),
        "where": "on the edge of" if content["data"]["features"] == 2 else "in",
        "accuracy": words.share_at_most(max((curve["accuracy"] for curve in curves), default=0.0)),
        "solved": str(len(stops["weights"]) * len(stops["radii"])),
        "shown": str(len(pages[0]["loadings"][0]["features"])),
        "features": str(content["data"]["features"]),
        **{name: f"{content['setting'][name]:g}" for name in ("fairness_weight", "radius")},
    }


def card_facts(content: dict[str, Any]) -> dict[str, dict[str, str]]:
    """What there is to say about data, model and result."""
    data, setting, found = content["data"], content["setting"], findings(content)
    chosen = content["by_components"][setting["n_components"] - 1]["chosen"]
    result = {"proof": found.proof, "objective": f"{chosen['objective']:.8g}"}
    if found.variance:
        result["variance kept"] = found.variance
    if not chosen["hidden"]:
        result["proved lower bound"] = words.at_least(chosen["lower_bound"], 8)
        result["relative gap between them"] = words.share_at_most(found.gap)
    return {
        "Data": {
            "rows": f"{data['rows']:,}",
            "features": f"{data['features']:,}",
            "groups": str(len(content["groups"])),
            "sample weights": "yes" if data["weighted"] else "no",
            "read from": "group moments" if data["from_moments"] else "rows of a table",
            "total variance": f"{data['variance']:.6g}",
            "rows shown in the report": "some, projected" if content["projected"] else "none",
        },
        "Model": {
            "method": found.method,
            "components": str(setting["n_components"]),
            "fairness weight": f"{setting['fairness_weight']:g}",
            "counts": f"the {content['notions'][setting['notion']]['name']}",
            "radius": f"{setting['radius']:g} (in squared units of the data)",
            "features standardised": "yes" if setting["standardize"] else "no",
            **_clip_fact(setting.get("clip")),
        },
        "Result": result,
    }


def _clip_fact(clip: float | None) -> dict[str, str]:
    return {} if clip is None else {"features clipped": f"at {clip:g} standard deviations"}


def versions(content: dict[str, Any]) -> str:
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


def new_rows_table(content: dict[str, Any]) -> list[list[str]]:
    """Give the errors on new rows, with a header, or why there are none."""
    found, page = findings(content), own_page(content)
    known = _verdict(page)
    if known is None:
        return [[found.caveats or found.headline]]
    if not known.errors:
        return [[known.headline]]
    sides = [False, True] if known.fair_errors else [False]
    rows = [["group", "rows", "PCA", known.method][: 2 + len(sides)]]
    for a, label in enumerate(known.labels):
        cells = [known.on_new_rows(a, fair) for fair in sides]
        rows.append([label, words.counted(known.rows[a]), *cells])
    return rows


def few_rows_note(content: dict[str, Any]) -> str:
    """Explain the mark of groups with few rows, if there are any."""
    marked = any(group["rows"] < words.FEW_ROWS for group in content["groups"])
    return words.TEMPLATES["marked"].format(few=words.FEW_ROWS) if marked else ""
