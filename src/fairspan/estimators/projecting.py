"""Methods of a fitted projection: transform, inverse_transform, errors, score."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from fairspan.estimators.lazy import lazy_method, lazy_score
from fairspan.exceptions import NoGroupsWarning
from fairspan.ground.rows import check_real, check_rows, is_dask
from fairspan.ground.types import FLOATS, FloatArray
from fairspan.ground.warn import warn
from fairspan.moments.projection import total_and_gap
from fairspan.moments.sparse import SPARSE_FORMATS, project_sparse, squared_distances

_BLOCK_BYTES = 2**20


class ProjectingMixin(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """Methods of an estimator with components, a mean, an optional scale and group labels."""

    components_: FloatArray
    mean_: FloatArray
    scale_: FloatArray | None
    group_labels_: list[Any]
    # What becomes of rows without a label; a parameter of some estimators.
    missing_groups: Any = "raise"

    # Requested for the whole class, so that pipelines and searches pass the groups on as soon as
    # metadata routing is enabled.
    __metadata_request__score = {"sensitive_features": True}  # noqa: RUF012

    def transform(self, X: Any) -> Any:
        """Project rows; their groups are not needed.

        Parameters
        ----------
        X : array-like, sparse or Dask collection of shape (n_samples, n_features)
            The data.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            The projected rows, float32 for float32 data; a lazy Dask array for a Dask collection.
        """
        check_is_fitted(self)
        if is_dask(X):
            return lazy_method(self, "transform", X, len(self.components_))
        X = self._rows(X)
        if issparse(X):
            return self._project_sparse(X).astype(X.dtype, copy=False)
        projected = np.empty((len(X), len(self.components_)), dtype=X.dtype)
        for rows in _blocks(X):
            projected[rows] = self._centered(X[rows]) @ self.components_.T
        return projected

    def inverse_transform(self, X: Any) -> Any:
        """Map projected rows back to the space of the features.

        Parameters
        ----------
        X : array-like or Dask collection of shape (n_samples, n_components)
            Projected rows.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            Their best reconstructions; a lazy Dask array for a Dask collection.
        """
        check_is_fitted(self)
        if not is_dask(X):
            X = check_rows(X, FLOATS)
        if X.shape[1:] != (len(self.components_),):
            raise ValueError(
                f"X has shape {X.shape}; projected rows have one column for each of the "
                f"n_components={len(self.components_)} components."
            )
        if is_dask(X):
            return lazy_method(self, "inverse_transform", X, self.components_.shape[1])
        back = X @ self.components_
        if self.scale_ is not None:
            back *= self.scale_
        return np.asarray(back + self.mean_).astype(X.dtype, copy=False)

    def reconstruction_errors(self, X: Any) -> Any:
        """Squared distance of each row from its reconstruction.

        Parameters
        ----------
        X : array-like, sparse or Dask collection of shape (n_samples, n_features)
            The data.

        Returns
        -------
        ndarray of shape (n_samples,)
            The errors, in units of the standardised features if ``standardize``.
        """
        check_is_fitted(self)
        if is_dask(X):
            return lazy_method(self, "reconstruction_errors", X)
        return self._errors_of(self._rows(X))

    def _errors_of(self, X: Any) -> FloatArray:
        """Squared distances of rows that are checked."""
        if issparse(X):
            kept = self._project_sparse(X)
            lost = squared_distances(X, self.mean_, self.scale_) - (kept**2).sum(axis=1)
            errors = np.maximum(lost, 0.0)
        else:
            errors = np.empty(len(X))
            for rows in _blocks(X):
                centered = self._centered(X[rows])
                centered -= (centered @ self.components_.T) @ self.components_
                errors[rows] = np.einsum("ij,ij->i", centered, centered)
        if not np.isfinite(errors).all():
            raise ValueError("X holds values too large to square in double precision; rescale it.")
        return np.asarray(errors)

    def score(
        self, X: Any, y: Any = None, *, sensitive_features: Any = None, sample_weight: Any = None
    ) -> float:
        """Minus the total error and minus the gap between groups, on these rows.

        It does not depend on the fairness weight or the radius, so that searches over them compare
        like with like. Without groups it is minus the total error; a NoGroupsWarning says so where
        the fit had groups.

        Parameters
        ----------
        X : array-like, sparse or Dask collection of shape (n_samples, n_features)
            The data.
        y : None
            Ignored.
        sensitive_features : array-like, frame or dict, optional
            The group of each row.
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts.

        Returns
        -------
        float
            The score; higher is better.
        """
        check_is_fitted(self)
        if sensitive_features is None and len(self.group_labels_) > 1:
            warn(
                "score received no sensitive_features, so it is minus the total error, without the "
                "gap. In a search or pipeline, enable metadata routing: "
                "sklearn.set_config(enable_metadata_routing=True).",
                NoGroupsWarning,
            )
        if is_dask(X):
            return lazy_score(self, X, sensitive_features, sample_weight)
        errors = self.reconstruction_errors(X)
        total, gap = total_and_gap(errors, sensitive_features, sample_weight, self.missing_groups)
        return -(total + gap)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def _rows(self, X: Any) -> Any:
        check_real(X)
        return validate_data(self, X, dtype=FLOATS, accept_sparse=SPARSE_FORMATS, reset=False)

    def _project_sparse(self, X: Any) -> FloatArray:
        if hasattr(self, "clip_limits_"):
            raise ValueError(
                "A model that clips needs dense rows, but X is sparse; use X.toarray()."
            )
        return project_sparse(X, self.mean_, self.scale_, self.components_)

    def _clipped(self, X: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Rows within the limits of the model, if it has any."""
        limits = getattr(self, "clip_limits_", None)
        return X if limits is None else np.clip(X, *limits)

    def _centered(self, X: npt.NDArray[Any]) -> FloatArray:
        centered: FloatArray = np.subtract(self._clipped(X), self.mean_, dtype=np.float64)
        if self.scale_ is not None:
            centered /= self.scale_
        return centered


def _blocks(X: npt.NDArray[Any]) -> Iterator[slice]:
    """Cut rows into blocks that fit the cache, so that X is never copied as a whole."""
    size = max(_BLOCK_BYTES // (8 * X.shape[1]), 64)
    return (slice(start, start + size) for start in range(0, len(X), size))
