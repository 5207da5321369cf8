"""How much faster the exact solvers of the compared methods are, each ratio from one run.

FairPCA: the exact solver against 1000 multiplicative-weights steps, on the same moments and with
the same eigen-solver. ConvexFairPCA with means and covariances: the splitting method against
Clarabel, on Biodeg. CPU times are medians of alternating repetitions; figures go
to results/baselines.json.
"""

from __future__ import annotations

import statistics
import warnings

from benchmarks.measure import seconds, write
from fairspan import ConvexFairPCA, FairPCA, GroupMoments
from tests.conftest import PAPER_FILES, paper_table, standardised


def fair_pca(name: str, repetitions: int = 5) -> dict[str, float]:
    X, groups, _ = paper_table(name)
    moments = GroupMoments.from_arrays(standardised(X), groups)
    exact = FairPCA(3, tol=1e-9)
    published = FairPCA(3, solver="multiplicative_weights", tol=1e6)
    exact.fit_moments(moments)
    slow_times, fast_times = [], []
    for _ in range(repetitions):
        slow_times.append(seconds(lambda: published.fit_moments(moments)))
        fast_times += [seconds(lambda: exact.fit_moments(moments)) for _ in range(20)]
    slow, fast = statistics.median(slow_times), statistics.median(fast_times)
    return {
        "ratio": slow / fast,
        "multiplicative_weights_seconds": slow,
        "exact_seconds": fast,
        "exact_eigensolves": exact.n_eigensolves_,
        "exact_gap": exact.optimality_gap_,
    }


def convex(name: str) -> dict[str, float]:
    X, groups, _ = paper_table(name)
    moments = GroupMoments.from_arrays(standardised(X), groups)
    splitting = ConvexFairPCA(3, constraint="mean+covariance")
    conic = ConvexFairPCA(3, constraint="mean+covariance", solver="conic", tol=1e-6)
    fast = statistics.median(seconds(lambda: splitting.fit_moments(moments)) for _ in range(3))
    slow = seconds(lambda: conic.fit_moments(moments))
    return {
        "ratio": slow / fast,
        "clarabel_seconds": slow,
        "splitting_seconds": fast,
        "objective_difference": splitting.objective_ - conic.objective_,
        "splitting_gap": splitting.optimality_gap_,
        "clarabel_gap": conic.optimality_gap_,
    }


def main() -> None:
    warnings.simplefilter("error")
    figures: dict[str, dict[str, dict[str, float]]] = {"FairPCA": {}, "ConvexFairPCA": {}}
    for name in PAPER_FILES:
        figures["FairPCA"][name] = fair_pca(name)
        print(f"FairPCA {name}: {figures['FairPCA'][name]['ratio']:.0f} times faster")
    for name in ("e_coli", "energy", "wine_quality", "biodeg"):
        figures["ConvexFairPCA"][name] = convex(name)
        print(f"ConvexFairPCA {name}: {figures['ConvexFairPCA'][name]['ratio']:.0f} times faster")
    write("baselines", figures)


if __name__ == "__main__":
    main()
