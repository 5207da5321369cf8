"""``fairspan advise``: is there a gap, is it more than noise, and what would closing it cost."""

from __future__ import annotations

import argparse
from dataclasses import fields
from typing import Any

from fairspan.cli import OK, UsageError, console, summary
from fairspan.cli.arguments import add_number
from fairspan.cli.data import add_json_argument, add_table_arguments, is_moments, load_data
from fairspan.frontier.advice import Advice, advise
from fairspan.ground import defaults
from fairspan.ground.parameters import check_integer

USAGE = "fairspan advise DATA --sensitive COLUMN [-k K] [options]"
EXAMPLES = """\
examples:
  fairspan advise people.csv --sensitive sex -k 3 --standardize
  fairspan advise people.csv -s sex -k 2 --target-gap 0.1 --json"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("data", metavar="DATA", help="csv, npy or parquet table")
    add_table_arguments(parser)
    add_number(parser, "-k", "--components", default=defaults.N_COMPONENTS, help="how many")
    text = "divide features by their standard deviation"
    parser.add_argument("--standardize", action="store_true", help=text)
    text = "the gap to reach (default: a tenth of PCA's)"
    parser.add_argument("--target-gap", type=float, metavar="GAP", help=text)
    add_json_argument(parser)


def run(options: argparse.Namespace) -> int:
    """Read the table and say what there is to know before a fit."""
    check_integer("n_components", options.components, 1)
    if is_moments(options.data):
        raise UsageError("advise needs the rows of a table; moments do not hold them.")
    if options.weight is not None:
        raise UsageError("advise counts every row once; leave out --weight.")
    data = load_data(options)
    found = advise(
        data.X,
        data.groups,
        n_components=options.components,
        standardize=options.standardize,
        target_gap=options.target_gap,
    )
    lines = summary.opening(options, data.moments(), data, f", k = {options.components}")
    told = [
        line if line.startswith(" ") else console.sentences(line)
        for line in str(found).splitlines()
    ]
    console.answer(options.json, "\n".join([*lines, "", *told]), _document(options, data, found))
    return OK


def _document(options: argparse.Namespace, data: Any, found: Advice) -> dict[str, Any]:
    values = {field.name: getattr(found, field.name) for field in fields(found)}
    values["verdict"] = summary.verdict_document(found.verdict, data)
    return {"data": options.data, "notes": list(data.notes), **values}
