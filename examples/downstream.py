"""Reduce, then classify: what equal reconstruction errors do, and do not do, for decisions.

A table is reduced by plain PCA and by RobustFairPCA, a logistic regression decides on what is left,
and fairlearn measures both by group. The gap of reconstruction errors shrinks by design; what
becomes of the gaps of accuracy and selection rate is for the data to say, and is only reported.
"""

from __future__ import annotations

import numpy as np
from fairlearn.metrics import MetricFrame, demographic_parity_difference, selection_rate
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fairspan import RobustFairPCA


def make_table(n: int = 2000, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Twelve features; the minority varies in other directions than the majority."""
    rng = np.random.default_rng(seed)
    groups = rng.choice(["majority", "minority"], n, p=[0.8, 0.2])
    latent = rng.standard_normal((n, 6))
    strength = np.where((groups == "majority")[:, None], [3, 2, 1, 1, 1, 1], [1, 1, 3, 2, 1, 1])
    X = (latent * strength) @ rng.standard_normal((6, 12)) + 0.5 * rng.standard_normal((n, 12))
    y = (latent[:, 0] + latent[:, 2] + 0.5 * rng.standard_normal(n) > 0).astype(int)
    return X, y, groups


def mean_error(_: np.ndarray, errors: np.ndarray) -> float:
    """Let fairlearn average reconstruction errors, which need no true labels."""
    return float(np.mean(errors))


def evaluate(fairness_weight: float) -> dict[str, float]:
    """Fit on one half of the rows and measure by group on the other."""
    X, y, groups = make_table()
    parts = train_test_split(X, y, groups, test_size=0.5, random_state=0, stratify=groups)
    X_train, X_test, y_train, y_test, g_train, g_test = parts
    reduce = RobustFairPCA(3, fairness_weight=fairness_weight, radius=0.0)
    pipeline = make_pipeline(StandardScaler(), reduce, LogisticRegression())
    pipeline.fit(X_train, y_train, robustfairpca__sensitive_features=g_train)
    scaled = pipeline[0].transform(X_test)
    errors = pipeline[1].reconstruction_errors(scaled)
    lost = MetricFrame(metrics=mean_error, y_true=y_test, y_pred=errors, sensitive_features=g_test)
    decided = pipeline.predict(X_test)
    frame = MetricFrame(
        metrics={"accuracy": accuracy_score, "selection rate": selection_rate},
        y_true=y_test,
        y_pred=decided,
        sensitive_features=g_test,
    )
    parity = demographic_parity_difference(y_test, decided, sensitive_features=g_test)
    return {
        "error gap": float(lost.difference()),
        "total error": float(lost.overall),
        "accuracy": float(frame.overall["accuracy"]),
        "accuracy gap": float(frame.difference()["accuracy"]),
        "demographic parity difference": float(parity),
    }


def main() -> dict[str, dict[str, float]]:
    """Print both methods side by side."""
    found = {"PCA": evaluate(0.0), "RobustFairPCA": evaluate(1.0)}
    width = max(map(len, found["PCA"]))
    print(f"{'':{width}}  {'PCA':>14}  {'RobustFairPCA':>14}")
    for name in found["PCA"]:
        print(f"{name:{width}}  " + "  ".join(f"{row[name]:14.4f}" for row in found.values()))
    return found


if __name__ == "__main__":
    main()
