"""What the figures say in words, as far as they say it: differences to PCA whose sign is shown."""

from __future__ import annotations

from typing import Any

from fairspan.downstream.candidates import NO_REDUCTION, PCA
from fairspan.downstream.result import Choice, DownstreamResult
from fairspan.words import plural

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
    """Write a mean with the half width of its interval, or with its ends where one is a limit."""
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
    return [_sentence(result, name) for name in shown_metrics(result) if name.endswith(_APART)]


def _sentence(result: DownstreamResult, metric: str) -> str:
    kinds = ("lower", "higher", "not shown to change")
    found: dict[str, dict[tuple[str, float | None], list[int]]] = {kind: {} for kind in kinds}
    undefined = False
    for row in result.summary(metric):
        if row["group"] is not None or row["method"] in (PCA, NO_REDUCTION):
            continue
        low, high = row["minus_pca_low"], row["minus_pca_high"]
        if row["mean"] != row["mean"] or (low is not None and low != low):
            undefined = True
            continue
        unclear = low is None or low <= 0 <= high
        sizes = found[kinds[2] if unclear else kinds[0] if high < 0 else kinds[1]]
        sizes.setdefault((row["method"], row["fairness_weight"]), []).append(row["n_components"])
    parts = [
        f"{kind} after {', '.join(_name(*key, of) for key, of in sizes.items())}"
        for kind, sizes in found.items()
        if sizes
    ]
    name = metric.replace("_", " ")
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
