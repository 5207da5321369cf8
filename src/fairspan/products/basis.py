"""The growing basis that all groups share: orthonormal columns, their images, small matrices."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

import numpy as np

from fairspan.ground.types import UNIT, FloatArray
from fairspan.products.operator import SecondMoments, relative_error

_CHUNK = 2048
"""Features that are summed at a time, which keeps the rounding of long sums small."""
_CLEAN = 1e-14
"""New columns are projected until their products with the basis are below this."""
_ROUNDING = 1e-7
"""A direction that is smaller than this share of its block is rounding."""
_ORTHONORMAL = 1e-11
"""Nothing is proved in a basis whose columns are farther from orthonormal than this."""


class LostOrthogonality(ArithmeticError):
    """The columns of a basis are not orthonormal: nothing can be proved with it."""


class Residuals(NamedTuple):
    """What the images of a basis have outside of it.

    Attributes
    ----------
    grams : ndarray of shape (n_groups, n_groups, r, r)
        Products R_a'R_b of the residuals R_a = M_a Q - Q H_a, as computed.
    error : ndarray of shape (n_groups,)
        How far the residual of a unit vector may be from that of the exact basis and images.
    gram_error : float
        How much rounding may change in the Gram matrix of all residuals, relative to their size.
    small_error : ndarray of shape (n_groups,)
        How far small matrices may be from exact ones (Frobenius).
    """

    grams: FloatArray
    error: FloatArray
    gram_error: float
    small_error: FloatArray


class Cut(NamedTuple):
    """A line that no attainable errors of two groups cross, where it is attained in the basis.

    Attributes
    ----------
    angle, sigma : float
        cos(angle) m_0 + sin(angle) m_1 >= sigma for all of them.
    slack : float
        How far above sigma the best subspace of the basis is.
    point : tuple of float
        The errors of that subspace.
    """

    angle: float
    sigma: float
    slack: float
    point: tuple[float, float]


def inner(left: FloatArray, right: FloatArray) -> FloatArray:
    """Multiply left'right in chunks of features, whose sums lose little."""
    total = left[:_CHUNK].T @ right[:_CHUNK]
    for start in range(_CHUNK, len(left), _CHUNK):
        total += left[start : start + _CHUNK].T @ right[start : start + _CHUNK]
    return np.asarray(total)


