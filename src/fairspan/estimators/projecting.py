"""Methods of a fitted projection: transform, inverse_transform, errors, score.

Dask collections are checked at once and computed lazily.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse
from sklearn import get_config
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from fairspan.exceptions import NoGroupsWarning
from fairspan.ground.rows import (
    check_finite,
    check_real,
    check_rows,
    check_two_dimensions,
    is_dask,
    named_column,
    without_groups,
)
from fairspan.ground.types import FLOATS, FloatArray
from fairspan.ground.warn import warn
from fairspan.moments.from_rows import NEAR
from fairspan.moments.projection import Projection, total_and_gap
from fairspan.moments.small_groups import GroupRule
from fairspan.moments.sparse import SPARSE_FORMATS, project_sparse, squared_distances
from fairspan.objectives.counting import Counting

_BLOCK_BYTES = 2**18


class ProjectingMixin(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """Methods of an estimator with components, a mean, an optional scale and group labels."""

    components_: FloatArray
    mean_: FloatArray
    scale_: FloatArray | None
    group_labels_: list[Any]
    # What to do with rows without a label; a parameter of some estimators.
    missing_groups: Any = "raise"
    # What to do with groups with very few rows; a parameter of some estimators.
    small_groups: Any = "keep"

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
        X = without_groups(self, X)
        if is_dask(X):
            return lazy_method(self, "transform", X, len(self.components_))
        X = self._rows(X)
        if issparse(X):
            return self._project_sparse(X).astype(X.dtype, copy=False)
        if X.dtype == np.float64 and self._is_near_origin():
            loadings = self.components_ if self.scale_ is None else self.components_ / self.scale_
            return X @ loadings.T - loadings @ self.mean_
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
        X = without_groups(self, X)
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
            # Always the same places: new memory costs more than what is done with it.
            places = np.empty((2, *X[next(_blocks(X))].shape))
            for rows in _blocks(X):
                centered, kept = places[:, : len(X[rows])]
                self._centered(X[rows], out=centered)
                np.matmul(centered @ self.components_.T, self.components_, out=kept)
                centered -= kept
                errors[rows] = np.einsum("ij,ij->i", centered, centered)
        if not np.isfinite(errors).all():
            raise ValueError("X holds values too large to square in double precision; rescale it.")
        return np.asarray(errors)

    @named_column
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
        sensitive_features : array-like, frame, dict or str, optional
            The group of each row. A str names a column of X, which is then not a feature.
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
        X = without_groups(self, X)
        if is_dask(X):
            return lazy_score(self, X, sensitive_features, sample_weight)
        errors = self.reconstruction_errors(X)
        total, gap = total_and_gap(errors, sensitive_features, sample_weight, GroupRule.of(self))
        return -(total + gap)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def _rows(self, X: Any) -> Any:
        check_real(X)
        options = {"accept_sparse": SPARSE_FORMATS, "ensure_all_finite": False}
        X = validate_data(self, X, dtype=FLOATS, reset=False, **options)
        check_finite(X, getattr(self, "feature_names_in_", None))
        return X

    def _project_sparse(self, X: Any) -> FloatArray:
        if hasattr(self, "clip_limits_"):
            raise ValueError(
                "A model that clips needs dense rows, but X is sparse; use X.toarray()."
            )
        return project_sparse(X, self.mean_, self.scale_, self.components_)

    def _is_near_origin(self) -> bool:
        """Whether the mean may be taken off after the projection: that loses a digit at most.

        It saves a copy of the rows. Where the mean is large, it would lose as many digits as the
        mean has more than the deviations.
        """
        kept = getattr(self, "explained_variance_", None)
        if kept is None or hasattr(self, "clip_limits_"):
            return False
        mean = self.mean_ if self.scale_ is None else self.mean_ / self.scale_
        return float(mean @ mean) <= NEAR**2 * float(kept.sum())

    def _clipped(self, X: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Rows within the limits of the model, if it has any."""
        limits = getattr(self, "clip_limits_", None)
        return X if limits is None else np.clip(X, *limits)

    def _centered(self, X: npt.NDArray[Any], out: FloatArray | None = None) -> FloatArray:
        centered: FloatArray = np.subtract(self._clipped(X), self.mean_, out, dtype=np.float64)
        if self.scale_ is not None:
            centered /= self.scale_
        return centered


def _blocks(X: npt.NDArray[Any]) -> Iterator[slice]:
    """Cut rows into blocks that fit the cache, so that X is never copied as a whole.

    A fold may have no rows: then there is one block, which is empty.
    """
    size = max(_BLOCK_BYTES // (8 * X.shape[1]), 64)
    return (slice(start, start + size) for start in range(0, max(len(X), 1), size))


def check_lazy(estimator: Any, X: Any, *, reset: bool) -> None:
    """Check or set names and number of features without computing a row.

    Parameters
    ----------
    estimator : estimator
        Whose features they are.
    X : dask array or dataframe
        Rows.
    reset : bool
        Whether to take them.
    """
    check_two_dimensions(X)
    check_real(X._meta)
    empty = np.empty((0, X.shape[1])) if hasattr(X, "chunks") else X._meta
    validate_data(estimator, empty, reset=reset, skip_check_array=True)


def lazy_method(estimator: Any, method: str, X: Any, width: int | None = None) -> Any:
    """Apply a method to each partition when it is computed.

    Parameters
    ----------
    estimator : fitted estimator
        The estimator.
    method : {"transform", "inverse_transform", "reconstruction_errors"}
        The method.
    X : dask array or dataframe
        Rows; projected ones for ``inverse_transform``, whose number of columns is checked.
    width : int, optional
        Columns of the result; None for one number a row.

    Returns
    -------
    dask array
        The result, not computed.
    """
    from fairspan.tables.dask import lazy_rows

    if method != "inverse_transform":
        check_lazy(estimator, X, reset=False)
    own = getattr(estimator, "_sklearn_output_config", {}).get("transform")
    output = own or get_config()["transform_output"]
    if method == "transform" and output != "default":
        raise ValueError(
            f"transform_output={output!r} holds rows in memory, where a Dask collection stays "
            'lazy; use set_output(transform="default").'
        )
    # Tasks need the projection, not the moments it came from.
    slim = copy(estimator)
    for name in ("moments_", "result_"):
        vars(slim).pop(name, None)
    return lazy_rows(getattr(slim, method), X, width)


def lazy_score(estimator: Any, X: Any, sensitive_features: Any, sample_weight: Any) -> float:
    """Compute the score from the moments of the rows.

    Parameters
    ----------
    estimator : fitted estimator
        The estimator.
    X : dask array or dataframe
        Rows.
    sensitive_features, sample_weight
        Groups and weights of the rows, or None.

    Returns
    -------
    float
        Minus the total error and minus the gap.
    """
    from fairspan.tables.dask import moments_of_collection

    check_is_fitted(estimator)
    check_lazy(estimator, X, reset=False)
    rule = estimator.missing_groups
    if estimator.small_groups != "keep":
        raise ValueError(
            f"score of a Dask collection does not support small_groups={estimator.small_groups!r}; "
            "score rows in memory."
        )
    found = moments_of_collection(X, sensitive_features, sample_weight, rule)
    # A group without weight has no error; it cannot widen the gap.
    moments = found.moments or found.result()
    projection = Projection.of(estimator)
    errors = projection.errors(projection.second_moments(moments, "global"))
    gap = Counting(missing_groups=rule).gap(errors, moments)
    return -float(moments.shares @ errors + gap)
