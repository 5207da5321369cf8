"""The stored results and the page about them, as the tests read them."""

from __future__ import annotations

import csv
from pathlib import Path

from fairspan.experiments import published

DOCS = Path(__file__).parents[2] / "docs"
STORED = DOCS / "reproduction"
PAGE = (DOCS / "reproduction.md").read_text(encoding="utf-8")
WORDS = " ".join(PAGE.split())
NAMES = {name: entry[0] for name, entry in published.datasets().items()}
PAPER = {
    "table1": published.scores("out_of_sample"),
    "table-insample": published.scores("in_sample"),
}


def read(name):
    with open(STORED / name, newline="") as file:
        return list(csv.DictReader(file))
