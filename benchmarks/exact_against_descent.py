"""The exact solver against 20 restarts of 1,000 subgradient steps, on the paper's data."""

from __future__ import annotations

from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.measure import seconds, write
from fairspan import GroupMoments
from fairspan.objectives.counting import radii_from
from fairspan.objectives.robust import RobustFairObjective
from fairspan.problem.subspace import SubspaceProblem
from fairspan.solvers.descent import solve_subgradient
from fairspan.solvers.two_groups.angle import solve_boundary
from tests.conftest import PAPER_FILES, paper_table, standardised

WEIGHT, RADIUS, COMPONENTS = 2.5, 0.15, 3


def compare(name: str) -> dict[str, Any]:
    X, groups, _ = paper_table(name)
    moments = GroupMoments.from_arrays(standardised(X), groups)
    objective = RobustFairObjective(moments.shares, WEIGHT, radii_from(RADIUS, moments.weights))
    problem = SubspaceProblem(moments.second_moments, moments.shares, COMPONENTS)
    found: dict[str, Any] = {}

    def exact() -> None:
        found["exact"] = solve_boundary(problem, objective)

    def descent() -> None:
        found["descent"] = solve_subgradient(
            problem, objective, rng=np.random.default_rng(0), iterate="last", start_at_pca=False
        )

    exact()
    fast, slow = min(seconds(exact) for _ in range(5)), seconds(descent)
    return {
        "data": name,
        "time_ratio": slow / fast,
        "exact_seconds": fast,
        "descent_seconds": slow,
        "exact_objective": found["exact"].objective,
        "lower_bound": found["exact"].lower_bound,
        "eigensolves": found["exact"].n_eigensolves,
        "descent_objective": found["descent"].objective,
        "descent_excess": found["descent"].objective / found["exact"].objective - 1,
    }


def main() -> list[dict[str, Any]]:
    with threadpool_limits(1):
        figures = [compare(name) for name in PAPER_FILES]
    for row in figures:
        print(
            f"{row['data']}: {row['time_ratio']:.0f} times faster, descent ends "
            f"{100 * row['descent_excess']:.2g} % above the minimum",
            flush=True,
        )
    write("exact_against_descent", figures)
    return figures


if __name__ == "__main__":
    main()
