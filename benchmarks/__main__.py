"""Run every benchmark whose data is here."""

from __future__ import annotations

import importlib
import sys

from tests.conftest import data_directory

MADE_DATA = [
    "import_time",
    "fit",
    "methods",
    "files",
    "partitioned",
    "sparse",
    "shared_work",
    "made_up_groups",
    "many_features",
]
PAPER_DATA = [
    "exact_against_descent",
    "published_column",
    "convergence_rate",
    "many_groups",
    "disparity",
    "large",
    "baselines",
    "selection",
]


def main(names: list[str]) -> None:
    paper = PAPER_DATA if data_directory() is not None else []
    if not paper and not names:
        print("Without FAIRSPAN_DATA, the benchmarks on the paper's data are left out.")
    for name in names or [*MADE_DATA, *paper]:
        print(f"== {name}", flush=True)
        importlib.import_module(f"benchmarks.{name}").main()


if __name__ == "__main__":
    main(sys.argv[1:])
