"""Whole certified fit over scikit-learn's PCA: sizes, groups, formats, labels, transform.

NullSpaceFairPCA is measured against its formula: project the rows on the null space, then PCA.

CPU time on one thread, both sides in one process, alternately. Every figure has a goal. Those of
Parquet files and of Spark are in `files` and `partitioned`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np
from scipy.linalg import eigh, null_space
from sklearn.decomposition import PCA

from benchmarks.measure import Figure, judged, ratio, seconds
from fairspan import NullSpaceFairPCA, RobustFairPCA
from fairspan.moments.groups import encode_groups

SIZES = [
    # rows, features, groups, repetitions, goal
    (1_000, 20, 2, 200, 2.2),
    (20_000, 50, 2, 60, 1.5),
    (200_000, 50, 2, 11, 1.1),
    (1_000_000, 50, 2, 5, 1.05),
    (100_000, 500, 2, 3, 1.0),
    (1_000, 20, 4, 20, 4.0),
    (20_000, 50, 4, 20, 2.0),
]


def made_data(rows: int, features: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Twenty factors and noise; the second group has its features scaled from 0.7 to 1.3."""
    rng = np.random.default_rng(seed)
    loadings = rng.normal(size=(20, features)) * np.linspace(1, 2, features)
    X = rng.normal(size=(rows, 20)) @ loadings + 0.5 * rng.normal(size=(rows, features))
    groups = rng.integers(0, 2, rows)
    X[groups == 1] *= np.linspace(0.7, 1.3, features)
    return X, groups


def harder_data(rows: int, features: int, groups: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Thirty factors, each a tenth weaker than the last, and noise; groups differ in scale."""
    rng = np.random.default_rng(0)
    loadings = rng.normal(size=(30, features)) * 0.9 ** np.arange(30)[:, None]
    X = rng.normal(size=(rows, 30)) @ loadings + 0.3 * rng.normal(size=(rows, features))
    codes = rng.integers(0, groups, rows)
    for a in range(1, groups):
        apart = 0.3 * a / (groups - 1)
        X[codes == a] *= np.linspace(1 - apart, 1 + apart, features)
    return X, codes


def against_pca(X: Any, labels: Any, k: int, repetitions: int) -> dict[str, Any]:
    """CPU time of a fit over that of PCA on the same object."""
    fair, plain = RobustFairPCA(k, radius=0.1), PCA(k, svd_solver="covariance_eigh")
    found = ratio(
        lambda: fair.fit(X, sensitive_features=labels),
        lambda: plain.fit(X),
        repetitions,
    )
    return {**found, "eigensolves": fair.n_eigensolves_, "optimality_gap": fair.optimality_gap_}


def sizes() -> Iterator[Figure]:
    for rows, features, groups, repetitions, goal in SIZES:
        X, codes = harder_data(rows, features, groups)
        for k in (3, 10):
            name = f"fit / PCA, {rows} x {features}, {groups} groups, k = {k}"
            yield (
                name,
                goal,
                lambda X=X, codes=codes, k=k, n=repetitions: against_pca(X, codes, k, n),
            )


def formats() -> Iterator[Figure]:
    import pandas as pd

    X, codes = harder_data(300_000, 50)
    names = [f"x{j}" for j in range(50)]
    small = X.astype(np.float32)
    tables = {
        "frame of one block": (1.2, lambda: pd.DataFrame(X, columns=names)),
        "frame by column": (1.2, lambda: pd.DataFrame({c: X[:, j] for j, c in enumerate(names)})),
        "Fortran order": (1.2, lambda: np.asfortranarray(X)),
        "float32": (1.1, lambda: small),
        "float32, Fortran order": (1.1, lambda: np.asfortranarray(small)),
    }
    for name, (goal, make) in tables.items():
        table = make()
        measure = lambda table=table: against_pca(table, codes, 3, 5)  # noqa: E731
        yield f"fit / PCA, 300000 x 50, {name}", goal, measure
    rows = {name: pd.Series(np.array(["f", "m"], object)[codes]) for name in ("str", "object")}
    columns = {
        "category": (1.0, rows["str"].astype("category")),
        "str": (20.0, rows["str"].astype("str")),
        "object": (20.0, rows["object"].astype(object)),
    }
    for name, (goal, column) in columns.items():
        yield f"labels of 300000 rows, {name}, ms", goal, lambda c=column: milliseconds(c)


def milliseconds(column: Any) -> dict[str, Any]:
    """CPU time of turning labels into codes, the best of many: the machine may be loaded."""
    times = [seconds(lambda: encode_groups(column)) for _ in range(25)]
    return {"repetitions": len(times), "ratio": 1e3 * min(times)}


def transforms() -> Iterator[Figure]:
    for rows, features, repetitions in ((1_000, 20, 200), (300_000, 50, 9)):
        X, codes = harder_data(rows, features)
        fair = RobustFairPCA(3, radius=0.1).fit(X, sensitive_features=codes)
        plain = PCA(3).fit(X)
        yield (
            f"transform / PCA.transform, {rows} x {features}",
            1.05,
            lambda f=fair, p=plain, X=X, n=repetitions: ratio(
                lambda: f.transform(X), lambda: p.transform(X), n
            ),
        )


def null_space_formula(X: np.ndarray, codes: np.ndarray, k: int) -> np.ndarray:
    """Fair PCA of two groups, as Kleindessner et al. (2023) state it; no checks, no proof."""
    X = X - X.mean(axis=0)
    free = null_space(((codes - codes.mean()) @ X)[None])
    inside = free.T @ (X.T @ X) @ free
    last = len(inside) - 1
    return np.asarray(free @ eigh(inside, subset_by_index=[last - k + 1, last])[1])


def null_spaces() -> Iterator[Figure]:
    for rows, features, repetitions in ((1_000, 20, 100), (20_000, 50, 30), (200_000, 50, 7)):
        X, codes = harder_data(rows, features)
        fair = NullSpaceFairPCA(3)
        yield (
            f"NullSpaceFairPCA / closed form, {rows} x {features}",
            1.0,
            lambda f=fair, X=X, c=codes, n=repetitions: ratio(
                lambda: f.fit(X, sensitive_features=c),
                lambda: null_space_formula(X, c, 3),
                n,
            ),
        )


def main() -> dict[str, dict[str, Any]]:
    return judged("fit", chain(sizes(), formats(), transforms(), null_spaces()))


if __name__ == "__main__":
    main()
