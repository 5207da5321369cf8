"""The model card: the facts of a report's setting, on one page of Markdown."""

from __future__ import annotations

import re
from typing import Any

from fairspan import words
from fairspan.report._page import (
    CODE,
    card_facts,
    clipping,
    few_rows_note,
    findings,
    new_rows_table,
    own_page,
    versions,
)


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
    facts = {
        name: "\n".join(f"- {key}: {value}" for key, value in some.items())
        for name, some in card_facts(content).items()
    }
    few = _escaped(few_rows_note(content))
    comparison = content["notions"][content["setting"]["notion"]]["code"]
    others = {"comparison": comparison, "clipping": clipping(content)}
    code = f"```python\n{CODE.format(**content['setting'], **others)}\n```"
    sections = {
        "Data": facts["Data"],
        "Errors on the fitted rows": f"{_markdown(_group_table(content))}\n\n{few}".strip(),
        "Errors on new rows": _markdown(new_rows_table(content)),
        "Model": f"{facts['Model']}\n\n{code}",
        "Result": facts["Result"],
        "Scope": content["scope"],
        "Versions": versions(content),
    }
    top = [
        f"# Model card: {_escaped(content['title'])}",
        "\n".join(map(_escaped, findings(content).sentences)),
    ]
    return "\n\n".join([*top, *(f"## {name}\n\n{text}" for name, text in sections.items())]) + "\n"


def _group_table(content: dict[str, Any]) -> list[list[str]]:
    """Give the errors on the fitted rows, with a header."""
    page, beyond = own_page(content), findings(content).references
    columns = {"PCA": page["pca"]["errors"], words.Findings.method: page["chosen"]["errors"]}
    if beyond is not None:
        columns = {beyond.heading: beyond.values, **columns}
    rows = [["group", "rows", *columns]]
    for a, group in enumerate(content["groups"]):
        numbers = (words.number(values[a]) for values in columns.values())
        rows.append([group["label"], words.counted(group["rows"]), *numbers])
    return rows


def _markdown(rows: list[list[str]]) -> str:
    header, *body = ([_escaped(cell) for cell in row] for row in rows)
    if not body:
        return header[0]
    line = ["---", *["---:"] * (len(header) - 1)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (header, line, *body))


def _escaped(text: str) -> str:
    """Escape what Markdown or HTML would read as markup."""
    plain = " ".join(text.split())
    plain = plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_{}\[\]#|~$!])", r"\\\1", plain)
