"""Rows that do not stay in memory: read again in each pass, part by part, here or on an engine.

Whatever the order in which parts are added, a sum of so many blocks adds at most that many numbers
one after another on top of those inside a block: the bound on rounding needs no more. A proof
needs the same rows in every pass; a checksum of each group sees to that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, issparse

from fairspan.ground.rows import check_weights
from fairspan.ground.types import FloatArray, Label
from fairspan.moments.from_rows import pilot_shift
from fairspan.moments.groups import Groups, check_sizes, sort_labels
from fairspan.moments.sparse import far_shift
from fairspan.products.dense import DenseRows
from fairspan.products.sparse import SparseRows

_PILOT_ROWS = 512


class Block(NamedTuple):
    """Some rows in memory, dense or sparse floats; labels or ``Groups``; weights, if any."""

    X: Any
    groups: Any
    weight: Any = None


Step = Callable[[Iterable[Block]], Any]
"""A function of the blocks of one part."""


@dataclass(frozen=True)
class RowParts:
    """Rows by parts, for fits, frontiers and certificates; see :mod:`fairspan.sources`.

    Attributes
    ----------
    run : callable
        ``run(step, add)`` applies a step to the blocks of each part and adds the results, in any
        order: one pass.
    first : callable
        ``first(step)`` applies a step to the first part alone; it may stop after some rows.
    n_features : int
        Number of features.
    feature_names : sequence of str or None
        Their names.
    has_groups : bool
        Whether rows have labels.
    relabel : callable or None
        Makes labels of all labels that were met, once they are known.
    """

    run: Callable[[Step, Callable[[Any, Any], Any]], Any]
    first: Callable[[Step], Any]
    n_features: int
    feature_names: Sequence[str] | None = None
    has_groups: bool = True
    relabel: Callable[[Sequence[Label]], Sequence[Label]] | None = None

    def __array__(self, *given: Any, **options: Any) -> Any:
        """Refuse to become an array, which may not fit into memory."""
        raise TypeError(
            "Rows that are read part by part are not an array; RobustFairPCA.fit, "
            "fairness_frontier, certify and dominating_projection take them. Elsewhere use "
            "moments, as of fairspan.sources.moments_from_files."
        )


@dataclass(frozen=True)
class GroupSums:
    """Sums over some rows, by group; they add up in any order.

    Attributes
    ----------
    by_label : dict of label to tuple of ndarray
        The sums.
    n_blocks : int
        How many blocks were added.
    depth : tuple of int
        The most numbers that were added one after another in a block, over rows and features.
    """

    by_label: dict[Label, tuple[Any, ...]]
    n_blocks: int = 0
    depth: tuple[int, int] = (0, 0)

    def __add__(self, other: GroupSums) -> GroupSums:
        both = self.by_label | other.by_label
        for label in self.by_label.keys() & other.by_label.keys():
            pairs = zip(self.by_label[label], other.by_label[label], strict=True)
            both[label] = tuple(one + two for one, two in pairs)
        deepest = max(self.depth[0], other.depth[0]), max(self.depth[1], other.depth[1])
        return GroupSums(both, self.n_blocks + other.n_blocks, deepest)


class PartRows:
    """Rows by parts, as the operator needs them: the first pass is made at once.

    Parameters
    ----------
    source : RowParts
        The rows.
    missing_groups : {"raise", "own_group", "total_only"}
        What to do with rows without a label.
    """

    width = 32
    """Reading the rows costs more than a product with some more columns."""

    def __init__(self, source: RowParts, missing_groups: str = "raise") -> None:
        self.source, self._missing = source, missing_groups
        d = source.n_features
        found = source.first(_pilot)
        self.shift = np.zeros(d) if found is None or len(found) != d else found
        self.depth = (0, 0)
        total = self._pass(_survey)
        if not total.by_label:
            raise ValueError("The parts have no rows to fit.")
        raw = sort_labels(total.by_label)
        names = raw if source.relabel is None else source.relabel(raw)
        self.labels = sort_labels(dict.fromkeys(names))
        self._places = {
            label: self.labels.index(name) for label, name in zip(raw, names, strict=True)
        }
        self.counts, self.weights, self._sums, self._squares, self._checks = self._arranged(total)
        self.shape = int(self.counts.sum()), d
        check_sizes(len(self.labels), self.shape[0])

    def sums(self) -> tuple[FloatArray, FloatArray]:
        """Give the weighted sum of the rows of each group, and of their squares, (G, d)."""
        return self._sums, self._squares

    def products(self, block: FloatArray) -> FloatArray:
        """Give X_a'W(X_a V) for every group, (G, d, b): one pass over the rows."""
        total = self._pass(partial(_products, block))
        if total.by_label.keys() == self._places.keys():
            found, checks = self._arranged(total)
            if (checks == self._checks).all():
                return np.asarray(found)
        raise RuntimeError(
            "The rows changed between two passes, so nothing could be proved of them; leave files "
            "as they are during a fit, and persist collections that are drawn at random."
        )

    def _pass(self, step: Callable[..., GroupSums]) -> GroupSums:
        task = partial(_over_blocks, step, self.shift, self._missing)
        total: GroupSums = self.source.run(task, GroupSums.__add__)
        over_rows, over_features = total.depth
        # An engine may cut and add in another way in each pass; the worst of them counts.
        self.depth = (
            max(self.depth[0], over_rows + total.n_blocks),
            max(self.depth[1], over_features),
        )
        return total

    def _arranged(self, total: GroupSums) -> list[npt.NDArray[Any]]:
        """Give each sum as one array, in the order of the groups."""
        by_group: list[tuple[Any, ...] | None] = [None] * len(self.labels)
        for label, place in self._places.items():
            before, found = by_group[place], total.by_label[label]
            if before is not None:
                found = tuple(one + two for one, two in zip(before, found, strict=True))
            by_group[place] = found
        return [np.array(column) for column in zip(*(one or () for one in by_group), strict=True)]


