"""Sparse rows: 100,000 x 2,000 at 1 % density, against the same rows in full."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from benchmarks.measure import ratio, write
from fairspan import GroupMoments, RobustFairPCA

ROWS, FEATURES, DENSITY = 100_000, 2_000, 0.01
LIMIT = 1e-10


def peak_megabytes(X: Any, groups: np.ndarray, model: RobustFairPCA) -> float:
    tracemalloc.start()
    try:
        GroupMoments.from_arrays(X, groups)
        model.transform(X)
        return tracemalloc.get_traced_memory()[1] / 2**20
    finally:
        tracemalloc.stop()


def main() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    X = sparse.random_array((ROWS, FEATURES), density=DENSITY, random_state=rng, format="csr")
    groups = rng.integers(0, 2, ROWS)
    with threadpool_limits(1):
        full = X.toarray()
        found = ratio(
            lambda: GroupMoments.from_arrays(X, groups),
            lambda: GroupMoments.from_arrays(full, groups),
            repetitions=3,
        )
        ours = GroupMoments.from_arrays(X, groups)
        theirs = GroupMoments.from_arrays(full, groups)
        model = RobustFairPCA(3, radius=0.1).fit_moments(ours)
        apart = abs(model.transform(X) - model.transform(full)).max()
        peak = peak_megabytes(X, groups, model)
    size = abs(theirs.second_moments).max()
    figures: dict[str, Any] = {
        "rows": ROWS,
        "features": FEATURES,
        "density": DENSITY,
        **found,
        "difference": float(abs(ours.second_moments - theirs.second_moments).max() / size),
        "difference_of_projections": float(apart),
        "limit": LIMIT,
        "peak_mb": peak,
        "full_rows_mb": 8 * ROWS * FEATURES / 2**20,
        "matrices_mb": 8 * 2 * FEATURES**2 / 2**20,
    }
    print(
        f"sparse / full = {found['ratio']:.2f}, difference {figures['difference']:.1g}, peak "
        f"{peak:.0f} MB where full rows are {figures['full_rows_mb']:.0f} MB",
        flush=True,
    )
    write("sparse", figures)
    return figures


if __name__ == "__main__":
    main()
