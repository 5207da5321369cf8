"""What the figures say in words, as far as they say it: differences to PCA whose sign is shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fairspan.downstream.candidates import NO_REDUCTION, PCA
from fairspan.downstream.result import Choice, DownstreamResult
from fairspan.words import FEW_ROWS, LEAST_ROWS, plural, quoted
from fairspan.words.writing import listing

_APART = "_difference"
_ROUNDED = 1e-9


def shown_metrics(result: DownstreamResult) -> list[str]:
    """Metrics as asked for; with their differences between groups if no metric compares groups."""
    asked = [
        name
        for name in result.metrics
        if not name.endswith(_APART) or name.removesuffix(_APART) not in result.metrics
    ]
    return asked if any(name.endswith(_APART) for name in asked) else list(result.metrics)


def with_interval(row: dict[str, Any]) -> str:
    """Write a mean with its half width, or with its ends where one is a limit, and with chance."""
    by_chance = row.get("by_chance")
    if by_chance is None or by_chance != by_chance:
        return _ranged(row)
    return f"{_ranged(row)}; {by_chance:.3f} by chance"


def _ranged(row: dict[str, Any]) -> str:
    mean, low, high = row["mean"], row["low"], row["high"]
    if mean != mean:
        return "undefined"
    if low is None or low != low:
        return f"{mean:.3f}"
    if abs((high - mean) - (mean - low)) > _ROUNDED:
        return f"{mean:.3f} ({low:.3f} to {high:.3f})"
    return f"{mean:.3f} ± {high - mean:.3f}"


def against_pca(result: DownstreamResult) -> list[str]:
    """Say for each disparity which methods lower or raise it, compared with PCA of that size."""
    if result.n_splits < 2:
        return ["One split has no interval, so methods are not compared; use more splits."]
    return [_sentence(result, name) for name in _disparities(result)]


def notes(result: DownstreamResult) -> list[str]:
    """Say what the intervals are worth: levels, numbers of comparisons, and small groups."""
    found = []
    if result.comparing:
        found.append(
            "Even groups drawn at random differ, so the interval of a difference between groups "
            "says how large it was in these splits, not that it is more than chance. By chance: "
            "its mean with shuffled group labels, without reduction. Only changes are tested, "
            "against PCA and against no reduction."
        )
    if result.n_splits < 2:
        return found
    rows = [row for name in _disparities(result) for row in _compared(result, name)]
    if len(rows) > 1:
        found.append(
            f"These are {len(rows)} comparisons with PCA, each with a 95 % interval; they are not "
            "corrected for their number."
        )
    least = _named(result, lambda size: size < LEAST_ROWS)
    if least:
        found.append(
            f"No interval for {least}, nor for differences between groups: fewer than {LEAST_ROWS} "
            "held-out rows."
        )
    few = _named(result, lambda size: LEAST_ROWS <= size < FEW_ROWS)
    return [*found, *([f"Few held-out rows: {few}."] if few else [])]


def _named(result: DownstreamResult, chosen: Callable[[float], bool]) -> str:
    sizes = result.group_sizes.items()
    return listing([f"{quoted(a)} ({size:.3g})" for a, size in sizes if chosen(size)])


def _disparities(result: DownstreamResult) -> list[str]:
    return [name for name in shown_metrics(result) if name.endswith(_APART)]


def _compared(result: DownstreamResult, metric: str) -> list[dict[str, Any]]:
    """List what a sentence is about: means of all rows after what is neither PCA nor nothing."""
    rows = result.summary(metric) if result.has_enough_rows(metric) else []
    return [r for r in rows if r["group"] is None and r["method"] not in (PCA, NO_REDUCTION)]


def _sentence(result: DownstreamResult, metric: str) -> str:
    kinds = ("lower", "higher", "not shown to change")
    found: dict[str, dict[tuple[str, float | None], list[int]]] = {kind: {} for kind in kinds}
    undefined = False
    for row in _compared(result, metric):
        low, high = row["minus_pca_low"], row["minus_pca_high"]
        change = row["minus_pca_mean"]
        if row["mean"] != row["mean"] or (change is not None and change != change):
            undefined = True
            continue
        # Without an interval nothing is shown.
        shown = low is not None and (low > 0 or high < 0)
        sizes = found[kinds[2] if not shown else kinds[0] if high < 0 else kinds[1]]
        sizes.setdefault((row["method"], row["fairness_weight"]), []).append(row["n_components"])
    parts = [
        f"{kind} after {', '.join(_name(*key, of) for key, of in sizes.items())}"
        for kind, sizes in found.items()
        if sizes
    ]
    name = metric.replace("_", " ")
    if not result.has_enough_rows(metric):
        return f"The {name} is not compared with PCA: a group has too few held-out rows."
    if undefined and not parts:
        return (
            f"The {name} is not compared with PCA: it is undefined where a group has too few rows."
        )
    if not parts:
        return f"The {name} has nothing to be compared with PCA."
    return f"The {name}, compared with PCA of the same size, is {'; '.join(parts)}."


def of_choice(choice: Choice, shown: list[str]) -> str:
    """Say what a rule chose, and what that did on rows the choice had not seen."""
    counts = {key: choice.chosen.count(key) for key in dict.fromkeys(choice.chosen)}
    named = [
        f"{_name(method, weight, [k] if k else [])} in {plural(n, 'split')}"
        for (method, k, weight), n in counts.items()
    ]
    text = f"Rule: {choice.rule}. Chosen on training rows: {', '.join(named)}."
    broken = len(choice.chosen) - choice.within_limits
    if broken:
        text += f" In {plural(broken, 'split')} nothing kept the limits; the nearest was taken."
    rows = [row for row in choice.values if row["metric"] in shown]
    values = [f"{row['metric'].replace('_', ' ')} {with_interval(row)}" for row in rows]
    return f"{text} On the other rows: {', '.join(values)}."


def _name(method: str, weight: float | None, sizes: list[int]) -> str:
    about = ["k = " + ", ".join(map(str, sizes))] if sizes else []
    about += [] if weight is None else [f"weight {weight:g}"]
    return f"{method} ({'; '.join(about)})" if about else method