def _over_blocks(
    step: Callable[..., GroupSums], shift: FloatArray, missing: str, blocks: Iterable[Block]
) -> GroupSums:
    """Add a step over the blocks of a part."""
    total = GroupSums({})
    for block in blocks:
        n_rows, d = block.X.shape
        if d != len(shift):
            raise ValueError(f"A part has {d} features, but the first has {len(shift)}.")
        if n_rows:
            given, weight = block.groups, block.weight
            groups = given if isinstance(given, Groups) else Groups.of(given, n_rows, missing)
            weight = None if weight is None else check_weights(weight, n_rows, part=True)
            total += step(block.X, groups, weight, shift)
    return total


def _rows(X: Any, groups: Groups, weight: FloatArray | None, shift: FloatArray) -> Any:
    kind = SparseRows if issparse(X) else DenseRows
    return kind(X, groups.codes, len(groups.labels), weight, shift)


def _survey(X: Any, groups: Groups, weight: FloatArray | None, shift: FloatArray) -> GroupSums:
    n_groups = len(groups.labels)
    counts = np.bincount(groups.codes, minlength=n_groups)
    weights = np.bincount(groups.codes, weight, n_groups).astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        rows = _rows(X, groups, weight, shift)
        sums, squares = rows.sums()
    found = zip(counts, weights, sums, squares, _checks(X, groups, weight), strict=True)
    return GroupSums(dict(zip(groups.labels, found, strict=True)), 1, rows.depth)


def _products(
    block: FloatArray, X: Any, groups: Groups, weight: FloatArray | None, shift: FloatArray
) -> GroupSums:
    rows = _rows(X, groups, weight, shift)
    found = zip(rows.products(block), _checks(X, groups, weight), strict=True)
    return GroupSums(dict(zip(groups.labels, found, strict=True)), 1, rows.depth)


def _checks(X: Any, groups: Groups, weight: FloatArray | None) -> Iterator[npt.NDArray[np.uint64]]:
    """Give a number for the rows of each group that hardly stays the same if one is changed."""
    odd = 2 * np.arange(X.shape[1], dtype=np.uint64) + 1
    if issparse(X):
        rows = csr_array(X)
        entries = np.cumsum(_mixed(rows.data) * odd[rows.indices], dtype=np.uint64)
        ends = np.concatenate([np.zeros(1, np.uint64), entries])
        by_row = ends[rows.indptr[1:]] - ends[rows.indptr[:-1]]
    else:
        by_row = _mixed(X) @ odd
    # Rows of zeros count, too.
    by_row += np.uint64(1)
    if weight is not None:
        by_row *= 2 * _mixed(weight) + 1
    for a in range(len(groups.labels)):
        yield by_row[groups.codes == a].sum(keepdims=True)


def _mixed(values: npt.NDArray[Any]) -> npt.NDArray[np.uint64]:
    """Give the bits of numbers; high ones, such as signs, would be lost in sums unless mixed in."""
    bits = values.astype(np.float64, copy=False).view(np.uint64)
    return np.asarray(bits ^ (bits >> np.uint64(31)))


def _pilot(blocks: Iterable[Block]) -> FloatArray | None:
    """Choose what rows are measured from by the first of them."""
    X = next((block.X for block in blocks if block.X.shape[0]), None)
    if X is None:
        return None
    with np.errstate(invalid="ignore", over="ignore"):
        found = far_shift(X[:_PILOT_ROWS]) if issparse(X) else pilot_shift(X[:_PILOT_ROWS])
    return found if np.isfinite(found).all() else None
