"""Do the statements about new rows hold? Coverage, size and power of ``fairspan.inference``.

A whole table is the population; rows are drawn from it with replacement, the recipe standardises by
the sample, and the truth is what the delivered projection does to the whole table. Every part
(``python -m benchmarks.coverage intervals sizes ...``) adds its figures to results/coverage.json;
``--draws N`` is for a quick look.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.fit import made_data
from benchmarks.measure import RESULTS, ratio, write
from fairspan import RobustFairPCA, certify
from fairspan.inference import crossfit, gap_test, reduction_test
from tests.conftest import PAPER_FILES, paper_table

Rows = tuple[np.ndarray, np.ndarray]
WEIGHTS = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0)


@cache
def population(name: str) -> Rows:
    """A table; "gaussian" has the moments of its groups, "clipped" ends at 3 deviations."""
    name, _, kind = name.partition(" ")
    X, groups, _ = paper_table(name)
    if kind == "clipped":
        mean, spread = X.mean(axis=0), X.std(axis=0)
        X = np.clip(X, mean - 3 * spread, mean + 3 * spread)
    if kind == "gaussian":
        rng, parts = np.random.default_rng(0), []
        for a in (0, 1):
            own = X[groups == a]
            size = 40_000 * len(own) // len(X)
            parts.append(rng.multivariate_normal(own.mean(axis=0), np.cov(own.T), size))
        X, groups = np.vstack(parts), np.repeat([0, 1], [len(part) for part in parts])
    return X, groups


def draws(name: str, n: int, number: int) -> Iterator[tuple[np.random.Generator, Rows]]:
    X, groups = population(name)
    for seed in range(number):
        rng = np.random.default_rng(seed)
        rows = rng.integers(len(X), size=n)
        if min(np.bincount(groups[rows], minlength=2)) >= 2:
            yield rng, (X[rows], groups[rows])


def fair(k: int, **settings: Any) -> RobustFairPCA:
    return RobustFairPCA(k, radius=0.0, standardize=True, **settings)


def truth(model: Any, X: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Total error, and that of each group, over the whole table."""
    errors = model.reconstruction_errors(X)
    return np.array([errors.mean(), *(errors[groups == a].mean() for a in np.unique(groups))])


def holds(interval: Any, value: float) -> bool:
    return bool(interval[0] <= value <= interval[1])


def held(found: Any, true: np.ndarray) -> list[bool]:
    """Whether the intervals of total, groups, difference and gap hold."""
    apart = true[2] - true[1]
    groups = [holds(i, t) for i, t in zip(found.group_intervals, true[1:], strict=True)]
    rest = [holds(found.difference_interval, apart), holds(found.gap_interval, abs(apart))]
    return [holds(found.total_interval, true[0]), *groups, *rest]


INTERVALS = [
    ("wine_quality gaussian", 150, 3, {}),
    ("wine_quality clipped", 150, 3, {}),
    ("magic clipped", 200, 3, {}),
    ("skillcraft clipped", 200, 3, {}),
    ("letter", 500, 5, {}),
    ("magic", 1000, 1, {}),
    ("wine_quality", 150, 3, {"clip": 2.5}),
    ("magic", 200, 3, {"clip": 2.5}),
    ("skillcraft", 200, 3, {"clip": 2.5}),
]


RATIOS = ("in_sample_over_true", "gap_in_sample", "true_gap")


def intervals(number: int = 200) -> dict[str, Any]:
    """Coverage of total, each group, difference and gap, in per cent, for a fair projection."""
    found = {}
    for name, n, k, settings in INTERVALS:
        hits, ratios, scarce, claimed = [], [], 0, []
        for _, (X, groups) in draws(name, n, number):
            result = crossfit(fair(k, **settings), X, sensitive_features=groups)
            model = fair(k, **settings).fit(X, sensitive_features=groups)
            true = truth(model, *population(name))
            hits.append(held(result, true))
            claimed.append(result.level is not None)
            scarce += bool(result.low_support)
            apart = abs(true[2] - true[1])
            ratios.append([model.total_error_ / true[0], model.error_gap_, apart])
        label = f"{name} {n}" + (" clip=2.5" if settings else "")
        found[label] = {
            **_shares(hits),
            "low_support": 100 * scarce / len(hits),
            **dict(zip(RATIOS, np.mean(ratios, axis=0), strict=True)),
        }
        print(label, found[label], flush=True)
    return found


