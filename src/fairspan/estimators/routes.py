"""The fit of many features: from products with the rows, where moments would cost too much."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from fairspan.estimators.base import BaseFairPCA, take_features
from fairspan.estimators.projecting import check_lazy
from fairspan.estimators.wide import Asked, Checked, only_moments
from fairspan.fitting import check_size, signed, warn_of_small_groups, warn_unless_optimal
from fairspan.ground.parameters import check_components, generator_from
from fairspan.ground.rows import is_dask
from fairspan.ground.types import FloatArray
from fairspan.moments.from_rows import hidden_by, warn_of_hidden_features
from fairspan.moments.summary import GroupSummary
from fairspan.objectives.counting import Counting
from fairspan.objectives.robust import RobustFairObjective
from fairspan.products import RowParts, SecondMoments, solve_products

logger = logging.getLogger("fairspan")


class RouteMixin(BaseFairPCA):
    """A ``fit`` from moments or from products, as ``route`` says."""

    route: Any
    failure_probability: Any
    fairness_weight: Any
    radius: Any
    reference: Any
    small_groups: Any
    order: Any
    solver: Any
    tol: Any
    verbose: Any
    random_state: Any
    group_radii_: FloatArray
    _radii: Callable[[GroupSummary], FloatArray]
    _set_objective: Callable[[RobustFairObjective], None]
    _warn_of_nothing_to_compare: Callable[[Counting, GroupSummary], None]

    def _fit_by_products(self, X: Any, sensitive_features: Any, sample_weight: Any) -> bool:
        names = ("small_groups", "radius", "reference", "clip", "order", "solver")
        asked = Asked(
            self.route,
            only_moments(**{name: getattr(self, name) for name in names}),
            self.n_components,
            self.missing_groups,
            self.standardize,
        )
        operator = asked.operator(X, sensitive_features, sample_weight, self._named_rows)
        if operator is None:
            return False
        self._solve_by_products(operator)
        if isinstance(X, RowParts):
            take_features(self, operator)
        self._groups_given = (
            X.has_groups if isinstance(X, RowParts) else sensitive_features is not None
        )
        return True

    def _named_rows(self, X: Any) -> Checked:
        if is_dask(X):
            check_lazy(self, X, reset=True)
        else:
            X = self._checked(X, reset=True)
        return X, getattr(self, "feature_names_in_", None)

    def _solve_by_products(self, operator: SecondMoments) -> None:
        k = check_components(self.n_components, operator.n_features)
        check_size(operator)
        warn_of_small_groups(operator, k)
        counting = self._counting()
        self._warn_of_nothing_to_compare(counting, operator)
        self.group_radii_ = self._radii(operator)
        objective = counting.objective_of(operator, self.fairness_weight, self.group_radii_)
        hidden = hidden_by(operator, float(operator.shares @ operator.trace_error))
        warn_of_hidden_features(operator, hidden)
        found = solve_products(
            operator,
            objective,
            k,
            tol=self.tol,
            failure_probability=self.failure_probability,
            rng=generator_from(0 if self.random_state is None else self.random_state),
            has_hidden_features=bool(hidden.any()),
        )
        logger.log(
            logging.INFO if self.verbose else logging.DEBUG,
            "route 'products': objective %.10g, bound %.10g, gap %.2g, %d passes, proof %s",
            found.result.objective,
            found.result.lower_bound,
            found.result.optimality_gap,
            found.result.n_passes,
            found.result.proof,
        )
        warn_unless_optimal(found.result, self.tol)
        self.__dict__.pop("_y_given", None)
        for old in ("moments_", "clip_limits_"):
            self.__dict__.pop(old, None)
        # The basis of the subspace is PCA's.
        variances, rotation = np.linalg.eigh(np.tensordot(operator.shares, found.kept, 1))
        components = signed(rotation[:, ::-1].T @ found.result.components)
        variances = np.maximum(variances[::-1], 0.0)
        total_variance = float(operator.shares @ operator.traces)
        self.route_ = "products"
        self.mean_, self.scale_ = operator.mean, operator.scale
        result = replace(found.result, components=components)
        self._set_result(operator, result, variances, total_variance)
        self._set_objective(objective)
