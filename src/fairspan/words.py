"""Every sentence about errors, gap, price, proof and doubt, and every number in them.

Terminal, model card, html page and advice all speak through this module, so that they say the same
about the same result. It knows plain values only. The page's script fills the same templates by the
same rules, both of which it is given as data.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from typing import Any

TEMPLATES = {
    # How PCA serves the groups.
    "one group": "There is only one group, so there is nothing to compare: the result is PCA.",
    "all kept": "All components are kept: nothing is lost, and there is nothing to choose.",
    "blurred": "With {components}, rounding hides how well PCA reconstructs the groups.",
    "equal": "With {components}, PCA reconstructs all groups equally well.",
    "perfect": "With {components}, PCA reconstructs {best} without error, but not {worst}.",
    "unequal": "With {components}, PCA reconstructs {worst} {gap} worse than {best}.",
    # What another method changes, and what that costs.
    "same": "{method} gives the same errors.",
    "spares": "{method} reconstructs {best} without error, but not {worst}, {price}.",
    "closes": "{method} closes the gap {price}.",
    "narrows": "{method} narrows the gap to {gap} {price}.",
    "widens": "{method} widens the gap to {gap} {price}.",
    "price": "for {share} more total error",
    # What is proved.
    "exact": "Proved optimal: no projection has a smaller objective.",
    "proved": (
        "Proved optimal within {share}: no projection can lower the objective by more than that "
        "share."
    ),
    "unproved": (
        "Not proved optimal: another projection may lower the objective by up to {share} of it."
    ),
    "hidden": (
        "Nothing is proved: some features vary so little compared with others that rounding hides "
        "the objective."
    ),
    # Who pays.
    "worst served": (
        "The worst-served group is {worst} with PCA (error {before}) and {other} with {method} "
        "(error {after})."
    ),
    "all served alike": (
        "The worst-served group is {worst} with PCA (error {before}); with {method} all errors are "
        "equal ({after})."
    ),
    "everyone pays": "Every group is worse off than with PCA ({changes}).",
    "no one gains": "No group is better off than with PCA ({changes}).",
    "some pay": "Errors compared with PCA: {changes}.",
    # Whether every group could be served better.
    "dominated": (
        "Another projection serves every group better: it lowers each group's error by at least "
        "{share}. It is PCA with the group weights {weights}."
    ),
    "dominated here": "Another projection serves every group better.",
    "dominated points": (
        "At {some} of {all} points (gaps up to {gap}) another projection serves every group better."
    ),
    "dominated methods": (
        "On the rows of the fit, another projection serves every group better than {methods}."
    ),
    "levels down": (
        "Smaller gaps are possible only where another projection serves every group better."
    ),
    "instead": (
        'disparity="largest" (--disparity largest) makes no group worse to look more equal.'
    ),
    "undominated": "Proved: no projection lowers the error of every group by more than {share}.",
    # Shares in words.
    "unknown": "unknown",
    "small": "under 0.1 %",
    "infinite": "infinite",
}
"""Words in braces are filled in."""
RULES = {
    # Errors below this share of the largest are none; those that differ by less are equal.
    "zero": 1e-12,
    "same": 5e-6,
    # So many groups are named: those that change most.
    "named": 6,
    # Percentages below the first are not written out; those from the second on are whole numbers.
    "small": 0.05,
    "whole": 9.95,
    # Numbers between the first and the second are plain; larger ones have commas up to the third.
    "tiny": 1e-4,
    "large": 9999.5,
    "huge": 1e9,
}
"""How words and digits are chosen."""
_READABLE = 1e-3
"""Bounds from this share on are written in per cent."""


def number(value: float, unit: float = 0.0) -> str:
    """Write a number with four digits; 0 for what is rounding compared with the unit."""
    size = abs(value)
    if not math.isfinite(value):
        return f"{value:g}"
    if size <= RULES["zero"] * unit:
        return "0"
    if RULES["tiny"] <= size < RULES["large"]:
        return f"{value:#.4g}".rstrip(".")
    return f"{value:,.0f}" if RULES["large"] <= size < RULES["huge"] else _short(f"{value:.3e}")


def percent(share: float) -> str:
    """Write a share in per cent, as people read it at a glance; negative ones count as 0."""
    value = 100 * max(share, 0.0)
    if math.isinf(value):
        return TEMPLATES["infinite"]
    if value < RULES["small"]:
        return TEMPLATES["small"]
    return f"{value:.0f} %" if value >= RULES["whole"] else f"{value:.1f} %"


def at_most(value: float, digits: int = 1) -> str:
    """Write an upper bound with few digits, rounded up: 3e-10 for 2.479e-10."""
    if value <= 0:
        return "0"
    return _short(f"{_rounded(value, digits, ROUND_CEILING):.{digits - 1}e}")


def at_least(value: float, digits: int) -> str:
    """Write a lower bound, rounded down."""
    return f"{_rounded(value, digits, ROUND_FLOOR):.{digits}g}"


def share_at_most(share: float) -> str:
    """Write a share that is proved, rounded up: in per cent where that reads well."""
    if share < _READABLE:
        return at_most(share)
    value = 100 * _rounded(share, 2, ROUND_CEILING)
    return f"{value:.2g} %" if value < 100 else f"{value:.0f} %"


def plural(count: int, word: str) -> str:
    """Write a count with its noun."""
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"


def group_name(label: Any) -> str:
    """Name a group as people would: the parts of an intersection side by side."""
    return " / ".join(map(str, label)) if isinstance(label, tuple) else str(label)


def quoted(label: Any) -> str:
    """Name a group inside a sentence: in quotes, unless it reads like words."""
    name = group_name(label)
    return name if name.replace(" ", "").isalpha() else f"'{name}'"


def excess(errors: Sequence[float]) -> float:
    """Give the gap in relative terms: how much larger the largest error is than the smallest."""
    low, high = min(errors), max(errors)
    if high == low:
        return 0.0
    return high / low - 1 if low > RULES["zero"] * high else math.inf


def headline(
    labels: Sequence[Any], errors: Sequence[float], n_components: int, hidden: bool = False
) -> str:
    """Say how PCA serves the groups, unless rounding hides it."""
    gap = excess(errors)
    name = "equal" if gap < RULES["same"] else "perfect" if math.isinf(gap) else "unequal"
    components = plural(n_components, "component")
    return _filled("blurred" if hidden else name, labels, errors, components=components)


def price(before: float, after: float) -> str:
    """Say what a change costs in total error."""
    more = after / before - 1 if before > 0 else math.inf if after > 0 else 0.0
    return TEMPLATES["price"].format(share=percent(more))


def proof(status: str, gap: float, hidden: bool = False) -> str:
    """Say what is proved of a result, and how far another projection could still be better.

    Parameters
    ----------
    status : str
        The status of a ``SolverResult``.
    gap : float
        Its optimality gap.
    hidden : bool
        Whether rounding hides its objective.

    Returns
    -------
    str
        A sentence that claims no more than the result.
    """
    if hidden:
        return TEMPLATES["hidden"]
    name = "unproved" if status != "optimal" else "proved" if gap > 0 else "exact"
    return TEMPLATES[name].format(share=share_at_most(gap))


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
        PCA with groups counted like this gives it.
    gain, relative_gain : float
        By how much each error falls, at least.
    bound : float
        Proved: no projection lowers all errors by more.
    smallest : float
        The smallest of the errors to improve on.
    dominates : bool
        Whether every group gains, by more than rounding.
    """

    labels: Sequence[Any]
    errors: Sequence[float]
    group_weights: Sequence[float]
    gain: float
    relative_gain: float
    bound: float
    smallest: float
    dominates: bool

    @property
    def matters(self) -> bool:
        """Whether every group gains so much that it shows."""
        return self.dominates and visible_gain(self.relative_gain)

    @property
    def sentence(self) -> str:
        """The projection and its gain, or what is proved of every other."""
        if self.matters:
            parts = zip(self.labels, self.group_weights, strict=True)
            weights = ", ".join(f"{quoted(label)} {weight:.3g}" for label, weight in parts)
            share = f"{at_least(100 * self.relative_gain, 2)} %"
            return TEMPLATES["dominated"].format(share=share, weights=weights)
        # A group without error cannot gain, in any unit.
        relative = self.bound < self.smallest
        share = share_at_most(self.bound / self.smallest) if relative else number(self.bound)
        return TEMPLATES["undominated"].format(share=share)


