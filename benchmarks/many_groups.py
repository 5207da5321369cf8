"""About 480 problems of 2 to 12 groups: how many are proved optimal, and how fast."""

from __future__ import annotations

import itertools
import statistics
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.measure import seconds, write
from fairspan import GroupMoments
from fairspan.objectives import RobustFairObjective, radii_from
from fairspan.problem import SubspaceProblem
from fairspan.solvers.certified_newton import solve_newton
from fairspan.solvers.subgradient import solve_subgradient
from tests.many_groups import COMPONENTS, RADII, WEIGHTS, grouped_tables


def solve_one(
    moments: GroupMoments, k: int, weight: float, radius: float, with_descent: bool
) -> dict[str, Any]:
    objective = RobustFairObjective(moments.shares, weight, radii_from(radius, moments.weights))
    found: dict[str, Any] = {}

    def newton() -> None:
        problem = SubspaceProblem(moments.second_moments, moments.shares, k)
        found["newton"] = solve_newton(problem, objective, max_time=10.0)

    taken = seconds(newton)
    row = {
        "components": k,
        "fairness_weight": weight,
        "radius": radius,
        "seconds": taken,
        "objective": found["newton"].objective,
        "gap": found["newton"].optimality_gap,
        "eigensolves": found["newton"].n_eigensolves,
    }
    if with_descent:
        problem = SubspaceProblem(moments.second_moments, moments.shares, k)
        descent = solve_subgradient(problem, objective, rng=np.random.default_rng(0))
        row["descent_objective"] = descent.objective
    return row


def main(with_descent: bool = True) -> dict[str, Any]:
    rows: list[dict[str, Any]] = []
    with threadpool_limits(1):
        for name, X, codes in grouped_tables():
            moments = GroupMoments.from_arrays(X, codes)
            for k, weight, radius in itertools.product(COMPONENTS, WEIGHTS, RADII):
                if k < X.shape[1]:
                    row = solve_one(moments, k, weight, radius, with_descent)
                    rows.append({"data": name, "groups": moments.n_groups, **row})
    figures: dict[str, Any] = {
        "problems": len(rows),
        "closed": sum(row["gap"] <= 1e-8 for row in rows),
        "largest_gap": max(row["gap"] for row in rows),
        "median_seconds": statistics.median(row["seconds"] for row in rows),
        "total_seconds": sum(row["seconds"] for row in rows),
        "eigensolves_two_groups": statistics.mean(
            row["eigensolves"] for row in rows if row["groups"] == 2
        ),
    }
    if with_descent:
        worse = [row["objective"] / row["descent_objective"] - 1 for row in rows]
        figures["worst_against_descent"] = max(worse)
    print(figures, flush=True)
    write("many_groups", {**figures, "open": [row for row in rows if row["gap"] > 1e-8]})
    return figures


if __name__ == "__main__":
    main()
