"""The result of a first look: how large the gap is, what closing it costs, and who pays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairspan import words
from fairspan.ground.types import FloatArray, Label
from fairspan.words import Verdict

ALL = "pca_errors has all"
"""Where the errors are of groups that are not printed."""
_NO_RANGE = (np.nan, np.nan)


@dataclass(frozen=True)
class Advice:
    """What the data says about the gap between groups; ``print`` it.

    Attributes
    ----------
    group_labels : tuple
        The groups, sorted.
    group_counts : ndarray of shape (n_groups,)
        Their rows.
    n_components : int
        Number of components.
    verdict : Verdict or None
        What the sample says about new rows: whether PCA serves groups differently and, for two
        groups, whether ``weight_for_target`` changes it. None where rounding hides it.
    pca_errors : ndarray of shape (n_groups,)
        Errors of the groups under plain PCA, on these rows.
    pca_gap : float
        Largest minus smallest of them.
    pca_total : float
        Total error of plain PCA, on these rows.
    disparity : str
        What the fairness weights below count: "gap" for two groups and "largest" for more, as in
        RobustFairPCA. Only projections are considered of which none is known that serves every
        group better; for more than two groups "gap" hardly has any.
    smallest_gap : float
        The smallest gap found at any fairness weight, on these rows.
    weight_for_smallest_gap : float
        The fairness weight (at radius 0) that gives it; infinite where the gap alone counts, as in
        ExactlyFairPCA.
    total_at_smallest_gap : float
        Total error there.
    target_gap : float
        The gap that was asked for.
    weight_for_target : float or None
        The smallest fairness weight (at radius 0) found to reach it; None if none does.
    total_at_target : float or None
        Total error there.
    errors_at_target : ndarray of shape (n_groups,)
        Errors of the groups there; at the smallest gap if the target is not reached.
    levels_down : bool
        Whether smaller gaps were left out because another projection serves every group better.
    components_for_target : int
        The number of components from which on plain PCA stays within the target.
    status : str
        "optimal" if every point of the trade-off behind the prices is proved, else "feasible".
    optimality_gap : float
        The largest relative gap between value and proved bound among these points; 1 where rounding
        hides the objective.
    is_hidden : bool
        Whether rounding hides the objective of some of these points.
    """

    group_labels: tuple[Label, ...]
    group_counts: Any
    n_components: int
    verdict: Verdict | None
    pca_errors: FloatArray
    pca_gap: float
    pca_total: float
    disparity: str
    smallest_gap: float
    weight_for_smallest_gap: float
    total_at_smallest_gap: float
    target_gap: float
    weight_for_target: float | None
    total_at_target: float | None
    errors_at_target: FloatArray
    levels_down: bool
    components_for_target: int
    status: str
    optimality_gap: float
    is_hidden: bool

    @property
    def distinguishable(self) -> bool:
        """Whether PCA is shown to serve groups differently on new rows."""
        return self.verdict is not None and self.verdict.is_shown

    @property
    def too_small(self) -> tuple[Label, ...]:
        """Groups with too few rows for a statement."""
        return tuple(
            label
            for label, count in zip(self.group_labels, self.group_counts, strict=True)
            if count < words.LEAST_ROWS
        )

    @property
    def level(self) -> float | None:
        """How often the intervals hold; None where no level may be claimed."""
        return None if self.verdict is None else self.verdict.level

    @property
    def pca_error_intervals(self) -> FloatArray:
        """Intervals of PCA's errors on new rows, (n_groups, 2); NaN where rows are too few."""
        found = self.verdict.intervals if self.verdict else ()
        return np.array([ends or _NO_RANGE for ends in found or [None] * len(self.group_labels)])

    @property
    def pca_gap_interval(self) -> FloatArray:
        """Interval of PCA's gap on new rows; NaN where rows are too few."""
        return np.array((self.verdict.gap_interval if self.verdict else None) or _NO_RANGE)

    def __str__(self) -> str:
        # Where the gap is rounding, so are differences between the errors.
        errors = self.pca_errors if self.pca_gap > 0 else np.zeros_like(self.pca_errors)
        known = self.verdict if self.pca_gap > 0 else None
        of_pca = (self.n_components, self.is_hidden, known)
        fitted = words.fitted(self._names, errors.tolist(), *of_pca)
        lines = [known.headline if known else "", *self._groups(known), fitted]
        if self.pca_gap > 0 and not self.is_hidden:
            lines += [
                f"There, the smallest gap found{self._counted} is "
                f"{words.number(self.smallest_gap)}{self._typed}, "
                f"{words.price(self.pca_total, self.total_at_smallest_gap)}.",
                words.TEMPLATES["levels down"] if self.levels_down else "",
                self._target(),
                self._payers(),
            ]
        lines += [known.effect, known.caveats] if known else []
        if self.status != "optimal":
            lines.append(words.proof(self.status, self.optimality_gap, self.is_hidden))
        lines.append(
            "This is about reconstruction error; it says nothing about the fairness of decisions "
            "made downstream."
        )
        return "\n".join(filter(None, lines))

    def _groups(self, known: Verdict | None) -> list[str]:
        lines = []
        for a, (label, count) in enumerate(zip(self.group_labels, self.group_counts, strict=True)):
            name, rows = words.group_name(label), words.plural(int(count), "row")
            line = f"  {name}, {rows}: error {words.number(self.pca_errors[a])} on these rows"
            if known and known.errors and known.sizes[a] >= words.LEAST_ROWS:
                line += f", {known.on_new_rows(a)} on new rows"
            lines.append(line)
        shown = words.folded(self.pca_errors.tolist())
        more = len(lines) - len(shown)
        return [lines[a] for a in shown] + [f"  and {more} more ({ALL})"] * (more > 0)

    @property
    def _names(self) -> list[Any]:
        return words.with_rows(self.group_labels, self.group_counts)

    @property
    def _counted(self) -> str:
        return "" if self.disparity == "gap" else f' with disparity="{self.disparity}"'

    @property
    def _typed(self) -> str:
        weight = self.weight_for_smallest_gap
        return f" (fairness weight {words.number(weight)})" if np.isfinite(weight) else ""

    @property
    def _method(self) -> str:
        weight = self.weight_for_target
        return "the smallest gap" if weight is None else f"weight {words.number(weight)}"

    def _payers(self) -> str:
        before, after = self.pca_errors.tolist(), self.errors_at_target.tolist()
        paid = words.who_pays(self._names, before, after, self._method)
        if not paid:
            return ""
        shown = words.folded(before, after)
        named = [
            f"{words.quoted(self._names[a])} {words.number(before[a])} and {words.number(after[a])}"
            for a in shown
        ]
        more = len(before) - len(shown)
        named += [f"{more} more"] * (more > 0)
        return f"{paid} Errors with PCA and with {self._method}: {', '.join(named)}."

    def _target(self) -> str:
        target = words.number(self.target_gap)
        needed = words.plural(self.components_for_target, "component")
        alone = f"Plain PCA needs {needed} to stay within {target} there."
        if self.pca_gap <= self.target_gap:
            return f"PCA's gap there is {words.number(self.pca_gap)}, already within {target}."
        if self.weight_for_target is None or self.total_at_target is None:
            return (
                f"No fairness weight was found that brings the gap there to {target} without "
                f"another projection serving every group better. {alone}"
            )
        weight = f"{words.number(self.weight_for_target)}{self._counted}"
        price = words.price(self.pca_total, self.total_at_target)
        return (
            f"A fairness weight of {weight} at radius 0 brings the gap there to at most "
            f"{target} {price}. {alone}"
        )
