"""A fit that other processes run: prints what came out, to the last bit."""

from __future__ import annotations

import hashlib
import json

import numpy as np

from fairspan import ExactlyFairPCA, FairPCA, GroupMoments, RobustFairPCA, fairness_frontier


def table(seed: int = 0, n: int = 400, d: int = 12) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    groups = np.array(["ada", "bea", "cem"])[rng.integers(0, 2, n)]
    X = rng.standard_normal((n, d)) @ rng.standard_normal((d, d))
    X[groups == "bea"] *= rng.uniform(0.5, 2, d)
    # Groups of one size and centre: then some subspace serves them alike.
    for label in ("ada", "bea"):
        part = X[groups == label] - X[groups == label].mean(axis=0)
        X[groups == label] = part / np.sqrt((part**2).sum(axis=1).mean())
    return X, groups


def fits() -> dict[str, np.ndarray]:
    """What the estimators and the frontier find, as arrays."""
    X, groups = table()
    found = {}
    for model in (RobustFairPCA(3), RobustFairPCA(2, radius="bootstrap", random_state=0)):
        model.fit(X, sensitive_features=groups)
        found[f"{model}"] = np.r_[model.components_.ravel(), model.objective_, model.lower_bound_]
    for other in (ExactlyFairPCA(3), FairPCA(3)):
        found[f"{other}"] = other.fit(X, sensitive_features=groups).components_
    three = np.resize(["x", "y", "z"], len(X))
    many = RobustFairPCA(3, random_state=0, solver="newton", max_iter=50)
    found["many"] = many.fit(X[:, :5], sensitive_features=three).group_errors_
    found["moments"] = GroupMoments.from_arrays(X, groups).scatters
    frontier = fairness_frontier(X, 3, sensitive_features=groups, fairness_weights=[0.0, 0.5, 2.0])
    found["frontier"] = frontier.group_errors
    found["labels"] = np.array(model.group_labels_)
    return found


def digests() -> dict[str, str]:
    return {name: hashlib.sha256(found.tobytes()).hexdigest() for name, found in fits().items()}


if __name__ == "__main__":
    print(json.dumps(digests()))
