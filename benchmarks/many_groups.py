"""About 480 problems of 2 to 12 groups: how many are proved optimal, in how much processor time."""

from __future__ import annotations

import itertools
import statistics
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.measure import seconds, write
from fairspan import GroupMoments
from fairspan.objectives.counting import radii_from
from fairspan.objectives.robust import RobustFairObjective
from fairspan.problem.subspace import SubspaceProblem
from fairspan.solvers.descent import solve_subgradient
from fairspan.solvers.many_groups.certified_newton import solve_newton
from fairspan.solvers.result import SolverResult
from tests.many_groups import COMPONENTS, RADII, WEIGHTS, grouped_tables


def newton(moments: GroupMoments, k: int, weight: float, radius: float) -> dict[str, Any]:
    objective = RobustFairObjective(moments.shares, weight, radii_from(radius, moments.weights))
    found: list[SolverResult] = []

    def run() -> None:
        problem = SubspaceProblem(moments.second_moments, moments.shares, k)
        found.append(solve_newton(problem, objective))

    taken = seconds(run)
    return {
        "components": k,
        "fairness_weight": weight,
        "radius": radius,
        "seconds": taken,
        "objective": found[0].objective,
        "gap": found[0].optimality_gap,
        "eigensolves": found[0].n_eigensolves,
    }


def descent(moments: GroupMoments, k: int, weight: float, radius: float) -> float:
    """Value that 20 restarts of 1,000 subgradient steps, and one from PCA, arrive at."""
    objective = RobustFairObjective(moments.shares, weight, radii_from(radius, moments.weights))
    problem = SubspaceProblem(moments.second_moments, moments.shares, k)
    return solve_subgradient(problem, objective, rng=np.random.default_rng(0)).objective


def settings() -> Iterator[tuple[str, GroupMoments, tuple[int, float, float]]]:
    for name, X, codes in grouped_tables():
        moments = GroupMoments.from_arrays(X, codes)
        for setting in itertools.product(COMPONENTS, WEIGHTS, RADII):
            if setting[0] < X.shape[1]:
                yield name, moments, setting


def main(every: int = 1) -> dict[str, Any]:
    """Solve all problems; every so many are compared with the descent, which is slow."""
    with threadpool_limits(1):
        rows = [
            {"data": name, "groups": moments.n_groups, **newton(moments, *setting)}
            for name, moments, setting in settings()
        ]
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
        print(figures, flush=True)
        chosen = list(zip(settings(), rows, strict=True))[::every]
        excess = [
            row["objective"] / descent(moments, *setting) - 1
            for (_, moments, setting), row in chosen
        ]
    figures |= {"descents": len(excess), "worst_against_descent": max(excess)}
    print(f"Newton over {len(excess)} descents, worst: {max(excess):.2g}", flush=True)
    write("many_groups", {**figures, "open": [row for row in rows if row["gap"] > 1e-8]})
    return figures


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
