"""Rules of choice in words: "highest accuracy with demographic_parity_difference <= 0.1"."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from fairspan.downstream.measures import less_is_better

_RULE = re.compile(r"\s*(?:(best|highest|lowest)\s+)?(\S+)(?:\s+with\s+(.+?))?\s*", re.I)
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?"
_LIMIT = re.compile(rf"\s*(\S+?)\s*(<=|>=)\s*({_NUMBER})\s*", re.I)


@dataclass(frozen=True)
class Rule:
    """What to make best, within which limits.

    Attributes
    ----------
    metric : str
        The metric to make best.
    lowest : bool
        Whether less is better.
    limits : tuple of (str, str, float)
        Metric, "<=" or ">=", and number.
    """

    metric: str
    lowest: bool
    limits: tuple[tuple[str, str, float], ...]

    @classmethod
    def parse(cls, text: str, known: Collection[str]) -> Rule:
        """Read a rule; refuse what it cannot mean."""
        found = _RULE.fullmatch(text) if isinstance(text, str) else None
        parts = re.split(r"\sand\s", found[3]) if found and found[3] else []
        limits = [_LIMIT.fullmatch(part) for part in parts]
        if not found or None in limits:
            raise ValueError(
                f"rule={text!r} is not understood. A rule is 'highest', 'lowest' or 'best', a "
                "metric, and optional limits, with <= or >=: for instance 'highest accuracy "
                "with demographic_parity_difference <= 0.1 and roc_auc >= 0.7'."
            )
        direction = (found[1] or "best").lower()
        rule = cls(
            found[2],
            direction == "lowest" or (direction == "best" and less_is_better(found[2])),
            tuple((limit[1], limit[2], float(limit[3])) for limit in limits if limit),
        )
        for metric in (rule.metric, *(limit[0] for limit in rule.limits)):
            if metric not in known:
                raise ValueError(
                    f"rule={text!r} names {metric!r}, which was not measured; measured were "
                    f"{', '.join(known)}."
                )
        return rule

    def violation(self, values: Mapping[str, float]) -> float:
        """Return by how much the worst limit is broken; 0 if none is."""
        broken = [
            values[metric] - limit if sign == "<=" else limit - values[metric]
            for metric, sign, limit in self.limits
        ]
        # What is not known keeps no limit.
        return max([0.0, *(by if by == by else math.inf for by in broken)])

    def order(self, values: Mapping[str, float]) -> tuple[float, float]:
        """Return what sorts candidates, the best first: limits before the metric."""
        value = values[self.metric] if self.lowest else -values[self.metric]
        return self.violation(values), value if value == value else math.inf
