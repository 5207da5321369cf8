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
    Prepared,
    check_moments,
    prepare,
    warn_of_small_groups,
    warn_unless_optimal,
)
from fairspan.ground.parameters import check_components
from fairspan.ground.rows import check_real, is_dask, named_column
from fairspan.ground.types import FLOATS, FloatArray
from fairspan.moments.group_moments import GroupMoments
from fairspan.moments.groups import ONE_GROUP, Groups, check_sizes
from fairspan.moments.sparse import SPARSE_FORMATS
from fairspan.moments.summary import GroupSummary
from fairspan.objectives.counting import Counting
from fairspan.problem.subspace import SubspaceProblem
from fairspan.solvers.result import SolverResult, settled


def take_features(estimator: Any, moments: GroupSummary) -> None:
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
    # Whether a fit that is under way got a y, and no groups.
    _y_given = False
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

    @named_column
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
        sensitive_features : array-like, frame, dict or str, optional
            The group of each row: one column of labels of any type, or several, which are
            intersected. A str names a column of X, a list of str several; these are not features,
            and ``transform`` and the other methods leave them out, too.
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts: integer weights equal repeated rows.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._check_parameters()
        self.__dict__.pop("clip_limits_", None)
        self._y_given = y is not None and sensitive_features is None
        may_skip_moments = self._may_skip_moments(X)
        if may_skip_moments and self._fit_by_products(X, sensitive_features, sample_weight):
            return self
        moments = self._moments(X, sensitive_features, sample_weight, reset=True, whole=True)
        warn_of_small_groups(moments, self.n_components, self._counting())
        self._groups_given = sensitive_features is not None
        return self._fit(moments)

    @named_column
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
        sensitive_features : array-like, frame, dict or str, optional
            The group of each row, as in ``fit``. A str names a column of X, which is then not a
            feature.
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._check_parameters()
        self._refuse_clip("partial_fit")
        self._y_given = y is not None and sensitive_features is None
        seen: GroupMoments | None = getattr(self, "moments_", None)
        if seen is None and hasattr(self, "components_"):
            raise ValueError(
                "The model has no moments, so partial_fit cannot continue from the rows it has "
                "seen: it was saved with moments=False, or fitted by products."
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
        moments = self._treated(moments)
        warn_of_small_groups(moments, self.n_components, self._counting())
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

    def _may_skip_moments(self, X: Any) -> bool:
        """Whether a subclass might fit these rows without moments."""
        return False

    def _fit_by_products(self, X: Any, sensitive_features: Any, sample_weight: Any) -> bool:
        """Fit without moments, where a subclass can and should; say whether it did."""
        raise NotImplementedError

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
        X = self._checked(X, reset=reset)
        if self.clip is not None:
            self.clip_limits_ = learned_limits(X, self.clip, sample_weight)
            X = self._clipped(X)
        groups = Groups.of(sensitive_features, X.shape[0], self.missing_groups)
        if whole:
            check_sizes(len(groups.labels), X.shape[0])
        names = getattr(self, "feature_names_in_", None)
        return GroupMoments.from_groups(X, groups, sample_weight=sample_weight, feature_names=names)

    def _checked(self, X: Any, *, reset: bool) -> Any:
        """Return rows as floats by scikit-learn's rules; moments show what is not finite."""
        if reset and type(X) is np.ndarray and X.ndim == 2 and X.size and X.dtype in FLOATS:
            # Nothing to convert and no names: on small tables asking takes as long as the moments.
            self.__dict__.pop("feature_names_in_", None)
            self.n_features_in_ = X.shape[1]
            return X
        check_real(X)
        return validate_data(
            self,
            X,
            dtype=FLOATS,
            accept_sparse=SPARSE_FORMATS,
            reset=reset,
            ensure_all_finite=False,
        )

    def _refuse_clip(self, method: str) -> None:
        """Refuse to clip without all rows at hand."""
        self.__dict__.pop("clip_limits_", None)
        if self.clip is not None:
            raise ValueError(
                f"clip={self.clip!r} needs all rows in memory to learn where to clip, which "
                f"{method} does not see; use fit, or clip=None."
            )

    def _keeps_order(self) -> bool:
        """Whether components come in an order of their own, instead of that of their variance."""
        return False

    def _treated(self, moments: GroupMoments) -> GroupMoments:
        """What to do with small groups: keep them, unless a subclass says otherwise."""
        return moments

    def _counting(self) -> Counting:
        """How groups count: by their shares, unless a subclass says otherwise."""
        return Counting()

    def _found(self, moments: GroupMoments) -> tuple[Prepared, SubspaceProblem, SolverResult]:
        """Solve for moments; parameters are checked, and small groups treated."""
        k = check_components(self.n_components, moments.n_features)
        room = k if self._works_in_any_basis else None
        prepared = prepare(moments, self.standardize, room=room)
        problem = prepared.problem(k, self._counting())
        return prepared, problem, settled(self._solve(problem, prepared.inner), problem)

    def _fit(self, moments: GroupMoments) -> Self:
        prepared, problem, result = self._found(moments)
        self.__dict__.pop("_y_given", None)
        warn_unless_optimal(result, getattr(self, "tol", 0.0))
        ordered = prepared.in_order if self._keeps_order() else prepared.canonical
        components, variances = ordered(result.components)
        self.moments_, self.mean_, self.scale_ = moments, moments.mean, prepared.scale
        total_variance = float(moments.shares @ problem.traces)
        self._set_result(moments, replace(result, components=components), variances, total_variance)
        return self

    def _set_result(
        self, data: GroupSummary, result: SolverResult, variances: FloatArray, total_variance: float
    ) -> None:
        """Set the attributes of a fit; its components are in their final order."""
        errors, weight = result.group_errors, float(data.weights.sum())
        self.result_, self.components_ = result, result.components
        self.n_components_ = len(result.components)
        self.explained_variance_ = variances * (weight / (weight - 1))
        self.explained_variance_ratio_ = variances / (total_variance or 1.0)
        self.group_errors_, self.total_error_ = errors, float(data.shares @ errors)
        self.error_gap_ = float(self._counting().gap(errors, data))
        self.objective_, self.lower_bound_ = result.objective, result.lower_bound
        self.optimality_gap_ = result.optimality_gap
        self.n_eigensolves_, self.n_iter_ = result.n_eigensolves, result.n_iter
        self.group_labels_ = list(data.labels)
        self.group_counts_, self.group_weights_ = data.counts, data.weights
        self.n_samples_ = int(data.counts.sum())