def who_pays(
    labels: Sequence[Any], before: Sequence[float], after: Sequence[float], method: str
) -> str:
    """Say which group is served worst and how each group's error changes, compared with PCA.

    Parameters
    ----------
    labels : sequence
        The groups that are compared.
    before, after : sequences of float
        Their errors with PCA, and with the method.
    method : str
        The name of the method.

    Returns
    -------
    str
        Two sentences; empty where nothing changes.
    """
    same = RULES["same"] * max(before)
    if max(abs(a - b) for a, b in zip(before, after, strict=True)) <= same:
        return ""
    # Of errors that are equal up to rounding, the first: others may round differently.
    worst, other = (
        next(
            a for a, m in zip(labels, errors, strict=True) if m >= max(errors) * (1 - RULES["same"])
        )
        for errors in (before, after)
    )
    alike = excess(after) < RULES["same"]
    served = TEMPLATES["all served alike" if alike else "worst served"].format(
        worst=quoted(worst),
        before=number(max(before)),
        other=quoted(other),
        after=number(max(after)),
        method=method,
    )
    pairs = list(zip(before, after, strict=True))
    shown = sorted(range(len(pairs)), key=lambda a: -abs(pairs[a][1] - pairs[a][0]))[
        : int(RULES["named"])
    ]
    changes = ", ".join(f"{quoted(labels[a])} {_change(*pairs[a])}" for a in sorted(shown))
    changes += ", ..." if len(shown) < len(pairs) else ""
    name = "some pay"
    if all(b > a + same for a, b in pairs):
        name = "everyone pays"
    elif all(b >= a - same for a, b in pairs):
        name = "no one gains"
    return f"{served} {TEMPLATES[name].format(changes=changes)}"


