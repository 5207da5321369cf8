"""A report: what was found, as plain lists, numbers and texts, and the ways to show it."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from fairspan.ground.atomic import replacing
from fairspan.ground.types import FloatArray
from fairspan.moments.group_moments import GroupMoments
from fairspan.moments.groups import Groups
from fairspan.report._analysis import Analysis, Data
from fairspan.report._card import model_card
from fairspan.report._curve import TOLERANCE, trace_back
from fairspan.report._page import findings, html_page
from fairspan.report._settings import Notion
from fairspan.solvers.result import SolverResult
from fairspan.words import Findings, Verdict, group_name

_DIGITS = 9
_ROWS_SHOWN = 2000


@dataclass(frozen=True)
class Rows:
    """The rows behind the moments, for what moments do not contain.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_features)
        The data.
    groups : Groups
        The group of each row.
    given : array-like, frame or dict
        The same as it was given.
    weight : ndarray of shape (n_rows,) or None
        How often each row counts.
    """

    X: npt.NDArray[Any]
    groups: Groups
    given: Any
    weight: FloatArray | None


@dataclass(frozen=True)
class Report:
    """How PCA and RobustFairPCA serve the groups of a table; make it with ``report.build``.

    Attributes
    ----------
    content : dict
        Everything the report says, as plain lists, numbers and texts. There is no row of the data
        in it, unless that was asked for.
    """

    content: dict[str, Any] = field(repr=False)

    @property
    def headline(self) -> str:
        """How plain PCA serves the groups, on new rows if rows were given."""
        return self.findings.headline

    @property
    def summary(self) -> str:
        """The headline, what the fair projection does about it, doubts, and what is proved."""
        return " ".join(self.findings.sentences)

    @property
    def findings(self) -> Findings:
        """The plain values behind these sentences."""
        return findings(self.content)

    def to_html(self) -> str:
        """Give the page: one self-contained html text that needs no network.

        Returns
        -------
        str
            The page.
        """
        return html_page(self.content)

    def write_html(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file, which is replaced only when the new one is whole.

        Parameters
        ----------
        path : str or path
            The file to write.
        """
        with replacing(path) as temporary:
            temporary.write_text(self.to_html(), encoding="utf-8", newline="\n")

    def to_json(self) -> str:
        """Give the same numbers for programs.

        Returns
        -------
        str
            A JSON text.
        """
        return json.dumps(self.content, ensure_ascii=False, allow_nan=False)

    def model_card(self) -> str:
        """Give the facts of the report's setting on one page of text.

        Returns
        -------
        str
            A Markdown text.
        """
        return model_card(self.content)


def page_data(found: Analysis, verdict: Verdict | None) -> dict[str, Any]:
    """All about one number of components, as plain lists and numbers."""
    page: dict[str, Any] = {
        "k": found.k,
        "pca": _result(found.pca),
        "chosen": _result(found.chosen)
        | {
            "objective": plain(found.chosen.objective),
            "lower_bound": float(found.chosen.lower_bound),
            "better": asdict(found.better.finding),
        },
        "fair_pca": _result(found.fair_pca),
        "own": plain(found.own),
        "verdict": None if verdict is None else _values(verdict),
        "loadings": [
            {**row, "chosen": plain(row["chosen"]), "pca": plain(row["pca"])}
            for row in found.loadings
        ],
    }
    if found.trade_off is None:
        marked = zip(found.optima, found.dominated.tolist(), strict=True)
        optima = [_result(optimum) | {"dominated": one} for optimum, one in marked]
        return page | {"optima": optima}
    return page | _two_groups(found)


def _values(verdict: Verdict) -> dict[str, Any]:
    """A verdict as the content holds it, groups by their names."""
    named = replace(verdict, labels=tuple(map(group_name, verdict.labels)))
    values: dict[str, Any] = json.loads(json.dumps(asdict(named)))
    return values


def _two_groups(found: Analysis) -> dict[str, Any]:
    """What is attainable."""
    trade_off, curve = found.trade_off, found.curve
    assert trade_off is not None
    assert curve is not None
    fairest = trade_off.fairest
    back, corners = trace_back(trade_off.boundary)
    threshold = plain(fairest.threshold) if np.isfinite(fairest.threshold) else None
    return {
        "exactly_fair": {"errors": plain(fairest.group_errors), "threshold": threshold},
        "own_points": [plain(best.errors) for best in trade_off.problem.own_best],
        "back": {"points": plain(back), "corners": plain(corners)},
        "curve": {
            "points": plain(curve.points),
            "corners": plain(curve.corners),
            "accuracy": float(curve.accuracy),
            "status": "optimal" if curve.accuracy <= TOLERANCE else "feasible",
            # What rounding hides at the ends of the sliders may be hidden between them as well.
            "hidden": found.chosen.is_hidden or found.pca.is_hidden,
        },
    }


def _result(found: SolverResult) -> dict[str, Any]:
    return {
        "errors": plain(found.group_errors),
        "proved": float(found.optimality_gap),
        "status": found.status,
        "hidden": found.is_hidden,
    }


def plain(values: Any) -> Any:
    """Numbers as Python's own, with as many digits as a page needs."""
    if isinstance(values, np.ndarray):
        return [plain(value) for value in values]
    return float(f"{float(values):.{_DIGITS}g}")


def groups_of(moments: GroupMoments) -> list[dict[str, Any]]:
    """Give labels and sizes of the groups."""
    columns = (moments.labels, moments.counts, moments.weights, moments.shares)
    return [
        {"label": group_name(label), "rows": int(n), "weight": plain(w), "share": float(share)}
        for label, n, w, share in zip(*columns, strict=True)
    ]


def notion_of(notion: Notion, moments: GroupMoments) -> dict[str, Any]:
    """Give what the page's switch offers: references are numbers where a mapping was given."""
    given = notion.reference
    numbers = given if isinstance(given, str) else [float(given[a]) for a in moments.labels]
    return {
        "disparity": notion.disparity,
        "reference": numbers,
        "name": notion.name,
        "code": notion.code,
    }


def facts_of(moments: GroupMoments, variance: float, *, from_moments: bool) -> dict[str, Any]:
    """Give what there is to say about the data."""
    return {
        "rows": int(moments.counts.sum()),
        "features": moments.n_features,
        "weighted": bool((moments.weights != moments.counts).any()),
        "from_moments": from_moments,
        "variance": plain(variance),
    }


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
