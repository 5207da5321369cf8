"""Second moments that are too large to be held next to the scatters they are made of."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy.linalg.blas import daxpy

from fairspan.ground.types import FloatArray

HELD = 2**28
"""Bytes up to which second moments are an array of their own."""


class LazyMoments:
    """A stack of matrices factor * scatter + offset offset', each made when it is needed.

    It can be indexed by group, multiplied by columns and combined, as an array of shape
    (n_groups, d, d) can; anything else that numpy does turns it into that array.

    Parameters
    ----------
    scatters : iterable of ndarray of shape (d, d)
        Symmetric; not copied.
    factors : ndarray of shape (n_groups,)
        What they are multiplied by.
    offsets : ndarray of shape (n_groups, d)
        Each group's mean less the mean of all rows.
    """

    def __init__(
        self, scatters: Iterable[FloatArray], factors: FloatArray, offsets: FloatArray
    ) -> None:
        self.scatters, self.factors, self.offsets = list(scatters), factors, offsets

    def __len__(self) -> int:
        return len(self.scatters)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Shape of the array."""
        return len(self), *self.scatters[0].shape

    @property
    def size(self) -> int:
        """How many numbers the array would hold."""
        return len(self) * self.scatters[0].size

    @property
    def traces(self) -> FloatArray:
        """Trace of each matrix."""
        inner = np.array([np.trace(scatter) for scatter in self.scatters])
        return np.asarray(self.factors * inner + np.einsum("ad,ad->a", self.offsets, self.offsets))

    def __getitem__(self, which: Any) -> Any:
        """Give one group's matrix, or a stack of several groups."""
        if np.ndim(which) == 0 and not isinstance(which, slice):
            offset = self.offsets[which]
            return self.factors[which] * self.scatters[which] + np.outer(offset, offset)
        return self.joined(np.arange(len(self))[which])

    def joined(self, chosen: Any, more: FloatArray | None = None) -> LazyMoments:
        """Give a stack of some groups and perhaps one matrix more, without copies."""
        scatters = [self.scatters[a] for a in chosen]
        factors, offsets = self.factors[chosen], self.offsets[chosen]
        if more is not None:
            scatters, factors = [*scatters, more], np.append(factors, 1.0)
            offsets = np.vstack([offsets, np.zeros(len(more))])
        return LazyMoments(scatters, factors, offsets)

    def __matmul__(self, columns: FloatArray) -> FloatArray:
        images = np.array([scatter @ columns for scatter in self.scatters])
        images *= self.factors[:, None, None]
        images += self.offsets[:, :, None] * (self.offsets @ columns)[:, None, :]
        return images

    def __rmatmul__(self, rows: FloatArray) -> FloatArray:
        return (self @ rows.T).transpose(0, 2, 1)

    # A product with an array on the left is the one above.
    __array_ufunc__ = None

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> FloatArray:
        return np.array([self[a] for a in range(len(self))], dtype=dtype)

    def combination(self, weights: FloatArray) -> FloatArray:
        """Give the weighted sum of the matrices."""
        found = (self.offsets.T * weights) @ self.offsets
        for scatter, weight in zip(self.scatters, weights * self.factors, strict=True):
            daxpy(scatter.ravel(), found.ravel(), a=weight)
        return np.asarray(found)


Stack = FloatArray | LazyMoments
"""Second moments of all groups, as an array or made when they are needed."""


def joined(moments: Stack, chosen: Any, more: FloatArray) -> Stack:
    """Some groups' matrices and one more."""
    if isinstance(moments, LazyMoments):
        return moments.joined(chosen, more)
    stacked = np.empty((len(chosen) + 1, *more.shape))
    np.take(moments, chosen, axis=0, out=stacked[:-1], mode="clip")
    stacked[-1] = more
    return stacked
