"""Errors that are compared above references, in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fairspan.words.templates import RULES, TEMPLATES
from fairspan.words.writing import difference, number, quoted


@dataclass(frozen=True)
class References:
    """What the error of each group is compared with.

    Attributes
    ----------
    values : sequence of float
        A number for each group: with "own" the smallest error that it can have.
    is_own : bool
        Whether they are the groups' own best errors, or were given.
    """

    values: Sequence[float]
    is_own: bool

    @property
    def name(self) -> str:
        """What they are, in a sentence."""
        return TEMPLATES["each own" if self.is_own else "each given"]

    @property
    def heading(self) -> str:
        """What they are, in a table."""
        return "own best" if self.is_own else "reference"

    def above(self, errors: Sequence[float]) -> list[float]:
        """Give the errors above them."""
        return [error - value for error, value in zip(errors, self.values, strict=True)]

    def gap(self, errors: Sequence[float]) -> float:
        """Give the largest minus the smallest error above them."""
        above = self.above(errors)
        return max(above) - min(above)

    def effect(self, before: Sequence[float], after: Sequence[float]) -> str:
        """Say whether the gap above them closes, narrows or widens: the name of its template."""
        if difference(self.gap(after), after) == "0":
            return "closes above"
        return "narrows above" if self.gap(after) <= self.gap(before) else "widens above"

    def words(self, before: Sequence[float], after: Sequence[float]) -> dict[str, str]:
        """Give what fills these templates."""
        gaps = (difference(self.gap(errors), errors) for errors in (before, after))
        return {"reference": self.name, "before": next(gaps), "after": next(gaps)}

    def sentence(
        self, labels: Sequence[Any], before: Sequence[float], after: Sequence[float], method: str
    ) -> str:
        """Say what is compared: the references, and the errors above them by group.

        Parameters
        ----------
        labels : sequence
            The groups.
        before, after : sequences of float
            Their errors with PCA, and with the method.
        method : str
            The name of the method.

        Returns
        -------
        str
            The sentence.
        """
        gaps = self.words(before, after)
        most = sorted(range(len(labels)), key=lambda a: -self.above(before)[a])
        shown = sorted(most[: int(RULES["named"])])

        def listed(values: Sequence[str]) -> str:
            parts = [f"{quoted(labels[a])} {values[a]}" for a in shown]
            return ", ".join([*parts, *["..."] * (len(shown) < len(labels))])

        def above(errors: Sequence[float]) -> str:
            return listed([difference(value, errors) for value in self.above(errors)])

        return TEMPLATES["compared"].format(
            reference=self.name,
            references=listed(list(map(number, self.values))),
            before=above(before),
            after=above(after),
            gap_before=gaps["before"],
            gap_after=gaps["after"],
            method=method,
        )
