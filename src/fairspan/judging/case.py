"""What metrics work on: a projection, data, options, and the numbers they return."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypedDict, Unpack

import numpy as np

from fairspan.ground.extras import as_frame
from fairspan.ground.listed import listed
from fairspan.ground.parameters import check_choice, check_options, renamed
from fairspan.ground.types import BoolArray, FloatArray, Label
from fairspan.moments.group_moments import GroupMoments
from fairspan.moments.projection import Projection
from fairspan.moments.small_groups import GroupRule
from fairspan.problem.spectrum import top_space


class Options(TypedDict, total=False):
    """How to evaluate a projection; all keywords are optional.

    Attributes
    ----------
    centering : {"global", "group"}, default="global"
        From where errors are measured.
    mean, scale : array-like of shape (n_features,)
        Centre and divisors that belong to plain components; an estimator brings its own. Without a
        mean, the data's own is used.
    training : GroupMoments
        Moments of the training data, which give the group means; estimators of this package bring
        their own. Without them, the data's own are used.
    sample_weight : array-like of shape (n_rows,)
        How often each row counts.
    """

    centering: str
    mean: Any
    scale: Any
    training: GroupMoments | None
    sample_weight: Any


@dataclass(frozen=True)
class GroupValues:
    """A number for each group.

    Attributes
    ----------
    name : str
        What the numbers are.
    labels : tuple
        The groups.
    values : ndarray of shape (n_groups,)
        The numbers.
    weights : ndarray of shape (n_groups,)
        Sizes of the groups.
    compared : ndarray of shape (n_groups,) or None
        Whether each group counts in ``difference``; all do if None.
    """

    name: str
    labels: tuple[Label, ...]
    values: FloatArray
    weights: FloatArray
    compared: BoolArray | None = None

    @property
    def by_group(self) -> dict[Label, float]:
        """The numbers by label."""
        return dict(zip(self.labels, self.values.tolist(), strict=True))

    @property
    def overall(self) -> float:
        """Mean over all rows."""
        return float(self.values @ self.weights / self.weights.sum())

    @property
    def difference(self) -> float:
        """Largest minus smallest, of the groups that are compared; 0 if there are none."""
        values = self.values if self.compared is None else self.values[self.compared]
        return float(np.ptp(values)) if len(values) else 0.0

    def to_frame(self) -> Any:
        """Return a table with a row for each group.

        Returns
        -------
        pandas.DataFrame or list of dict
            Columns ``group``, ``weight`` and the name of the metric.
        """
        rows = zip(self.labels, self.weights.tolist(), self.values.tolist(), strict=True)
        return as_frame([{"group": a, "weight": w, self.name: value} for a, w, value in rows])


@dataclass(frozen=True)
class Case:
    """A projection, the moments it is judged on, and the second moments that matter.

    A fitted model is judged by its own rule for small groups and for rows without a label.
    """

    projection: Projection
    moments: GroupMoments
    centering: str
    second: FloatArray
    rule: GroupRule

    @classmethod
    @renamed("centring", "centering")
    def of(cls, model: Any, X: Any, sensitive_features: Any, **options: Unpack[Options]) -> Case:
        """Take a model and data in the forms that metrics accept."""
        check_options(options, Options)
        centering = options.get("centering", "global")
        rule = GroupRule.of(model)
        moments = rule.moments(X, sensitive_features, options.get("sample_weight"))
        projection = Projection.of(
            model, options.get("mean"), options.get("scale"), options.get("training")
        )
        second = projection.second_moments(moments, centering)
        return cls(projection, moments, centering, second, rule)

    def values(self, name: str, values: FloatArray) -> GroupValues:
        """Return numbers with their name and groups."""
        labels, weights = self.moments.labels, self.moments.weights
        return GroupValues(name, labels, values, weights, self.rule.compared(labels))

    def reference_errors(self, reference: str) -> FloatArray:
        """Return the errors on this data of PCA fitted to the training data."""
        source = self.projection.training or self.moments
        own = check_choice("reference", reference, ("pooled", "group")) == "group"
        fitted = self.projection.second_moments(source, self.centering if own else "global")
        k = len(self.projection.components)
        if not own:
            pooled = top_space(np.einsum("a,aij->ij", source.shares, fitted), k)
            return replace(self.projection, components=pooled.vectors.T).errors(self.second)
        errors = []
        for label, second in zip(self.moments.labels, self.second, strict=True):
            if label not in source.labels:
                raise ValueError(
                    f"Group {label!r} is not in the training data, whose groups are "
                    f"{listed(source.labels)}; use the same labels in sensitive_features."
                )
            best = top_space(fitted[source.labels.index(label)], k).vectors.T
            errors.append(replace(self.projection, components=best).errors(second[None])[0])
        return np.array(errors)