def _shares(hits: list[list[bool]]) -> dict[str, float]:
    names = ("total", "group 0", "group 1", "difference", "gap")
    return dict(zip(names, 100 * np.mean(hits, axis=0), strict=True)) | {"draws": len(hits)}


def warnings_of_support(number: int = 200) -> dict[str, float]:
    """In how many samples, in per cent, columns are named and no level is claimed."""
    cells = {"wine_quality": 150, "parkinsons": 300, "default_credit": 600, "e_coli": 100}
    found = {}
    for name, n in (cells | {"biodeg": 300}).items():
        results = [
            crossfit(fair(1), X, sensitive_features=groups, folds=2)
            for _, (X, groups) in draws(name, n, number)
        ]
        named = [bool(result.low_support) and result.level is None for result in results]
        found[f"{name} {n}"] = 100 * float(np.mean(named))
    print(found, flush=True)
    return found


def many_labels(rng: np.random.Generator, n: int, kind: Any) -> np.ndarray:
    """Labels that say nothing: a share of the second of two groups, or a number of groups."""
    if isinstance(kind, float):
        return rng.permutation(np.arange(n) < round(kind * n)).astype(int)
    if kind == 40:
        sizes = np.unique(np.linspace(1, 80, 40).astype(int))
        return rng.permutation(np.repeat(np.arange(len(sizes)), sizes))[:n]
    return rng.permutation(np.arange(n) % kind)


SIZES = [
    *(
        (name, n, kind)
        for name, n in (("wine_quality", 200), ("magic", 200))
        for kind in (0.5, 0.2, 0.05)
    ),
    ("letter", 300, 0.5),
    ("letter", 300, 0.05),
    ("german_credit", 300, 0.2),
    ("parkinsons", 200, 0.2),
    ("skillcraft", 200, 0.05),
    ("wine_quality", 300, 6),
    ("letter", 300, 6),
    ("magic", 1620, 40),
]


def sizes(number: int = 400) -> dict[str, Any]:
    """How often the gap test rejects random labels at 5 %, in per cent."""
    found = {}
    for name, n, kind in SIZES:
        rejected = []
        for rng, (X, _) in draws(name, n, number):
            labels = many_labels(rng, n, kind)
            test = gap_test(
                X[: len(labels)], sensitive_features=labels, n_components=3, standardize=True
            )
            rejected.append(test.pvalue <= 0.05)
        found[f"{name} {n} {kind}"] = 100 * float(np.mean(rejected))
        print(name, n, kind, found[f"{name} {n} {kind}"], flush=True)
    return found


