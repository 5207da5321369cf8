"""Scores of candidates: what is measured on validation parts, and which one wins."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from scipy.stats import rankdata

from fairspan.ground.parameters import check_number
from fairspan.ground.types import BoolArray, FloatArray
from fairspan.judging.case import GroupValues

_DIGITS = 10
"""Scores that agree to this many decimals of the largest are equal."""
SCORINGS = ("total_plus_gap", "gap_within_budget", "total_within_budget")


@dataclass(frozen=True)
class Scoring:
    """A scoring rule and its budgets.

    Attributes
    ----------
    rule : str or callable
        One of ``SCORINGS``, or a function of the group errors, higher being better.
    total_budget, gap_budget : float or None
        The largest mean total error, and the largest mean gap, that a winner may have.
    """

    rule: str | Callable[[GroupValues], float]
    total_budget: float | None
    gap_budget: float | None

    def __post_init__(self) -> None:
        known = isinstance(self.rule, str) and self.rule in SCORINGS
        if not known and not callable(self.rule):
            raise ValueError(
                f"scoring={self.rule!r} is not known; use one of {', '.join(map(repr, SCORINGS))}, "
                "or a function of fairspan.metrics.GroupValues."
            )
        for name in ("total", "gap"):
            other = "gap" if name == "total" else "total"
            budget, needed = getattr(self, f"{name}_budget"), self.rule == f"{other}_within_budget"
            if budget is None and needed:
                raise ValueError(f"scoring={self.rule!r} needs {name}_budget=....")
            if budget is not None:
                check_number(f"{name}_budget", budget)

    def scores(
        self, total: FloatArray, gap: FloatArray, errors: Sequence[GroupValues]
    ) -> FloatArray:
        """Score the candidates on one validation part.

        Parameters
        ----------
        total, gap : ndarray of shape (n_candidates,)
            Total error and gap of each candidate.
        errors : sequence of GroupValues
            Errors of the groups, for each candidate.

        Returns
        -------
        ndarray of shape (n_candidates,)
            The scores.
        """
        if callable(self.rule):
            return np.array([_as_score(self.rule(values)) for values in errors])
        rules = {"total_plus_gap": total + gap, "gap_within_budget": gap}
        return -rules.get(self.rule, total)

    def within_budget(self, total: FloatArray, gap: FloatArray) -> BoolArray:
        """Return which candidates are within the budgets, by their means over the folds."""
        within = np.ones(len(total), dtype=np.bool_)
        if self.total_budget is not None:
            within &= total <= self.total_budget
        if self.gap_budget is not None:
            within &= gap <= self.gap_budget
        if not within.any():
            budgets = {"total_budget": self.total_budget, "gap_budget": self.gap_budget}
            given = [f"{name}={value}" for name, value in budgets.items() if value is not None]
            raise ValueError(
                f"No candidate is within {' and '.join(given)}: the least mean total error is "
                f"{total.min():.6g}, the least mean gap {gap.min():.6g}. Increase the "
                f"budget{'s' if len(given) > 1 else ''}, or add candidates."
            )
        return within


def _as_score(value: Any) -> float:
    if not isinstance(value, Real) or not math.isfinite(value):
        raise ValueError(
            f"scoring returned {value!r} for the errors of a candidate; it must return a finite "
            "number, higher being better, such as lambda errors: -errors.overall."
        )
    return float(value)


def results_table(
    candidates: Sequence[dict[str, Any]],
    scoring: Scoring,
    measured: dict[str, FloatArray],
    optimality_gap: FloatArray,
) -> dict[str, Any]:
    """Arrange the measurements like scikit-learn's ``cv_results_``.

    Parameters
    ----------
    candidates : sequence of dict
        Parameters of the candidates.
    scoring : Scoring
        Says who keeps to the budgets.
    measured : dict of ndarray of shape (n_splits, n_candidates)
        "score", "total_error" and "error_gap".
    optimality_gap : ndarray of shape (n_candidates,)
        The largest proved gap of each candidate's fits.

    Returns
    -------
    dict
        The table.
    """
    table: dict[str, Any] = {"params": list(candidates)}
    for name in candidates[0]:
        column = np.empty(len(candidates), dtype=object)
        column[:] = [candidate[name] for candidate in candidates]
        table[f"param_{name}"] = np.ma.array(column)
    for name, values in measured.items():
        for number, row in enumerate(values):
            table[f"split{number}_test_{name}"] = row
        table[f"mean_test_{name}"] = values.mean(axis=0)
        table[f"std_test_{name}"] = values.std(axis=0)
    within = scoring.within_budget(table["mean_test_total_error"], table["mean_test_error_gap"])
    table["within_budget"] = within
    # Those beyond a budget rank behind all others. Beyond some fairness weight nothing changes any
    # more but rounding, which must not decide.
    mean = table["mean_test_score"]
    worse = -np.round(mean / (np.abs(mean).max() or 1.0), _DIGITS)
    rank = np.empty(len(candidates), dtype=np.int32)
    rank[within] = rankdata(worse[within], method="min")
    rank[~within] = within.sum() + rankdata(worse[~within], method="min")
    table["rank_test_score"] = rank
    table["optimality_gap"] = optimality_gap
    return table
