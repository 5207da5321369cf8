"""The paper's tables grouped eleven ways: 2 to 12 groups, grouping columns removed."""

from __future__ import annotations

import csv
from collections.abc import Iterator

import numpy as np

from tests.conftest import PAPER_FILES, data_directory, standardised

COMPONENTS, WEIGHTS, RADII = (1, 3, 5, 10), (0.0, 0.1, 0.5, 2.0), (0.0, 0.15, 1.0)


def grouped_tables() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Give name, standardised features and group codes of each grouping."""
    wine = _table("wine_quality")
    alcohol = _column(wine, "alcohol")
    ranks = np.argsort(np.argsort(alcohol, kind="stable"), kind="stable")
    for n in (2, 4, 8, 12):
        yield f"wine by alcohol, {n}", _features(wine, "alcohol"), ranks * n // len(ranks)
    letter = _table("letter")
    mean_x = _column(letter, "MeanX")
    for n in (2, 4, 6):
        edges = np.unique(np.quantile(mean_x, np.arange(1, n) / n))
        codes = np.searchsorted(edges, mean_x, side="right")
        yield f"letter by MeanX, {n}", _features(letter, "MeanX"), codes
    default = _table("default_credit")
    yield (
        "default credit by marriage and sex",
        _features(default, "MARRIAGE", "SEX"),
        _cross(default, "MARRIAGE", "SEX"),
    )
    taiwan = _table("taiwan_credit")
    education = next(name for name in taiwan[0] if name.startswith("EDUCATION"))
    for more in ([], ["MARRIAGE"]):
        names = ["SEX", education, *more]
        label = "taiwan by " + " and ".join(name.split()[0].lower() for name in names)
        yield label, _features(taiwan, *names), _cross(taiwan, *names)
    german = _table("german_credit")
    status = [f"A9_{i}" for i in range(1, 5)]
    flags = np.column_stack([_column(german, name) for name in status])
    codes = np.where(flags.any(axis=1), flags.argmax(axis=1), 4)
    yield "german by status", _features(german, *status), codes


Table = tuple[list[str], np.ndarray]


def _table(name: str) -> Table:
    folder = data_directory()
    assert folder is not None
    with open(folder / PAPER_FILES[name], newline="") as file:
        header, *rows = csv.reader(file, skipinitialspace=True)
    header = [name.strip('"') for name in header]
    return header, np.array(rows, dtype=float)


def _column(table: Table, name: str) -> np.ndarray:
    return table[1][:, table[0].index(name)]


def _features(table: Table, *without: str) -> np.ndarray:
    header, values = table
    kept = [j for j, name in enumerate(header[:-2]) if name not in without]
    X = values[:, kept]
    return standardised(X[:, X.std(axis=0) > 0])


def _cross(table: Table, *names: str) -> np.ndarray:
    values = np.column_stack([_column(table, name) for name in names])
    return np.unique(values, axis=0, return_inverse=True)[1].ravel()
