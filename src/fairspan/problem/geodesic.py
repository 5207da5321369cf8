"""Paths of subspaces, with the group errors along them."""

from __future__ import annotations

import numpy as np

from fairspan.ground.types import FloatArray
from fairspan.problem.subspace import SubspaceProblem


class Geodesic:
    """A path of subspaces from one (s = 0) to another (s = 1).

    Parameters
    ----------
    problem : SubspaceProblem
        Gives the group errors.
    first, last : ndarray of shape (d, k)
        Orthonormal columns.
    """

    def __init__(self, problem: SubspaceProblem, first: FloatArray, last: FloatArray) -> None:
        left, cosines, right = np.linalg.svd(first.T @ last)
        self.start = first @ left
        away = last @ right.T - self.start * cosines
        lengths = np.linalg.norm(away, axis=0)
        self.angles = np.arctan2(lengths, cosines)
        self.away = away / np.where(lengths > 0, lengths, 1.0)
        start_image = problem.moments @ self.start
        self._kept_start = np.einsum("adk,dk->ak", start_image, self.start)
        self._kept_cross = np.einsum("adk,dk->ak", start_image, self.away)
        self._kept_away = np.einsum("adk,dk->ak", problem.moments @ self.away, self.away)
        self._problem = problem

    def errors(self, s: float) -> FloatArray:
        """Group errors at a point of the path, without any large product.

        Parameters
        ----------
        s : float
            From 0 to 1.

        Returns
        -------
        ndarray of shape (n_groups,)
            The group errors.
        """
        c, w = np.cos(s * self.angles), np.sin(s * self.angles)
        kept = self._kept_start @ (c * c) + self._kept_away @ (w * w)
        kept += 2 * (self._kept_cross @ (c * w))
        return self._problem.lost(kept)

    def subspace(self, s: float) -> FloatArray:
        """Orthonormal columns at a point of the path.

        Parameters
        ----------
        s : float
            From 0 to 1.

        Returns
        -------
        ndarray of shape (d, k)
            The subspace.
        """
        turned = self.start * np.cos(s * self.angles) + self.away * np.sin(s * self.angles)
        return np.asarray(np.linalg.qr(turned)[0])
