"""FairPCA as published, and how far perturbations of the size of rounding move its figures."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairspan.experiments import published
from fairspan.experiments.comparison import LABELS, titles
from fairspan.experiments.store import Row
from fairspan.experiments.tables import Table
from fairspan.experiments.trials import NOISES, VALUES
from fairspan.experiments.weights import NOISE

COLUMNS = ("dataset", "value", "ours", "smallest", "largest", "paper")


def spread(rows: Sequence[Row]) -> list[Row]:
    """Average every run over the splits, and give the range of the runs.

    Parameters
    ----------
    rows : sequence of dict
        Rows of each split; those without perturbed runs are left out.

    Returns
    -------
    list of dict
        For each data set and value: one run, the range over it and the perturbed runs, and the
        paper's figure.
    """
    found = []
    mine = [row for row in rows if "perturbed" in row]
    outside, inside = published.scores("out_of_sample"), published.scores("in_sample")
    for name in dict.fromkeys(row["dataset"] for row in mine):
        splits = [
            [[row[value] for value in VALUES], *row["perturbed"]]
            for row in mine
            if row["dataset"] == name
        ]
        runs = np.mean(splits, axis=0)
        paper = (*outside[name, "fairpca"], *inside[name, "fairpca"])
        found += [
            {
                "dataset": name,
                "value": value,
                "ours": float(own[0]),
                "smallest": float(own.min()),
                "largest": float(own.max()),
                "paper": theirs,
            }
            for value, own, theirs in zip(VALUES, runs.T, paper, strict=True)
        ]
    return found


def spread_table(found: Sequence[Row]) -> Table:
    """Return the ranges as a table.

    Parameters
    ----------
    found : sequence of dict
        Result of :func:`spread`.

    Returns
    -------
    Table
        The table.
    """
    lines = [
        [titles()[row["dataset"]], LABELS[row["value"]]]
        + [f"{row[name]:.4f}" for name in COLUMNS[2:]]
        for row in found
    ]
    columns = ["data set", "mean over splits of", "ours", "smallest", "largest", "paper"]
    note = (
        f"Smallest and largest of {1 + len(NOISES)} runs: one as published, the others with "
        f"covariances perturbed by a relative {NOISE:g}."
    )
    return Table("FairPCA by its published loop: spread under rounding", columns, lines, 2, [note])
