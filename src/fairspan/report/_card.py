"""The model card: data, groups, parameters, results, scope and versions, as Markdown."""

from __future__ import annotations

import re
from typing import Any

from fairspan.ground.bounds import at_least, at_most
from fairspan.report._sentences import sentences


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
    setting = content["setting"]
    chosen = content["by_components"][setting["n_components"] - 1]["chosen"]
    parts = [
        f"# Model card: {_text(content['title'])}",
        "\n".join(_text(line) for line in sentences(content)),
        "## Data",
        "\n".join(f"- {name}: {value}" for name, value in data_facts(content)),
        "## Groups",
        _group_table(content),
        "## Model",
        "\n".join(f"- {name}: {value}" for name, value in model_facts(content)),
        "```python\n" + python_code(setting) + "\n```",
        "## Result",
        f"- objective: {chosen['objective']:.8g}\n"
        f"- proved lower bound: {at_least(chosen['lower_bound'], 8)}\n"
        f"- relative gap between them: {at_most(chosen['proved'])}",
        "## Scope",
        content["scope"],
        "## Versions",
        ", ".join(f"{name} {number}" for name, number in content["versions"].items()),
    ]
    return "\n\n".join(parts) + "\n"


def data_facts(content: dict[str, Any]) -> list[tuple[str, str]]:
    """Give what there is to say about the data."""
    data, intervals = content["data"], content["intervals"]
    source = "group moments (no rows were seen)" if data["from_moments"] else "rows of a table"
    made = f"{100 * intervals['level']:.0f} % bootstrap, {intervals['replicates']} replicates"
    return [
        ("rows", f"{data['rows']:,}"),
        ("features", f"{data['features']:,}"),
        ("groups", str(len(content["groups"]))),
        ("sample weights", "yes" if data["weighted"] else "no"),
        ("read from", source),
        ("total variance", f"{data['variance']:.6g}"),
        ("intervals", made if intervals["replicates"] else "none"),
        ("rows shown in the report", "some, projected" if content["projected"] else "none"),
    ]


def model_facts(content: dict[str, Any]) -> list[tuple[str, str]]:
    """Give the method and its parameters."""
    setting = content["setting"]
    return [
        ("method", "RobustFairPCA, solved to a proved optimum"),
        ("components", str(setting["n_components"])),
        ("fairness weight", f"{setting['fairness_weight']:g}"),
        ("radius", f"{setting['radius']:g} (in squared units of the data)"),
        ("features standardised", "yes" if setting["standardize"] else "no"),
    ]


def python_code(setting: dict[str, Any]) -> str:
    """Give the setting as Python."""
    return (
        "from fairspan import RobustFairPCA\n\n"
        "pca = RobustFairPCA(\n"
        f"    {setting['n_components']},\n"
        f"    fairness_weight={setting['fairness_weight']},\n"
        f"    radius={setting['radius']},\n"
        f"    standardize={setting['standardize']},\n"
        ").fit(X, sensitive_features=groups)"
    )


def _group_table(content: dict[str, Any]) -> str:
    page = content["by_components"][content["setting"]["n_components"] - 1]
    lines = ["| group | rows | error, PCA | error, RobustFairPCA |", "|---|---:|---:|---:|"]
    for a, group in enumerate(content["groups"]):
        cells = [_text(group["label"]), f"{group['rows']:,}"]
        cells += [_error(page[name], a) for name in ("pca", "chosen")]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _error(point: dict[str, Any], a: int) -> str:
    text = f"{point['errors'][a]:.5g}"
    if "interval" in point:
        low, high = point["interval"][a]
        text += f" ({low:.4g} to {high:.4g})"
    return text


def _text(text: str) -> str:
    """Escape what Markdown or HTML would read as markup."""
    plain = " ".join(text.split())
    plain = plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_{}\[\]()#|~$!])", r"\\\1", plain)
