"""Grids of four groups: what a frontier and a search share, against loops of fits, in one run.

5,000 rows of 30 features in four groups, made in four ways. With "blocks", whose groups vary in
directions of their own, some fits need branch and bound, and proofs are most of the work. Times
are of the processor, medians of alternating repetitions; figures go to results/shared_work.json.
"""

from __future__ import annotations

import statistics
import warnings
from typing import Any

import numpy as np
import sklearn
from sklearn.model_selection import GridSearchCV, KFold
from threadpoolctl import threadpool_limits

from benchmarks.measure import seconds, write
from fairspan import RobustFairPCA, RobustFairPCACV, fairness_frontier

WEIGHTS = np.geomspace(0.01, 10.0, 200)
GRID = {"fairness_weight": list(np.geomspace(0.05, 5.0, 12)), "radius": [0.0, 0.05, 0.15]}
Rows = tuple[np.ndarray, np.ndarray]


def mixings(rng: np.random.Generator) -> Rows:
    """Groups of one size with covariances of their own."""
    groups = rng.integers(0, 4, 5000)
    X = rng.standard_normal((5000, 30)) * np.linspace(3, 1, 30)
    mixing = np.eye(30) + 0.5 * rng.standard_normal((4, 30, 30))
    return np.einsum("ni,nij->nj", X, mixing[groups]), groups


def factors(rng: np.random.Generator) -> Rows:
    """Groups of 50, 30, 15 and 5 % with six factors, which they share in part, and means."""
    groups = rng.choice(4, 5000, p=[0.5, 0.3, 0.15, 0.05])
    loadings = rng.standard_normal((4, 6, 30)) + rng.standard_normal((6, 30))
    X = np.einsum("nf,nfj->nj", rng.standard_normal((5000, 6)), loadings[groups])
    return X + rng.standard_normal((5000, 30)) + 0.5 * rng.standard_normal((4, 30))[groups], groups


def scales(rng: np.random.Generator) -> Rows:
    """Heavy-tailed rows that differ between groups by the scales of the features alone."""
    groups = rng.integers(0, 4, 5000)
    basis = np.linalg.qr(rng.standard_normal((30, 30)))[0]
    X = rng.standard_t(5, (5000, 30)) * np.linspace(3, 0.5, 30) @ basis
    return X * (1 + 0.3 * rng.standard_normal((4, 30)))[groups], groups


def blocks(rng: np.random.Generator) -> Rows:
    """Groups of 40, 30, 20 and 10 % that vary most in seven directions each, no two the same."""
    groups = rng.choice(4, 5000, p=[0.4, 0.3, 0.2, 0.1])
    deviations = np.ones((4, 30))
    for a in range(4):
        deviations[a, 7 * a : 7 * a + 7] = np.linspace(3, 1.5, 7)
    basis = np.linalg.qr(rng.standard_normal((30, 30)))[0]
    return rng.standard_normal((5000, 30)) * deviations[groups] @ basis, groups


def frontier_against_fits(X: np.ndarray, groups: np.ndarray, repetitions: int) -> dict[str, Any]:
    found: list[Any] = []

    def frontier() -> None:
        found.append(fairness_frontier(X, 3, sensitive_features=groups, fairness_weights=WEIGHTS))

    def loop() -> None:
        models = [RobustFairPCA(3, fairness_weight=weight) for weight in WEIGHTS]
        found.append([m.fit(X, sensitive_features=groups).objective_ for m in models])

    pairs = [(seconds(frontier), seconds(loop)) for _ in range(repetitions)]
    return compared(pairs) | {
        "largest_excess": float((found[0].objective / found[1] - 1).max()),
        "largest_gap": float(found[0].optimality_gap.max()),
    }


def search_against_grid(X: np.ndarray, groups: np.ndarray, repetitions: int) -> dict[str, Any]:
    folds = KFold(3, shuffle=True, random_state=0)
    ours = RobustFairPCACV(
        3, fairness_weights=GRID["fairness_weight"], radii=GRID["radius"], cv=folds
    )
    # Both in the same order, the last name changing fastest.
    theirs = GridSearchCV(RobustFairPCA(3), [GRID | {"radius": [r]} for r in GRID["radius"]])
    theirs.set_params(cv=folds)

    def grid() -> None:
        with sklearn.config_context(enable_metadata_routing=True):
            theirs.estimator.set_fit_request(sensitive_features=True)
            theirs.estimator.set_score_request(sensitive_features=True)
            theirs.fit(X, sensitive_features=groups)

    def search() -> None:
        ours.fit(X, sensitive_features=groups)

    pairs = [(seconds(search), seconds(grid)) for _ in range(repetitions)]
    scores = [model.cv_results_["mean_test_score"] for model in (ours, theirs)]
    return compared(pairs) | {
        "largest_difference_of_scores": float(np.abs(scores[0] / scores[1] - 1).max()),
        "same_choice": int(ours.best_index_ == theirs.best_index_),
    }


def compared(pairs: list[tuple[float, float]]) -> dict[str, float]:
    """Medians of alternating times."""
    return {
        "times_faster": statistics.median(theirs / ours for ours, theirs in pairs),
        "seconds": statistics.median(ours for ours, _ in pairs),
        "loop_seconds": statistics.median(theirs for _, theirs in pairs),
    }


def main() -> dict[str, Any]:
    figures: dict[str, Any] = {}
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for make in (mixings, factors, scales, blocks):
            X, groups = make(np.random.default_rng(0))
            times = 1 if make is blocks else 3
            figures[make.__name__] = {
                "frontier": frontier_against_fits(X, groups, times),
                "search": search_against_grid(X, groups, times),
            }
            print(make.__name__, figures[make.__name__], flush=True)
    write("shared_work", figures)
    return figures


if __name__ == "__main__":
    main()
