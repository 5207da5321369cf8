"""Does robustness help out of sample? The paper's toy and its data sets, against radius 0.

Every rule for the radius sees the same training rows and is judged on the same test rows by total
error plus gap, so that differences to radius 0 are paired. In the scenarios of shift the test rows
are not like the training rows: older, larger, better. Figures go to docs/images, numbers to
results/robustness_study.json: ``python -m benchmarks.robustness_study``.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.measure import write
from fairspan import GroupMoments, RobustFairPCA, RobustFairPCACV, metrics
from tests.conftest import PAPER_FILES, data_directory, paper_table

IMAGES = Path(__file__).parent.parent / "docs" / "images"
COVARIANCES = np.array([[[4.0, 0.0], [0.0, 0.2]], [[0.2, 0.4], [0.4, 3.0]]])
ALPHAS = np.linspace(0, 10, 21)
CANDIDATES = (0.0, 0.05, 0.1, 0.15, 0.5, 1.0, 2.0, 5.0, 10.0)
FIXED = {"first group 0": 0.0, "first group 0.1 / sqrt(n)": 0.1, "first group 1 / sqrt(n)": 1.0}
SEEDS = range(6)


def judge(model: Any, test: GroupMoments) -> float:
    errors = metrics.group_errors(model, test)
    return errors.overall + errors.difference


def draw(rng: np.random.Generator, sizes: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    parts = [rng.multivariate_normal([0, 0], c, n) for c, n in zip(COVARIANCES, sizes, strict=True)]
    return np.vstack(parts), np.repeat([0, 1], sizes)


def rules(X: np.ndarray, groups: np.ndarray, k: int, weight: float, seed: int) -> dict[str, Any]:
    """Fitted models by the rule that set their radius; X is in the units to be used."""
    common = {"n_components": k, "fairness_weight": weight}
    given = {"sensitive_features": groups}
    search = RobustFairPCACV(k, fairness_weights=[weight], radii=CANDIDATES, random_state=seed).fit(
        X, **given
    )
    moments = search.moments_
    return {
        "radius 0": RobustFairPCA(**common, radius=0.0).fit_moments(moments),
        "alpha 0.1": RobustFairPCA(**common, radius=0.1).fit_moments(moments),
        "alpha 1": RobustFairPCA(**common, radius=1.0).fit_moments(moments),
        "cross-validated": search,
        "bootstrap": RobustFairPCA(
            **common, radius="bootstrap", n_bootstrap=60, random_state=seed
        ).fit(X, **given),
    }


def toy(simulations: int = 100) -> dict[str, Any]:
    """The paper's radius figure, for several radii of the first group, and the rules."""
    curves: dict[str, list[list[float]]] = {name: [] for name in FIXED}
    scores: dict[str, list[float]] = {}
    for seed in range(simulations):
        rng = np.random.default_rng(seed)
        test = GroupMoments.from_arrays(*draw(rng, (8000, 4000)))
        X, groups = draw(rng, (200, 100))
        train = GroupMoments.from_arrays(X, groups)
        for name, alpha in FIXED.items():
            radii = [{0: alpha / 200**0.5, 1: a / 100**0.5} for a in ALPHAS]
            models = [RobustFairPCA(1, fairness_weight=0.1, radius=r) for r in radii]
            curves[name].append([judge(m.fit_moments(train), test) for m in models])
        for name, model in rules(X, groups, 1, 0.1, seed).items():
            scores.setdefault(name, []).append(judge(model, test))
    means = {name: np.mean(rows, axis=0).tolist() for name, rows in curves.items()}
    spread = {name: np.std(rows, axis=0).tolist() for name, rows in curves.items()}
    return {"alphas": ALPHAS.tolist(), "mean": means, "std": spread, "rules": _paired(scores)}


