"""``fairspan fit``: a fair projection of a table, what it changes and what it costs."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from fairspan import __version__
from fairspan.cli import OK, UsageError, summary
from fairspan.cli.arguments import (
    add_clip_argument,
    add_count_argument,
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
from fairspan.cli.console import answer, made_page, paragraph
from fairspan.cli.data import (
    READING,
    Data,
    TableMoments,
    is_mixed,
    is_moments,
    load_data,
    load_moments,
    load_table_moments,
)
from fairspan.cli.matrix import WideData, is_matrix, load_matrix
from fairspan.cli.wide import MOST_BYTES, is_wide_table, load_wide_table, run_wide
from fairspan.estimators.base import take_features
from fairspan.estimators.robust import RobustFairPCA, pca_of
from fairspan.judging.dominance import better_than
from fairspan.moments.file import check_counts
from fairspan.moments.group_moments import GroupMoments
from fairspan.solvers.ordering import ORDERS
from fairspan.storage.model_file import WITHOUT, save_model
from fairspan.tables.columns import Columns
from fairspan.tables.mixed import column_shares
from fairspan.words import Findings

USAGE = "fairspan fit DATA --sensitive COLUMN [-k K] [-o MODEL.npz] [options]"
EXAMPLES = """\
examples:
  fairspan fit people.csv --sensitive sex -k 3 --standardize -o model.npz
  fairspan fit people.csv -s sex -s region -k 2 --fairness-weight 2 --radius 0
  fairspan fit people.csv -s sex --drop id --one-hot region --missing drop-rows --json
  fairspan fit array.npy --sensitive 0 -k 2 -o model.npz
  fairspan fit all.npz -k 3 -o model.npz          (moments of many sites, see merge)
  fairspan fit words.npz --sensitive labels.npy -k 10 -o model.npz   (a sparse matrix of scipy)
  fairspan fit wide.npy --sensitive labels.npy -k 10 -o model.npz    (labels in their own file)"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("data", metavar="DATA", help="csv, xlsx, npy or parquet table, or moments")
    add_table_arguments(parser)
    add_model_arguments(parser)
    add_small_group_arguments(parser)
    add_clip_argument(parser)
    text = "order of the components: nested and greedy make the first j good for every j"
    parser.add_argument("--order", choices=ORDERS, default="variance", help=text)
    parser.add_argument("-o", "--output", metavar="MODEL.npz", help="where to save the model")
    add_count_argument(parser)
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
        clip=getattr(options, "clip", None),
        effort=options.effort,
        **small_groups_of(options),
    )


def load(
    options: argparse.Namespace,
) -> tuple[Data | TableMoments | None, GroupMoments, Columns | None]:
    """Read moments, or a table: into memory, or reduced to moments while it is read."""
    if is_moments(options.data):
        return None, *load_moments(options)
    if os.path.getsize(options.data) <= MOST_BYTES or getattr(options, "report", None):
        data = load_data(options)
        return data, data.moments(), data.columns
    table = load_table_moments(options)
    size = f"larger than {MOST_BYTES // 2**20} MB: rows were not kept in memory"
    table = replace(table, notes=(*table.notes, size))
    return table, table.moments, table.columns


def run(options: argparse.Namespace) -> int:
    """Fit, save, and show the result."""
    check_model_arguments(options)
    for path, endings in ((options.output, (".npz",)), (options.report, (".html", ".htm"))):
        if path is not None:
            check_output(path, [options.data], endings)
    if options.report is not None and options.small_groups == "total-only":
        raise UsageError("a report compares all groups it shows; use --small-groups pool.")
    wide = _wide_rows(options)
    if wide is not None:
        labels = wide.labels() if "=" in "".join(options.reference or ()) else ()
        return run_wide(options, wide, estimator(options, labels).set_params(order=options.order))
    data, moments, columns = load(options)
    # Small groups that are merged are checked when they are saved.
    kept = options.small_groups == "keep" and not options.no_moments
    if options.output is not None and kept:
        check_counts(moments, options.min_count, WITHOUT)
    recipe = estimator(options, moments.labels).set_params(order=options.order)
    if options.clip is None:
        model = recipe.fit_moments(moments)
    else:
        data, model = _fit_clipped(options, recipe, data, moments)
    plain = pca_of(model)
    verdict = summary.verdict_on(recipe, data, plain.result_.is_hidden)
    found = summary.findings(plain, model, verdict)
    if options.output is not None:
        save_model(
            model,
            options.output,
            moments=not options.no_moments,
            columns=None if columns is None else columns.to_json(),
            min_count=options.min_count,
        )
    if options.report is not None:
        from fairspan.cli.report import write

        write(data if isinstance(data, Data) else moments, options, options.report)
    document = _document(options, model, plain, data)
    if columns is not None and columns.categories:
        document["columns"] = [vars(share) for share in column_shares(model, columns)]
    document["verdict"] = summary.verdict_document(verdict, data)
    answer(options.json, _text(options, model, plain, data, columns, found), document)
    return OK


