"""The numbers in the paper's tables, as data.

They are taken from "Distributionally Robust Fair Principal Components via Geodesic Descents",
ICLR 2022: Table 1 (``out_of_sample``), and of its appendix the in-sample errors (``in_sample``),
the distances between the groups' scores (``delta_f_lin``) and the data sets (``datasets``).
"""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files

CITATION = '"Distributionally Robust Fair Principal Components via Geodesic Descents", ICLR 2022'

Key = tuple[str, str]
"""A data set and a method."""


@cache
def scores(table: str) -> dict[Key, tuple[float, ...]]:
    """Return a table of the paper by data set and method.

    Parameters
    ----------
    table : {"out_of_sample", "in_sample", "delta_f_lin"}
        Which one. The first two hold ABDiff and ARE, the third Delta F_Lin.

    Returns
    -------
    dict
        The figures as printed; methods the paper could not run are left out.
    """
    _, *rows = _read(table)
    return {(row[0], row[1]): tuple(map(float, row[2:])) for row in rows}


@cache
def datasets() -> dict[str, tuple[str, int, int, str]]:
    """Return title, size and sensitive attribute of the paper's data sets, in its order.

    Returns
    -------
    dict
        By the name of the data set.
    """
    _, *rows = _read("datasets")
    return {name: (title, int(n), int(d), what) for name, title, n, d, what in rows}


def _read(table: str) -> list[list[str]]:
    text = files(__package__).joinpath(f"{table}.csv").read_text(encoding="utf-8")
    return list(csv.reader(text.splitlines()))
