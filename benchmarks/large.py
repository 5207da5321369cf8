"""Many features: LFW faces, a grid of 200 settings, and fewer rows than features."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from threadpoolctl import threadpool_limits

from benchmarks.fit import made_data
from benchmarks.measure import ratio, seconds, write
from fairspan import GroupMoments, RobustFairPCA
from fairspan.objectives.counting import radii_from
from fairspan.objectives.robust import RobustFairObjective
from fairspan.problem.subspace import SubspaceProblem
from fairspan.solvers.two_groups.angle import solve_boundary
from fairspan.solvers.two_groups.lines import Boundary
from tests.conftest import data_directory


def faces() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    folder = data_directory()
    assert folder is not None
    with np.load(folder / "lfw_faces_49x36.npz") as file:
        X = file["images"].reshape(len(file["images"]), -1) / 255.0
        return X, file["sex"], np.column_stack([file["sex"], file["asian"]])


def fits(X: np.ndarray, groups: np.ndarray, k: int, limit: float) -> dict[str, Any]:
    fair, plain = RobustFairPCA(k, radius=0.1), PCA(k, svd_solver="covariance_eigh")
    found = ratio(
        lambda: fair.fit(X, sensitive_features=groups), lambda: plain.fit(X), repetitions=3
    )
    return {
        "components": k,
        "groups": len(fair.group_labels_),
        **found,
        "limit": limit,
        "eigensolves": fair.n_eigensolves_,
        "optimality_gap": fair.optimality_gap_,
    }


def grid(X: np.ndarray, groups: np.ndarray, k: int) -> dict[str, Any]:
    """Two hundred (fairness weight, radius) points that share eigen-solves, against one fit."""
    fair = RobustFairPCA(k, radius=0.1)
    one = seconds(lambda: fair.fit(X, sensitive_features=groups))
    moments = GroupMoments.from_arrays(X, groups)
    problem = SubspaceProblem(moments.second_moments, moments.shares, k)
    boundary = Boundary(problem)
    gaps = []

    def all_points() -> None:
        for weight in np.linspace(0, 3, 20):
            for radius in np.linspace(0, 1, 10):
                radii = radii_from(float(radius), moments.weights)
                objective = RobustFairObjective(moments.shares, float(weight), radii)
                gaps.append(solve_boundary(problem, objective, boundary=boundary).optimality_gap)

    taken = seconds(all_points)
    return {
        "components": k,
        "points": len(gaps),
        "true_eigensolves": problem.n_eigensolves,
        "largest_gap": max(gaps),
        "grid_over_fit": taken / one,
    }


def few_rows() -> dict[str, Any]:
    X, groups = made_data(500, 4_000)
    fair, plain = RobustFairPCA(3, radius=0.1), PCA(3, svd_solver="full")
    found = ratio(
        lambda: fair.fit(X, sensitive_features=groups), lambda: plain.fit(X), repetitions=3
    )
    return {**found, "limit": 1.5, "optimality_gap": fair.optimality_gap_}


def main() -> dict[str, Any]:
    X, sex, both = faces()
    figures: dict[str, Any] = {}
    with threadpool_limits(1):
        figures["faces, two groups"] = [fits(X, sex, k, 1.2) for k in (3, 10)]
        print(figures["faces, two groups"], flush=True)
        figures["faces, four groups"] = [fits(X, both, k, 3.0) for k in (3, 10)]
        print(figures["faces, four groups"], flush=True)
        figures["faces, grid"] = [grid(X, sex, k) for k in (3, 10)]
        print(figures["faces, grid"], flush=True)
        figures["100,000 x 500, grid"] = grid(*made_data(100_000, 500), 3)
        print(figures["100,000 x 500, grid"], flush=True)
        figures["500 x 4,000"] = few_rows()
        print(figures["500 x 4,000"], flush=True)
    write("large", figures)
    return figures


if __name__ == "__main__":
    main()