def _wide_rows(options: argparse.Namespace) -> WideData | None:
    """Read rows that are fitted without moments: a matrix, or a table of many features."""
    if is_matrix(options.data, options.sensitive):
        return load_matrix(options)
    if is_moments(options.data) or not is_wide_table(options):
        return None
    return load_wide_table(options)


def _fit_clipped(
    options: argparse.Namespace,
    recipe: RobustFairPCA,
    data: Data | TableMoments | None,
    moments: GroupMoments,
) -> tuple[Data, RobustFairPCA]:
    """Fit rows with extreme values cut off, and say so."""
    data = rows_to_clip(options, data)
    model = recipe.fit(data.X, sensitive_features=data.groups, sample_weight=data.weight)
    names, dropped = moments.feature_names, moments.dropped_rows
    model.moments_ = replace(model.moments_, feature_names=names, dropped_rows=dropped)
    take_features(model, model.moments_)
    return data, model


def rows_to_clip(options: argparse.Namespace, data: Data | TableMoments | None) -> Data:
    """Give the rows, with a note that their extreme values are cut off."""
    if not isinstance(data, Data):
        raise UsageError("--clip needs the rows of a table in memory; moments do not hold them.")
    return replace(data, notes=(*data.notes, *clip_note(options)))


def _text(
    options: argparse.Namespace,
    model: Any,
    plain: Any,
    data: Data | TableMoments | None,
    columns: Columns | None,
    found: Findings,
) -> str:
    lines = summary.opening(options, model.moments_, data)
    both = {summary.PCA: plain, "RobustFairPCA": model}
    lines += ["", summary.errors_table(both, summary.references(model)), ""]
    lines += [paragraph(found), ""]
    if columns is not None and columns.categories:
        lines += [summary.columns_table(model, columns), ""]
    spread = model.moments_.variances
    is_scaled = options.standardize or is_mixed(options)
    if not is_scaled and spread.max() > 100 * spread[spread > 0].min(initial=1.0):
        lines += ["Features have very different scales; --standardize lets them count alike."]
    if options.report is not None:
        lines.append(made_page(options.report))
    if options.output is None:
        lines += ["The model was not saved; add -o model.npz to keep it."]
    else:
        lines += [f"Model: {options.output}"]
        if data is not None:
            lines += [f"Next:  fairspan transform {_files(options)} -o projected.csv"]
    return "\n".join(lines)


def _files(options: argparse.Namespace) -> str:
    """Name model and table as they are typed, with what reading the table needs."""
    given = {name: getattr(options, name) for name in READING}
    given["missing"] = "drop-rows" if "drop-rows" in (options.missing or ()) else None
    words = (word for name, one in given.items() if one for word in (f"--{name}", one))
    return shlex.join([options.output, options.data, *words])


def _document(
    options: argparse.Namespace, model: Any, plain: Any, data: Data | TableMoments | None
) -> dict[str, Any]:
    beyond = summary.references(model)
    return {
        "fairspan": __version__,
        "data": options.data,
        "notes": [] if data is None else list(data.notes),
        "model": options.output,
        "report": options.report,
        "fit": summary.model_document(model, beyond),
        "pca": summary.model_document(plain, beyond),
        "dominating": summary.dominating(better_than(model)),
    }
