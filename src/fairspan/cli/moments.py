"""``fairspan moments``: a table without its rows, to be added to those of other sites."""

from __future__ import annotations

import argparse
import shlex
from typing import Any

from fairspan.cli import OK, UsageError, console, summary
from fairspan.cli.arguments import (
    add_count_argument,
    add_json_argument,
    add_table_arguments,
    check_output,
)
from fairspan.cli.data import is_moments, load_table_moments
from fairspan.moments import file as moments_file
from fairspan.moments.group_moments import GroupMoments
from fairspan.words import group_name, number

USAGE = "fairspan moments DATA --sensitive COLUMN -o SITE.npz [options]"
EXAMPLES = """\
examples:
  fairspan moments north.csv --sensitive sex -o north.npz
  fairspan moments south.csv --sensitive sex -o south.npz
  fairspan merge north.npz south.npz -o all.npz
  fairspan fit all.npz -k 3 -o model.npz

The file holds one matrix a group and no rows. All sites must use the same columns; with --one-hot,
name the values so that every site makes the same columns: --one-hot region=east,west."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("data", metavar="DATA", help="csv, xlsx, npy or parquet table")
    add_table_arguments(parser)
    parser.add_argument("-o", "--output", required=True, metavar="SITE.npz")
    add_count_argument(parser, is_model=False)
    add_json_argument(parser)


def run(options: argparse.Namespace) -> int:
    """Read the table and write its moments."""
    check_output(options.output, [options.data], (".npz",))
    if is_moments(options.data):
        raise UsageError(f"{options.data!r} is not a table; run fairspan info to inspect it.")
    data = load_table_moments(options)
    moments = data.moments
    moments_file.save(options.output, moments, data.columns.to_json(), options.min_count)
    lines = summary.opening(options, moments, data)
    lines += ["", groups_table(moments), "", f"Moments, without any row: {options.output}"]
    lines += [f"Next:  fairspan merge {shlex.quote(options.output)} ... -o all.npz"]
    document = moments_document(moments) | {"notes": list(data.notes), "output": options.output}
    console.answer(options.json, "\n".join(lines), document)
    return OK


def groups_table(moments: GroupMoments) -> str:
    """Set groups with their sizes in a table."""
    weighted = not (moments.weights == moments.counts).all()
    columns = {"group": map(group_name, moments.labels), "rows": (f"{n:,}" for n in moments.counts)}
    if weighted:
        columns["weight"] = map(number, moments.weights)
    columns["share"] = (f"{share:.1%}" for share in moments.shares)
    return console.table(list(columns), list(zip(*columns.values(), strict=True)))


def moments_document(moments: GroupMoments) -> dict[str, Any]:
    """Give what programs want to know of moments."""
    groups = zip(moments.labels, moments.counts.tolist(), moments.weights.tolist(), strict=True)
    return {
        "n_rows": int(moments.counts.sum()),
        "n_features": moments.n_features,
        "feature_names": moments.feature_names,
        "groups": [{"label": a, "rows": n, "weight": w} for a, n, w in groups],
    }
