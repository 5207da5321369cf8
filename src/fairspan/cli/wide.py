"""Many features on the command line: matrices with labels beside them, and wide tables.

A matrix is a sparse one that scipy saved (.npz) or an array of features alone (.npy), with the
labels of its rows in files of their own. None of these rows becomes a matrix of features.
"""

from __future__ import annotations

import argparse
import os
import shlex
import zipfile
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse, load_npz

from fairspan import __version__
from fairspan.cli import OK, UsageError, summary
from fairspan.cli.console import answer, sentences, showing_passes
from fairspan.cli.data import choose_columns, is_mixed, load_data, opened
from fairspan.cli.sparse import is_sparse, load_labels
from fairspan.estimators.robust import RobustFairPCA
from fairspan.ground.rows import MANY_FEATURES
from fairspan.moments.groups import Groups
from fairspan.products import RowParts
from fairspan.products.parts import Block, PartRows
from fairspan.storage.model_file import save_model
from fairspan.tables.columns import Columns
from fairspan.tables.dialect import Dialect
from fairspan.tables.parts import FilePart, Files
from fairspan.tables.streams import row_parts
from fairspan.words import TEMPLATES, plural

MOST_BYTES = 2**28
"""Files that are larger are not kept in memory."""
_OF_TABLES = ("weight", "target", "features", "drop", "one_hot", "report", "clip")


class WideData(NamedTuple):
    """Rows for ``fit`` with all it needs beside them, and what to say about them."""

    X: Any
    given: dict[str, Any]
    labels: Callable[[], Iterable[Any]]
    by: str
    notes: tuple[str, ...]
    columns: Columns | None = None


def is_matrix(path: str, sensitive: list[str] | None) -> bool:
    """Whether a file holds features alone: a sparse matrix, or an array with labels beside it."""
    ending = Path(path).suffix.lower()
    if ending == ".npy":
        return bool(sensitive) and all(str(one).lower().endswith(".npy") for one in sensitive or ())
    return is_sparse(path)


def is_wide_table(options: argparse.Namespace) -> bool:
    """Whether a table has many features, and nothing is asked that needs their moments."""
    asked = options.report or options.clip or is_mixed(options)
    if asked or options.order != "variance" or options.small_groups != "keep":
        return False
    with opened(options) as files:
        return len(files.first.kinds) >= MANY_FEATURES


def load_rows(path: str) -> Any:
    """Read a sparse matrix, or map an array; nothing in the file is run."""
    kind = "a sparse matrix" if path.endswith(".npz") else "an array"
    try:
        rows = load_npz(path) if path.endswith(".npz") else np.load(path, mmap_mode="r")
    except (ValueError, OSError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path!r} cannot be read as {kind}: {error}") from None
    if rows.ndim != 2:
        raise ValueError(f"{path!r} has {rows.ndim} dimensions; rows of features have 2.")
    return rows


def load_matrix(options: argparse.Namespace) -> WideData:
    """Read a matrix, and the labels of its rows.

    Parameters
    ----------
    options : namespace
        data, and sensitive: .npy files with a label for each row.

    Returns
    -------
    WideData
        Rows and groups; several files of labels are intersected.
    """
    kind = "a sparse matrix" if options.data.endswith(".npz") else "an array without named columns"
    given = [name for name in _OF_TABLES if getattr(options, name, None)]
    if given:
        raise UsageError(
            f"--{given[0].replace('_', '-')} needs a table, but {options.data!r} is {kind}; leave "
            "it out."
        )
    if not options.sensitive:
        raise UsageError(
            "--sensitive is missing: name the .npy file with the label of each row of "
            f"{options.data!r}."
        )
    X = load_rows(options.data)
    labels = [load_labels(path, X.shape[0]) for path in options.sensitive]
    groups = labels[0] if len(labels) == 1 else dict(zip(options.sensitive, labels, strict=True))
    by = " and ".join(Path(path).name for path in options.sensitive)
    stored = (f"sparse, {X.nnz:,} entries",) if issparse(X) else ()
    known = partial(_groups_in, groups, X.shape[0])
    return WideData(X, {"sensitive_features": groups}, known, by, stored)


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


def _groups_in(groups: Any, n_rows: int) -> Iterable[Any]:
    return Groups.of(groups, n_rows).labels


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
    answer(options.json, _text(options, data, model, plain), _document(options, data, model, plain))
    return OK


def _with_way(data: WideData, model: RobustFairPCA) -> WideData:
    """Add which way the fit went."""
    passes = model.result_.n_passes
    way = f"fitted by {model.route_}" + (f" in {passes} passes over the rows" if passes else "")
    return data._replace(notes=(*data.notes, way))


def _text(options: argparse.Namespace, data: WideData, model: Any, plain: Any) -> str:
    # Verdicts about new rows need dense ones.
    told = [
        one for one in summary.findings(plain, model).sentences if one != TEMPLATES["needs rows"]
    ]
    counts = plural(model.n_samples_, "row"), plural(model.n_features_in_, "feature")
    groups = plural(len(model.group_labels_), "group")
    both = {summary.PCA: plain, "RobustFairPCA": model}
    lines = [
        f"{Path(options.data).name}: {', '.join(counts)}, {groups} by {data.by}",
        *(f"  {note}" for note in data.notes),
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
