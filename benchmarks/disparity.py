"""The largest error instead of the gap: how many problems are proved, two groups and more."""

from __future__ import annotations

import itertools
import statistics
from typing import Any

from threadpoolctl import threadpool_limits

from benchmarks.many_groups import settings
from benchmarks.measure import seconds, write
from fairspan import GroupMoments
from fairspan.objectives.counting import Counting
from fairspan.problem.subspace import SubspaceProblem
from fairspan.solvers import SolverResult, solve
from tests.conftest import PAPER_FILES, paper_table, standardised

COMPONENTS, WEIGHTS, RADII = (1, 3, 5), (0.5, 2.0, 50.0), (0.0, 0.15)
REFERENCES = ("none", "own")


def solved(
    moments: GroupMoments, k: int, weight: float, radius: float, reference: str
) -> dict[str, Any]:
    problem = SubspaceProblem(moments.second_moments, moments.shares, k)
    objective = Counting(disparity="largest", reference=reference).objective(
        moments, weight, radius, problem
    )
    found: list[SolverResult] = []
    taken = seconds(lambda: found.append(solve(problem, objective)))
    return {
        "groups": moments.n_groups,
        "components": k,
        "fairness_weight": weight,
        "radius": radius,
        "reference": reference,
        "seconds": taken,
        "gap": found[0].optimality_gap,
        "eigensolves": found[0].n_eigensolves,
    }


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "problems": len(rows),
        "proved": sum(row["gap"] <= 1e-8 for row in rows),
        "at_radius_0": sum(row["radius"] == 0 for row in rows),
        "proved_at_radius_0": sum(row["gap"] <= 1e-8 for row in rows if row["radius"] == 0),
        "largest_gap": max(row["gap"] for row in rows),
        "median_eigensolves": statistics.median(row["eigensolves"] for row in rows),
        "total_seconds": sum(row["seconds"] for row in rows),
        "open": [row for row in rows if row["gap"] > 1e-8],
    }


def two_groups(reference: str) -> list[dict[str, Any]]:
    rows = []
    for name in PAPER_FILES:
        X, groups, _ = paper_table(name)
        moments = GroupMoments.from_arrays(standardised(X), groups)
        for k, weight, radius in itertools.product(COMPONENTS, WEIGHTS, RADII):
            rows.append({"data": name} | solved(moments, k, weight, radius, reference))
    return rows


def many_groups(reference: str) -> list[dict[str, Any]]:
    return [
        {"data": name} | solved(moments, *setting, reference)
        for name, moments, setting in settings()
    ]


def main() -> dict[str, Any]:
    figures: dict[str, Any] = {}
    with threadpool_limits(1):
        for kind, reference in itertools.product((two_groups, many_groups), REFERENCES):
            found = figures[f"{kind.__name__}, reference {reference}"] = summary(kind(reference))
            shown = {name: value for name, value in found.items() if name != "open"}
            print(f"{kind.__name__}, reference {reference}: {shown}", flush=True)
    write("disparity", figures)
    return figures


if __name__ == "__main__":
    main()
