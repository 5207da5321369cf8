"""What all estimators share: data in, moments, a subspace out, in scikit-learn's shape."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from fairspan._sparse import SPARSE_FORMATS, is_sparse, project_sparse, squared_distances
from fairspan._types import FloatArray
from fairspan._validation import check_components, check_flag, check_real, check_weights, is_dask
from fairspan.estimators.export import ExportMixin
from fairspan.estimators.lazy import check_lazy, lazy_method, lazy_score
from fairspan.estimators.steps import (
    canonical_basis,
    check_scales,
    check_size,
    pooled_scale,
    warn_of_small_groups,
)
from fairspan.exceptions import NoGroupsWarning
from fairspan.groups import ONE_GROUP, Groups, encode_groups, groups_in_gap
from fairspan.moments import GroupMoments
from fairspan.problem import SubspaceProblem
from fairspan.solvers.result import SolverResult

_FLOATS = [np.float64, np.float32]
_BLOCK_BYTES = 2**20


class BaseFairPCA(
    ExportMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC
):
    """A projection chosen from group moments alone; subclasses say how.

    A subclass checks its parameters in ``_check_parameters`` and finds its subspace in ``_solve``.
    """

    n_components: Any
    standardize: Any
    # What becomes of rows without a label; a parameter of some subclasses.
    missing_groups: Any = "raise"
    # Whether the method looks at group errors alone, so that it may be given the rows'
    # coordinates in a space that holds them, with room for the components.
    _works_in_any_basis = True

    # Requested for whole classes, so that pipelines and searches pass the groups on as soon as
    # metadata routing is enabled.
    __metadata_request__fit = {"sensitive_features": True}  # noqa: RUF012
    __metadata_request__partial_fit = {"sensitive_features": True}  # noqa: RUF012
    __metadata_request__score = {"sensitive_features": True}  # noqa: RUF012

    @abstractmethod
    def _check_parameters(self) -> None:
        """Raise for parameters that are not allowed."""

    @abstractmethod
    def _solve(self, problem: SubspaceProblem, moments: GroupMoments) -> SolverResult:
        """Find the subspace."""

    def fit(
        self, X: Any, y: Any = None, *, sensitive_features: Any = None, sample_weight: Any = None
    ) -> Self:
        """Find the projection for rows in memory, or in the partitions of a Dask collection.

        Parameters
        ----------
        X : array-like, sparse or Dask collection of shape (n_samples, n_features)
            The data.
        y : None
            Ignored.
        sensitive_features : array-like, frame or dict, optional
            The group of each row: one column of labels of any type, or several, which
            are intersected.
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts: integer weights equal repeated rows.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._check_parameters()
        moments = self._moments(X, sensitive_features, sample_weight, reset=True, whole=True)
        warn_of_small_groups(moments, self.n_components)
        self._groups_given = sensitive_features is not None
        return self._fit(moments)

    def partial_fit(
        self, X: Any, y: Any = None, *, sensitive_features: Any = None, sample_weight: Any = None
    ) -> Self:
        """Add rows to those seen before and find the projection for all of them.

        The result does not depend on the size or order of the batches; new groups may appear.
        With a single row so far there is nothing to fit: it is kept until more come.

        Parameters
        ----------
        X : array-like, sparse or Dask collection of shape (n_samples, n_features)
            More data.
        y : None
            Ignored.
        sensitive_features : array-like, frame or dict, optional
            The group of each row, as in ``fit``.
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._check_parameters()
        seen: GroupMoments | None = getattr(self, "moments_", None)
        if seen is None and hasattr(self, "components_"):
            raise ValueError(
                "The model was saved with moments=False, so partial_fit cannot go on from the rows "
                "it has seen; use fit, or save with moments=True."
            )
        moments = self._moments(X, sensitive_features, sample_weight, reset=seen is None)
        given = sensitive_features is not None
        if seen is not None:
            if given != self._groups_given:
                raise ValueError(
                    "sensitive_features must be given in every call of partial_fit or in none."
                )
            moments = seen + moments
        self._groups_given = given
        if moments.counts.sum() == 1:
            check_components(self.n_components, moments.n_features)
            self.moments_ = moments
            return self
        return self._fit(moments)

    def fit_moments(self, moments: GroupMoments) -> Self:
        """Find the projection for data known by its group moments only.

        Parameters
        ----------
        moments : GroupMoments
            Moments, perhaps added from many files or sites.

        Returns
        -------
        self
            The fitted estimator, as if fitted on the rows.
        """
        if not isinstance(moments, GroupMoments):
            raise TypeError(
                f"moments is a {type(moments).__name__}; make a GroupMoments from data with "
                "GroupMoments.from_arrays(X, sensitive_features)."
            )
        self._check_parameters()
        warn_of_small_groups(moments, self.n_components)
        self._fit(moments)
        self._groups_given = moments.labels != (ONE_GROUP,)
        self.n_features_in_ = moments.n_features
        if moments.feature_names is not None:
            self.feature_names_in_ = np.array(moments.feature_names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return self

    def transform(self, X: Any) -> Any:
        """Project rows; the projection does not look at their groups.

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
        check_real(X)
        X = validate_data(self, X, dtype=_FLOATS, accept_sparse=SPARSE_FORMATS, reset=False)
        if is_sparse(X):
            return self._project_sparse(X).astype(X.dtype, copy=False)
        projected = np.empty((len(X), len(self.components_)), dtype=X.dtype)
        for rows in _blocks(X):
            projected[rows] = self._centred(X[rows]) @ self.components_.T
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
            check_real(X)
            X = check_array(X, dtype=_FLOATS, input_name="X")
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
        check_real(X)
        X = validate_data(self, X, dtype=_FLOATS, accept_sparse=SPARSE_FORMATS, reset=False)
        if is_sparse(X):
            kept = self._project_sparse(X)
            lost = squared_distances(X, self.mean_, self.scale_) - (kept**2).sum(axis=1)
            return np.maximum(lost, 0.0)
        errors = np.empty(len(X))
        for rows in _blocks(X):
            centred = self._centred(X[rows])
            centred -= (centred @ self.components_.T) @ self.components_
            errors[rows] = np.einsum("ij,ij->i", centred, centred)
        if not np.isfinite(errors).all():
            raise ValueError("X holds values too large to square in double precision; rescale it.")
        return errors

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
            warnings.warn(
                "score received no sensitive_features, so it is minus the total error only and "
                "does not see the gap. In a search or pipeline turn on metadata routing: "
                "sklearn.set_config(enable_metadata_routing=True).",
                NoGroupsWarning,
                stacklevel=2,
            )
        if is_dask(X):
            return lazy_score(self, X, sensitive_features, sample_weight)
        errors = self.reconstruction_errors(X)
        weight = np.ones(len(errors))
        if sample_weight is not None:
            weight = check_weights(sample_weight, len(errors))
        total = float(np.average(errors, weights=weight))
        if sensitive_features is None:
            return -total
        groups = encode_groups(sensitive_features, len(errors), self.missing_groups)
        size = np.bincount(groups.codes, weight)
        # A group without weight has no error; it cannot widen the gap.
        counted = (size > 0) & groups_in_gap(groups.labels, self.missing_groups)
        means = np.bincount(groups.codes, weight * errors)[counted] / size[counted]
        return -(total + (float(np.ptp(means)) if counted.any() else 0.0))

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_is_fitted__(self) -> bool:
        # A first batch of one row leaves moments only.
        return hasattr(self, "components_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _moments(
        self,
        X: Any,
        sensitive_features: Any,
        sample_weight: Any,
        *,
        reset: bool,
        whole: bool = False,
    ) -> GroupMoments:
        """Check rows and reduce them to moments; ``whole`` says that these are all rows."""
        if is_dask(X):
            moments = GroupMoments.from_arrays(
                X,
                sensitive_features,
                sample_weight=sample_weight,
                missing_groups=self.missing_groups,
            )
            check_lazy(self, X, reset=reset)
            return moments
        check_real(X)
        # Values that are not finite show in the moments, which spares a pass over X.
        X = validate_data(
            self,
            X,
            dtype=_FLOATS,
            accept_sparse=SPARSE_FORMATS,
            reset=reset,
            ensure_all_finite=False,
        )
        groups = (
            Groups.single(X.shape[0])
            if sensitive_features is None
            else encode_groups(sensitive_features, X.shape[0], self.missing_groups)
        )
        names = getattr(self, "feature_names_in_", None)
        return GroupMoments.from_groups(X, groups, sample_weight=sample_weight, feature_names=names)

    def _fit(self, moments: GroupMoments) -> Self:
        k = check_components(self.n_components, moments.n_features)
        check_size(moments)
        scale = pooled_scale(moments) if check_flag("standardize", self.standardize) else None
        scaled = moments if scale is None else moments.scaled(scale)
        check_scales(scaled)
        scaled = scaled.with_room(k) if self._works_in_any_basis else scaled.dense()
        small = scaled.in_basis()
        problem = SubspaceProblem(small.second_moments, small.shares, k)
        result = self._solve(problem, small)
        self.moments_, self.mean_, self.scale_ = moments, moments.mean, scale
        self._set_result(problem, result, moments.total_weight, scaled.basis)
        in_gap = groups_in_gap(moments.labels, self.missing_groups)
        self.error_gap_ = float(np.ptp(result.group_errors[in_gap])) if in_gap.any() else 0.0
        self.group_labels_ = list(moments.labels)
        self.group_counts_ = moments.counts
        self.group_weights_ = moments.weights
        self.n_samples_ = int(moments.counts.sum())
        return self

    def _set_result(
        self,
        problem: SubspaceProblem,
        result: SolverResult,
        total_weight: float,
        basis: FloatArray | None,
    ) -> None:
        components, variances = canonical_basis(problem, result.components, basis)
        self.result_ = replace(result, components=components)
        self.components_ = components
        self.n_components_ = len(components)
        self.explained_variance_ = variances * (total_weight / (total_weight - 1))
        self.explained_variance_ratio_ = variances / (problem.scale or 1.0)
        self.group_errors_ = result.group_errors
        self.total_error_ = float(problem.shares @ result.group_errors)
        self.objective_ = result.objective
        self.lower_bound_ = result.lower_bound
        self.optimality_gap_ = result.optimality_gap
        self.n_eigensolves_ = result.n_eigensolves
        self.n_iter_ = max(len(result.history), 1)

    def _project_sparse(self, X: Any) -> FloatArray:
        return project_sparse(X, self.mean_, self.scale_, self.components_)

    def _centred(self, X: npt.NDArray[Any]) -> FloatArray:
        centred: FloatArray = np.subtract(X, self.mean_, dtype=np.float64)
        if self.scale_ is not None:
            centred /= self.scale_
        return centred


def _blocks(X: npt.NDArray[Any]) -> Iterator[slice]:
    """Cut rows into pieces that fit the cache: no copy of X is ever made."""
    size = max(_BLOCK_BYTES // (8 * X.shape[1]), 64)
    return (slice(start, start + size) for start in range(0, len(X), size))
