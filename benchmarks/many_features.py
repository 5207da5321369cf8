"""Many features: the fit by products against PCA, in CPU time, and how sound its proofs are.

``python -m benchmarks.many_features [part ...]`` runs some parts: dense, wide, sparse, text, faces,
search, sound, event. Every ratio is of CPU time in one process, both sides with one thread of BLAS.
At the end each goal is printed with what was measured, met or missed.
"""

from __future__ import annotations

import json
import statistics
import sys
import sysconfig
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from scipy.stats import binom
from sklearn.decomposition import PCA
from threadpoolctl import threadpool_limits

from benchmarks import large
from benchmarks.measure import RESULTS, write
from fairspan import RobustFairPCA, RobustFairPCACV

K = 10
PLAIN = {"fairness_weight": 0.2, "radius": 0.0}
ROBUST = {"fairness_weight": 0.5, "radius": 0.1}


def cpu_seconds(run: Callable[[], Any]) -> tuple[float, Any]:
    """CPU time of one run, and what it gave."""
    start = time.process_time()
    found = run()
    return time.process_time() - start, found


def against(
    X: Any, groups: np.ndarray, solver: str, setting: dict[str, float], tol: float = 1e-8
) -> dict[str, Any]:
    """One fit by products against PCA, one after the other."""
    model = RobustFairPCA(K, **setting, tol=tol, route="products")
    theirs, _ = cpu_seconds(lambda: PCA(K, svd_solver=solver, random_state=0).fit(X))
    ours, _ = cpu_seconds(lambda: model.fit(X, sensitive_features=groups))
    return {
        "solver": solver,
        "ratio": ours / theirs,
        "seconds": ours,
        "reference_seconds": theirs,
        "gap": model.optimality_gap_,
        "status": model.result_.status,
        "proof": model.result_.proof,
        "passes": model.result_.n_passes,
        **setting,
    }


