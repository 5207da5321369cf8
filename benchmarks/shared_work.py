"""Grids of four groups: what a frontier and a search share, against loops of fits, in one run.

5,000 rows of 30 features in four groups with covariances of their own. Times are of the
processor; figures go to results/shared_work.json.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV, KFold
from threadpoolctl import threadpool_limits

from benchmarks.measure import write
from benchmarks.selection import processor_seconds
from fairspan import RobustFairPCA, RobustFairPCACV, fairness_frontier

WEIGHTS = np.geomspace(0.01, 10.0, 200)
GRID = {"fairness_weight": list(np.geomspace(0.05, 5.0, 12)), "radius": [0.0, 0.05, 0.15]}


def four_groups() -> tuple[np.ndarray, np.ndarray]:
    """Rows whose groups have covariances of their own."""
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 4, 5000)
    X = rng.standard_normal((5000, 30)) * np.linspace(3, 1, 30)
    mixing = np.eye(30) + 0.5 * rng.standard_normal((4, 30, 30))
    return np.einsum("ni,nij->nj", X, mixing[groups]), groups


def frontier_against_fits(X: np.ndarray, groups: np.ndarray) -> dict[str, Any]:
    found: list[Any] = []

    def frontier() -> None:
        found.append(fairness_frontier(X, 3, sensitive_features=groups, fairness_weights=WEIGHTS))

    def loop() -> None:
        for weight in WEIGHTS:
            model = RobustFairPCA(3, fairness_weight=weight).fit(X, sensitive_features=groups)
            found.append(model.objective_)

    ours, theirs = processor_seconds(frontier), processor_seconds(loop)
    values, alone = found[0].objective, np.array(found[1:])
    return {
        "times_faster": theirs / ours,
        "seconds": ours,
        "loop_seconds": theirs,
        "largest_excess": float((values / alone - 1).max()),
        "largest_gap": float(found[0].optimality_gap.max()),
    }


def search_against_grid(X: np.ndarray, groups: np.ndarray) -> dict[str, Any]:
    folds = KFold(3, shuffle=True, random_state=0)
    ours = RobustFairPCACV(
        3, fairness_weights=GRID["fairness_weight"], radii=GRID["radius"], cv=folds
    )
    theirs = GridSearchCV(RobustFairPCA(3), GRID, cv=folds)

    import sklearn

    def grid() -> None:
        with sklearn.config_context(enable_metadata_routing=True):
            theirs.estimator.set_fit_request(sensitive_features=True)
            theirs.estimator.set_score_request(sensitive_features=True)
            theirs.fit(X, sensitive_features=groups)

    first = processor_seconds(lambda: ours.fit(X, sensitive_features=groups))
    second = processor_seconds(grid)
    return {"times_faster": second / first, "seconds": first, "grid_seconds": second}


def main() -> dict[str, Any]:
    X, groups = four_groups()
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        figures = {"frontier": frontier_against_fits(X, groups)}
        print("frontier of 200 weights:", figures["frontier"], flush=True)
        figures["search"] = search_against_grid(X, groups)
        print("search of 36 candidates, 3 folds:", figures["search"], flush=True)
    write("shared_work", figures)
    return figures


if __name__ == "__main__":
    main()
