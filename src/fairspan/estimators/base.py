"""The common base of all estimators: from data to moments to a subspace."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from fairspan.estimators.clipping import learned_limits
from fairspan.estimators.export import ExportMixin
from fairspan.estimators.projecting import ProjectingMixin, check_lazy
from fairspan.fitting import (
    Counting,
    Prepared,
    check_moments,
    prepare,
    warn_of_small_groups,
    warn_unless_optimal,
)
from fairspan.ground.parameters import check_components
from fairspan.ground.rows import check_real, is_dask
from fairspan.ground.types import FLOATS
from fairspan.moments.group_moments import GroupMoments
from fairspan.moments.groups import ONE_GROUP, Groups, check_sizes
from fairspan.moments.sparse import SPARSE_FORMATS
from fairspan.problem.subspace import SubspaceProblem
from fairspan.solvers.result import SolverResult, settled


def take_features(estimator: Any, moments: GroupMoments) -> None:
    """Set the number and names of the features that an estimator is fitted on."""
    estimator.n_features_in_ = moments.n_features
    if moments.feature_names is not None:
        estimator.feature_names_in_ = np.array(moments.feature_names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_


class BaseFairPCA(ExportMixin, ProjectingMixin, BaseEstimator, ABC):
    """Base class of projections that are found from group moments alone.

    A subclass checks its parameters in ``_check_parameters`` and finds its subspace in ``_solve``.
    """

    n_components: Any
    standardize: Any
    clip: Any = None
    # Whether the method looks at group errors alone, so that it may be given the rows'
    # coordinates in a space that holds them, with room for the components.
    _works_in_any_basis = True

    # Requested for whole classes, so that pipelines and searches pass the groups on as soon as
    # metadata routing is enabled.
    __metadata_request__fit = {"sensitive_features": True}  # noqa: RUF012
    __metadata_request__partial_fit = {"sensitive_features": True}  # noqa: RUF012

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
        self.__dict__.pop("clip_limits_", None)
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
        self._refuse_clip("partial_fit")
        seen: GroupMoments | None = getattr(self, "moments_", None)
        if seen is None and hasattr(self, "components_"):
            raise ValueError(
                "The model was saved with moments=False, so partial_fit cannot continue from the "
                "rows it has seen; use fit, or save with moments=True."
            )
        moments = self._moments(
            X, sensitive_features, sample_weight, reset=seen is None, whole=False
        )
        given = sensitive_features is not None
        if seen is not None:
            if given != self._groups_given:
                raise ValueError(
                    "sensitive_features must be given in every call of partial_fit, or in none."
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
        check_moments(moments)
        self._check_parameters()
        self._refuse_clip("fit_moments")
        warn_of_small_groups(moments, self.n_components)
        self._fit(moments)
        self._groups_given = moments.labels != (ONE_GROUP,)
        take_features(self, moments)
        return self

    def __sklearn_is_fitted__(self) -> bool:
        # A first batch of one row leaves moments only.
        return hasattr(self, "components_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _moments(
        self, X: Any, sensitive_features: Any, sample_weight: Any, *, reset: bool, whole: bool
    ) -> GroupMoments:
        """Check rows and reduce them to moments; ``whole`` means that these are all rows."""
        if is_dask(X):
            self._refuse_clip("fit on a Dask collection")
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
            dtype=FLOATS,
            accept_sparse=SPARSE_FORMATS,
            reset=reset,
            ensure_all_finite=False,
        )
        if self.clip is not None:
            self.clip_limits_ = learned_limits(X, self.clip, sample_weight)
            X = self._clipped(X)
        groups = Groups.of(sensitive_features, X.shape[0], self.missing_groups)
        if whole:
            check_sizes(len(groups.labels), X.shape[0])
        names = getattr(self, "feature_names_in_", None)
        return GroupMoments.from_groups(X, groups, sample_weight=sample_weight, feature_names=names)

    def _refuse_clip(self, method: str) -> None:
        """Refuse to clip without all rows at hand, which tell where."""
        self.__dict__.pop("clip_limits_", None)
        if self.clip is not None:
            raise ValueError(
                f"clip={self.clip!r} needs all rows in memory to learn where to clip, which "
                f"{method} does not see; use fit, or clip=None."
            )

    def _keeps_order(self) -> bool:
        """Whether components come in an order of their own, instead of that of their variance."""
        return False

    def _counting(self) -> Counting:
        """How groups count: by their shares, unless a subclass has a say."""
        return Counting()

    def _fit(self, moments: GroupMoments) -> Self:
        k = check_components(self.n_components, moments.n_features)
        room = k if self._works_in_any_basis else None
        prepared, counting = prepare(moments, self.standardize, room=room), self._counting()
        problem = prepared.problem(k, counting)
        result = settled(self._solve(problem, prepared.inner), problem)
        warn_unless_optimal(result, getattr(self, "tol", 0.0))
        self.moments_, self.mean_, self.scale_ = moments, moments.mean, prepared.scale
        self._set_result(prepared, result)
        self.error_gap_ = float(counting.gap(result.group_errors, moments))
        self.group_labels_ = list(moments.labels)
        self.group_counts_ = moments.counts
        self.group_weights_ = moments.weights
        self.n_samples_ = int(moments.counts.sum())
        return self

    def _set_result(self, prepared: Prepared, result: SolverResult) -> None:
        ordered = prepared.in_order if self._keeps_order() else prepared.canonical
        components, variances = ordered(result.components)
        shares, weight = prepared.moments.shares, prepared.moments.total_weight
        total_variance = float(np.einsum("a,aii->", shares, prepared.inner.second_moments))
        self.result_ = replace(result, components=components)
        self.components_ = components
        self.n_components_ = len(components)
        self.explained_variance_ = variances * (weight / (weight - 1))
        self.explained_variance_ratio_ = variances / (total_variance or 1.0)
        self.group_errors_ = result.group_errors
        self.total_error_ = float(shares @ result.group_errors)
        self.objective_ = result.objective
        self.lower_bound_ = result.lower_bound
        self.optimality_gap_ = result.optimality_gap
        self.n_eigensolves_ = result.n_eigensolves
        self.n_iter_ = result.n_iter
