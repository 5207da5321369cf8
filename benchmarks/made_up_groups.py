"""Made-up groups: groups that differ strongly, heavy weights, groups by the thousand.

``python -m benchmarks.made_up_groups`` runs all parts, or those that are named: random_bases,
half_rank, heavy, thousand, small, busy. Figures go to results/made_up_groups.json.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import resource
import sys
import time
import warnings
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.measure import RESULTS, write
from fairspan import RobustFairPCA
from fairspan.objectives.robust import RobustFairObjective
from fairspan.problem.subspace import SubspaceProblem
from fairspan.solvers import SolverOptions, SolverResult, solve
from fairspan.solvers.many_groups.newton import descend
from tests import reference
from tests.certificate import problems

WEIGHTS = (1.0, 5.0, 50.0)


def bases(seed: int, n_groups: int, rank: int) -> SubspaceProblem:
    """Moments of 12 features in bases of their own, for 3 components."""
    rng = np.random.default_rng(seed)
    moments = []
    for _ in range(n_groups):
        basis = reference.random_subspace(rng, 12, rank)
        moments.append((basis * rng.exponential(1.0, rank)) @ basis.T)
    return SubspaceProblem(np.array(moments), rng.dirichlet(np.full(n_groups, 5.0)), 3)


def gap_of(problem: SubspaceProblem, weight: float, effort: float = 1.0) -> SolverResult:
    objective = RobustFairObjective(problem.shares, weight, np.zeros(problem.n_groups))
    return solve(problem, objective, SolverOptions(effort=effort))


def random_bases() -> dict[str, Any]:
    figures = {}
    for n_groups in (6, 8, 12):
        before = time.process_time()
        gaps = [gap_of(bases(s, n_groups, 12), w).optimality_gap for s in range(5) for w in WEIGHTS]
        figures[str(n_groups)] = {
            "problems": len(gaps),
            "proved": sum(gap <= 1e-8 for gap in gaps),
            "largest_gap": max(gaps),
            "processor_seconds": time.process_time() - before,
        }
    return figures


def half_rank(seeds: int = 5) -> dict[str, Any]:
    figures = {}
    for effort in (1.0, 10.0):
        before = time.process_time()
        gaps = [gap_of(bases(s, 12, 6), w, effort) for s in range(seeds) for w in WEIGHTS]
        figures[f"effort {effort:g}"] = {
            "gaps": [found.optimality_gap for found in gaps],
            "processor_seconds": time.process_time() - before,
        }
    return figures


def heavy(starts: int = 50) -> dict[str, Any]:
    """Three groups: how far the value is above the best of many descents, and the gap.

    Errors have sixteen digits, and a weight of 1e9 multiplies what rounding takes from them to 1e-5
    of the value: values are computed with more digits here.
    """
    excess: dict[float, list[float]] = {1e3: [], 1e6: [], 1e9: []}
    gaps = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        shares = rng.dirichlet(np.full(3, 5.0))
        problem = SubspaceProblem(reference.random_moments(rng, 3, 8), shares, 3)
        for weight in excess:
            objective = RobustFairObjective(shares, weight, np.zeros(3))
            found = solve(problem, objective)
            best = np.inf
            for _ in range(starts):
                V = reference.random_subspace(rng, 8, 3)
                for lighter in 10.0 ** np.arange(0, np.log10(weight) + 1):
                    V = descend(
                        problem, RobustFairObjective(shares, lighter, np.zeros(3)), V
                    ).subspace
                best = min(best, long_value(problem, objective, V))
            value = long_value(problem, objective, found.components.T)
            excess[weight].append(float(value / best - 1))
            gaps.append(found.optimality_gap)
    plane = []
    for n_groups in (3, 6, 12, 40, 100):
        rng = np.random.default_rng(n_groups)
        shares = rng.dirichlet(np.ones(n_groups))
        problem = SubspaceProblem(reference.random_moments(rng, n_groups, 2), shares, 1)
        plane += [gap_of(problem, weight).optimality_gap for weight in (1e3, 1e6, 1e9)]
    return {
        "largest_excess": {f"{weight:g}": max(found) for weight, found in excess.items()},
        "largest_gap": max(gaps),
        "two_features_largest_gap": max(plane),
    }


def long_value(problem: SubspaceProblem, objective: RobustFairObjective, V: np.ndarray) -> float:
    """Give the value of a span, at radius 0, in long double."""
    V = V.astype(np.longdouble)
    for _ in range(2):
        V = V @ (1.5 * np.eye(V.shape[1]) - 0.5 * (V.T @ V))
    m = np.array([np.trace(M) - np.sum((M @ V) * V) for M in problem.moments.astype(V.dtype)])
    return float(objective.shares @ m + objective.fairness_weight * (m.max() - m.min()))


def thousand() -> dict[str, Any]:
    figures = {}
    rng = np.random.default_rng(0)
    groups = rng.permutation(np.arange(20_000) % 1000)
    X = rng.standard_normal((20_000, 30))
    X *= np.linspace(3, 1, 30) * np.exp(0.3 * rng.standard_normal((1000, 30)))[groups]
    for radius in (0.0, 0.1):
        before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        model = RobustFairPCA(3, radius=radius).fit(X, sensitive_features=groups)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        figures[f"radius {radius}"] = {
            "processor_seconds": time.process_time() - before[0],
            "megabytes_more": (peak - before[1]) / 1024,
            "gap": model.optimality_gap_,
        }
    return figures


def small(n: int = 1000) -> dict[str, Any]:
    """Bounds of random small problems against the best of 25 starts each."""
    above, closed, worst = 0, 0, -np.inf
    for seed in range(n):
        problem, objective, rng = problems.any_ranks(seed)
        result = solve(problem, objective, SolverOptions(effort=0.05))
        best, V = problems.attained(problem, objective, rng, 25)[0]
        known = problems.rounding(problem, objective, V) + 1e-12 * abs(best)
        above += int(result.lower_bound > best + known)
        closed += int(result.optimality_gap <= 1e-8)
        worst = max(worst, float((result.objective - best - known) / best))
    return {"problems": n, "bounds_above": above, "closed": closed, "worst_value_excess": worst}


def _hog(stop: Any) -> None:
    while not stop.is_set():
        sum(range(10_000))


def busy() -> dict[str, Any]:
    """The same fits on this machine as it is, and with two processes more for each processor."""

    def fits() -> list[bytes]:
        found = [gap_of(bases(s, 12, 6), 5.0, 0.3) for s in range(2)]
        return [
            r.components.tobytes() + np.array([r.objective, r.lower_bound]).tobytes() for r in found
        ]

    idle, stop = fits(), multiprocessing.Event()
    hogs = [
        multiprocessing.Process(target=_hog, args=(stop,), daemon=True)
        for _ in range(2 * (os.cpu_count() or 1))
    ]
    for hog in hogs:
        hog.start()
    try:
        loaded = fits()
    finally:
        stop.set()
        for hog in hogs:
            hog.join()
    return {
        "fits": len(idle),
        "equal_bytes": sum(a == b for a, b in zip(idle, loaded, strict=True)),
    }


PARTS = {part.__name__: part for part in (random_bases, half_rank, heavy, thousand, small, busy)}


def main(names: list[str] | None = None) -> dict[str, Any]:
    path = RESULTS / "made_up_groups.json"
    figures = json.loads(path.read_text()) if path.exists() else {}
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in names or PARTS:
            figures[name] = PARTS[name]()
            print(f"{name}: {figures[name]}", flush=True)
            write("made_up_groups", figures)
    return figures


if __name__ == "__main__":
    main(sys.argv[1:])