def inner_error(d: int) -> float:
    """Bound the rounding of :func:`inner`, relative to the lengths of its columns."""
    return relative_error(min(d, _CHUNK) + -(-d // _CHUNK))


class Basis:
    """Orthonormal columns Q, their images under every group's second moment, and H_a = Q'M_aQ.

    Parameters
    ----------
    operator : SecondMoments
        Gives images.
    room : int
        Columns to make room for at first.
    """

    def __init__(self, operator: SecondMoments, room: int = 64) -> None:
        self.operator = operator
        d = operator.n_features
        self.size = 0
        self._columns, *self._images = (
            np.empty((d, min(room, d)), order="F") for _ in range(1 + operator.n_groups)
        )
        self.small = np.empty((operator.n_groups, 0, 0))
        # What is learned of vectors orthogonal to some columns holds for those orthogonal to more.
        self.learned: list[tuple[FloatArray, float]] = []
        # By numbers of components: lines do not depend on the objective, and all share them.
        self.cuts: defaultdict[int, list[Cut]] = defaultdict(list)
        self._residuals: Residuals | None = None

    @property
    def columns(self) -> FloatArray:
        """The columns, (d, size)."""
        return self._columns[:, : self.size]

    def image(self, group: int) -> FloatArray:
        """Images of the columns under a group's second moment, (d, size)."""
        return self._images[group][:, : self.size]

    @property
    def is_whole(self) -> bool:
        """Whether the basis spans all of space."""
        return self.size == len(self._columns)

    def grow(self, candidates: FloatArray, rounding: float = 0.0) -> int:
        """Take in what columns add to the basis: one pass over the rows, if that is anything.

        Parameters
        ----------
        candidates : ndarray of shape (d, any)
            Directions; what is only rounding of the basis is left out.
        rounding : float
            Candidates that are no longer than this are rounding.

        Returns
        -------
        int
            How many columns were added.
        """
        lengths = np.linalg.norm(candidates, axis=0)
        long = lengths > rounding
        new = self._new_directions(candidates[:, long] / lengths[long])
        if new.shape[1] == 0:
            return 0
        images = self.operator.images(new)
        old, self.size = self.size, self.size + new.shape[1]
        self._make_room()
        self._columns[:, old : self.size] = new
        small = np.zeros((len(images), self.size, self.size))
        small[:, :old, :old] = self.small
        for a, image in enumerate(images):
            self._images[a][:, old : self.size] = image
            across = inner(self.columns, image)
            small[a, :, old:] = across
            small[a, old:, :] = across.T
            small[a, old:, old:] = 0.5 * (across[old:] + across[old:].T)
        self.small, self._residuals = small, None
        self.cuts.clear()
        return int(new.shape[1])

    def _new_directions(self, candidates: FloatArray) -> FloatArray:
        """Orthonormal columns of what is new; never what only rounding left of the old."""
        new = candidates[:, : len(candidates) - self.size]
        least = _ROUNDING
        for attempt in range(4):
            along = inner(self.columns, new)
            if attempt > 0 and np.linalg.norm(along) <= _CLEAN * np.sqrt(self.size + 1):
                return new
            new = _orthonormal(new - self.columns @ along, least)
            # What a second projection takes most of was rounding of the first.
            least = 0.5
        return new[:, :0]

    def _make_room(self) -> None:
        d, room = self._columns.shape
        if self.size <= room:
            return
        wider = min(d, max(self.size, room + room // 2))
        for i, old in enumerate((self._columns, *self._images)):
            grown = np.empty((d, wider), order="F")
            grown[:, :room] = old
            if i == 0:
                self._columns = grown
            else:
                self._images[i - 1] = grown

    def combination(self, weights: FloatArray) -> FloatArray:
        """Give the weighted sum of the small matrices."""
        return np.asarray(np.tensordot(weights, self.small, 1))

    def residual(self, weights: FloatArray, vectors: FloatArray) -> FloatArray:
        """Give (A Q - Q H) U for A the weighted sum of the second moments.

        Parameters
        ----------
        weights : ndarray of shape (n_groups,)
            The weights.
        vectors : ndarray of shape (size, any)
            U.

        Returns
        -------
        ndarray of shape (d, any)
            What is outside of the basis.
        """
        found = self.columns @ (-self.combination(weights) @ vectors)
        for a, weight in enumerate(weights):
            if weight != 0:
                found += self.image(a) @ (weight * vectors)
        return found

    def defect(self) -> float:
        """Measure how far the columns are from orthonormal, |Q'Q - I| (Frobenius).

        Raises
        ------
        LostOrthogonality
            If that is more than rounding.
        """
        columns = self.columns
        off = float(np.linalg.norm(inner(columns, columns) - np.eye(self.size)))
        if not off <= _ORTHONORMAL:
            raise LostOrthogonality(
                f"The basis of {self.size} columns is not orthonormal (off by {off:.2g}), so that "
                "nothing can be proved with it."
            )
        return off + inner_error(len(columns)) * self.size

    def residuals(self) -> Residuals:
        """Give the Gram matrices of all residuals, computed once for the columns there are."""
        if self._residuals is None:
            self._residuals = self._computed_residuals()
        return self._residuals

    def _computed_residuals(self) -> Residuals:
        """Compute the Gram matrices of all residuals, with what rounding may hide of them.

        With Q = S times an exactly orthonormal basis, |S - I| <= η: exact residuals are those of
        the computed images, projected; a projection takes nothing away from a bound. So the
        residual of a unit vector is at most that of the computed Y - QH, plus its rounding.
        """
        off, d, r = self.defect(), len(self._columns), self.size
        n_groups = len(self._images)
        grams = np.zeros((n_groups, n_groups, r, r))
        images, lengths = np.zeros(n_groups), np.zeros(n_groups)
        for start in range(0, d, _CHUNK):
            some = slice(start, start + _CHUNK)
            found = []
            for a in range(n_groups):
                image = self.image(a)[some]
                images[a] += float(np.einsum("ij,ij->", image, image))
                found.append(image - self.columns[some] @ self.small[a])
            for a in range(n_groups):
                for b in range(a, n_groups):
                    grams[a, b] += found[a].T @ found[b]
        for a in range(n_groups):
            lengths[a] = np.sqrt(max(float(np.trace(grams[a, a])), 0.0))
            for b in range(a):
                grams[a, b] = grams[b, a].T
        images = np.sqrt(images)
        sizes = np.linalg.norm(self.small, axis=(1, 2))
        lost = self.operator.image_error(r)
        products = UNIT * (images + 2 * (r + 2) * np.sqrt(r) * sizes)
        error = 1.001 * (lost + products + 2 * off * lengths)
        rounding = inner_error(d) * np.sqrt(r) * images
        # Small matrices are symmetric: what is off in one place is off in two.
        small_error = 1.5 * (lost + rounding + 3 * off * images)
        return Residuals(grams, error, inner_error(d), small_error)


def _orthonormal(columns: FloatArray, least: float) -> FloatArray:
    """Orthonormal columns of the same span, without directions below a length."""
    for smallest in (least, 0.5):
        values, vectors = np.linalg.eigh(inner(columns, columns))
        keep = values > smallest**2
        columns = columns @ (vectors[:, keep] / np.sqrt(values[keep]))
    return columns