def _paired(scores: dict[str, list[float]]) -> dict[str, dict[str, float]]:
    """Mean score of each rule and, relative to radius 0, its paired difference in per cent."""
    plain = np.array(scores["radius 0"])
    found = {}
    for name, values in scores.items():
        difference = 100 * (np.array(values) / plain - 1)
        error = float(difference.std(ddof=1) / len(values) ** 0.5)
        found[name] = {
            "score": float(np.mean(values)),
            "per_cent": float(difference.mean()),
            "standard_error": error,
        }
    return found


def data_set(name: str, rows: int | None, weight: float = 0.5) -> dict[str, dict[str, float]]:
    """Rules on one data set; training on so many rows, or on 30 %, of every group alike."""
    X, groups, _ = paper_table(name)
    share = 0.3 if rows is None else rows / len(X)
    scores: dict[str, list[float]] = {}
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        chosen = np.zeros(len(X), dtype=bool)
        for a in (0, 1):
            own = rng.permutation(np.flatnonzero(groups == a))
            chosen[own[: max(int(share * len(own)), 12)]] = True
        mean, spread = X[chosen].mean(axis=0), X[chosen].std(axis=0)
        scaled = (X - mean) / np.where(spread <= 1e-10, 1.0, spread)
        # A column that is constant in training says nothing there, and anything in the test.
        scaled = scaled[:, spread > 1e-10]
        test = GroupMoments.from_arrays(scaled[~chosen], groups[~chosen])
        k = min(3, scaled.shape[1] - 1)
        for rule, model in rules(scaled[chosen], groups[chosen], k, weight, seed).items():
            scores.setdefault(rule, []).append(judge(model, test))
    return _paired(scores)


SHIFTS = {
    "better wines": ("wine_quality", None, 200),
    "older borrowers": ("default_credit", "AGE", 600),
    "older patients": ("parkinsons", "age", 300),
    "higher leagues": ("skillcraft", "LeagueIndex", 300),
    "denser letters": ("letter", "NumPix", 300),
    "larger showers": ("magic", "fSize", 300),
    "longer loans": ("german_credit", "A2", 300),
}
"""Table, the column that shifts (None: the label of the rows) and training rows."""
ALIKE = {name: SHIFTS[name] for name in list(SHIFTS)[:5]}
RULES = ("alpha 0.1", "alpha 1", "alpha 10", "bootstrap", "cross-validated", "PCA")


def scenario(
    name: str, column: str | None, rows: int, *, shifted: bool, draws: int = 25
) -> dict[str, dict[str, float]]:
    """Rules trained on rows low in a column and tested on those high in it, or on rows alike."""
    X, groups, names = paper_table(name)
    by = X[:, names.index(column)] if column else _labels(name)
    X = X[:, [other != column for other in names]]
    high = by > np.median(by) if column else by > 0
    scores: dict[str, list[float]] = {}
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        if shifted:
            train = rng.choice(np.flatnonzero(~high), rows)
            test = np.flatnonzero(high)
        else:
            order = rng.permutation(len(X))
            train, test = order[:rows], order[rows:]
        mean, spread = X[train].mean(axis=0), X[train].std(axis=0)
        # What is constant in training says nothing there, and anything in the test.
        scaled = ((X - mean) / np.where(spread > 0, spread, 1.0))[:, spread > 1e-10]
        held = GroupMoments.from_arrays(scaled[test], groups[test])
        for rule, model in _candidates(scaled[train], groups[train], seed).items():
            scores.setdefault(rule, []).append(judge(model, held))
    return _paired(scores)


def _labels(name: str) -> np.ndarray:
    folder = data_directory()
    assert folder is not None
    with open(folder / PAPER_FILES[name]) as file:
        return np.array([float(line.split(",")[-2]) for line in list(file)[1:]])


def _candidates(X: np.ndarray, groups: np.ndarray, seed: int) -> dict[str, Any]:
    given = {"sensitive_features": groups}
    plain = RobustFairPCA(3, radius=0.0).fit(X, **given)
    found: dict[str, Any] = {"radius 0": plain}
    for alpha in (0.1, 1, 10):
        found[f"alpha {alpha}"] = RobustFairPCA(3, radius=alpha).fit_moments(plain.moments_)
    bootstrap = RobustFairPCA(3, radius="bootstrap", n_bootstrap=60, random_state=seed)
    found["bootstrap"] = bootstrap.fit(X, **given)
    search = RobustFairPCACV(3, fairness_weights=[1.0], radii=(0, 0.1, 1, 10), random_state=seed)
    found["cross-validated"] = search.fit(X, **given)
    weightless = RobustFairPCA(3, fairness_weight=0.0, radius=0.0)
    found["PCA"] = weightless.fit_moments(plain.moments_)
    return found


