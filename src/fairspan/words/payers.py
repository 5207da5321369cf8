"""Who pays for fairness, and whether another projection serves every group better, in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fairspan.words.templates import RULES, TEMPLATES
from fairspan.words.writing import (
    at_least,
    number,
    quoted,
    share_at_most,
    signed_percent,
    weight_written,
)


def visible_gain(share: float) -> bool:
    """Say whether a share by which errors fall is worth a word."""
    return 100 * share >= RULES["small"]


@dataclass(frozen=True)
class Better:
    """What improves on a projection most, for the group that gains least, as plain values.

    Attributes
    ----------
    labels : sequence
        All groups.
    errors : sequence of float
        Their errors with the better projection.
    group_weights : sequence of float
        What proves the bound.
    gain, relative_gain : float
        By how much each error falls, at least.
    bound : float
        Proved: no projection lowers all errors by more.
    smallest : float
        The smallest of the errors to improve on.
    dominates : bool
        Whether every group gains, by more than rounding.
    is_pca : bool
        Whether PCA with these group weights gives it.
    failure : float
        How probably the bound may be wrong; 0 for a deterministic proof.
    """

    labels: Sequence[Any]
    errors: Sequence[float]
    group_weights: Sequence[float]
    gain: float
    relative_gain: float
    bound: float
    smallest: float
    dominates: bool
    is_pca: bool = False
    failure: float = 0.0

    @property
    def matters(self) -> bool:
        """Whether every group gains so much that it shows."""
        return self.dominates and visible_gain(self.relative_gain)

    @property
    def sentence(self) -> str:
        """The projection and its gain, or what is proved of every other."""
        if self.matters:
            share = f"{at_least(100 * self.relative_gain, 2)} %"
            how = TEMPLATES["by weights" if self.is_pca else "not by weights"]
            told = TEMPLATES["dominated"].format(share=share)
            return f"{told} {how.format(weights=self._weights)}"
        # A group without error cannot gain, in any unit.
        relative = self.bound < self.smallest
        share = share_at_most(self.bound / self.smallest) if relative else number(self.bound)
        told = TEMPLATES["undominated"].format(share=share)
        chance = TEMPLATES["by chance"].format(probability=f"1 - {self.failure:g}")
        return f"{told} {chance}" if self.failure > 0 else told

    @property
    def _weights(self) -> str:
        """The largest group weights, in the order of the groups."""
        written = list(map(weight_written, self.group_weights))
        order = sorted(range(len(written)), key=lambda a: -self.group_weights[a])
        shown, others = order[: int(RULES["named"])], order[int(RULES["named"]) :]
        text = ", ".join(f"{quoted(self.labels[a])} {written[a]}" for a in sorted(shown))
        if not others:
            return text
        rest = "" if any(written[a] != "0" for a in others) else "0 for "
        return f"{text} and {rest}{len(others)} more"


def who_pays(
    labels: Sequence[Any],
    before: Sequence[float],
    after: Sequence[float],
    method: str,
    compared: Sequence[Any] | None = None,
) -> str:
    """Say which group is served worst and how each group's error changes, compared with PCA.

    Parameters
    ----------
    labels : sequence
        The groups.
    before, after : sequences of float
        Their errors with PCA, and with the method.
    method : str
        The name of the method.
    compared : sequence, optional
        The groups among which the worst served is looked for; all if not given.

    Returns
    -------
    str
        Two sentences; empty where nothing changes.
    """
    same = RULES["same"] * max(before)
    if max(abs(a - b) for a, b in zip(before, after, strict=True)) <= same:
        return ""
    pairs = list(zip(before, after, strict=True))
    among = [a for a, label in enumerate(labels) if compared is None or label in compared]
    errors = ([before[a] for a in among], [after[a] for a in among])
    served = _served([labels[a] for a in among], *errors, method)
    shown = sorted(range(len(pairs)), key=lambda a: -abs(pairs[a][1] - pairs[a][0]))[
        : int(RULES["named"])
    ]
    changes = ", ".join(f"{quoted(labels[a])} {_change(*pairs[a])}" for a in sorted(shown))
    changes += f" and {len(pairs) - len(shown)} more" if len(shown) < len(pairs) else ""
    name = "some pay"
    if all(b > a + same for a, b in pairs):
        name = "everyone pays"
    elif all(b >= a - same for a, b in pairs):
        name = "no one gains"
    return f"{served} {TEMPLATES[name].format(changes=changes)}"


def _served(
    labels: Sequence[Any], before: Sequence[float], after: Sequence[float], method: str
) -> str:
    """Say which of these groups is served worst."""
    # Of errors that are equal up to rounding, the first: others may round differently.
    worst, other = (
        next(
            a for a, m in zip(labels, errors, strict=True) if m >= max(errors) * (1 - RULES["same"])
        )
        for errors in (before, after)
    )
    alike = max(after) - min(after) < RULES["same"] * min(after)
    name = "all served alike" if alike else "worst served"
    return TEMPLATES["worst served still" if other == worst and not alike else name].format(
        worst=quoted(worst),
        before=number(max(before)),
        other=quoted(other),
        after=number(max(after)),
        method=method,
    )


def _change(before: float, after: float) -> str:
    """Write how an error changes, in per cent and with its sign."""
    if before <= 0:
        return signed_percent(0.0 if after <= 0 else math.inf)
    return signed_percent(after / before - 1)


def dominated_methods(names: Sequence[str], counts_gap: bool = False) -> str:
    """Say of which methods' projections others serve every group better, and what does not."""
    told = TEMPLATES["dominated methods"].format(methods=", ".join(names)) if names else ""
    return f"{told} {TEMPLATES['instead']}" if counts_gap else told


def dominated_points(dominated: Sequence[bool], gaps: Sequence[float], disparity: str) -> str:
    """Say at how many points of a frontier another projection serves every group better."""
    some = sum(dominated)
    if not some:
        return ""
    gap = number(max(gap for gap, one in zip(gaps, dominated, strict=True) if one))
    counts = {"some": str(some), "all": str(len(gaps)), "gap": gap}
    told = TEMPLATES["dominated points"].format(**counts)
    return f"{told} {TEMPLATES['instead']}" if disparity == "gap" else told
