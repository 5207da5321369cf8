"""What is known of PCA, of another method and of a frontier on the same data, in words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairspan.words.payers import Better, who_pays
from fairspan.words.references import References
from fairspan.words.templates import RULES, TEMPLATES
from fairspan.words.verdict import Verdict
from fairspan.words.writing import difference, number, percent, plural, quoted, share_at_most

_GAINS = ("closes", "narrows")
"""Effects on the fitted rows that new rows may contradict."""


def excess(errors: Sequence[float]) -> float:
    """Give the gap in relative terms: how much larger the largest error is than the smallest."""
    low, high = min(errors), max(errors)
    if high == low:
        return 0.0
    return high / low - 1 if low > RULES["zero"] * high else math.inf


def fitted(
    labels: Sequence[Any],
    errors: Sequence[float],
    n_components: int,
    hidden: bool = False,
    verdict: Verdict | None = None,
) -> str:
    """Say how PCA serves the groups on the rows of its fit, unless rounding hides it.

    Parameters
    ----------
    labels : sequence
        The groups that are compared.
    errors : sequence of float
        Their errors.
    n_components : int
        How many components are kept.
    hidden : bool
        Whether rounding hides the errors.
    verdict : Verdict or None
        What is known of new rows, which may point the other way.

    Returns
    -------
    str
        A sentence, or two.
    """
    gap = excess(errors)
    name = "equal" if gap < RULES["same"] else "perfect" if math.isinf(gap) else "unequal"
    components = plural(n_components, "component")
    told = _filled("blurred" if hidden else name, labels, errors, components=components)
    known = None if hidden or name == "equal" or verdict is None else verdict.difference
    turns = known is not None and known * (errors[1] - errors[0]) < 0
    return f"{told} {TEMPLATES['other way']}" if turns else told


def price(before: float, after: float) -> str:
    """Say what a change costs in total error."""
    more = after / before - 1 if before > 0 else math.inf if after > 0 else 0.0
    return TEMPLATES["price"].format(share=percent(more))


def proof(status: str, gap: float, hidden: bool = False, failure: float = 0.0) -> str:
    """Say what is proved of a result, and how far another projection could still be better.

    Parameters
    ----------
    status : str
        The status of a ``SolverResult``.
    gap : float
        Its optimality gap.
    hidden : bool
        Whether rounding hides its objective.
    failure : float
        How probably its bound may be wrong; 0 for a deterministic proof.

    Returns
    -------
    str
        A sentence that claims no more than the result, and one about chance where it played a part.
    """
    if hidden:
        return TEMPLATES["hidden"]
    name = "unproved" if status != "optimal" else "proved" if gap > 0 else "exact"
    told = TEMPLATES[name].format(share=share_at_most(gap))
    chance = TEMPLATES["by chance"].format(probability=f"1 - {failure:g}")
    return f"{told} {chance}" if failure > 0 else told


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
    verdict : Verdict or None
        What the sample says about new rows; None if there are only moments.
    better : Better or None
        What improves on the method's result most.
    disparity : str
        What the method's fairness weight counts.
    fairness_weight : float
        How much it does.
    kept : pair of float or None
        Shares of the variance that PCA and the method keep.
    references : References or None
        What it compares errors with; None for the errors themselves.
    failure : float
        How probably the bound of the method's result may be wrong.
    everyone : tuple of three sequences, or None
        Labels and errors of all groups, where some count in the total error alone: these pay or
        gain as well.
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
    verdict: Verdict | None = None
    better: Better | None = None
    disparity: str = "gap"
    fairness_weight: float = 1.0
    kept: tuple[float, float] | None = None
    references: References | None = None
    failure: float = 0.0
    everyone: tuple[Sequence[Any], Sequence[float], Sequence[float]] | None = None

    @property
    def sentences(self) -> tuple[str, ...]:
        """All there is to say, in the order in which a reader asks; more would be added here."""
        told = (self.headline, self.change, self.fitted, self.effect, self.variance)
        return tuple(filter(None, (*told, self.payers, self.caveats, self.proof)))

    @property
    def headline(self) -> str:
        """How PCA serves the groups, on new rows if that is known."""
        return self._known.headline if self._known else self._fitted

    @property
    def change(self) -> str:
        """What the method changes on new rows, if that is known."""
        return self._known.effect if self._known else ""

    @property
    def elsewhere(self) -> str:
        """The same at settings that were not tested."""
        if not self._known or self._known.pvalue is None:
            return ""
        name = "other setting" if len(self.labels) == 2 else "untested"
        return TEMPLATES[name].format(method=self.method)

    @property
    def fitted(self) -> str:
        """How PCA serves the groups on the rows of the fit, unless the headline says it."""
        return self._fitted if self._known else ""

    @property
    def caveats(self) -> str:
        """How much is known about new rows."""
        if self._nothing_to_compare or self.hidden[0]:
            return ""
        return self._known.caveats if self._known else TEMPLATES["needs rows"]

    @property
    def _known(self) -> Verdict | None:
        return None if self._nothing_to_compare or self.hidden[0] else self.verdict

    @property
    def _fitted(self) -> str:
        nothing = self._nothing_to_compare
        if nothing:
            return TEMPLATES[nothing]
        known = (self.n_components, self.hidden[0], self._known)
        return fitted(self.labels, self.errors[0], *known)

    @property
    def effect(self) -> str:
        """What the method changes on the rows of the fit, its price, and what is compared."""
        if self._nothing_to_compare or any(self.hidden):
            return ""
        if self.references is None:
            return self._change
        told = [self._change, self.references.sentence(self.labels, *self.errors, self.method)]
        return " ".join([*told, *[TEMPLATES["compared on new rows"]] * (self._known is not None)])

    @property
    def _change(self) -> str:
        apart = max(abs(a - b) for a, b in zip(*self.errors, strict=True))
        before, after = map(excess, self.errors)
        if apart <= RULES["same"] * max(self.errors[0]):
            name = "same"
        elif self.references is not None and self.fairness_weight != 0:
            name = self.references.effect(*self.errors)
        elif math.isinf(after):
            name = "spares"
        elif self.fairness_weight == 0:
            name = "unweighted"
        elif difference(max(self.errors[1]) - min(self.errors[1]), self.errors[1]) == "0":
            name = "closes"
        else:
            name = "narrows" if after <= before else "widens"
        others = {"method": self.method, "price": price(*self.totals), "before": percent(before)}
        if self.references is not None:
            others |= self.references.words(*self.errors)
        told = _filled(name, self.labels, self.errors[1], **others)
        widens = self._known is not None and self._known.change == "widened"
        return f"{told} {TEMPLATES['favours the fit']}" if widens and name in _GAINS else told

    @property
    def variance(self) -> str:
        """How much of the variance is kept."""
        if self.kept is None or any(self.hidden) or self._nothing_to_compare == "all kept":
            return ""
        before, after = (f"{100 * share:.1f} %" for share in self.kept)
        name = "kept alike" if before == after else "kept"
        return TEMPLATES[name].format(before=before, after=after, method=self.method)

    @property
    def payers(self) -> str:
        """Who pays for it, and whether another projection serves every group better."""
        if not self.effect:
            return ""
        groups = self.everyone or (self.labels, *self.errors)
        told = [who_pays(*groups, self.method, compared=self.labels)]
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
        return proof(self.status, self.gap, self.hidden[1], self.failure)

    @property
    def _nothing_to_compare(self) -> str:
        if self.n_components >= self.n_features:
            return "all kept"
        return "one group" if len(self.labels) < 2 else ""


def proof_of_points(
    status: Sequence[str], gaps: Sequence[float], hidden: Sequence[bool], failure: float = 0.0
) -> str:
    """Say what is proved of all points of a frontier: the least that is proved of any.

    Parameters
    ----------
    status : sequence of str
        The status of each point.
    gaps : sequence of float
        Their optimality gaps.
    hidden : sequence of bool
        Whether rounding hides their objectives.
    failure : float
        How probably any of their bounds may be wrong; 0 for deterministic proofs.

    Returns
    -------
    str
        A sentence, and one about chance where it played a part.
    """
    chance = TEMPLATES["by chance"].format(probability=f"1 - {failure:g}")
    told = _proof_of_points(status, gaps, hidden)
    return f"{told} {chance}" if failure > 0 and not any(hidden) else told


def _proof_of_points(status: Sequence[str], gaps: Sequence[float], hidden: Sequence[bool]) -> str:
    left = [gap for one, gap in zip(status, gaps, strict=True) if one != "optimal"]
    if any(hidden):
        return TEMPLATES["hidden"]
    if not left:
        return f"Every point is proved optimal within {share_at_most(max(gaps))}."
    return (
        f"{len(left)} of {len(gaps)} points are not proved optimal: another projection may lower "
        f"the objective by up to {share_at_most(max(left))} of it."
    )


def trade_off(
    weights: Sequence[float],
    gaps: Sequence[float],
    totals: Sequence[float],
    dominated: Sequence[bool],
    what: str = "gap",
) -> str:
    """Say how much of the gap the points of a frontier close, and at what price.

    A point is not offered as a compromise if another projection serves every group better.
    """
    first, last = weights.index(min(weights)), gaps.index(min(gaps))
    if not gaps[first] > gaps[last]:
        return f"No fairness weight narrows the {what}."

    def closed(i: int) -> str:
        return percent(1 - gaps[i] / gaps[first])

    whole = closed(last) == percent(1.0)
    part = f"The {what}" if whole else f"{closed(last)} of the {what}"
    text = f"{part} can be closed {price(totals[first], totals[last])}"
    half = [i for i, gap in enumerate(gaps) if gap <= 0.5 * gaps[first] and not dominated[i]]
    i = min(half, key=totals.__getitem__, default=last)
    if gaps[last] < 0.4 * gaps[first] and i != last:
        cost = price(totals[first], totals[i])
        text += f"; {closed(i)} of it {cost} (fairness weight {number(weights[i])})"
    return f"{text}."


def fairest(gaps: Mapping[str, float], totals: Mapping[str, float]) -> str:
    """Say which method has the smallest gap, and its price compared with the smallest total."""
    # Of methods that differ by rounding only, the first.
    low, same = min(totals.values()), 1 + RULES["same"]
    least = min(gaps.values()) + RULES["same"] * low
    fair = [name for name, gap in gaps.items() if gap <= least]
    lowest = min(totals[name] for name in fair)
    best = next(name for name in fair if totals[name] <= lowest * same)
    cheapest = best if lowest <= low * same else min(totals, key=totals.__getitem__)
    if best == cheapest:
        return f"{best} has both the smallest gap and the smallest total error."
    cost = price(totals[cheapest], totals[best])
    return f"{best} has the smallest gap, {cost} than {cheapest}, which has the smallest."


def _filled(name: str, labels: Sequence[Any], errors: Sequence[float], **others: str) -> str:
    worst, best = (labels[errors.index(end)] for end in (max(errors), min(errors)))
    words = {"worst": quoted(worst), "best": quoted(best), "gap": percent(excess(errors))}
    return TEMPLATES[name].format(**words, **others)
