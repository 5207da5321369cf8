"""Decisions after projections: Adult, German Credit, and whether the intervals hold.

``python -m benchmarks.downstream adult german coverage``; each part adds its figures to
results/downstream.json and prints a table.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score

from benchmarks.measure import RESULTS, write
from fairspan import FairPCA, RobustFairPCA, assess_downstream, datasets
from fairspan.downstream import DownstreamResult
from fairspan.downstream.reading import against_pca, of_choice, shown_metrics, with_interval
from tests.conftest import data_directory

RULE = "highest accuracy with demographic_parity_difference <= 0.1"


def table_and_figures(result: DownstreamResult, started: float) -> dict[str, Any]:
    """Print a table and return the figures."""
    heads = shown_metrics(result)
    rows: dict[tuple[Any, ...], list[str]] = {}
    for name in heads:
        for row in result.summary(name):
            if row["group"] is None:
                key = row["method"], row["n_components"]
                rows.setdefault(key, [str(part or "") for part in key]).append(with_interval(row))
    names = [name.replace("_", " ") for name in heads]
    for cells in (["method", "k", *names], ["---"] * (2 + len(names)), *rows.values()):
        print("| " + " | ".join(cells) + " |")
    choice = result.best(RULE)
    sentences = [*against_pca(result), of_choice(choice, heads)]
    print(*sentences, sep="\n")
    overall = [row for row in result.summary(heads) if row["group"] is None]
    return {
        "splits": result.n_splits,
        "rows_to_fit": result.n_train,
        "rows_to_judge": result.n_test,
        "seconds": time.monotonic() - started,
        "summary": overall,
        "choice": vars(choice),
        "sentences": sentences,
    }


def adult() -> dict[str, Any]:
    """The census table that ships: income from everything but sex, by sex."""
    import pandas as pd

    started, table = time.monotonic(), datasets.load("adult")
    frame = pd.DataFrame(table.columns).drop(columns=["income", "sex"])
    result = assess_downstream(
        frame,
        table.target,
        table.sensitive_features,
        n_components=[2, 5, 15],
        n_splits=20,
        n_jobs=2,
    )
    return table_and_figures(result, started)


def german() -> dict[str, Any]:
    """German Credit as the paper prepares it: the label it drops, by the attribute it compares."""
    started, folder = time.monotonic(), data_directory()
    assert folder is not None, "needs FAIRSPAN_DATA"
    table = datasets.load("german_credit")
    label = np.loadtxt(folder / "German_Credit_Data.csv", delimiter=",", skiprows=1)[:, -2]
    result = assess_downstream(
        table.X,
        label.astype(int),
        table.sensitive_features,
        n_components=[2, 5, 15],
        n_splits=20,
        n_jobs=2,
    )
    return table_and_figures(result, started)


def coverage(draws: int = 200, n: int = 400) -> dict[str, Any]:
    """How often the 95 % interval of a difference to PCA holds the mean over training samples."""

    def sample(rng: np.random.Generator, size: int) -> tuple[Any, Any, Any]:
        group = (rng.random(size) < 0.3).astype(int)
        X = rng.normal(size=(size, 8)) * np.where(group[:, None], GROUP_1, GROUP_0)
        y = (X @ SLOPE + rng.logistic(size=size) > 0).astype(int)
        return X, y, group

    GROUP_0, GROUP_1 = np.linspace(2, 0.5, 8), np.linspace(0.5, 2, 8)
    SLOPE = np.cos(np.arange(8))
    metrics = ["accuracy", "demographic_parity_difference"]
    held: dict[str, list[tuple[float, float]]] = {name: [] for name in metrics}
    truths: dict[str, list[float]] = {name: [] for name in metrics}
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        X, y, group = sample(rng, n)
        result = assess_downstream(
            X,
            y,
            group,
            methods={"fair": FairPCA()},
            n_components=2,
            metrics=metrics,
            inner_splits=0,
        )
        for name in metrics:
            row = next(r for r in result.summary(name) if r["method"] == "fair" and not r["group"])
            held[name].append((row["minus_pca_low"], row["minus_pca_high"]))
        # The truth is about fits to as many rows as a split trains on.
        rows = slice(0, result.n_train)
        new = sample(rng, 20_000)
        centre, spread = X[rows].mean(axis=0), X[rows].std(axis=0)
        scores = []
        for pca in (FairPCA(2), RobustFairPCA(2, fairness_weight=0.0)):
            Z = pca.fit((X[rows] - centre) / spread, sensitive_features=group[rows])
            model = LogisticRegression().fit(Z.transform((X[rows] - centre) / spread), y[rows])
            said = model.predict(Z.transform((new[0] - centre) / spread))
            rates = [said[new[2] == a].mean() for a in (0, 1)]
            scores.append((accuracy_score(new[1], said), abs(rates[0] - rates[1])))
        for place, name in enumerate(metrics):
            truths[name].append(scores[0][place] - scores[1][place])
    figures = {}
    for name in metrics:
        truth, (low, high) = np.mean(truths[name]), np.array(held[name]).T
        figures[name] = {
            "truth": truth,
            "covered": float(np.mean((low <= truth) & (truth <= high))),
        }
        print(name, figures[name])
    return {"draws": draws, "rows": n, **figures}


PARTS: dict[str, Callable[[], dict[str, Any]]] = {
    "adult": adult,
    "german": german,
    "coverage": coverage,
}


def main(names: list[str] | None = None) -> None:
    path = RESULTS / "downstream.json"
    figures = json.loads(path.read_text()) if path.exists() else {}
    for name in names or PARTS:
        print(f"-- {name}")
        figures[name] = PARTS[name]()
        write("downstream", figures)


if __name__ == "__main__":
    main(sys.argv[1:])
