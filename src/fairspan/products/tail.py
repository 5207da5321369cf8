"""What a basis leaves out: a bound on x'Ax for unit x orthogonal to it, from random blocks.

Let B be A between vectors orthogonal to the basis, u its leading eigenvector with eigenvalue λ,
and Ω a block of b Gaussian columns that is drawn after the basis. Then z = Ω'u is Gaussian, and
|z| >= s with probability 1 - δ, for s² the δ-quantile of chi-square with b degrees of freedom.

Block Lanczos from Ω = V_0 R_0 gives B K = K T + V_q R_q e_q' + E, with K = [V_0 ... V_(q-1)], T
symmetric, and E nothing but rounding, which is measured. Multiplied by u from the left, with
f = u'K, this is f (λ - T) = u'V_q R_q e_q' + u'E, so that

    z' = u'V_q N(λ) + rounding,   N(λ) = R_q e_q'(λ - T)^(-1) e_0 R_0.

|u'V_q| is at most 1. So λ cannot be where |N(λ)| and the rounding together are less than s, on the
one event |z| >= s whatever the number of steps: the run may stop at any of them. Orthogonality of
the blocks is not needed, only their recursion.

|N| need not fall with λ. What is proved is a range: it starts where the sum of the absolute parts
of N, which does fall, is below s, and goes down by steps within which a Taylor series stays below.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import chi2

from fairspan.ground.types import UNIT, FloatArray
from fairspan.products.basis import Basis, inner, inner_error

_TERMS = 8
"""Of the Taylor series."""
_LEAST_STEP = 2e-3
"""Steps down end when they are shorter than this share of the distance to the Ritz values."""


class Tail:
    """A run of block Lanczos orthogonal to a basis, for one weighted sum of second moments.

    Parameters
    ----------
    basis : Basis
        What the vectors are orthogonal to; it must not change afterwards.
    weights : ndarray of shape (n_groups,)
        Weights of the second moments.
    failure : float
        Probability with which the bound may be wrong.
    rng : numpy.random.Generator
        Source of the random block, which is drawn here.
    """

    def __init__(
        self, basis: Basis, weights: FloatArray, failure: float, rng: np.random.Generator
    ) -> None:
        self.basis, self.weights = basis, weights
        d = len(basis.columns)
        self.width = basis.operator.width
        self.least = math.sqrt(chi2.ppf(failure, self.width))
        self._columns = basis.columns
        start = rng.standard_normal((d, self.width))
        self._size = float(np.abs(weights) @ basis.operator.traces)
        projected = self._project(start)
        first, self._start = _factored(projected)
        # What Ω has in the basis does not count; what rounding did to the rest does.
        self._start_error = float(np.linalg.norm(projected - first @ self._start))
        self._start_error += self._projection_error * float(np.linalg.norm(start))
        self._blocks = [first]
        self._diagonal: list[FloatArray] = []
        self._below: list[FloatArray] = []
        self._error = 0.0
        self.lowest = math.inf

    @property
    def steps(self) -> int:
        """How many steps were made."""
        return len(self._diagonal)

    @property
    def block(self) -> FloatArray:
        """The block whose images the next step needs."""
        return self._blocks[-1]

    @property
    def _projection_error(self) -> float:
        """How much rounding may leave in a projected block, relative to its size."""
        return 4 * inner_error(len(self._columns)) * math.sqrt(self._columns.shape[1] + 1)

    def _project(self, block: FloatArray) -> FloatArray:
        return block - self._columns @ inner(self._columns, block)

    def step(self, images: FloatArray) -> None:
        """Go one step on.

        Parameters
        ----------
        images : ndarray of shape (n_groups, d, b)
            Images of the last block under every group's second moment.
        """
        last = self._blocks[-1]
        image = np.tensordot(self.weights, images, 1)
        rest = self._project(image)
        diagonal = inner(last, rest)
        diagonal = 0.5 * (diagonal + diagonal.T)
        moved = rest - last @ diagonal
        if self._below:
            moved -= self._blocks[-2] @ self._below[-1].T
        following, below = _factored(moved)
        self._count_error(image, moved, following, below, last)
        self._diagonal.append(diagonal)
        self._below.append(below)
        self._blocks.append(following)
        # One event for all steps: the best of their bounds is as certain as any.
        self.lowest = min(self.lowest, self.bound())

    def _count_error(
        self,
        image: FloatArray,
        moved: FloatArray,
        following: FloatArray,
        below: FloatArray,
        last: FloatArray,
    ) -> None:
        """Add what rounding leaves of the recursion in this step to the error of all."""
        lost = float(np.abs(self.weights) @ self.basis.operator.image_error(self.width))
        # A part of the block inside the basis is mapped by all of A.
        inside = float(np.linalg.norm(inner(self._columns, last)))
        inside += inner_error(len(last)) * math.sqrt(self._columns.size / len(last) * self.width)
        length = float(np.linalg.norm(image))
        rounding = (self._projection_error + 8 * (self.width + 2) * UNIT) * length
        left = float(np.linalg.norm(moved - following @ below))
        self._error = math.hypot(self._error, lost + inside * self._size + rounding + left)

    def ritz(self) -> float:
        """Give the largest Ritz value, which the bound cannot be below."""
        return float(np.linalg.eigvalsh(self._matrix())[-1])

    def leading(self) -> FloatArray:
        """Give the leading Ritz vectors, a block of them: directions that the basis lacks."""
        _, vectors = np.linalg.eigh(self._matrix())
        return np.asarray(np.hstack(self._blocks[:-1]) @ vectors[:, ::-1][:, : self.width])

    def _matrix(self) -> FloatArray:
        b, n = self.width, self.steps
        matrix = np.zeros((n * b, n * b))
        for j, diagonal in enumerate(self._diagonal):
            here = slice(j * b, (j + 1) * b)
            matrix[here, here] = diagonal
            if j > 0:
                before = slice((j - 1) * b, j * b)
                matrix[here, before] = self._below[j - 1]
                matrix[before, here] = self._below[j - 1].T
        return matrix

    def bound(self) -> float:
        """Bound A between unit vectors orthogonal to the basis; true with the probability given.

        Returns
        -------
        float
            The bound.
        """
        b, matrix = self.width, self._matrix()
        ritz, vectors = np.linalg.eigh(matrix)
        size = float(np.linalg.norm(matrix)) + float(np.linalg.norm(self._below[-1]))
        error = self._error + 16 * len(matrix) * UNIT * size
        start = float(np.linalg.norm(self._start, 2))
        top = float(ritz[-1]) + 16 * len(matrix) * UNIT * size
        left, right = self._below[-1] @ vectors[-b:], vectors[:b].T @ self._start
        # A little for the rounding of N itself and for |V_q|, which is 1 up to rounding.
        least = (1 - 1e-6) * self.least - 2 * self._start_error
        if least <= 0:
            return math.inf
        return _Range(ritz, left, right, error * start).lowest(top, least)


def _factored(columns: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Write columns as an orthonormal block times a small matrix; rounding is left to the caller.

    Gram matrices are much faster than a QR factorisation, where columns are independent enough.
    """
    small = np.eye(columns.shape[1])
    for _ in range(2):
        gram = inner(columns, columns)
        values = np.linalg.eigvalsh(gram)
        if not values[0] > 1e-9 * values[-1]:
            columns, triangle = np.linalg.qr(columns)
            return columns, triangle @ small
        triangle = np.linalg.cholesky(gram).T
        columns = columns @ np.linalg.inv(triangle)
        small = triangle @ small
    return columns, small


