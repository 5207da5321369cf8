"""``fairspan transform``: rows of a table in the coordinates of a saved model."""

from __future__ import annotations

import argparse
import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fairspan.cli import OK, UsageError
from fairspan.cli.arguments import (
    add_json_argument,
    add_table_arguments,
    check_output,
)
from fairspan.cli.console import answer
from fairspan.cli.data import opened, read_features
from fairspan.cli.matrix import is_sparse, load_rows
from fairspan.ground.atomic import replacing
from fairspan.ground.extras import needing
from fairspan.storage.model_file import read_model
from fairspan.tables.columns import Columns
from fairspan.tables.parts import Files
from fairspan.words import plural

_ENDINGS = (".csv", ".npy", ".parquet", ".feather")
USAGE = "fairspan transform MODEL DATA -o OUT [options]"
EXAMPLES = """\
examples:
  fairspan transform model.npz people.csv -o projected.csv
  fairspan transform model.npz people.csv -o projected.npy --missing drop-rows
  fairspan transform model.npz people.csv -o projected.parquet --keep id sex

Columns are found by name, in any order; others in the table are ignored. The sensitive column is
not needed: the projection is blind to it."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("model", metavar="MODEL", help="what fairspan fit saved")
    parser.add_argument("data", metavar="DATA", help="csv, xlsx, npy or parquet table")
    add_table_arguments(parser, groups=False)
    text = "also copy these columns, for instance an identifier"
    parser.add_argument("--keep", nargs="+", action="extend", metavar="COLUMN", help=text)
    text = "a csv, npy, parquet or feather file"
    parser.add_argument("-o", "--output", required=True, metavar="OUT", help=text)
    add_json_argument(parser)


def run(options: argparse.Namespace) -> int:
    """Project the rows and write them."""
    output = check_output(options.output, [options.model, options.data], _ENDINGS)
    file = read_model(options.model)
    model: Any = file.model
    if options.keep and output.suffix.lower() == ".npy":
        raise UsageError("--keep needs an output with column names: csv, parquet or feather.")
    kept: dict[Any, list[Any]] = {}
    notes: list[str] = []
    if is_sparse(options.data):
        if options.keep:
            raise UsageError(f"--keep needs a table, but {options.data!r} is a sparse matrix.")
        X = load_rows(options.data)
    elif output.suffix == options.data[-4:] == ".npy" and file.columns is None:
        # Features alone, in the order of the fit: they stay in their file.
        X = load_rows(options.data)
    else:
        with opened(options) as files:
            columns = _columns(model, files, file.columns)
            X, kept, notes = read_features(files, columns, options)
    names = [str(name) for name in model.get_feature_names_out()]
    # The columns were found by name just now.
    vars(model).pop("feature_names_in_", None)
    projected = model.transform(X)
    write_table(output, kept | dict(zip(names, projected.T, strict=True)))
    n_rows = len(projected)
    lines = [*(f"  {note}" for note in notes)]
    read = f"{plural(n_rows, 'row')}, {plural(X.shape[1], 'feature')}"
    lines += [f"{read} -> {plural(len(names), 'component')}: {output}"]
    document = {"model": options.model, "data": options.data, "output": str(output)}
    document |= {"n_rows": n_rows, "columns": [*kept, *names], "notes": notes}
    answer(options.json, "\n".join(lines), document)
    return OK


def _columns(model: Any, files: Files, recipe: Any) -> Columns:
    """Find which columns are features: as when fitted, by the model's names, or by position."""
    names = tuple(name for name in files.first.kinds if name not in files.first.index)
    is_named = isinstance(names[0], str)
    if recipe is not None:
        columns = Columns.from_json(recipe)
        if columns.is_named == is_named:
            return columns
    elif hasattr(model, "feature_names_in_") and is_named:
        return Columns(tuple(model.feature_names_in_))
    if len(names) != model.n_features_in_:
        raise ValueError(
            f"{files.where} has {len(names)} columns and the model needs "
            f"{model.n_features_in_}; columns cannot be found by name here, so give a table of "
            "exactly the model's features, in its order."
        )
    return Columns(names)


def write_table(path: Path, columns: Mapping[str, Sequence[Any] | npt.NDArray[Any]]) -> None:
    """Write columns in the format of the ending, whole or not at all."""
    ending = path.suffix.lower()
    with replacing(path) as temporary:
        if ending == ".npy":
            np.save(temporary, np.column_stack(list(columns.values())))
        elif ending == ".csv":
            with open(temporary, "w", newline="", encoding="utf-8") as file:
                writer = csv.writer(file, lineterminator="\n")
                writer.writerow(columns)
                writer.writerows(zip(*map(_plain, columns.values()), strict=True))
        else:
            _write_arrow(temporary, columns, ending)


def _plain(column: Any) -> Any:
    """Give Python's own numbers, which csv writes with all digits."""
    return column.tolist() if isinstance(column, np.ndarray) else column


def _write_arrow(path: Path, columns: Mapping[str, Any], ending: str) -> None:
    with needing(f"writing {ending} files, unlike .csv and .npy, needs pyarrow", "files"):
        from pyarrow import feather, parquet, table
    whole = table({str(name): column for name, column in columns.items()})
    if ending == ".parquet":
        parquet.write_table(whole, path)
    else:
        feather.write_feather(whole, str(path))
