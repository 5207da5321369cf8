"""``fairspan report``: one html page about a table and its groups."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from fairspan._atomic import replacing
from fairspan.cli import OK, UsageError
from fairspan.cli.console import answer
from fairspan.cli.data import Data, add_json_argument, add_table_arguments, is_moments, load_data
from fairspan.cli.fit import add_model_arguments
from fairspan.cli.paths import check_output

_EXAMPLES = """\
examples:
  fairspan report people.csv --sensitive sex -k 3 --standardize -o page.html"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what a report can be told."""
    parser.usage, parser.epilog = (
        "fairspan report DATA --sensitive COLUMN [-k K] [-o PAGE.html] [options]",
        _EXAMPLES,
    )
    parser.add_argument("data", metavar="DATA", help="csv, npy or parquet table")
    add_table_arguments(parser)
    add_model_arguments(parser)
    parser.add_argument("--title", help="heading of the page (default: the name of the file)")
    parser.add_argument("-o", "--output", metavar="PAGE.html", default="report.html")
    add_json_argument(parser)


def run(options: argparse.Namespace) -> int:
    """Read the table and make the page."""
    check_output(options.output, [options.data], (".html", ".htm"))
    if is_moments(options.data):
        raise UsageError("a report needs the rows of a table; moments do not hold them.")
    data = load_data(options)
    write(data, options, options.output)
    document = {"data": options.data, "report": options.output, "notes": list(data.notes)}
    notes = [f"  {note}" for note in data.notes]
    text = "\n".join([*notes, f"Report: {options.output} (open it in a browser)"])
    answer(options.json, text, document)
    return OK


def write(data: Data, options: Any, path: str) -> None:
    """Make the page, whole or not at all."""
    from fairspan.report import write_report  # type: ignore[import-not-found, unused-ignore]

    if data.weight is not None:
        raise UsageError("the report counts every row once; leave out --weight or the report.")
    with replacing(path) as temporary:
        write_report(
            temporary,
            data.X,
            sensitive_features=data.groups,
            n_components=options.components,
            fairness_weight=options.fairness_weight,
            radius=options.radius,
            standardize=options.standardize,
            feature_names=data.names,
            title=getattr(options, "title", None) or Path(options.data).name,
        )
