"""What a fit means, in a table and in sentences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fairspan.cli import console
from fairspan.estimators.robust import RobustFairPCA
from fairspan.ground.bounds import at_most
from fairspan.moments.group_moments import GroupMoments
from fairspan.moments.groups import ONE_GROUP

PCA = "PCA"


def plain_pca(model: Any, moments: GroupMoments) -> RobustFairPCA:
    """Fit PCA as it is: no fairness, no robustness, the same scale."""
    plain = RobustFairPCA(
        len(model.components_), fairness_weight=0.0, radius=0.0, standardize=model.standardize
    )
    return plain.fit_moments(moments)


def group_name(label: Any) -> str:
    """Name a group as people would: the parts of an intersection side by side."""
    return " / ".join(map(str, label)) if isinstance(label, tuple) else str(label)


def errors_table(models: Mapping[str, Any]) -> str:
    """Set the errors of every group under each model side by side, with gap and total."""
    first = next(iter(models.values()))
    rows = [
        [
            group_name(label),
            f"{count:,}",
            *(console.number(model.group_errors_[a]) for model in models.values()),
        ]
        for a, (label, count) in enumerate(
            zip(first.group_labels_, first.group_counts_, strict=True)
        )
    ]
    for name, attribute in (("gap", "error_gap_"), ("total error", "total_error_")):
        numbers = [
            console.number(getattr(model, attribute), model.total_error_)
            for model in models.values()
        ]
        rows.append([name, "", *numbers])
    return console.table(["mean squared error", "rows", *models], rows)


def sentence(plain: Any, fair: Any) -> str:
    """Say what PCA does to the groups, what the model changes, and what it costs."""
    name = type(fair).__name__
    if len(fair.group_labels_) < 2:
        return "There is one group, so that no gap can be closed: the result is PCA."
    errors, labels = plain.group_errors_, [group_name(label) for label in plain.group_labels_]
    worst, best = int(np.argmax(errors)), int(np.argmin(errors))
    scale = 1e-9 * (plain.total_error_ + plain.explained_variance_.sum())
    if errors[best] <= scale or fair.group_errors_.min() <= scale:
        return f"{name} leaves a gap of {console.number(fair.error_gap_)} between the groups."
    before = float(errors[worst] / errors[best] - 1)
    after = float(fair.group_errors_.max() / fair.group_errors_.min() - 1)
    cost = max(float(fair.total_error_ / plain.total_error_ - 1), 0.0)
    return (
        f"PCA reconstructs group {labels[worst]!r} {console.percent(before)} worse than "
        f"{labels[best]!r}; {name} {'narrows' if after < before else 'changes'} that to "
        f"{console.percent(after)} for {console.percent(cost)} more total error."
    )


def proof(model: Any) -> str:
    """Say what is proved."""
    if len(model.components_) == model.n_features_in_:
        return f"All {model.n_features_in_} components keep everything: there is nothing to choose."
    if model.result_.status != "optimal":
        return (
            "Not proved optimal: some subspace may have an objective smaller by up to "
            f"{console.percent_at_most(model.optimality_gap_)} of it."
        )
    return (
        f"Proved with {console.plural(model.n_eigensolves_, 'eigen-solve')}: no subspace has an "
        f"objective smaller by more than {at_most(model.optimality_gap_)} of it."
    )


def data_line(name: str, moments: GroupMoments, by: str = "") -> str:
    """Say what the data is."""
    rows, features = int(moments.counts.sum()), moments.n_features
    line = f"{name}: {console.plural(rows, 'row')}, {console.plural(features, 'feature')}"
    if moments.labels == (ONE_GROUP,):
        return f"{line}, no groups"
    return f"{line}, {console.plural(moments.n_groups, 'group')}{f' by {by}' if by else ''}"


def model_document(model: Any) -> dict[str, Any]:
    """Give what programs want to know of a model."""
    groups = zip(
        model.group_labels_,
        model.group_counts_.tolist(),
        model.group_errors_.tolist(),
        strict=True,
    )
    return {
        "class": type(model).__name__,
        "parameters": model.get_params(deep=False),
        "n_features": model.n_features_in_,
        "n_rows": model.n_samples_,
        "groups": [{"label": a, "rows": n, "error": e} for a, n, e in groups],
        "gap": model.error_gap_,
        "total_error": model.total_error_,
        "objective": model.objective_,
        "lower_bound": model.lower_bound_,
        "optimality_gap": model.optimality_gap_,
        "status": model.result_.status,
        "explained_variance_ratio": model.explained_variance_ratio_,
    }
