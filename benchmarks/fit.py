"""Whole certified fit over scikit-learn's PCA, on made data of five sizes (k = 3, two groups)."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from threadpoolctl import threadpool_limits

from benchmarks.measure import ratio, write
from fairspan import RobustFairPCA

SIZES = [
    # rows, features, repetitions, the ratio to stay below
    (1_000, 20, 100, 6.0),
    (20_000, 50, 30, 3.0),
    (1_000_000, 50, 9, 1.15),
    (100_000, 500, 5, 1.15),
    (20_000, 2_000, 3, 1.15),
]


def made_data(rows: int, features: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Twenty factors and noise; the second group has its features scaled from 0.7 to 1.3."""
    rng = np.random.default_rng(seed)
    loadings = rng.normal(size=(20, features)) * np.linspace(1, 2, features)
    X = rng.normal(size=(rows, 20)) @ loadings + 0.5 * rng.normal(size=(rows, features))
    groups = rng.integers(0, 2, rows)
    X[groups == 1] *= np.linspace(0.7, 1.3, features)
    return X, groups


def main() -> list[dict[str, Any]]:
    figures = []
    for rows, features, repetitions, limit in SIZES:
        X, groups = made_data(rows, features)
        fair, plain = RobustFairPCA(3, radius=0.1), PCA(3, svd_solver="covariance_eigh")
        with threadpool_limits(1):
            found = ratio(
                lambda X=X, g=groups, fair=fair: fair.fit(X, sensitive_features=g),
                lambda X=X, plain=plain: plain.fit(X),
                repetitions,
            )
        figures.append(
            {
                "rows": rows,
                "features": features,
                **found,
                "limit": limit,
                "eigensolves": fair.n_eigensolves_,
                "optimality_gap": fair.optimality_gap_,
            }
        )
        print(f"{rows} x {features}: fit / PCA = {found['ratio']:.2f} (limit {limit})", flush=True)
    write("fit", figures)
    return figures


if __name__ == "__main__":
    main()
