"""What a fit means, in a table, in sentences and as a document for programs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairspan.cli import console
from fairspan.estimators.robust import plain_pca as plain_pca
from fairspan.inference.verdicts import verdict
from fairspan.judging.dominance import DominatingProjection, better_than
from fairspan.moments.group_moments import GroupMoments
from fairspan.moments.groups import ONE_GROUP, groups_in_gap
from fairspan.tables.parts import TableRows
from fairspan.words import Findings, Verdict, group_name, number, plural

PCA = "PCA"


def findings(plain: Any, fair: Any, verdict: Verdict | None = None) -> Findings:
    """Give what there is to say about PCA and a model of the same data."""
    compared = groups_in_gap(fair.group_labels_, fair.missing_groups)
    return Findings(
        [label for label, one in zip(fair.group_labels_, compared, strict=True) if one],
        (plain.group_errors_[compared].tolist(), fair.group_errors_[compared].tolist()),
        (plain.total_error_, fair.total_error_),
        n_components=len(fair.components_),
        n_features=fair.n_features_in_,
        status=fair.result_.status,
        gap=fair.optimality_gap_,
        hidden=(plain.result_.is_hidden, fair.result_.is_hidden),
        method=type(fair).__name__,
        verdict=verdict,
        better=better_than(fair).finding if fair is not plain else None,
        disparity=fair.disparity,
    )


def verdict_on(recipe: Any, data: Any, hidden: bool = False) -> Verdict | None:
    """Say what rows tell about new ones; None where there are no rows, or nothing to compare."""
    if not isinstance(data, TableRows) or hidden:
        return None
    if data.X.shape[1] <= recipe.n_components:
        return None
    return verdict(
        recipe,
        data.X,
        sensitive_features=data.groups,
        sample_weight=data.weight,
        feature_names=data.columns.feature_names,
    )


def verdict_document(verdict: Verdict | None, data: Any) -> dict[str, Any] | None:
    """Give the verdict to programs, or what it needs."""
    if verdict is None:
        return None if isinstance(data, TableRows) else {"needs": "rows"}
    return verdict.document


def errors_table(models: Mapping[str, Any]) -> str:
    """Set the errors of every group under each model side by side, with gap and total."""
    first = next(iter(models.values()))
    groups = enumerate(zip(first.group_labels_, first.group_counts_, strict=True))
    rows = [
        [group_name(label), f"{n:,}", *(number(m.group_errors_[a]) for m in models.values())]
        for a, (label, n) in groups
    ]
    for name, attribute in (("gap", "error_gap_"), ("total error", "total_error_")):
        numbers = (number(getattr(m, attribute), m.total_error_) for m in models.values())
        rows.append([name, "", *numbers])
    return console.table(["mean squared error on the fitted rows", "rows", *models], rows)


def opening(options: Any, moments: GroupMoments, data: Any | None, more: str = "") -> list[str]:
    """Give the first lines of an answer: what the data is, and what reading it has changed."""
    by, notes = ("", ()) if data is None else (data.columns.by, data.notes)
    line = data_line(Path(options.data).name, moments, by)
    return [f"{line}{more}", *(f"  {note}" for note in notes)]


def data_line(name: str, moments: GroupMoments, by: str = "") -> str:
    """Say what the data is."""
    rows, features = int(moments.counts.sum()), moments.n_features
    line = f"{name}: {plural(rows, 'row')}, {plural(features, 'feature')}"
    if moments.labels == (ONE_GROUP,):
        return f"{line}, no groups"
    return f"{line}, {plural(moments.n_groups, 'group')}{f' by {by}' if by else ''}"


def model_document(model: Any) -> dict[str, Any]:
    """Give what programs want to know of a model."""
    numbers = (model.group_counts_.tolist(), model.group_errors_.tolist())
    groups = zip(model.group_labels_, *numbers, strict=True)
    return {
        "class": type(model).__name__,
        "parameters": model.get_params(deep=False),
        "n_features": model.n_features_in_,
        "n_rows": model.n_samples_,
        "groups": [{"label": a, "rows": n, "error": e} for a, n, e in groups],
        "gap": model.error_gap_,
        "total_error": model.total_error_,
        **evidence(model.result_),
        "explained_variance_ratio": model.explained_variance_ratio_,
    }


def evidence(result: Any) -> dict[str, Any]:
    """Give what programs want to know of a result's value and proof."""
    return {
        "objective": result.objective,
        "lower_bound": result.lower_bound,
        "optimality_gap": result.optimality_gap,
        "status": result.status,
        "hidden": result.is_hidden,
    }


def dominating(better: DominatingProjection) -> dict[str, Any]:
    """Give what programs want to know of a projection that may serve every group better."""
    numbers = (better.group_errors.tolist(), better.group_weights.tolist())
    groups = zip(better.group_labels, *numbers, strict=True)
    return {
        "dominates": better.dominates,
        "gain": better.gain,
        "relative_gain": better.relative_gain,
        "bound": better.bound,
        "groups": [{"label": a, "error": e, "weight": w} for a, e, w in groups],
    }
