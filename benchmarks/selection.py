"""Cross-validation on moments against a loop of fits over folds and grid, in one run.

The grid is the paper's: 18 candidates, 3 folds, 3 components, all rows standardised by the training
parts. Times are of the processor, medians of alternating repetitions; figures go to
results/selection.json.
"""

from __future__ import annotations

import itertools
import statistics

import numpy as np
from sklearn.model_selection import KFold
from threadpoolctl import threadpool_limits

from benchmarks.measure import seconds, write
from fairspan import RobustFairPCA, RobustFairPCACV
from tests.conftest import paper_table

RADII = (0.05, 0.1, 0.15)
WEIGHTS = (0, 0.5, 1, 1.5, 2, 2.5)


def loop(X: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Scores of all candidates on all folds by separate fits, and a last fit of the best."""
    grid = list(itertools.product(RADII, WEIGHTS))
    scores = np.zeros((3, len(grid)))
    for fold, (train, test) in enumerate(KFold(3, shuffle=True, random_state=0).split(X)):
        for i, (radius, weight) in enumerate(grid):
            model = RobustFairPCA(3, fairness_weight=weight, radius=radius, standardize=True)
            model.fit(X[train], sensitive_features=groups[train])
            scores[fold, i] = model.score(X[test], sensitive_features=groups[test])
    radius, weight = grid[int(scores.mean(axis=0).argmax())]
    best = RobustFairPCA(3, fairness_weight=weight, radius=radius, standardize=True)
    best.fit(X, sensitive_features=groups)
    return scores


def measure(name: str, repetitions: int = 5) -> dict[str, float]:
    X, groups, _ = paper_table(name)
    search = RobustFairPCACV(
        3, fairness_weights=WEIGHTS, radii=RADII, standardize=True, random_state=0
    )
    search.fit(X, sensitive_features=groups)
    scores = loop(X, groups)
    pairs = [
        (
            seconds(lambda: search.fit(X, sensitive_features=groups)),
            seconds(lambda: loop(X, groups)),
        )
        for _ in range(repetitions)
    ]
    found = [search.cv_results_[f"split{fold}_test_score"] for fold in range(3)]
    return {
        "times_faster": statistics.median(theirs / ours for ours, theirs in pairs),
        "seconds": statistics.median(ours for ours, _ in pairs),
        "loop_seconds": statistics.median(theirs for _, theirs in pairs),
        "eigensolves": search.n_eigensolves_,
        "largest_difference_of_scores": float(np.abs(np.array(found) - scores).max()),
        "same_choice": int(search.best_index_ == int(scores.mean(axis=0).argmax())),
    }


def main() -> dict[str, dict[str, float]]:
    figures = {}
    with threadpool_limits(1):
        for name in ("default_credit", "taiwan_credit", "magic", "wine_quality", "german_credit"):
            figures[name] = measure(name)
            row = figures[name]
            print(
                f"{name}: {row['times_faster']:.1f} times faster, {row['eigensolves']} "
                f"eigen-solves, scores differ by {row['largest_difference_of_scores']:.1g}",
                flush=True,
            )
    write("selection", figures)
    return figures


if __name__ == "__main__":
    main()