def dense_rows(n: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Factors of falling size, which vary differently in two groups, under noise."""
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, 2, n)
    loadings = rng.standard_normal((40, d)) * (np.arange(1, 41) ** -0.5)[:, None]
    factors = rng.standard_normal((n, 40))
    factors[groups == 1] *= np.linspace(0.6, 1.4, 40)
    X = factors @ loadings
    X += 0.7 * rng.standard_normal((n, d))
    return X + 0.3 * rng.standard_normal(d), groups


def topics(n: int, d: int, share: float, seed: int) -> tuple[Any, np.ndarray]:
    """Texts: each row has a topic, topics prefer some words, and groups prefer some topics."""
    rng = np.random.default_rng(seed)
    n_topics, words = 30, int(share * d)
    common = 1 / np.arange(1, d + 1) ** 0.9
    groups = (rng.random(n) < 0.4).astype(int)
    preferred = rng.dirichlet(np.full(n_topics, 0.5), 2)
    topic = np.zeros(n, dtype=int)
    for a in (0, 1):
        members = groups == a
        topic[members] = rng.choice(n_topics, members.sum(), p=preferred[a])
    rows, columns = [], []
    for t in range(n_topics):
        chances = common.copy()
        special = rng.choice(d, 60, replace=False)
        chances[special] += common[:400].sum() / 60 * rng.gamma(1.0, 1.0, 60)
        chances[:200] *= 0.3
        below = np.cumsum(chances) / chances.sum()
        members = np.flatnonzero(topic == t)
        columns.append(np.searchsorted(below, rng.random((len(members), words))).ravel())
        rows.append(np.repeat(members, words))
    entries = (np.ones(n * words), (np.concatenate(rows), np.concatenate(columns)))
    X = sparse.csr_matrix(entries, shape=(n, d))
    X.sum_duplicates()
    X.data = 1 + np.log(X.data)
    lengths = np.sqrt(np.add.reduceat(X.data**2, X.indptr[:-1]))
    X.data /= np.repeat(lengths, np.diff(X.indptr))
    return X, groups


def python_texts() -> tuple[Any, np.ndarray]:
    """tf-idf of the Python sources installed here, 30 lines a row; groups: tests and others."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts, groups = [], []
    for folder in (sysconfig.get_path("stdlib"), sysconfig.get_path("purelib")):
        for path in sorted(Path(folder).rglob("*.py")):
            lines = path.read_text(encoding="utf-8", errors="ignore").splitlines()
            some = ["\n".join(lines[i : i + 30]) for i in range(0, len(lines), 30)]
            texts += some
            groups += ["test" in str(path)] * len(some)
    X = TfidfVectorizer(sublinear_tf=True, min_df=5).fit_transform(texts)
    return X, np.array(groups)


def dense() -> dict[str, Any]:
    X, groups = dense_rows(5_000, 20_000)
    return {"shape": X.shape, "fits": [against(X, groups, "arpack", s) for s in (PLAIN, ROBUST)]}


def wide() -> dict[str, Any]:
    X, groups = dense_rows(2_000, 20_000)
    fits = [against(X, groups, "randomized", s, tol=1e-6) for s in (PLAIN, ROBUST)]
    return {"shape": X.shape, "fits": fits}


def sparse_rows() -> dict[str, Any]:
    found: list[dict[str, Any]] = []
    for seed in range(5):
        X, groups = topics(200_000, 50_000, 1e-3, seed)
        found += [{"seed": seed, **against(X, groups, "arpack", s)} for s in (PLAIN, ROBUST)]
    tracemalloc.start()
    RobustFairPCA(K, **ROBUST).fit(X, sensitive_features=groups)
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    medians = {
        name: statistics.median(one["ratio"] for one in found if one["radius"] == s["radius"])
        for name, s in (("plain", PLAIN), ("robust", ROBUST))
    }
    return {"entries": X.nnz, "median_ratios": medians, "peak_mb": peak, "fits": found}


def text() -> dict[str, Any]:
    X, groups = python_texts()
    fits = [against(X, groups, "arpack", s) for s in (PLAIN, ROBUST)]
    return {"shape": X.shape, "entries": X.nnz, "fits": fits}


def faces() -> dict[str, Any]:
    """Labelled faces in the wild, both routes; the least of three times each, in turns."""
    X, groups, _ = large.faces()
    found: dict[str, Any] = {"shape": X.shape}
    for name, setting in (("plain", PLAIN), ("robust", ROBUST)):
        models = [RobustFairPCA(K, **setting, route=one) for one in ("moments", "products")]
        times = [
            [cpu_seconds(lambda m=m: m.fit(X, sensitive_features=groups))[0] for m in models]
            for _ in range(3)
        ]
        least = np.min(times, axis=0).tolist()
        values = [model.objective_ for model in models]
        apart = abs(values[1] - values[0]) / values[0]
        found[name] = {"ratio": least[1] / least[0], "seconds": least, "difference": apart}
    return found


def search() -> dict[str, Any]:
    """The default grid of a search: many sparse features, and both routes where moments fit."""
    X, groups = topics(100_000, 30_000, 1e-3, 0)
    many = RobustFairPCACV(K, route="products")
    seconds, _ = cpu_seconds(lambda: many.fit(X, sensitive_features=groups))
    few, codes = dense_rows(600, 1_000)
    models = [RobustFairPCACV(K, route=one) for one in ("moments", "products")]
    times = [
        [cpu_seconds(lambda m=m: m.fit(few, sensitive_features=codes))[0] for m in models]
        for _ in range(3)
    ]
    least = np.min(times, axis=0).tolist()
    return {
        "shape": X.shape,
        "candidates": len(many.cv_results_["params"]),
        "seconds": seconds,
        "gap": float(many.cv_results_["optimality_gap"].max()),
        "proof": many.proof_,
        "dense": {"shape": few.shape, "ratio": least[1] / least[0], "seconds": least},
    }


def sound(problems: int = 2_000) -> dict[str, Any]:
    """Bounds above the truth."""
    from tests.products.test_solve import many

    above, proved, by_chance = many(range(1_000, 1_000 + problems))
    return {
        "problems": problems,
        "stated_failure": 1e-3,
        "bounds_above_truth": above,
        "proved": proved,
        "by_chance": by_chance,
    }


def sound_many_groups(problems: int = 300) -> dict[str, Any]:
    """Bounds above what moments attain: three groups and more, radii and references."""
    from tests.products.test_mixtures import many_hard

    above, proved, by_moments = many_hard(range(1_000, 1_000 + problems))
    return {
        "problems": problems,
        "stated_failure": 1e-3,
        "bounds_above_truth": above,
        "proved": proved,
        "proved_by_moments": by_moments,
    }


def event(draws: int = 1_000) -> dict[str, Any]:
    """How often the random event fails, and how often the bound that rests on it."""
    from tests.products.test_tail import made_basis, run, short_starts

    found = {}
    for failure in (0.1, 0.3):
        basis, truth, _ = made_basis(0)
        rng = np.random.default_rng(1)
        failed = sum(bool(run(basis, failure, rng, 3).lowest < truth) for _ in range(draws))
        low, high = binom.ppf([1e-4, 1 - 1e-4], draws, failure)
        found[str(failure)] = {
            "draws": draws,
            "failed_events": short_starts(failure, draws),
            "failed_bounds": failed,
            "limits": [int(low), int(high)],
        }
    return found


PARTS: dict[str, Callable[[], dict[str, Any]]] = {
    "dense": dense,
    "wide": wide,
    "sparse": sparse_rows,
    "text": text,
    "faces": faces,
    "search": search,
    "sound": sound,
    "sound_many_groups": sound_many_groups,
    "event": event,
}


def goals(figures: dict[str, Any]) -> list[tuple[str, float, float]]:
    """What was to be shown: a name, the figure, and the most it may be."""
    found: list[tuple[str, float, float]] = []
    for part, most in (("dense", (1.1, 1.1)), ("wide", (2.0, 2.0)), ("text", (4.0, 5.5))):
        fits = figures.get(part, {}).get("fits", [])
        names = f"{part}, weight .2, radius 0", f"{part}, weight .5, radius .1"
        found += [(n, f["ratio"], m) for n, f, m in zip(names, fits, most, strict=False)]
    if "sparse" in figures:
        medians = figures["sparse"]["median_ratios"]
        found += [("sparse, weight .2, radius 0, median of seeds", medians["plain"], 3.0)]
        found += [("sparse, weight .5, radius .1, median of seeds", medians["robust"], 4.5)]
        found += [("sparse, growth of memory in MB", figures["sparse"]["peak_mb"], 1e3)]
    for name in ("plain", "robust") if "faces" in figures else ():
        found += [(f"faces, {name}, time over moments", figures["faces"][name]["ratio"], 1.0)]
        found += [(f"faces, {name}, objective apart", figures["faces"][name]["difference"], 1e-8)]
    if "search" in figures:
        found += [("search, sparse, seconds", figures["search"]["seconds"], 60.0)]
        found += [("search, dense, time over moments", figures["search"]["dense"]["ratio"], 2.0)]
    for part in ("sound", "sound_many_groups"):
        if part in figures:
            most = binom.ppf(1 - 1e-4, figures[part]["problems"], 1e-3)
            found += [
                (f"{part}: bounds above the truth", figures[part]["bounds_above_truth"], most)
            ]
    for failure, seen in figures.get("event", {}).items():
        found += [(f"failed events at {failure}", seen["failed_events"], seen["limits"][1])]
        found += [(f"failed bounds at {failure}", seen["failed_bounds"], seen["limits"][1])]
    return found


def main(names: list[str] | None = None) -> dict[str, Any]:
    path = RESULTS / "many_features.json"
    figures: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    for name in names or PARTS:
        with threadpool_limits(1):
            figures[name] = PARTS[name]()
        print(name, json.dumps(figures[name]), flush=True)
        write("many_features", figures)
    for name, figure, most in goals(figures):
        print(f"{'met   ' if figure <= most else 'MISSED'} {name}: {figure:.3g}, at most {most:g}")
    return figures


if __name__ == "__main__":
    main(sys.argv[1:])
