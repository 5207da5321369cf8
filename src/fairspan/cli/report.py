"""``fairspan report``: one html page about a table and its groups."""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from fairspan.cli import OK
from fairspan.cli.arguments import (
    add_clip_argument,
    add_json_argument,
    add_model_arguments,
    add_small_group_arguments,
    add_table_arguments,
    check_model_arguments,
    check_output,
    clip_note,
    reference_of,
    small_groups_of,
)
from fairspan.cli.console import Progress, answer, made_page, paragraph
from fairspan.cli.data import Data, is_moments, load_data, load_moments, target_of
from fairspan.cli.matrix import refuse_sparse
from fairspan.cli.summary import verdict_document
from fairspan.ground.atomic import replacing
from fairspan.moments.group_moments import GroupMoments
from fairspan.report import Report, build

USAGE = "fairspan report DATA --sensitive COLUMN [-k K] [-o PAGE.html] [options]"
EXAMPLES = """\
examples:
  fairspan report people.csv --sensitive sex -k 3 --standardize -o page.html
  fairspan report people.csv -s sex -k 3 -o page.html --card card.md --numbers page.json
  fairspan report all.npz -k 3 -o page.html       (moments of many sites, see merge)"""

_MANY = 20
"""Steps from which on a report shows its progress."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("data", metavar="DATA", help="csv, xlsx, npy or parquet table, or moments")
    add_table_arguments(parser)
    add_model_arguments(parser)
    add_small_group_arguments(parser, ("keep", "pool"))
    add_clip_argument(parser)
    parser.add_argument("--title", help="heading of the page (default: the name of the file)")
    parser.add_argument("-o", "--output", metavar="PAGE.html", default="report.html")
    parser.add_argument("--card", metavar="CARD.md", help="write the model card as Markdown too")
    parser.add_argument("--numbers", metavar="PAGE.json", help="write the page's numbers too")
    add_json_argument(parser)


def run(options: argparse.Namespace) -> int:
    """Read the table and make the page."""
    check_model_arguments(options)
    check_output(options.output, [options.data], (".html", ".htm"))
    for path in (options.card, options.numbers):
        if path is not None:
            check_output(path, [options.data])
    refuse_sparse(options.data, "report")
    is_table = not is_moments(options.data)
    source = load_data(options, keeps_target=True) if is_table else load_moments(options)[0]
    report = write(source, options, options.output)
    for path, text in ((options.card, report.model_card()), (options.numbers, report.to_json())):
        if path is not None:
            with replacing(path) as temporary:
                temporary.write_text(text, encoding="utf-8", newline="\n")
    notes = [] if isinstance(source, GroupMoments) else [*source.notes, *clip_note(options)]
    found = report.findings
    lines = [*(f"  {note}" for note in notes), paragraph(found), ""]
    lines.append(made_page(options.output))
    document = {
        "data": options.data,
        "report": options.output,
        "notes": notes,
        "summary": report.summary,
        "status": found.status,
        "variance_kept": None if found.kept is None else found.kept[1],
        "optimality_gap": found.gap,
        "hidden": found.hidden[1],
        "verdict": verdict_document(found.verdict, source),
        "references": None
        if found.references is None
        else dict(zip(found.labels, found.references.values, strict=True)),
    }
    answer(options.json, "\n".join(lines), document)
    return OK


def write(source: Data | GroupMoments, options: Any, path: str) -> Report:
    """Make the page, whole or not at all."""
    rows: dict[str, Any] = {}
    if isinstance(source, Data):
        rows = {
            "sensitive_features": source.groups,
            "sample_weight": source.weight,
            "feature_names": source.columns.feature_names,
            "target": target_of(source, options),
        }
    bars: list[Progress] = []
    with ExitStack() as stack:

        def show(done: int, total: int) -> None:
            if not bars:
                bar = Progress(total, "settings solved", hidden=total < _MANY or options.json)
                bars.append(stack.enter_context(bar))
            bars[0].step(done - bars[0].done)

        report = build(
            source.X if isinstance(source, Data) else source,
            **rows,
            n_components=options.components,
            fairness_weight=options.fairness_weight,
            disparity=options.disparity,
            reference=reference_of(
                options,
                source.labels if isinstance(source, GroupMoments) else source.moments().labels,
            ),
            radius=options.radius,
            standardize=options.standardize,
            clip=options.clip,
            **small_groups_of(options),
            title=getattr(options, "title", None) or Path(options.data).name,
            progress=show,
        )
    report.write_html(path)
    return report
