"""``fairspan advise``: is there a gap, is it more than noise, and what would closing it cost."""

from __future__ import annotations

import argparse
from dataclasses import fields, replace
from typing import Any

from fairspan.cli import OK, UsageError, console, summary
from fairspan.cli.arguments import (
    add_clip_argument,
    add_json_argument,
    add_number,
    add_scale_arguments,
    add_small_group_arguments,
    add_table_arguments,
    check_model_arguments,
    clip_note,
    small_groups_of,
)
from fairspan.cli.data import load_data
from fairspan.cli.matrix import check_has_rows
from fairspan.frontier.advice import ALL, Advice
from fairspan.frontier.advise import advise
from fairspan.ground import defaults

USAGE = "fairspan advise DATA --sensitive COLUMN [-k K] [options]"
EXAMPLES = """\
examples:
  fairspan advise people.csv --sensitive sex -k 3 --standardize
  fairspan advise people.csv -s sex -k 2 --target-gap 0.1 --json"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("data", metavar="DATA", help="csv, xlsx, npy or parquet table")
    add_table_arguments(parser)
    add_number(parser, "-k", "--components", default=defaults.N_COMPONENTS, help="how many")
    add_scale_arguments(parser)
    add_small_group_arguments(parser, ("keep", "pool"))
    add_clip_argument(parser)
    text = "the gap to reach (default: a tenth of PCA's)"
    parser.add_argument("--target-gap", type=float, metavar="GAP", help=text)
    add_json_argument(parser)


def run(options: argparse.Namespace) -> int:
    """Read the table and report what to know before a fit."""
    check_model_arguments(options)
    check_has_rows(options.data, "advise")
    if options.weight is not None:
        raise UsageError("advise counts every row once; leave out --weight.")
    data = load_data(options)
    data = replace(data, notes=(*data.notes, *clip_note(options)))
    found = advise(
        data.X,
        data.groups,
        n_components=options.components,
        standardize=options.standardize,
        clip=options.clip,
        **small_groups_of(options),
        target_gap=options.target_gap,
        feature_names=data.columns.feature_names,
    )
    lines = summary.opening(options, data.moments(), data, f", k = {options.components}")
    told = [
        line.replace(ALL, console.ALL) if line.startswith(" ") else console.sentences(line)
        for line in str(found).splitlines()
    ]
    console.answer(options.json, "\n".join([*lines, "", *told]), _document(options, data, found))
    return OK


def _document(options: argparse.Namespace, data: Any, found: Advice) -> dict[str, Any]:
    values = {field.name: getattr(found, field.name) for field in fields(found)}
    values["verdict"] = summary.verdict_document(found.verdict, data)
    return {"data": options.data, "notes": list(data.notes), **values}
