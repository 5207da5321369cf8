"""The worst case: rows moved to the worst distribution within the radius."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from fairspan.estimators.projecting import ProjectingMixin
from fairspan.ground.listed import listed
from fairspan.ground.rows import check_real, named_column, without_groups
from fairspan.ground.types import FloatArray
from fairspan.moments.small_groups import GroupRule
from fairspan.objectives.ambiguity import worst_case_rows
from fairspan.objectives.robust import RobustFairObjective


class WorstCaseMixin(ProjectingMixin):
    """A method of estimators whose objective has an ambiguity set."""

    group_errors_: FloatArray
    group_radii_: FloatArray
    _fitted_objective: RobustFairObjective

    @named_column
    def worst_case(self, X: Any, *, sensitive_features: Any = None) -> FloatArray:
        """Move rows to the worst distribution within the radius, for the fitted projection.

        It shows whom the robustness protects against: the error of the group that fares worse
        grows, that of the group that fares better shrinks (or grows less), each by as
        much as its radius allows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, usually those the estimator was fitted on.
        sensitive_features : array-like, frame, dict or str, optional
            The group of each row, among those seen in fit. A str names a column of X, which is then
            not a feature.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            The moved rows, in the units of X.
        """
        check_is_fitted(self)
        X = without_groups(self, X)
        check_real(X)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        if sensitive_features is None and len(self.group_labels_) > 1:
            raise ValueError(
                "sensitive_features is missing; the worst case depends on the groups "
                f"{listed(self.group_labels_)}."
            )
        groups = GroupRule.of(self).groups(sensitive_features, len(X))
        unknown = [label for label in groups.labels if label not in self.group_labels_]
        if unknown:
            raise ValueError(
                f"sensitive_features has groups that were not in fit: {listed(unknown)}; the "
                f"fitted groups are {listed(self.group_labels_)}."
            )
        objective = self._fitted_objective
        coefficients = objective.coefficients(objective.active_pair(self.group_errors_))
        moved = self._centered(X)
        for code, label in enumerate(groups.labels):
            a, rows = self.group_labels_.index(label), groups.codes == code
            moved[rows] = worst_case_rows(
                moved[rows],
                self.components_,
                self.group_errors_[a],
                self.group_radii_[a],
                coefficients[a],
            )
        return np.asarray((moved if self.scale_ is None else moved * self.scale_) + self.mean_)
