"""Sentences with places to fill, and names in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fairspan.ground.numbers import DIGITS, SHARES

TEMPLATES = {
    # How PCA serves the groups, on new rows.
    "worse": "PCA serves {worst} worse than {best} (difference {difference}; {p}).",
    "no difference": (
        "No difference between groups is shown ({worst} minus {best}: {difference}; {p})."
    ),
    "worse than average": "PCA serves {groups} worse than the average.",
    "better than average": "PCA serves {groups} better than the average.",
    "one of several": "{group} (error {error}; adjusted {p})",
    "no group apart": "No difference between groups is shown ({widest}{p}).",
    "too few": "No statement about groups: {groups} has fewer than {least} rows.",
    "needs rows": "A verdict about new rows needs rows; here there are only moments.",
    # What another method changes there.
    "reduced": "{method} reduces the difference on new rows.",
    "widened": "{method} widens the difference on new rows.",
    "not shown": "Whether {method} changes it is not shown on new rows.",
    "untested": "Whether {method} changes it on new rows is not tested for more than two groups.",
    "other setting": "Whether {method} changes it on new rows was not tested at this setting.",
    # How far that goes.
    "interval": "Ranges are {level} intervals.",
    "low support": (
        "A few rows make up most of the variance of {columns}, so ranges are rough and have no "
        "stated confidence; clip=3 on an estimator limits such rows."
    ),
    "few rows": "Few rows: {groups}.",
    "left out": "No statement about {groups}: fewer than {least} rows.",
    # How PCA serves the groups, on the rows of the fit.
    "one group": "There is only one group, so there is nothing to compare: the result is PCA.",
    "all kept": "All components are kept: nothing is lost, and there is nothing to choose.",
    "blurred": "With {components}, rounding hides how well PCA reconstructs the groups.",
    "equal": ("With {components}, PCA reconstructs all groups equally well on the fitted rows."),
    "perfect": (
        "With {components}, PCA reconstructs {best} without error on the fitted rows, but not "
        "{worst}."
    ),
    "unequal": (
        "With {components}, PCA reconstructs {worst} {gap} worse than {best} on the fitted rows."
    ),
    # What another method changes there, and what that costs.
    "same": "There, {method} gives the same errors.",
    "spares": "There, {method} reconstructs {best} without error, but not {worst}, {price}.",
    "closes": "There, {method} closes the gap {price}.",
    "narrows": "There, {method} narrows the gap to {gap} {price}.",
    "widens": "There, {method} widens the gap to {gap} {price}.",
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
        "There, the worst-served group is {worst} with PCA (error {before}) and {other} with "
        "{method} (error {after})."
    ),
    "all served alike": (
        "There, the worst-served group is {worst} with PCA (error {before}); with {method} all "
        "errors are equal ({after})."
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
    **SHARES,
}
"""Words in braces are filled in."""
RULES = {
    # Errors that differ by less than this share of the largest are equal.
    "same": 5e-6,
    # So many groups are named: those that change most.
    "named": 6,
    **DIGITS,
}
"""How words and digits are chosen."""
_MOST_NAMES = 3


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


def listing(names: Sequence[str]) -> str:
    """Join names as people do, the first few of them."""
    shown = list(names[:_MOST_NAMES])
    if len(names) > _MOST_NAMES:
        shown.append(f"{len(names) - _MOST_NAMES} more")
    return " and ".join(filter(None, (", ".join(shown[:-1]), *shown[-1:])))
