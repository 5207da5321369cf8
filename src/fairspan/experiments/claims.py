"""The paper's claims, counted: the data sets on which RFPCA is the best of the methods."""

from __future__ import annotations

from collections.abc import Sequence

from fairspan.experiments import published
from fairspan.experiments.comparison import LABELS, means
from fairspan.experiments.store import Row
from fairspan.experiments.tables import Table
from fairspan.experiments.trials import VALUES

COMPARED = ("rfpca", "fairpca", "cfpca-mean", "cfpca-both")
COLUMNS = ("table", "methods", "claim", "ours", "paper", "datasets")
NONE = ""
"""Shown instead of the paper's count where it has no figures."""

_TABLES = {
    "out of sample": ("out_of_sample", VALUES[:2]),
    "in sample": ("in_sample", VALUES[2:]),
    "leakage": ("delta_f_lin", ("delta_f_lin",)),
}

Scores = dict[published.Key, tuple[float, ...]]


def count(rows: Sequence[Row]) -> list[Row]:
    """Count on our means and on the paper's, over the same data sets and methods.

    Parameters
    ----------
    rows : sequence of dict
        Rows of splits, of scores and of leakage. On each data set the methods are compared for
        which the paper has figures; data sets without all of them are left out.

    Returns
    -------
    list of dict
        A row for each claim; without the paper's count where plain PCA is among the methods.
    """
    found: list[Row] = []
    for table, (source, values) in _TABLES.items():
        mine = means([row for row in rows if values[0] in row], values)
        ours: Scores = {
            (row["dataset"], row["method"]): tuple(row[name] for name in values) for row in mine
        }
        paper = published.scores(source)
        for methods, with_pca in (("the paper's", False), ("with PCA", True)):
            sets = _methods_by_dataset(ours, paper, with_pca)
            for label, which in _claims(values).items():
                found.append(
                    {
                        "table": table,
                        "methods": methods,
                        "claim": f"RFPCA has the {label}",
                        "ours": sum(_is_best(ours, *one, which) for one in sets.items()),
                        "paper": NONE
                        if with_pca
                        else sum(_is_best(paper, *one, which) for one in sets.items()),
                        "datasets": len(sets),
                    }
                )
    return found


def table(counts: Sequence[Row]) -> Table:
    """Return the counts as a table.

    Parameters
    ----------
    counts : sequence of dict
        Result of :func:`count`.

    Returns
    -------
    Table
        The table.
    """
    rows = [[str(row[name]) for name in COLUMNS] for row in counts]
    columns = ["table", "methods", "claim", "ours", "paper's numbers", "data sets"]
    note = (
        "Compared on each data set: RFPCA, FairPCA, CFPCA (mean) and CFPCA (both), as far as the "
        "paper has figures (on LFW only of the first two). It has no row of PCA."
    )
    return Table("Claims counted", columns, rows, 3, [note])


def _claims(values: Sequence[str]) -> dict[str, tuple[int, ...]]:
    labels = [LABELS[name].removesuffix(" in sample") for name in values]
    single = {f"least {label}": (i,) for i, label in enumerate(labels)}
    return single | ({"least ABDiff and least ARE": (0, 1)} if len(values) == 2 else {})


def _methods_by_dataset(ours: Scores, paper: Scores, with_pca: bool) -> dict[str, list[str]]:
    found = {}
    for name in dict.fromkeys(name for name, _ in ours):
        methods = [method for method in COMPARED if (name, method) in paper]
        methods += ["pca"] if with_pca else []
        if len(methods) > 1 and all((name, method) in ours for method in ("rfpca", *methods)):
            found[name] = methods
    return found


def _is_best(scores: Scores, name: str, methods: list[str], which: tuple[int, ...]) -> bool:
    ours = scores[name, "rfpca"]
    return all(ours[i] <= scores[name, method][i] for i in which for method in methods)
