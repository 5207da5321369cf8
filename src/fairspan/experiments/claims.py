"""The paper's claims, counted: the data sets on which RFPCA is the best of four methods."""

from __future__ import annotations

from collections.abc import Sequence

from fairspan.experiments import published
from fairspan.experiments.store import Row
from fairspan.experiments.tables import Table

COMPARED = ("rfpca", "fairpca", "cfpca-mean", "cfpca-both")
COLUMNS = ("claim", "ours", "paper", "datasets")

Scores = dict[published.Key, tuple[float, ...]]


def count(rows: Sequence[Row]) -> list[Row]:
    """Count on our means and on the paper's, over the same data sets.

    Parameters
    ----------
    rows : sequence of dict
        Means of ABDiff and ARE; data sets without all four methods are left out.

    Returns
    -------
    list of dict
        A row for each claim.
    """
    ours: Scores = {(row["dataset"], row["method"]): (row["abdiff"], row["are"]) for row in rows}
    paper = published.scores("out_of_sample")
    names = [
        name
        for name in dict.fromkeys(row["dataset"] for row in rows)
        if all((name, method) in ours and (name, method) in paper for method in COMPARED)
    ]
    claims = {"least ABDiff": (0,), "least ARE": (1,), "least ABDiff and least ARE": (0, 1)}
    return [
        {
            "claim": f"RFPCA has the {claim}",
            "ours": sum(_is_best(ours, name, which) for name in names),
            "paper": sum(_is_best(paper, name, which) for name in names),
            "datasets": len(names),
        }
        for claim, which in claims.items()
    ]


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
    columns = ["out of sample, among four methods", "ours", "paper's numbers", "data sets"]
    note = "Compared: RFPCA, FairPCA, CFPCA (mean) and CFPCA (both); the paper has no row of PCA."
    return Table("Claims counted", columns, rows, 1, [note])


def _is_best(scores: Scores, name: str, which: tuple[int, ...]) -> bool:
    ours = scores[name, "rfpca"]
    return all(ours[i] <= scores[name, method][i] for i in which for method in COMPARED)
