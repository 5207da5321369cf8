"""What was measured: tidy rows, summaries with intervals, choices by a rule."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import stats

from fairspan.downstream.candidates import NO_REDUCTION, PCA
from fairspan.downstream.measures import limits
from fairspan.downstream.rule import Rule
from fairspan.downstream.split import Row
from fairspan.ground import defaults
from fairspan.ground.extras import as_frame
from fairspan.words import LEAST_ROWS

Key = tuple[str, int | None, float | None]
_ROUNDED = 1e-12
"""Values that differ by less of their size are the same."""


@dataclass(frozen=True)
class Choice:
    """What a rule chose on training rows, and how that did on rows the choice had not seen.

    Attributes
    ----------
    rule : str
        The rule.
    chosen : list of tuple
        In each split the method, the number of components and the fairness weight.
    within_limits : int
        Splits where some candidate kept the limits on training rows; in the others the one that
        broke them least was chosen.
    values : list of dict
        For each metric its mean over splits and its interval.
    """

    rule: str
    chosen: list[Key]
    within_limits: int
    values: list[Row]


@dataclass(frozen=True, repr=False)
class DownstreamResult:
    """Performance and disparity of a model after each projection, over repeated splits.

    Attributes
    ----------
    rows : list of dict
        Tidy values: method, n_components, fairness_weight, split, stage, metric, group, value. The
        group is None for values of all rows; rows of stage "inner" serve :meth:`best` only, and
        those of stage "chance" compare shuffled groups.
    group_labels : tuple of str
        The groups.
    classes : tuple of str or None
        The classes; the second of two is the positive one. None for a regression.
    model : str
        What was trained.
    n_splits : int
        Number of splits.
    n_train : int
        Rows that each split fits to.
    n_test : int
        Rows that each split measures on.
    metrics : tuple of str
        Names of all metrics.
    left_out : dict of str to str
        Methods that have no solution of some size, and why.
    group_sizes : dict of str to float
        Held-out rows of each group, on average over splits; with unequal weights, how many are
        effectively independent.
    """

    rows: list[Row] = field(repr=False)
    group_labels: tuple[str, ...]
    classes: tuple[str, ...] | None
    model: str
    n_splits: int
    n_train: int
    n_test: int
    metrics: tuple[str, ...]
    left_out: dict[str, str]
    group_sizes: dict[str, float]

    @property
    def notes(self) -> list[str]:
        """What the intervals say and what they do not, in sentences."""
        from fairspan.downstream.reading import notes

        return notes(self)

    @property
    def comparing(self) -> tuple[str, ...]:
        """Names of the metrics that compare groups, and so have no value of a single group."""
        of_groups = {row["metric"] for row in self.rows if row["group"] is not None}
        return tuple(name for name in self.metrics if name not in of_groups)

    def __repr__(self) -> str:
        return (
            f"DownstreamResult({len(self._values('outer', self.metrics[0], None))} candidates, "
            f"{self.n_splits} splits, model {self.model}, metrics {', '.join(self.metrics)})"
        )

    def to_frame(self) -> Any:
        """Return all values on held-out rows as a tidy table.

        Returns
        -------
        pandas.DataFrame or list of dict
            A row for each candidate, split, metric and group.
        """
        outer = [row for row in self.rows if row["stage"] == "outer"]
        return as_frame([{k: v for k, v in row.items() if k != "stage"} for row in outer])

    def summary(self, metrics: str | Iterable[str] | None = None) -> list[Row]:
        """Average over splits, with intervals and with paired differences.

        The splits overlap, so their values are not independent; the variance of a mean over J
        splits is taken as (1/J + n_test/n_train) times the variance over splits (Nadeau and Bengio,
        2003), with J - 1 degrees of freedom.

        Even groups drawn at random differ, so the interval of a metric that compares groups says
        how large it was in these splits, and not that it is more than chance; ``by_chance`` is
        its mean without any reduction and with the group labels of the rows shuffled.
        There is no interval (nan) for what rests on a group with fewer than 5 held-out rows on
        average, nor where all splits have the same value.

        Parameters
        ----------
        metrics : str or iterable of str, optional
            The metrics to list; all by default.

        Returns
        -------
        list of dict
            For each candidate, metric and group: mean, low, high; by_chance, None except for no
            reduction and metrics that compare groups; the mean difference to PCA with as many
            components, and to no reduction, with their intervals.
        """
        wanted = [metrics] if isinstance(metrics, str) else metrics or self.metrics
        table: list[Row] = []
        for metric in wanted:
            if metric not in self.metrics:
                raise ValueError(
                    f"metrics: {metric!r} was not measured; measured were "
                    f"{', '.join(self.metrics)}."
                )
            shuffled = self._values("chance", metric, None)
            for group in (None, *self.group_labels):
                stated = self.has_enough_rows(metric, group)
                values = self._values("outer", metric, group)
                for key, found in values.items():
                    method, k, weight = key
                    row = {"method": method, "n_components": k, "fairness_weight": weight}
                    row |= {"metric": metric, "group": group}
                    row |= self._mean(metric, found, stated)
                    by_chance = shuffled.get(key) if group is None else None
                    row["by_chance"] = None if by_chance is None else float(np.mean(by_chance))
                    others = {"pca": (PCA, k, None), "none": (NO_REDUCTION, None, None)}
                    for name, other in others.items():
                        against = values.get(other) if other != key else None
                        apart = None if against is None else found - against
                        row |= self._interval(f"minus_{name}_", apart, stated)
                    table.append(row)
        return table

    def best(self, rule: str) -> Choice:
        """Choose by a rule on training rows in each split, and report the held-out rows.

        Parameters
        ----------
        rule : str
            "highest", "lowest" or "best", a metric, and limits if any: for instance "highest
            accuracy with demographic_parity_difference <= 0.1 and roc_auc >= 0.7". The best value
            is the lowest if the metric's name says so ("error", "loss", "difference", ...), and
            the highest otherwise. Where no candidate keeps the limits, the one that breaks them
            least is chosen.

        Returns
        -------
        Choice
            What was chosen, and the honest means with their intervals.
        """
        goal = Rule.parse(rule, self.metrics)
        named = dict.fromkeys([goal.metric, *(limit[0] for limit in goal.limits)])
        inner = {metric: self._values("inner", metric, None) for metric in named}
        if not inner[goal.metric]:
            raise ValueError("best chooses on inner splits; assess with inner_splits=1 or more.")
        chosen, kept = [], 0
        for split in range(self.n_splits):
            scores = {
                key: {metric: float(inner[metric][key][split]) for metric in named}
                for key in inner[goal.metric]
            }
            key = min(scores, key=lambda key: goal.order(scores[key]))
            chosen.append(key)
            kept += goal.violation(scores[key]) == 0
        values = []
        for metric in self.metrics:
            outer = self._values("outer", metric, None)
            picked = np.array([outer[key][split] for split, key in enumerate(chosen)])
            stated = self.has_enough_rows(metric)
            values.append({"metric": metric, **self._mean(metric, picked, stated)})
        return Choice(rule, chosen, kept, values)

    def to_json(self) -> str:
        """Return everything as text.

        Returns
        -------
        str
            JSON: what was done, the summary, and all values.
        """
        about = {key: value for key, value in vars(self).items() if key != "rows"}
        about["notes"] = self.notes
        document = {**about, "summary": _known(self.summary()), "rows": _known(self.rows)}
        return json.dumps(document, indent=1, allow_nan=False)

    def plot(self, x: str | None = None, y: str | None = None, ax: Any = None) -> Any:
        """Draw disparity against performance, one point for each candidate.

        Parameters
        ----------
        x, y : str, optional
            Metrics; by default the first one measured and the last one.
        ax : matplotlib axes, optional
            Where to draw; a new figure if not given.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.
        """
        from fairspan.plotting import plot_downstream

        return plot_downstream(self, x, y, ax)

    def _values(self, stage: str, metric: str, group: str | None) -> dict[Key, Any]:
        """Return the values of each candidate by split; the mean over several inner splits."""
        found: dict[Key, dict[int, list[float]]] = {}
        for row in self.rows:
            if (row["stage"], row["metric"], row["group"]) == (stage, metric, group):
                key = row["method"], row["n_components"], row["fairness_weight"]
                found.setdefault(key, {}).setdefault(row["split"], []).append(row["value"])
        return {
            key: np.array([np.mean(values[split]) for split in sorted(values)])
            for key, values in found.items()
        }

    def has_enough_rows(self, metric: str, group: str | None = None) -> bool:
        """Tell whether the groups that a value rests on have enough held-out rows for an interval.

        Parameters
        ----------
        metric : str
            What is measured.
        group : str, optional
            Of which group; of all rows if not given.

        Returns
        -------
        bool
            False if one of these groups has fewer than 5 held-out rows on average.
        """
        groups = self.group_labels if metric in self.comparing else ()
        groups = groups if group is None else (group,)
        return all(self.group_sizes[label] >= LEAST_ROWS for label in groups)

    def _mean(self, metric: str, values: Any, stated: bool) -> Row:
        """Return mean and interval of a metric; a share stays between 0 and 1."""
        found = self._interval("", values, stated)
        if found["low"] is not None:
            least, most = limits(metric, values)
            found |= {"low": max(found["low"], least), "high": min(found["high"], most)}
        return found

    def _interval(self, name: str, values: Any, stated: bool) -> Row:
        """Return mean and interval over splits, corrected for their overlap."""
        if values is None:
            return {f"{name}mean": None, f"{name}low": None, f"{name}high": None}
        mean, count = float(np.mean(values)), len(values)
        if count < 2:
            return {f"{name}mean": mean, f"{name}low": None, f"{name}high": None}
        if not stated or np.ptp(values) <= _ROUNDED * np.abs(values).max():
            # Splits that agree, as coarse shares may, do not show how far new rows would spread.
            return {f"{name}mean": mean, f"{name}low": float("nan"), f"{name}high": float("nan")}
        spread = float(np.std(values, ddof=1)) * np.sqrt(1 / count + self.n_test / self.n_train)
        low, high = mean + spread * stats.t.ppf(defaults.INTERVAL, count - 1)
        return {f"{name}mean": mean, f"{name}low": float(low), f"{name}high": float(high)}


def _known(rows: list[Row]) -> list[Row]:
    """Write numbers that are not defined as None, which JSON knows."""
    return [{key: None if value != value else value for key, value in row.items()} for row in rows]
