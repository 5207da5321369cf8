"""Group moments: all that the methods need to know about the data, as values that add up.

Per group the sum of weights, the offset of its mean from one exact shift vector, and the
scatter around its own mean are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_array

from fairspan.ground import defaults
from fairspan.ground.rows import check_real, feature_names_of, is_dask, named_column
from fairspan.ground.types import FLOATS, FloatArray, Label
from fairspan.moments import file as moments_file
from fairspan.moments.from_rows import fields_of_rows, orthonormal
from fairspan.moments.groups import Groups, check_sizes
from fairspan.moments.merge import merged
from fairspan.moments.second_moments import HELD, LazyMoments, Stack
from fairspan.moments.sparse import SPARSE_FORMATS


@dataclass(frozen=True, eq=False)
class GroupMoments:
    """First and second moments of each group: small, mergeable, and without rows.

    Make it with :meth:`from_arrays`, add values from chunks, files or sites with ``+`` or
    ``sum``, and fit with ``RobustFairPCA().fit_moments(moments)``. The sum is the same for
    every chunking and order.

    Attributes
    ----------
    labels : tuple
        The groups' labels, sorted; all other attributes follow this order.
    counts : ndarray of shape (n_groups,)
        Rows per group.
    weights : ndarray of shape (n_groups,)
        Sum of sample weights per group (the rows, when there are no weights).
    squared_weights : ndarray of shape (n_groups,)
        Sum of squared sample weights per group.
    shift : ndarray of shape (n_features,)
        The point from which offsets are measured.
    offsets : ndarray of shape (n_groups, n_features)
        Each group's mean minus the shift.
    scatters : ndarray of shape (n_groups, n_features, n_features)
        Each group's weighted sum of outer products around its own mean; in the coordinates of the
        basis, where there is one.
    feature_names : tuple of str or None
        Names of the features, where they are known.
    basis : ndarray of shape (rank, n_features) or None
        Orthonormal rows that span all rows around the shift, where these are far fewer than the
        features; :meth:`dense` does without.
    dropped_rows : int
        Rows that were left out on request because values were missing; not among the counts.

    Examples
    --------
    >>> import numpy as np
    >>> from fairspan import GroupMoments
    >>> X = np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 9.0]])
    >>> chunks = [(X[:2], ["a", "b"]), (X[2:], ["b"])]
    >>> sum(GroupMoments.from_arrays(rows, groups) for rows, groups in chunks)
    GroupMoments(2 groups, 3 rows, 2 features)
    """

    labels: tuple[Label, ...]
    counts: npt.NDArray[np.int64]
    weights: FloatArray
    squared_weights: FloatArray
    shift: FloatArray
    offsets: FloatArray
    scatters: FloatArray
    feature_names: tuple[str, ...] | None = None
    basis: FloatArray | None = None
    dropped_rows: int = 0

    @classmethod
    @named_column
    def from_arrays(
        cls,
        X: Any,
        sensitive_features: Any = None,
        *,
        sample_weight: Any = None,
        missing_groups: str = "raise",
    ) -> GroupMoments:
        """Compute the moments of rows in memory, in one pass and without copying X.

        Parameters
        ----------
        X : array-like, scipy sparse or Dask collection of shape (n_rows, n_features)
            Finite numbers, float32 or float64, in C or Fortran order; else converted. Sparse
            rows (csr or csc, else converted to csr) are centred implicitly and stay sparse.
            Partitions of Dask arrays and dataframes are reduced where they lie.
        sensitive_features : array-like, frame, dict, str or None
            Labels of the groups, see :func:`fairspan.moments.groups.encode_groups`; None for one
            group. More than 50 groups with fewer than two rows each on average are refused;
            :meth:`from_groups` takes them. For Dask collections, one with the same partitions. A
            str names a column of X, which is then not a feature.
        sample_weight : array-like of shape (n_rows,), optional
            How often each row counts: integer weights equal repeated rows.
        missing_groups : {"raise", "own_group", "total_only"}, default="raise"
            What to do with rows without a label, as in RobustFairPCA; their group is "missing".

        Returns
        -------
        GroupMoments
            The moments.
        """
        if is_dask(X):
            from fairspan.tables.dask import moments_of_collection

            found = moments_of_collection(X, sensitive_features, sample_weight, missing_groups)
            return found.result()
        check_real(X)
        names = feature_names_of(X)
        options = {"accept_sparse": SPARSE_FORMATS, "ensure_all_finite": False}
        X = check_array(X, dtype=FLOATS, input_name="X", **options)
        groups = Groups.of(sensitive_features, X.shape[0], missing_groups)
        check_sizes(len(groups.labels), X.shape[0])
        return cls.from_groups(X, groups, sample_weight=sample_weight, feature_names=names)

    @classmethod
    def from_groups(
        cls,
        X: Any,
        groups: Groups,
        *,
        sample_weight: Any = None,
        feature_names: Sequence[str] | None = None,
    ) -> GroupMoments:
        """Compute the moments of a float array whose rows are already assigned to groups.

        Parameters
        ----------
        X : ndarray, csr or csc array of shape (n_rows, n_features)
            A float32 or float64 array.
        groups : Groups
            The group of each row.
        sample_weight : array-like of shape (n_rows,), optional
            How often each row counts.
        feature_names : sequence of str, optional
            Names of the features.

        Returns
        -------
        GroupMoments
            The moments.
        """
        fields = fields_of_rows(X, groups, sample_weight, feature_names)
        variances = fields.pop("variances", None)
        moments = cls(**fields)
        if variances is not None:
            # Rows tell them at once; through the basis they cost as much as the moments.
            vars(moments)["variances"] = variances
        return moments

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.labels)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.shift)

    @property
    def total_weight(self) -> float:
        """Sum of all sample weights; the number of rows if there are no weights."""
        return float(self.weights.sum())

    @cached_property
    def shares(self) -> FloatArray:
        """Each group's share of the total weight."""
        return np.asarray(self.weights / self.weights.sum())

    @property
    def effective_sizes(self) -> FloatArray:
        """Kish's effective size of each group: (sum of weights)^2 / sum of squared weights.

        So many rows of equal weight would say as much about the group's mean. It is reported
        only: the radius goes by the sum of weights, so that weights equal repetition.
        """
        return np.asarray(self.weights**2 / self.squared_weights)

    @cached_property
    def _mean_offset(self) -> FloatArray:
        return np.asarray(self.shares @ self.offsets)

    @property
    def mean(self) -> FloatArray:
        """Mean of all rows."""
        return self.shift + self._mean_offset

    @property
    def means(self) -> FloatArray:
        """Mean of each group, shape (n_groups, n_features)."""
        return self.shift + self.offsets

    @cached_property
    def second_moments(self) -> FloatArray:
        """Each group's second moment around the mean of all rows, (n_groups, d, d)."""
        if self.basis is not None:
            return self.dense().second_moments
        moments = self.scatters / self.weights[:, None, None]
        for moment, offset in zip(moments, self.offsets - self._mean_offset, strict=True):
            moment += np.outer(offset, offset)
        return np.asarray(moments)

    def stacked(self) -> Stack:
        """Give the second moments in a form that takes little memory.

        Returns
        -------
        ndarray of shape (n_groups, d, d) or LazyMoments
            An array if it is small; else a stack whose matrices are made when they are needed.
        """
        if self.basis is not None or self.scatters.nbytes <= HELD:
            return self.second_moments
        return LazyMoments(self.scatters, 1 / self.weights, self.offsets - self._mean_offset)

    @property
    def covariances(self) -> FloatArray:
        """Each group's covariance around its own mean (ddof 0), (n_groups, d, d)."""
        return np.asarray(self.scatters / self.weights[:, None, None])

    @cached_property
    def variances(self) -> FloatArray:
        """Variance of each feature over all rows (ddof 0)."""
        if self.basis is None:
            within = np.einsum("aii->i", self.scatters) / self.total_weight
        else:
            pooled = self.scatters.sum(axis=0) / self.total_weight
            within = np.einsum("ri,ri->i", self.basis, pooled @ self.basis)
        return np.asarray(within + self.shares @ (self.offsets - self._mean_offset) ** 2)

    def scaled(self, scale: FloatArray) -> GroupMoments:
        """Return the moments of X / scale.

        Parameters
        ----------
        scale : ndarray of shape (n_features,)
            A positive number for each feature.

        Returns
        -------
        GroupMoments
            Moments in the new units.
        """
        given = np.asarray(scale)
        is_real = given.dtype.kind in "iuf" and given.shape == self.shift.shape
        if not is_real or not ((given > 0) & (given < np.inf)).all():
            raise ValueError(
                f"scale must have one positive number for each of the {self.n_features} features."
            )
        scale = given.astype(np.float64)
        shift, offsets = self.shift / scale, self.offsets / scale
        if self.basis is None:
            scatters = self.scatters / np.outer(scale, scale)
            return replace(self, shift=shift, offsets=offsets, scatters=scatters)
        columns, triangle = orthonormal((self.basis / scale).T)
        scatters = triangle @ self.scatters @ triangle.T
        return replace(self, shift=shift, offsets=offsets, scatters=scatters, basis=columns.T)

    def dense(self) -> GroupMoments:
        """Return the same moments without a basis.

        Returns
        -------
        GroupMoments
            One full matrix a group.
        """
        if self.basis is None:
            return self
        scatters = self.basis.T @ self.scatters @ self.basis
        return replace(self, scatters=0.5 * (scatters + scatters.transpose(0, 2, 1)), basis=None)

    def with_room(self, n_components: int) -> GroupMoments:
        """Reduce to a basis that contains an optimal subspace for any objective of group errors.

        Where the error of a group counts negatively, components may be better spent on directions
        without data; as many of these as there are components are enough.

        Parameters
        ----------
        n_components : int
            Dimension of the subspace.

        Returns
        -------
        GroupMoments
            The same moments with a wider basis; without a basis, where it would be all of space.
        """
        if self.basis is None:
            return self
        rank, d = self.basis.shape
        if rank + n_components >= d:
            return self.dense()
        columns = np.random.default_rng(0).standard_normal((d, n_components))
        for _ in range(2):
            columns -= self.basis.T @ (self.basis @ columns)
            columns = np.linalg.qr(columns)[0]
        scatters = np.pad(self.scatters, ((0, 0), (0, n_components), (0, n_components)))
        return replace(self, scatters=scatters, basis=np.vstack([self.basis, columns.T]))

    def in_basis(self) -> GroupMoments:
        """Return the moments of the rows' coordinates in the basis.

        Returns
        -------
        GroupMoments
            Moments of as many features as the basis has rows; of all features without a basis.
        """
        if self.basis is None:
            return self
        return replace(
            self,
            shift=np.zeros(len(self.basis)),
            offsets=self.offsets @ self.basis.T,
            feature_names=None,
            basis=None,
        )

    def __add__(self, other: GroupMoments) -> GroupMoments:
        if not isinstance(other, GroupMoments):
            return NotImplemented
        return merged(self, other)

    def __radd__(self, other: object) -> GroupMoments:
        # sum() starts from the integer 0.
        return self if other == 0 else NotImplemented

    def __repr__(self) -> str:
        dropped = f" ({self.dropped_rows} dropped)" if self.dropped_rows else ""
        rows = f"{self.counts.sum()} rows{dropped}"
        return f"GroupMoments({self.n_groups} groups, {rows}, {self.n_features} features)"

    def save(self, path: str | PathLike[str], *, min_count: int = defaults.MIN_COUNT) -> None:
        """Write the moments atomically to an .npz file of plain arrays and JSON.

        Parameters
        ----------
        path : str or path
            The file to write, under exactly this name.
        min_count : int, default=10
            Groups of fewer rows are refused, because their moments may reveal single rows.
        """
        moments_file.save(path, self, min_count=min_count)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> GroupMoments:
        """Read moments written by :meth:`save`; the file is checked and runs no code.

        Parameters
        ----------
        path : str or path
            The file to read.

        Returns
        -------
        GroupMoments
            The moments, equal to those saved in every bit.
        """
        return moments_file.load(path)[0]