class _Range:
    """Where |N(λ)| + error / (λ - top) is below a level, for all λ from some point on."""

    def __init__(self, ritz: FloatArray, left: FloatArray, right: FloatArray, error: float) -> None:
        self.ritz, self.left, self.right, self.error = ritz, left, right, error
        self.parts = np.linalg.norm(left, axis=0) * np.linalg.norm(right, axis=1)

    def lowest(self, top: float, level: float) -> float:
        """Go down from where absolute parts are below the level, as far as can be proved."""
        place = self._beyond(top, level)
        while True:
            step = self._step(place, top, level)
            if step <= _LEAST_STEP * (place - top):
                return place
            place -= step

    def _beyond(self, top: float, level: float) -> float:
        """Give a point from which on even the sum of absolute parts is below the level."""
        total = float(self.parts.sum()) + self.error
        return top + 1.001 * max(total / level, np.finfo(float).tiny)

    def _step(self, place: float, top: float, level: float) -> float:
        """Give a distance below a point within which nothing reaches the level."""
        apart = place - self.ritz
        powers = apart[None, :] ** -np.arange(1.0, _TERMS + 1)[:, None]
        sizes = np.linalg.norm((self.left * powers[:, None, :]) @ self.right, ord=2, axis=(1, 2))
        last = powers[-1] * self.parts

        def highest(step: float) -> float:
            series = float(sizes @ step ** np.arange(_TERMS))
            rest = step**_TERMS * float(np.sum(last / (apart - step)))
            return series + rest + self.error / (place - step - top)

        low, high = 0.0, 0.999 * (place - top)
        for _ in range(30):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if highest(middle) < level else (low, middle)
        return low