def reductions(number: int = 400) -> dict[str, Any]:
    """Claims of a reduced or widened gap, in per cent: of random labels, and of real groups."""
    found: dict[str, Any] = {}
    for name, n in (("wine_quality", 200), ("magic", 200), ("letter", 300), ("skillcraft", 200)):
        for kind in (0.5, 0.2):
            claims = [
                reduction_test(fair(3), X, sensitive_features=many_labels(rng, n, kind)).verdict
                for rng, (X, _) in draws(name, n, number)
            ]
            found[f"{name} {n} random {kind}"] = _claims(claims)
            print(name, n, kind, found[f"{name} {n} random {kind}"], flush=True)
    for name, n in (
        ("magic", 200),
        ("biodeg", 300),
        ("wine_quality", 1000),
        ("german_credit", 300),
    ):
        claims, wrong, smaller = [], 0, 0
        for _, (X, groups) in draws(name, n, number // 4):
            verdict = reduction_test(fair(3), X, sensitive_features=groups).verdict
            gaps = []
            for weight in (0.0, 1.0):
                model = fair(3, fairness_weight=weight).fit(X, sensitive_features=groups)
                gaps.append(abs(np.diff(truth(model, *population(name))[1:])[0]))
            is_smaller = gaps[1] < gaps[0]
            smaller += is_smaller
            wrong += verdict == ("widened" if is_smaller else "reduced")
            claims.append(verdict)
        figures = {"wrong": 100 * wrong / len(claims), "smaller": 100 * smaller / len(claims)}
        found[f"{name} {n} real"] = _claims(claims) | figures
        print(name, n, found[f"{name} {n} real"], flush=True)
    return found


def _claims(verdicts: list[Any]) -> dict[str, float]:
    return {
        claim: 100 * float(np.mean([verdict == claim for verdict in verdicts]))
        for claim in ("reduced", "widened")
    }


CERTIFICATES = [
    ("wine_quality", 150),
    ("skillcraft", 200),
    ("magic", 200),
    ("german_credit", 300),
    ("default_credit", 600),
    ("default_credit", 2000),
    ("e_coli", 100),
    ("wine_quality", 1000),
    ("letter", 500),
    ("biodeg", 300),
]


def certificates(number: int = 200) -> dict[str, Any]:
    """Coverage of the bounds for the population, and how large they are against the truth."""
    found = {}
    for name, n in CERTIFICATES:
        hits, ratios = [], []
        for _, (X, groups) in draws(name, n, number):
            if np.bincount(groups).min() < 5:
                continue
            given = {"sensitive_features": groups}
            models = [fair(3).fit(X, **given), _chosen(X, groups)]
            for model in models:
                bounds = certify(
                    model.components_,
                    X,
                    **given,
                    standardize=True,
                    fairness_weight=1.0,
                    radius=0.0,
                    population=0.95,
                    tol=1e-2,
                ).population
                true = truth(model, *population(name))
                gap = abs(true[2] - true[1])
                pairs = [(bounds.total, true[0]), (bounds.gap, gap)]
                pairs.append((bounds.objective, true[0] + gap))
                hits.append([bound >= value for bound, value in pairs])
                ratios.append(bounds.total / true[0])
        fixed, chosen = (100 * np.mean(hits[first::2], axis=0) for first in (0, 1))
        found[f"{name} {n}"] = {
            "fixed": dict(zip(("total", "gap", "sum"), fixed, strict=True)),
            "chosen": dict(zip(("total", "gap", "sum"), chosen, strict=True)),
            "bound_over_truth": float(np.mean(ratios[::2])),
            "draws": len(hits) // 2,
        }
        print(name, n, found[f"{name} {n}"], flush=True)
    return found


def _chosen(X: np.ndarray, groups: np.ndarray) -> RobustFairPCA:
    """Of 6 weights and 5 numbers of components, the best total plus gap against PCA's."""
    best, moments = None, None
    for k in range(1, min(5, X.shape[1] - 1) + 1):
        plain = None
        for weight in WEIGHTS:
            model = fair(k, fairness_weight=weight, tol=1e-4)
            if moments is None:
                moments = model.fit(X, sensitive_features=groups).moments_
            model.fit_moments(moments)
            score = model.total_error_ + model.error_gap_
            plain = score if plain is None else plain
            if plain > 1e-9 and (best is None or score / plain < best[0]):
                best = (score / plain, model)
    assert best is not None
    return best[1]


def weights_and_clusters(number: int = 200) -> dict[str, Any]:
    """Coverage where rows were drawn unequally and are weighted, or come in clusters."""
    found = {}
    for name, n in (("letter", 500), ("wine_quality clipped", 300)):
        X, groups = population(name)
        odds = np.exp(0.7 * np.random.default_rng(0).standard_normal(len(X)))
        hits: dict[str, list[list[bool]]] = {"weighted": [], "clusters": [], "rejected": []}
        for seed in range(number):
            rng = np.random.default_rng(seed)
            rows = rng.choice(len(X), n, p=odds / odds.sum())
            given = {"sensitive_features": groups[rows], "sample_weight": 1 / odds[rows]}
            model = fair(3).fit(X[rows], **given)
            result = crossfit(fair(3), X[rows], **given)
            hits["weighted"].append(held(result, truth(model, X, groups)))
            persons = np.repeat(rng.integers(len(X), size=n // 2), rng.integers(1, 4, n // 2))
            clusters = np.unique(persons, return_inverse=True)[1]
            given = {"sensitive_features": groups[persons], "clusters": clusters}
            model = fair(3).fit(X[persons], sensitive_features=groups[persons])
            result = crossfit(fair(3), X[persons], **given)
            hits["clusters"].append(held(result, truth(model, X, groups)))
            labels = rng.integers(0, 2, n)
            tests = [
                gap_test(
                    X[rows],
                    sensitive_features=labels,
                    sample_weight=1 / odds[rows],
                    n_components=3,
                    standardize=True,
                ),
                gap_test(
                    X[persons],
                    sensitive_features=rng.integers(0, 2, len(X))[persons],
                    clusters=clusters,
                    n_components=3,
                    standardize=True,
                ),
            ]
            hits["rejected"].append([test.pvalue <= 0.05 for test in tests])
        rejected = 100 * np.mean(hits.pop("rejected"), axis=0)
        found[f"{name} {n}"] = {kind: _shares(values) for kind, values in hits.items()}
        found[f"{name} {n}"]["rejected"] = dict(
            zip(("weighted", "clusters"), rejected, strict=True)
        )
        print(name, n, found[f"{name} {n}"], flush=True)
    return found


def six_groups(number: int = 200) -> dict[str, Any]:
    """How often all differences of six groups hold at once, and the gap, for PCA."""
    found = {}
    for name, n in (("letter", 500), ("wine_quality clipped", 400), ("magic clipped", 400)):
        X, _ = population(name)
        groups = np.searchsorted(np.quantile(X[:, 0], np.arange(1, 6) / 6), X[:, 0])
        labels = np.unique(groups)
        hits = []
        for seed in range(number):
            rows = np.random.default_rng(seed).integers(len(X), size=n)
            recipe = fair(3, fairness_weight=0.0)
            result = crossfit(recipe, X[rows], sensitive_features=groups[rows])
            true = truth(recipe.fit(X[rows], sensitive_features=groups[rows]), X, groups)[1:]
            apart = true[:, None] - true
            low, high = np.moveaxis(result.difference_interval, -1, 0)
            inside = ((low <= apart) & (apart <= high)) | np.eye(len(labels), dtype=bool)
            hits.append([inside.all(), holds(result.gap_interval, float(np.ptp(true)))])
        found[f"{name} {n}"] = dict(zip(("all", "gap"), 100 * np.mean(hits, axis=0), strict=True))
        print(name, n, found[f"{name} {n}"], flush=True)
    return found


def tables(number: int = 0) -> dict[str, Any]:
    """Tell for the paper's tables whether there is a gap to close, and whether it closes."""
    found = {}
    for name in PAPER_FILES:
        X, groups, _ = paper_table(name)
        test = gap_test(X, sensitive_features=groups, n_components=3, standardize=True)
        change = reduction_test(fair(3), X, sensitive_features=groups)
        found[name] = {
            "rows": len(X),
            "pvalue": test.pvalue,
            "low_support": len(test.low_support),
            "difference": change.plain.difference,
            "interval": change.plain.difference_interval.tolist(),
            "fair_difference": change.fair.difference,
            "fair_interval": change.fair.difference_interval.tolist(),
            "verdict": change.verdict,
        }
        print(name, found[name], flush=True)
    return found


def cost(number: int = 15) -> dict[str, Any]:
    """Cross-fitting over one fit in CPU time, two groups, 20,000 rows of 50 features."""
    X, groups = made_data(20_000, 50)
    given, found = {"sensitive_features": groups}, {}
    for standardize in (False, True):
        model = RobustFairPCA(3, radius=0.0, standardize=standardize)
        found[f"standardize={standardize}"] = ratio(
            lambda model=model: crossfit(model, X, **given),
            lambda model=model: model.fit(X, **given),
            number,
            time.process_time,
        )
    print(found, flush=True)
    return found


PARTS: dict[str, Callable[..., Any]] = {
    part.__name__: part
    for part in (
        intervals,
        warnings_of_support,
        sizes,
        reductions,
        certificates,
        weights_and_clusters,
        six_groups,
        tables,
        cost,
    )
}


def main(names: list[str] | None = None) -> dict[str, Any]:
    names = list(names or [])
    given: tuple[int, ...] = ()
    if "--draws" in names:
        place = names.index("--draws")
        given = (int(names[place + 1]),)
        del names[place : place + 2]
    path = RESULTS / "coverage.json"
    found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        for name in names or PARTS:
            print(f"-- {name}", flush=True)
            found[name] = PARTS[name](*given)
            if not given:
                write("coverage", found)
    return found


if __name__ == "__main__":
    main(sys.argv[1:])