def scenarios() -> dict[str, Any]:
    """All scenarios, and for each rule how often it helps and hurts by two standard errors."""
    found = {
        f"{name}{'' if shifted else ', alike'}": scenario(*cell, shifted=shifted)
        for shifted, cells in ((False, ALIKE), (True, SHIFTS))
        for name, cell in cells.items()
    }
    for rule in RULES:
        rows = [row[rule] for row in found.values()]
        change = np.array([row["per_cent"] for row in rows])
        error = np.array([row["standard_error"] for row in rows])
        same, other = change[: len(ALIKE)], change[len(ALIKE) :]
        print(
            f"{rule}: alike {same.mean():+.1f} ({same.min():+.1f} to {same.max():+.1f}), shifted "
            f"{other.mean():+.1f} ({other.min():+.1f} to {other.max():+.1f}), better "
            f"{(change < -2 * error).sum()}, worse {(change > 2 * error).sum()}",
            flush=True,
        )
    return found


def draw_figures(found: dict[str, Any]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
    for name, mean in found["toy"]["mean"].items():
        band = np.array(found["toy"]["std"][name]) / 10
        (line,) = axes.plot(ALPHAS, mean, label=name)
        axes.fill_between(ALPHAS, mean - band, mean + band, color=line.get_color(), alpha=0.2, lw=0)
    axes.set_xlabel("alpha of the second group")
    axes.set_ylabel("test total error + gap")
    axes.legend(frameon=False, title="radius of the")
    figure.savefig(IMAGES / "robustness-toy.png", dpi=90)
    sizes = [size for size in found if size not in ("toy", "scenarios")]
    figure, panels = plt.subplots(
        1, len(sizes), figsize=(8.4, 4.2), layout="constrained", sharey=True
    )
    for axes, size in zip(panels, sizes, strict=True):
        names = list(found[size])
        for shift, rule in enumerate(("alpha 0.1", "alpha 1", "cross-validated", "bootstrap")):
            rows = [found[size][name][rule] for name in names]
            place = np.arange(len(names)) + 0.15 * (shift - 1.5)
            axes.errorbar(
                [row["per_cent"] for row in rows],
                place,
                xerr=[2 * row["standard_error"] for row in rows],
                fmt="o",
                ms=3.5,
                lw=1,
                label=rule,
            )
        axes.axvline(0, color="#4a5560", lw=0.8)
        axes.set_xscale("symlog", linthresh=1.0)
        axes.set_xticks([-10, -1, 0, 1, 10], ["-10", "-1", "0", "1", "10"])
        axes.set_xticks([], minor=True)
        axes.set_yticks(range(len(names)), names)
        axes.set_title(size)
        axes.set_xlabel("% against radius 0 (less is better)")
    handles = panels[0].get_legend_handles_labels()
    figure.legend(*handles, frameon=False, loc="outside lower center", ncols=4)
    figure.savefig(IMAGES / "robustness-data.png", dpi=90)


def main() -> dict[str, Any]:
    warnings.simplefilter("ignore")
    found: dict[str, Any] = {}
    with threadpool_limits(1):
        found["scenarios"] = scenarios()
        found["toy"] = toy()
        print("toy", found["toy"]["rules"], flush=True)
        for size, rows in {"60 training rows": 60, "30 % of the rows": None}.items():
            found[size] = {}
            for name in PAPER_FILES:
                found[size][name] = data_set(name, rows)
                print(size, name, found[size][name], flush=True)
    write("robustness_study", found)
    draw_figures(found)
    return found


if __name__ == "__main__":
    main()
