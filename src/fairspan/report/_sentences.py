"""The sentences of a report. The page's script fills the same templates when a slider moves."""

from __future__ import annotations

from typing import Any

from fairspan.ground.bounds import at_most

TEMPLATES = {
    "unequal": "With {components}, PCA reconstructs {worst} {before} worse than {best}.",
    "perfect": "With {components}, PCA reconstructs {best} without error, but not {worst}.",
    "equal": "With {components}, PCA reconstructs all groups equally well.",
    "closes": "RobustFairPCA narrows the gap to {after} for {cost} more total error.",
    "widens": "RobustFairPCA changes the gap to {after} for {cost} more total error.",
    "same": "RobustFairPCA finds the same: nothing better is possible at this setting.",
    "proof": (
        "Proved optimal within {proved}: no projection can lower the weighted sum of total error "
        "and gap by more than that share."
    ),
}
"""Words in braces are filled in."""
_ZERO = 1e-12
_SAME = 5e-6


def sentences(content: dict[str, Any]) -> tuple[str, str, str]:
    """Give the headline, what the method does about it, and what is proved.

    Parameters
    ----------
    content : dict
        The content of a report.

    Returns
    -------
    tuple of str
        Three sentences about the report's own setting.
    """
    k = content["setting"]["n_components"]
    page = content["by_components"][k - 1]
    labels = [group["label"] for group in content["groups"]]
    shares = [group["share"] for group in content["groups"]]
    before, after = page["pca"]["errors"], page["chosen"]["errors"]
    words = {
        "components": f"{k} component{'' if k == 1 else 's'}",
        "worst": quoted(labels[before.index(max(before))]),
        "best": quoted(labels[before.index(min(before))]),
        "before": percent(_excess(before)),
        "after": percent(_excess(after)),
        "cost": percent(_total(shares, after) / max(_total(shares, before), _ZERO) - 1),
        "proved": at_most(page["chosen"]["proved"]),
    }
    if min(before) <= _ZERO * max(before):
        first = "equal" if max(before) == 0 else "perfect"
    else:
        first = "equal" if _excess(before) < _SAME else "unequal"
    if max(abs(a - b) for a, b in zip(before, after, strict=True)) <= _SAME * max(before):
        second = "same"
    else:
        second = "closes" if _excess(after) <= _excess(before) else "widens"
    found = [TEMPLATES[name].format(**words) for name in (first, second, "proof")]
    return found[0], found[1], found[2]


def quoted(label: str) -> str:
    """Put a group's name in quotes, unless it reads like words."""
    is_words = all(character.isalpha() or character == " " for character in label)
    return label if is_words else f"“{label}”"


def percent(share: float) -> str:
    """Give a share as a percentage that people read at a glance."""
    value = 100 * max(share, 0.0)
    if value == float("inf"):
        return "infinitely"
    if value < 0.05:
        return "under 0.1 %"
    return f"{value:.0f} %" if value >= 9.95 else f"{value:.1f} %"


def _excess(errors: list[float]) -> float:
    """How much worse the worst group fares than the best."""
    low, high = min(errors), max(errors)
    if high == low:
        return 0.0
    return high / low - 1 if low > _ZERO * high else float("inf")


def _total(shares: list[float], errors: list[float]) -> float:
    return sum(share * error for share, error in zip(shares, errors, strict=True))
