"""``fairspan fit``: a fair projection of a table, what it changes and what it costs."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from fairspan import __version__
from fairspan.cli import OK, summary
from fairspan.cli.arguments import (
    add_model_arguments,
    check_model_arguments,
    check_output,
    reference_of,
)
from fairspan.cli.console import answer, made_page, paragraph
from fairspan.cli.data import (
    Data,
    TableMoments,
    add_json_argument,
    add_table_arguments,
    is_moments,
    load_data,
    load_moments,
    load_table_moments,
)
from fairspan.estimators.robust import RobustFairPCA
from fairspan.judging.dominance import better_than
from fairspan.moments.group_moments import GroupMoments
from fairspan.solvers.ordering import ORDERS
from fairspan.storage.model_file import save_model
from fairspan.tables.columns import Columns
from fairspan.words import Findings

_MOST_BYTES = 2**28
"""Files that are larger are boiled down to moments as they are read."""
USAGE = "fairspan fit DATA --sensitive COLUMN [-k K] [-o MODEL.npz] [options]"
EXAMPLES = """\
examples:
  fairspan fit people.csv --sensitive sex -k 3 --standardize -o model.npz
  fairspan fit people.csv -s sex -s region -k 2 --fairness-weight 2 --radius 0
  fairspan fit people.csv -s sex --drop id --one-hot region --missing drop-rows --json
  fairspan fit array.npy --sensitive 0 -k 2 -o model.npz
  fairspan fit all.npz -k 3 -o model.npz          (moments of many sites, see merge)"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("data", metavar="DATA", help="csv, npy or parquet table, or moments")
    add_table_arguments(parser)
    add_model_arguments(parser)
    text = "of the components: nested and greedy make the first j good for every j"
    parser.add_argument("--order", choices=ORDERS, default="variance", help=text)
    parser.add_argument("-o", "--output", metavar="MODEL.npz", help="where to save the model")
    parser.add_argument("--report", metavar="PAGE.html", help="make the html report too")
    add_json_argument(parser)


def estimator(options: argparse.Namespace, labels: Iterable[Any]) -> RobustFairPCA:
    """Give the unfitted estimator that the options describe, for some groups."""
    return RobustFairPCA(
        options.components,
        fairness_weight=options.fairness_weight,
        disparity=options.disparity,
        reference=reference_of(options, labels),
        radius=options.radius,
        standardize=options.standardize,
        effort=options.effort,
    )


def load(
    options: argparse.Namespace,
) -> tuple[Data | TableMoments | None, GroupMoments, Columns | None]:
    """Read moments, or a table: into memory, or boiled down as it is read if it is too large."""
    if is_moments(options.data):
        return None, *load_moments(options)
    if os.path.getsize(options.data) <= _MOST_BYTES or getattr(options, "report", None):
        data = load_data(options)
        return data, data.moments(), data.columns
    table = load_table_moments(options)
    size = f"larger than {_MOST_BYTES // 2**20} MB: rows were not kept in memory"
    table = replace(table, notes=(*table.notes, size))
    return table, table.moments, table.columns


def run(options: argparse.Namespace) -> int:
    """Fit, save, and tell what came of it."""
    check_model_arguments(options)
    for path, endings in ((options.output, (".npz",)), (options.report, (".html", ".htm"))):
        if path is not None:
            check_output(path, [options.data], endings)
    data, moments, columns = load(options)
    recipe = estimator(options, moments.labels).set_params(order=options.order)
    model = recipe.fit_moments(moments)
    plain = summary.plain_pca(model, moments)
    verdict = summary.verdict_on(recipe, data, plain.result_.is_hidden)
    found = summary.findings(plain, model, verdict)
    if options.output is not None:
        save_model(model, options.output, columns=None if columns is None else columns.to_json())
    if options.report is not None:
        from fairspan.cli.report import write

        write(data if isinstance(data, Data) else moments, options, options.report)
    document = _document(options, model, plain, data)
    document["verdict"] = summary.verdict_document(verdict, data)
    answer(options.json, _text(options, model, plain, data, found), document)
    return OK


def _text(
    options: argparse.Namespace,
    model: Any,
    plain: Any,
    data: Data | TableMoments | None,
    found: Findings,
) -> str:
    lines = summary.opening(options, model.moments_, data)
    lines += ["", summary.errors_table({summary.PCA: plain, "RobustFairPCA": model}), ""]
    lines += [paragraph(found), ""]
    spread = model.moments_.variances
    if not options.standardize and spread.max() > 100 * spread[spread > 0].min(initial=1.0):
        lines += ["Features have very different scales; --standardize lets them count alike."]
    if options.report is not None:
        lines.append(made_page(options.report))
    if options.output is None:
        lines += ["The model was not saved; add -o model.npz to keep it."]
    else:
        lines += [f"Model: {options.output}"]
        if data is not None:
            files = shlex.join([options.output, options.data])
            lines += [f"Next:  fairspan transform {files} -o projected.csv"]
    return "\n".join(lines)


def _document(
    options: argparse.Namespace, model: Any, plain: Any, data: Data | TableMoments | None
) -> dict[str, Any]:
    return {
        "fairspan": __version__,
        "data": options.data,
        "notes": [] if data is None else list(data.notes),
        "model": options.output,
        "report": options.report,
        "fit": summary.model_document(model),
        "pca": summary.model_document(plain),
        "dominating": summary.dominating(better_than(model)),
    }
