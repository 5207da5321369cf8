"""The table of docs/downstream.md shows the figures that the benchmark stored."""

from __future__ import annotations

import json
from pathlib import Path

from fairspan.downstream.reading import with_interval

ROOT = Path(__file__).parents[2]
METRICS = (
    "accuracy",
    "roc_auc",
    "demographic_parity_difference",
    "equalized_odds_difference",
)


def test_the_table_of_adult_is_the_stored_run():
    stored = json.loads((ROOT / "benchmarks/results/downstream.json").read_text(encoding="utf-8"))
    found: dict[tuple[str, str], list[str]] = {}
    for metric in METRICS:
        for row in stored["adult"]["summary"]:
            if row["metric"] == metric:
                key = row["method"], str(row["n_components"] or "")
                found.setdefault(key, []).append(with_interval(row))
    lines = (ROOT / "docs/downstream.md").read_text(encoding="utf-8").splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if "±" in line]
    shown = {(row[0], row[1]): row[2:] for row in cells}
    assert shown == found
    assert len(shown) == 19
    assert stored["adult"]["splits"] == 20
