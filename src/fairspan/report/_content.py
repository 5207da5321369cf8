"""What was found, as the plain lists, numbers and texts of a report's content."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairspan.ground.types import FloatArray, Label
from fairspan.moments.group_moments import GroupMoments
from fairspan.report._analysis import Analysis, Data
from fairspan.report._curve import trace_back
from fairspan.report._intervals import Rows

_DIGITS = 9
_ROWS_SHOWN = 2000


def page_data(found: Analysis, intervals: list[dict[str, FloatArray]] | None) -> dict[str, Any]:
    """All about one number of components, as plain lists and numbers."""
    of = iter(intervals or [])
    page: dict[str, Any] = {
        "k": found.k,
        "pca": _point(found.pca.group_errors, next(of, None)),
        "chosen": _point(found.chosen.group_errors, next(of, None))
        | {
            "objective": plain(found.chosen.objective),
            "lower_bound": float(found.chosen.lower_bound),
            "proved": float(found.chosen.optimality_gap),
        },
        "fair_pca": _point(found.fair_pca.group_errors_, None)
        | {"proved": float(found.fair_pca.optimality_gap_)},
        "loadings": [
            {**row, "chosen": plain(row["chosen"]), "pca": plain(row["pca"])}
            for row in found.loadings
        ],
    }
    if found.trade_off is None:
        page["optima"] = [
            _point(optimum.group_errors, next(of, None)) | {"proved": float(optimum.optimality_gap)}
            for optimum in found.optima
        ]
        return page
    return page | _two_groups(found, page, list(of))


def _two_groups(
    found: Analysis, page: dict[str, Any], intervals: list[dict[str, FloatArray]]
) -> dict[str, Any]:
    """What is attainable, and the intervals along its boundary."""
    trade_off, curve = found.trade_off, found.curve
    assert trade_off is not None
    assert curve is not None
    fairest = trade_off.fairest
    back, corners = trace_back(trade_off.boundary)
    threshold = plain(fairest.threshold) if np.isfinite(fairest.threshold) else None
    content: dict[str, Any] = {
        "exactly_fair": _point(fairest.group_errors, None) | {"threshold": threshold},
        "back": {"points": plain(back), "corners": plain(corners)},
        "curve": {
            "points": plain(curve.points),
            "corners": plain(curve.corners),
            "accuracy": float(curve.accuracy),
        },
    }
    if intervals:
        errors = [trade_off.problem.errors(components.T) for components in found.anchors]
        points = [*map(_point, errors, intervals), page["pca"], page["chosen"]]
        content["anchors"] = sorted(points, key=lambda at: at["errors"][0] - at["errors"][1])
    return content


def _point(errors: FloatArray, interval: dict[str, FloatArray] | None) -> dict[str, Any]:
    point: dict[str, Any] = {"errors": plain(errors)}
    if interval is not None:
        point |= {"interval": plain(interval["errors"]), "gap_interval": plain(interval["gap"])}
    return point


def plain(values: Any) -> Any:
    """Numbers as Python's own, with as many digits as a page needs."""
    if isinstance(values, np.ndarray):
        return [plain(value) for value in values]
    return float(f"{float(values):.{_DIGITS}g}")


def groups_of(moments: GroupMoments) -> list[dict[str, Any]]:
    """Give labels and sizes of the groups."""
    columns = (moments.labels, moments.counts, moments.weights, moments.shares)
    return [
        {"label": text_of(label), "rows": int(n), "weight": plain(w), "share": float(share)}
        for label, n, w, share in zip(*columns, strict=True)
    ]


def facts_of(moments: GroupMoments, variance: float, *, from_moments: bool) -> dict[str, Any]:
    """Give what there is to say about the data."""
    return {
        "rows": int(moments.counts.sum()),
        "features": moments.n_features,
        "weighted": bool((moments.weights != moments.counts).any()),
        "from_moments": from_moments,
        "variance": plain(variance),
    }


def text_of(label: Label) -> str:
    """Give a group's label as text; an intersection by its parts."""
    return ", ".join(map(str, label)) if isinstance(label, tuple) else str(label)


def projected_rows(data: Data, rows: Rows | None, found: Analysis, seed: int) -> dict[str, Any]:
    """Rows on the first two components of the report's setting, as coordinates and group codes."""
    assert rows is not None
    n = len(rows.X)
    rng = np.random.default_rng(seed)
    kept = np.sort(rng.choice(n, min(n, _ROWS_SHOWN), replace=False))
    centred = rows.X[kept] - data.prepared.moments.mean
    if data.prepared.scale is not None:
        centred = centred / data.prepared.scale
    coordinates = centred @ found.components.T
    if found.k == 1:
        lost = np.sum(centred**2, axis=1) - coordinates[:, 0] ** 2
        coordinates = np.column_stack([coordinates, np.sqrt(np.maximum(lost, 0.0))])
    return {
        "x": plain(coordinates[:, 0]),
        "y": plain(coordinates[:, 1]),
        "group": rows.groups.codes[kept].tolist(),
        "y_is_distance": found.k == 1,
        "left_out": n - len(kept),
    }
