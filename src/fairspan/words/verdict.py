"""What the sample says about new rows, in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from operator import mul
from typing import Any

from fairspan.words.templates import TEMPLATES
from fairspan.words.writing import FEW_ROWS, LEAST_ROWS, listing, number, pvalue, quoted, ranged

SIGNIFICANT = 0.05
"""Differences with at most this p-value are shown."""
Range = tuple[float, float]


@dataclass(frozen=True)
class Verdict:
    """What the sample says about new rows, as plain values; None where it says nothing.

    Attributes
    ----------
    labels : tuple
        The groups that are compared; what follows is in this order.
    rows : tuple of int
        Their numbers of rows.
    sizes : tuple of float
        Effective numbers of independent rows, by which statements are made.
    pvalue : float or None
        Of the hypothesis that groups do not matter to PCA.
    adjusted : tuple of float or None
        For more than two groups, that of each against the average of all.
    errors : tuple of float
        PCA's error of each group on new rows.
    intervals : tuple of pairs of float or None
        The range of each, on its own.
    difference : float or None
        Of two groups, PCA's error of the later label minus that of the earlier one.
    difference_interval : pair of float or None
        Its range.
    gap_interval : pair of float or None
        The range of the largest difference.
    fair_errors : tuple of float
        For two groups, the errors of the method that is compared with PCA.
    fair_intervals : tuple of pairs of float or None
        The range of each.
    fair_difference : float or None
        As ``difference``, with that method.
    fair_difference_interval : pair of float or None
        Its range.
    change : str or None
        What that method does to the difference: "reduced", "widened" or "not shown"; None where
        there is no test.
    method : str
        The method; empty if there is only PCA.
    level : float or None
        How often the ranges hold; None where no level may be claimed.
    low_support : dict of str and float
        Columns in which few rows decide, and the effective number of these.
    tested : tuple of float
        PCA's error of each group on the rows of the test.
    clip : float or None
        At how many standard deviations features were clipped.
    can_clip : bool
        Whether a reader can have them clipped: not where rows are sparse, for instance.
    """

    labels: tuple[Any, ...]
    rows: tuple[int, ...]
    sizes: tuple[float, ...]
    pvalue: float | None = None
    adjusted: tuple[float | None, ...] = ()
    errors: tuple[float, ...] = ()
    intervals: tuple[Range | None, ...] = ()
    difference: float | None = None
    difference_interval: Range | None = None
    gap_interval: Range | None = None
    fair_errors: tuple[float, ...] = ()
    fair_intervals: tuple[Range | None, ...] = ()
    fair_difference: float | None = None
    fair_difference_interval: Range | None = None
    change: str | None = None
    method: str = ""
    level: float | None = None
    low_support: Mapping[str, float] = field(default_factory=dict)
    tested: tuple[float, ...] = ()
    clip: float | None = None
    can_clip: bool = True

    def __str__(self) -> str:
        return " ".join(filter(None, (self.headline, self.effect, self.caveats)))

    @property
    def is_shown(self) -> bool:
        """Whether PCA is shown to serve groups differently."""
        return self.pvalue is not None and self.pvalue <= SIGNIFICANT

    @property
    def headline(self) -> str:
        """How PCA serves the groups on new rows, as far as the data shows."""
        if len(self.labels) < 2:
            return TEMPLATES["one group"]
        if self.pvalue is None:
            few = self._named(lambda size: size < LEAST_ROWS) or "every group"
            return TEMPLATES["too few"].format(groups=few, least=LEAST_ROWS)
        if self.difference is None:
            return self._several(self.pvalue)
        worst, best = self.labels[::-1] if self.difference >= 0 else self.labels
        sign = 1 if self.difference >= 0 else -1
        ends = self.difference_interval
        turned = None if ends is None else sorted(sign * end for end in ends)
        excludes = turned is not None and (turned[0] > 0 or turned[1] < 0)
        apart = sign * (self.tested[1] - self.tested[0]) if self.tested else abs(self.difference)
        # Test and range are about different things; where they disagree, that is what is said.
        name = "chance open" if excludes else "no difference"
        if self.is_shown:
            name = "worse" if excludes or turned is None else "side open"
            name = name if apart >= 0 else "unsettled"
        return TEMPLATES[name].format(
            worst=quoted(worst),
            best=quoted(best),
            difference=estimate(abs(self.difference), turned),
            tested=number(apart),
            p=pvalue(self.pvalue),
        )

    def _several(self, p: float) -> str:
        """Name the groups that differ from the average of more than two."""
        mean = sum(map(mul, self.sizes, self.errors)) / sum(self.sizes)
        apart = [a for a, own in enumerate(self.adjusted) if own is not None and own <= SIGNIFICANT]
        if not self.is_shown or not apart:
            ends = self.gap_interval
            widest = f"{number(ends[0])} to {number(ends[1])}" if ends else ""
            if ends and ends[0] > 0:
                return TEMPLATES["groups chance open"].format(widest=widest, p=pvalue(p))
            widest = f"largest difference {widest}; " if ends else ""
            return TEMPLATES["no group apart"].format(widest=widest, p=pvalue(p))
        if self.tested:
            # A group is named only if the rows of the test and new rows point the same way.
            usual = sum(map(mul, self.sizes, self.tested)) / sum(self.sizes)
            apart = [a for a in apart if (self.tested[a] - usual) * (self.errors[a] - mean) >= 0]
            if not apart:
                return TEMPLATES["groups unsettled"].format(p=pvalue(p))
        worse = [a for a in apart if self.errors[a] > mean]
        names = []
        for a in sorted(worse or apart, key=lambda a: -abs(self.errors[a] - mean)):
            own = self.adjusted[a]
            assert own is not None
            error = estimate(self.errors[a], self.intervals[a])
            names.append(
                TEMPLATES["one of several"].format(
                    group=quoted(self.labels[a]), error=error, p=pvalue(own)
                )
            )
        name = "worse than average" if worse else "better than average"
        return TEMPLATES[name].format(groups=listing(names))

    @property
    def effect(self) -> str:
        """What the method changes about it."""
        if not self.method or self.pvalue is None:
            return ""
        name = self.change or ("untested" if len(self.labels) > 2 else "not shown")
        if self.change in ("reduced", "widened") and not self.is_shown:
            name = f"{name} if any"
        return TEMPLATES[name].format(method=self.method)

    @property
    def caveats(self) -> str:
        """What ranges are worth, and where rows are few."""
        found = []
        if self.low_support:
            columns = listing([f"{quoted(name)}" for name in self.low_support])
            rows, clip = sum(self.sizes), f"{self.clip or 0:g}"
            name = "low support" if self.clip is None else "low support clipped"
            # Of so few rows not even normal columns have enough support, and clipping helps none.
            name = "low support of few" if rows < 3 * FEW_ROWS else name
            about = {"columns": columns, "clip": clip, "rows": round(rows)}
            remedy = TEMPLATES["clip"] if self.can_clip else ""
            found.append(TEMPLATES[name].format(remedy=remedy, **about))
        elif self.level is not None and self.errors:
            level = f"{100 * self.level:g} %"
            found.append(TEMPLATES["interval"].format(level=level))
        few = self._named(lambda size: LEAST_ROWS <= size < FEW_ROWS)
        if few:
            name = "no range" if self.low_support else "few rows"
            found.append(TEMPLATES[name].format(groups=few, few=FEW_ROWS))
        left_out = self._named(lambda size: size < LEAST_ROWS)
        if left_out and self.pvalue is not None:
            found.append(TEMPLATES["left out"].format(groups=left_out, least=LEAST_ROWS))
        return " ".join(found)

    def on_new_rows(self, a: int, fair: bool = False) -> str:
        """Write the error of one group on new rows, with its range; too few rows get none."""
        if self.sizes[a] < LEAST_ROWS:
            return TEMPLATES["no estimate"]
        errors, ends = self.errors, self.intervals
        if fair:
            errors, ends = self.fair_errors, self.fair_intervals
        text, _, range_ = estimate(errors[a], ends[a]).partition(", ")
        return f"{text} ({range_})"

    @property
    def document(self) -> dict[str, Any]:
        """The same for programs, with the sentences."""
        told = {name: getattr(self, name) for name in ("headline", "effect", "caveats")}
        return {"is_shown": self.is_shown, **asdict(self), **told}

    def _named(self, chosen: Callable[[float], bool]) -> str:
        sizes = zip(self.labels, self.rows, self.sizes, strict=True)
        return listing([f"{quoted(a)} ({_rows(n, size)})" for a, n, size in sizes if chosen(size)])


def _rows(count: int, size: float) -> str:
    """Count rows; clusters and unequal weights leave fewer that are independent."""
    return str(count) if round(size) == count else f"{count} rows, effectively {size:.3g}"


def counted(rows: int) -> str:
    """Write a number of rows, with a mark where they are few."""
    return f"{rows:,}{'*' if rows < FEW_ROWS else ''}"


def estimate(value: float, ends: Sequence[float] | None) -> str:
    """Write an estimate with its range, if there is one."""
    return f"{number(value)}, no range" if ends is None else ranged(value, ends)