def _change(before: float, after: float) -> str:
    """Write how an error changes, in per cent and with its sign."""
    if before <= 0:
        return "0 %" if after <= 0 else f"+{TEMPLATES['infinite']}"
    share = after / before - 1
    text = percent(abs(share))
    return text if text == TEMPLATES["small"] else f"{'+' if share > 0 else '-'}{text}"


def dominated_methods(names: Sequence[str]) -> str:
    """Say of which methods' projections others serve every group better."""
    return TEMPLATES["dominated methods"].format(methods=", ".join(names)) if names else ""


def dominated_points(dominated: Sequence[bool], gaps: Sequence[float], disparity: str) -> str:
    """Say at how many points of a frontier another projection serves every group better."""
    some = sum(dominated)
    if not some:
        return ""
    gap = number(max(gap for gap, one in zip(gaps, dominated, strict=True) if one))
    counts = {"some": str(some), "all": str(len(gaps)), "gap": gap}
    told = TEMPLATES["dominated points"].format(**counts)
    return f"{told} {TEMPLATES['instead']}" if disparity == "gap" else told


@dataclass(frozen=True)
class Findings:
    """What is known of PCA and of a method on the same data, as plain values.

    Attributes
    ----------
    labels : sequence
        The groups that are compared.
    errors : pair of sequences of float
        Their errors with PCA, and with the method.
    totals : pair of float
        The total errors of both.
    n_components, n_features : int
        How many are kept, and of how many.
    status, gap : str and float
        Status and optimality gap of the method's result.
    hidden : pair of bool
        Whether rounding hides the objective of PCA, and that of the method.
    method : str
        The name of the method.
    better : Better or None
        What improves on the method's result most.
    disparity : str
        What the method's fairness weight counts.
    """

    labels: Sequence[Any]
    errors: tuple[Sequence[float], Sequence[float]]
    totals: tuple[float, float]
    n_components: int
    n_features: int
    status: str
    gap: float
    hidden: tuple[bool, bool] = (False, False)
    method: str = "RobustFairPCA"
    better: Better | None = None
    disparity: str = "gap"

    @property
    def sentences(self) -> tuple[str, ...]:
        """All there is to say, in the order in which a reader asks; more would be added here."""
        return tuple(filter(None, (self.headline, self.effect, self.payers, self.proof)))

    @property
    def headline(self) -> str:
        """How PCA serves the groups, or why there is nothing to compare."""
        nothing = self._nothing_to_compare
        if nothing:
            return TEMPLATES[nothing]
        return headline(self.labels, self.errors[0], self.n_components, self.hidden[0])

    @property
    def effect(self) -> str:
        """What the method changes for the groups, and its price; empty if nothing is compared."""
        if self._nothing_to_compare or any(self.hidden):
            return ""
        apart = max(abs(a - b) for a, b in zip(*self.errors, strict=True))
        before, after = map(excess, self.errors)
        if apart <= RULES["same"] * max(self.errors[0]):
            name = "same"
        elif after < RULES["same"]:
            name = "closes"
        elif math.isinf(after):
            name = "spares"
        else:
            name = "narrows" if after <= before else "widens"
        others = {"method": self.method, "price": price(*self.totals)}
        return _filled(name, self.labels, self.errors[1], **others)

    @property
    def payers(self) -> str:
        """Who pays for it, and whether another projection serves every group better."""
        if not self.effect:
            return ""
        told = [who_pays(self.labels, *self.errors, self.method)]
        if self.better is not None:
            told.append(self.better.sentence)
            if self.better.matters and self.disparity == "gap":
                told.append(TEMPLATES["instead"])
        return " ".join(filter(None, told))

    @property
    def proof(self) -> str:
        """What is proved of the method's result; empty if there was nothing to choose."""
        if self._nothing_to_compare == "all kept":
            return ""
        return proof(self.status, self.gap, self.hidden[1])

    @property
    def _nothing_to_compare(self) -> str:
        if self.n_components >= self.n_features:
            return "all kept"
        return "one group" if len(self.labels) < 2 else ""


