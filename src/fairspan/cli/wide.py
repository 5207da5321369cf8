"""Fits of many features on the command line: of matrices, and of wide tables.

Their rows never become a matrix of features by features.
"""

from __future__ import annotations

import argparse
import os
import shlex
from functools import partial
from typing import Any

from fairspan import __version__
from fairspan.cli import OK, summary
from fairspan.cli.console import answer, sentences, showing_passes
from fairspan.cli.data import choose_columns, is_mixed, load_data, opened
from fairspan.cli.matrix import WideData
from fairspan.estimators.robust import RobustFairPCA
from fairspan.ground.rows import MANY_FEATURES
from fairspan.products import RowParts
from fairspan.products.parts import Block, PartRows
from fairspan.storage.model_file import save_model
from fairspan.tables.dialect import Dialect
from fairspan.tables.parts import FilePart, Files
from fairspan.tables.streams import row_parts
from fairspan.words import TEMPLATES, Verdict

MOST_BYTES = 2**28
"""Files that are larger are not kept in memory."""


def is_wide_table(options: argparse.Namespace) -> bool:
    """Whether a table has many features, and nothing is asked that needs their moments."""
    asked = options.report or options.clip or is_mixed(options)
    if asked or options.order != "variance" or options.small_groups != "keep":
        return False
    with opened(options) as files:
        return len(files.first.kinds) >= MANY_FEATURES


def load_wide_table(options: argparse.Namespace) -> WideData:
    """Read a table of many features: into memory, or again in each pass if it is too large.

    Parameters
    ----------
    options : namespace
        Those of a table.

    Returns
    -------
    WideData
        Rows with their groups and weights.
    """
    if os.path.getsize(options.data) <= MOST_BYTES:
        data = load_data(options)
        blocks = [Block(data.X, data.groups, data.weight)]

        def once(step: Any, add: Any = None) -> Any:
            return step(blocks)

        names = data.columns.feature_names
        rows = RowParts(once, once, data.X.shape[1], names, has_groups=True)
        columns, notes = data.columns, data.notes
    else:
        dialect = Dialect(options.separator, options.encoding, options.decimal, options.sheet)
        files = Files([FilePart(options.data)], dialect)
        columns = choose_columns(files, options)
        run = partial(files.run, columns)
        rows = row_parts(columns, run, run, files.untyped(columns))
        notes = (f"larger than {MOST_BYTES // 2**20} MB: rows are read again in each pass",)
    return WideData(rows, {}, lambda: PartRows(rows).labels, columns.by, notes, columns)


def run_wide(options: argparse.Namespace, data: WideData, recipe: RobustFairPCA) -> int:
    """Fit, save, and print the result.

    Parameters
    ----------
    options : namespace
        Those of ``fairspan fit``.
    data : WideData
        The rows.
    recipe : RobustFairPCA
        Not fitted.

    Returns
    -------
    int
        The exit code.
    """
    plain = RobustFairPCA(options.components, fairness_weight=0, standardize=options.standardize)
    with showing_passes("fit"):
        model = recipe.fit(data.X, **data.given)
    with showing_passes(summary.PCA):
        plain.fit(data.X, **data.given)
    if options.output is not None:
        columns = None if data.columns is None else data.columns.to_json()
        save_model(model, options.output, columns=columns)
    data = _with_way(data, model)
    verdict = summary.verdict_on_matrix(recipe, data, plain.result_.is_hidden)
    document = _document(options, data, model, plain)
    document["verdict"] = summary.verdict_document(verdict, data)
    answer(options.json, _text(options, data, model, plain, verdict), document)
    return OK


def _with_way(data: WideData, model: RobustFairPCA) -> WideData:
    """Add which way the fit went."""
    passes = model.result_.n_passes
    way = f"fitted by {model.route_}" + (f" in {passes} passes over the rows" if passes else "")
    return data._replace(notes=(*data.notes, way))


def _text(
    options: argparse.Namespace, data: WideData, model: Any, plain: Any, verdict: Verdict | None
) -> str:
    # Where there is no verdict, it is not rows that are missing.
    found = summary.findings(plain, model, verdict).sentences
    told = [TEMPLATES["too wide"] if one == TEMPLATES["needs rows"] else one for one in found]
    both = {summary.PCA: plain, "RobustFairPCA": model}
    shape = model.n_samples_, model.n_features_in_
    lines = [
        *data.opening(options.data, shape, len(model.group_labels_)),
        "",
        summary.errors_table(both, summary.references(model)),
        "",
        *map(sentences, told),
        "",
    ]
    if options.output is None:
        return "\n".join([*lines, "The model was not saved; add -o model.npz to keep it."])
    files = shlex.join([options.output, options.data])
    return "\n".join(
        [
            *lines,
            f"Model: {options.output}",
            f"Next:  fairspan transform {files} -o projected.npy",
        ]
    )


def _document(
    options: argparse.Namespace, data: WideData, model: Any, plain: Any
) -> dict[str, Any]:
    return {
        "fairspan": __version__,
        "data": options.data,
        "notes": list(data.notes),
        "model": options.output,
        "route": model.route_,
        "passes": model.result_.n_passes,
        "fit": summary.model_document(model, summary.references(model)),
        "pca": summary.model_document(plain, summary.references(model)),
    }
