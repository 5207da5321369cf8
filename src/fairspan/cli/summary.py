"""What a fit means, in a table, in sentences and as a document for programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse

from fairspan.cli import console
from fairspan.fitting import prepare
from fairspan.inference.verdicts import verdict
from fairspan.judging.dominance import better_than
from fairspan.judging.improvement import DominatingProjection
from fairspan.moments.group_moments import GroupMoments
from fairspan.moments.groups import ONE_GROUP, groups_in_gap
from fairspan.tables.columns import Columns
from fairspan.tables.mixed import column_shares
from fairspan.tables.parts import TableRows
from fairspan.words import (
    Findings,
    References,
    Verdict,
    difference,
    folded,
    group_name,
    number,
    plural,
    with_rows,
)

PCA = "PCA"
_MOST_FEATURES, _MOST_VALUES = 200, 2**25
"""Matrices with more get no verdict on the command line: cross-fitting would take long."""
_COLUMNS, _COMPONENTS = 20, 4
"""Columns and components that a table shows."""


def findings(plain: Any, fair: Any, verdict: Verdict | None = None) -> Findings:
    """Give what there is to say about PCA and a model of the same data."""
    compared = groups_in_gap(fair.group_labels_, fair.missing_groups, fair.small_groups)
    beyond = references(fair)
    if beyond is not None:
        beyond = replace(beyond, values=np.array(beyond.values)[compared].tolist())
    names = with_rows(fair.group_labels_, fair.group_counts_)
    return Findings(
        [name for name, one in zip(names, compared, strict=True) if one],
        (plain.group_errors_[compared].tolist(), fair.group_errors_[compared].tolist()),
        (plain.total_error_, fair.total_error_),
        n_components=len(fair.components_),
        n_features=fair.n_features_in_,
        status=fair.result_.status,
        gap=fair.optimality_gap_,
        hidden=(plain.result_.is_hidden, fair.result_.is_hidden),
        method=type(fair).__name__,
        verdict=verdict,
        better=better_than(fair).finding if _is_judged(fair, plain) else None,
        disparity=fair.disparity,
        fairness_weight=fair.fairness_weight,
        kept=(variance_kept(plain), variance_kept(fair)),
        references=beyond,
        failure=fair.result_.failure_probability,
        everyone=(names, plain.group_errors_.tolist(), fair.group_errors_.tolist()),
    )


def variance_kept(model: Any) -> float:
    """Give the share of the variance that all components keep."""
    return float(model.explained_variance_ratio_.sum())


def references(model: Any) -> References | None:
    """Give what a model compares the errors of its groups with; None for nothing."""
    if getattr(model, "reference", "none") == "none":
        return None
    if not hasattr(model, "moments_"):
        return References(model.group_references_.tolist(), False)
    k = model.n_components_
    prepared = prepare(model.moments_, model.scale_ is not None, room=k, warn=False)
    found = model._counting().references(model.moments_, prepared.problem(k))
    return References(found.tolist(), model.reference == "own")


def _is_judged(fair: Any, plain: Any) -> bool:
    """Whether to look for a projection that serves every group better, which needs moments."""
    return fair is not plain and hasattr(fair, "moments_")


def verdict_on(recipe: Any, data: Any, hidden: bool = False) -> Verdict | None:
    """Judge new rows; None where there are no rows, or nothing to compare."""
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


def verdict_on_matrix(recipe: Any, data: Any, hidden: bool) -> Verdict | None:
    """Judge new rows of a matrix without named columns; None where its reader would wait long."""
    X = data.X
    if hidden or not (issparse(X) or isinstance(X, np.ndarray)):
        return None
    values, d = X.nnz if issparse(X) else X.size, X.shape[1]
    if values > _MOST_VALUES or not recipe.n_components < d <= _MOST_FEATURES:
        return None
    # --clip needs a table.
    return replace(verdict(recipe, X, **data.given), can_clip=False)


def verdict_document(verdict: Verdict | None, data: Any) -> dict[str, Any] | None:
    """Give the verdict to programs, or what it needs."""
    if verdict is None:
        return None if hasattr(data, "X") else {"needs": "rows"}
    return verdict.document


def errors_table(models: Mapping[str, Any], beyond: References | None = None) -> str:
    """Set the errors of every group under each model side by side, with gap and total."""
    first = next(iter(models.values()))
    groups = list(zip(first.group_labels_, first.group_counts_, strict=True))
    shown = folded(*(m.group_errors_.tolist() for m in models.values()))
    more = [] if beyond is None else [beyond.heading]
    rows = [
        [
            group_name(label),
            f"{n:,}",
            *(number(beyond.values[a]) for _ in more if beyond is not None),
            *(number(m.group_errors_[a]) for m in models.values()),
        ]
        for a in shown
        for label, n in [groups[a]]
    ]
    if len(shown) < len(groups):
        hidden = f"and {len(groups) - len(shown)} more ({console.ALL})"
        rows.append([hidden, *[""] * (len(rows[0]) - 1)])
    blank = [""] * len(more)
    gaps = [difference(m.error_gap_, m.group_errors_) for m in models.values()]
    rows.append(["gap", "", *blank, *gaps])
    if beyond is not None:
        gaps = [difference(gap_above(m, beyond), m.group_errors_) for m in models.values()]
        rows.append([f"gap above {beyond.heading}", "", "", *gaps])
    rows.append(["total error", "", *blank, *(number(m.total_error_) for m in models.values())])
    return console.table(["mean squared error on the fitted rows", "rows", *more, *models], rows)


def gap_above(model: Any, beyond: References) -> float:
    """Give the gap between errors above references, of the groups that are compared."""
    compared = groups_in_gap(model.group_labels_, model.missing_groups, model.small_groups)
    return float(np.ptp((model.group_errors_ - beyond.values)[compared]))


def columns_table(model: Any, columns: Columns) -> str:
    """Set what the projection makes of each column of the table, categories together."""
    shares = column_shares(model, columns)
    shown = range(min(len(model.components_), _COMPONENTS))
    rows = [
        [str(one.column), f"{one.explained:.0%}", *(f"{one.loadings[j]:.2f}" for j in shown)]
        for one in shares[:_COLUMNS]
    ]
    heads = [f"component {j + 1}" for j in shown]
    title = "categories of a column together; share in"
    table = console.table([title, "variance kept", *heads], rows)
    k = len(model.components_)
    left_out = {"columns": (len(rows), len(shares)), "components": (len(shown), k)}
    parts = [f"{a} of {b} {what}" for what, (a, b) in left_out.items() if a < b]
    return table + f"\n({' and '.join(parts)}; --json lists all)" * bool(parts)


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


def model_document(model: Any, beyond: References | None = None) -> dict[str, Any]:
    """Give what programs want to know of a model; with references, what it was compared with."""
    numbers = (model.group_counts_.tolist(), model.group_errors_.tolist())
    pairs = zip(model.group_labels_, *numbers, strict=True)
    groups = [{"label": a, "rows": n, "error": e} for a, n, e in pairs]
    if beyond is not None:
        groups = [g | against(r, g["error"]) for g, r in zip(groups, beyond.values, strict=True)]
    return {
        "class": type(model).__name__,
        "parameters": model.get_params(deep=False),
        "n_features": model.n_features_in_,
        "n_rows": model.n_samples_,
        "groups": groups,
        "gap": model.error_gap_,
        **({} if beyond is None else {"gap_above_references": gap_above(model, beyond)}),
        "total_error": model.total_error_,
        **evidence(model.result_),
        "explained_variance_ratio": model.explained_variance_ratio_,
        "variance_kept": variance_kept(model),
    }


def against(reference: float, error: float) -> dict[str, float]:
    """Give the reference of a group, and its error above it."""
    return {"reference": reference, "error_above_reference": error - reference}


def evidence(result: Any) -> dict[str, Any]:
    """Give what programs want to know of a result's value and proof."""
    return {
        "objective": result.objective,
        "lower_bound": result.lower_bound,
        "optimality_gap": result.optimality_gap,
        "status": result.status,
        "hidden": result.is_hidden,
        "proof": result.proof,
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
        "is_pca": better.is_pca,
        "groups": [{"label": a, "error": e, "weight": w} for a, e, w in groups],
    }