def proof_of_points(status: Sequence[str], gaps: Sequence[float], hidden: Sequence[bool]) -> str:
    """Say what is proved of all points of a frontier: the least that is proved of any."""
    left = [gap for one, gap in zip(status, gaps, strict=True) if one != "optimal"]
    if any(hidden):
        return TEMPLATES["hidden"]
    if not left:
        return f"Every point is proved optimal within {share_at_most(max(gaps))}."
    return (
        f"{len(left)} of {len(gaps)} points are not proved optimal: another projection may lower "
        f"the objective by up to {share_at_most(max(left))} of it."
    )


def trade_off(weights: Sequence[float], gaps: Sequence[float], totals: Sequence[float]) -> str:
    """Say how much of the gap the points of a frontier close, and at what price."""
    first, last = weights.index(min(weights)), gaps.index(min(gaps))
    if not gaps[first] > gaps[last]:
        return "No fairness weight narrows the gap."

    def closed(i: int) -> str:
        return percent(1 - gaps[i] / gaps[first])

    whole = closed(last) == percent(1.0)
    part = "The gap" if whole else f"{closed(last)} of the gap"
    text = f"{part} can be closed {price(totals[first], totals[last])}"
    half = [i for i, gap in enumerate(gaps) if gap <= 0.5 * gaps[first]]
    i = min(half, key=totals.__getitem__, default=last)
    if gaps[last] < 0.4 * gaps[first] and i != last:
        cost = price(totals[first], totals[i])
        text += f"; {closed(i)} of it {cost} (fairness weight {number(weights[i])})"
    return f"{text}."


def fairest(gaps: Mapping[str, float], totals: Mapping[str, float]) -> str:
    """Say which method has the smallest gap, and its price compared with the smallest total."""
    best, cheapest = min(gaps, key=gaps.__getitem__), min(totals, key=totals.__getitem__)
    if best == cheapest:
        return f"{best} has both the smallest gap and the smallest total error."
    cost = price(totals[cheapest], totals[best])
    return f"{best} has the smallest gap, {cost} than {cheapest}, which has the smallest."


def doubt(
    gap: float, interval: Sequence[float], level: float, sure: bool, too_small: Sequence[Any]
) -> str:
    """Say whether a gap is distinguishable from sampling noise.

    Parameters
    ----------
    gap : float
        Largest minus smallest group error.
    interval : sequence of two floats
        Its interval over the groups with enough rows; NaN if there are no two of them.
    level : float
        Confidence level of the interval.
    sure : bool
        Whether the interval lies above 0.
    too_small : sequence
        Groups with too few rows.

    Returns
    -------
    str
        One or two sentences.
    """
    few = f"Too few rows to judge: {', '.join(map(quoted, too_small))}." if too_small else ""
    low, high = interval
    if math.isnan(low):
        return f"The gap is {number(gap)}. {few}"
    within = f"({100 * level:g} % interval: {number(low)} to {number(high)})"
    which = f"{few} The gap between the other groups" if few else f"The gap of {number(gap)}"
    verdict = "is" if sure else "is not"
    return f"{which} {within} {verdict} distinguishable from sampling noise."


def _filled(name: str, labels: Sequence[Any], errors: Sequence[float], **others: str) -> str:
    worst, best = (labels[errors.index(end)] for end in (max(errors), min(errors)))
    words = {"worst": quoted(worst), "best": quoted(best), "gap": percent(excess(errors))}
    return TEMPLATES[name].format(**words, **others)


def _short(text: str) -> str:
    mantissa, exponent = text.split("e")
    return f"{mantissa}e{int(exponent)}"


def _rounded(value: float, digits: int, rounding: str) -> float:
    # The shortest text that means the number: 1e-8 is not to become 2e-8.
    return float(Context(prec=digits, rounding=rounding).create_decimal(repr(float(value))))
