"""Scorers for scikit-learn's searches that receive the groups of the rows they score.

A plain function as ``scoring`` never sees the groups, and would silently score without them.
These objects ask for ``sensitive_features`` through metadata routing, and raise when they get none.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import MetadataRequest

from fairspan.ground.parameters import check_choice
from fairspan.ground.rows import named_column
from fairspan.moments.projection import total_and_gap
from fairspan.moments.small_groups import GroupRule

__all__ = ["GroupErrorScorer", "error_gap", "total_error", "total_plus_gap"]
__dir__ = __all__.copy

_MEASURES = ("total", "gap", "total_plus_gap")


class GroupErrorScorer:
    """Score a fitted projection, or a pipeline that ends in one, by the errors of groups.

    With ``sklearn.set_config(enable_metadata_routing=True)`` searches pass each fold its groups::

        GridSearchCV(pipeline, grid, scoring=fairspan.scorers.total_plus_gap)
            .fit(X, sensitive_features=groups)

    Without routing scikit-learn passes nothing to scorers, and this one raises. Weights of rows
    count where they are asked for, in the fit and in the score::

        RobustFairPCA(2).set_fit_request(sample_weight=True)
        fairspan.scorers.total_plus_gap.set_score_request(sample_weight=True)

    Errors of a pipeline are measured where its last step works, in the units that the earlier steps
    give, as ``Pipeline.score`` does: ``total_plus_gap`` equals the default score of this package's
    estimators. Searches over earlier steps that change these units compare unlike things; to
    search over scaling use ``RobustFairPCA(standardize=...)`` on data in common units.

    Parameters
    ----------
    measure : {"total", "gap", "total_plus_gap"}
        What is measured; the score is minus that, since higher scores are better.
    missing_groups : {"raise", "own_group", "total_only"}, optional
        What to do with rows without a label, as in RobustFairPCA; if not given, what the estimator
        does with them. Small groups are always treated as the estimator treats them.
    """

    def __init__(self, measure: str, missing_groups: str | None = None) -> None:
        self.measure = check_choice("measure", measure, _MEASURES)
        self.missing_groups = missing_groups
        self._request = MetadataRequest(owner=self)
        for name, asked in {"sensitive_features": True, "sample_weight": None}.items():
            self._request.score.add_request(param=name, alias=asked)

    @named_column
    def __call__(
        self,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        sensitive_features: Any = None,
        sample_weight: Any = None,
    ) -> float:
        """Score rows.

        Parameters
        ----------
        estimator : fitted estimator
            With ``reconstruction_errors``, or ``transform`` and ``inverse_transform``; or a
            pipeline that ends in one, whose errors are measured in the units its last step gets.
        X : array-like of shape (n_rows, n_features)
            The rows.
        y : None
            Ignored.
        sensitive_features : array-like, frame, dict or str
            The group of each row. A str names a column of X, which is then not a feature.
        sample_weight : array-like of shape (n_rows,), optional
            How often each row counts.

        Returns
        -------
        float
            Minus the measure.
        """
        if sensitive_features is None:
            raise ValueError(
                f"The scorer {self!r} received no sensitive_features. Turn on metadata routing "
                "(sklearn.set_config(enable_metadata_routing=True)) and pass sensitive_features to "
                "fit of the search, or params={'sensitive_features': ...} to cross_validate."
            )
        errors = _row_errors(estimator, X)
        rule = GroupRule.of(estimator[-1] if isinstance(estimator, Pipeline) else estimator)
        if self.missing_groups is not None:
            rule = replace(rule, missing_groups=self.missing_groups)
        total, gap = total_and_gap(errors, sensitive_features, sample_weight, rule)
        return -{"total": total, "gap": gap, "total_plus_gap": total + gap}[self.measure]

    def set_score_request(self, **requests: bool | str | None) -> GroupErrorScorer:
        """Ask for more metadata, or for the groups by another name.

        Parameters
        ----------
        **requests : bool, str or None
            As in scikit-learn's ``set_score_request``, for ``sensitive_features`` and
            ``sample_weight``.

        Returns
        -------
        GroupErrorScorer
            A scorer with these requests.
        """
        scorer = GroupErrorScorer(self.measure, self.missing_groups)
        for name, asked in {**self._request.score.requests, **requests}.items():
            if name not in ("sensitive_features", "sample_weight"):
                raise TypeError(
                    f"{name!r} is not known; requests are for sensitive_features and sample_weight."
                )
            scorer._request.score.add_request(param=name, alias=asked)
        return scorer

    def get_metadata_routing(self) -> MetadataRequest:
        """Say which metadata is asked for.

        Returns
        -------
        MetadataRequest
            The requests.
        """
        return self._request

    def __repr__(self) -> str:
        return f"GroupErrorScorer({self.measure!r})"


def _row_errors(estimator: Any, X: Any) -> Any:
    if isinstance(estimator, Pipeline):
        return _row_errors(estimator[-1], estimator[:-1].transform(X) if len(estimator) > 1 else X)
    if hasattr(estimator, "reconstruction_errors"):
        return estimator.reconstruction_errors(X)
    if not hasattr(estimator, "inverse_transform"):
        raise TypeError(
            f"{type(estimator).__name__} cannot be scored by reconstruction errors: it has neither "
            "reconstruction_errors nor inverse_transform."
        )
    back = np.asarray(estimator.inverse_transform(estimator.transform(X)))
    return ((np.asarray(X, dtype=np.float64) - back) ** 2).sum(axis=1)


total_error = GroupErrorScorer("total")
"""Minus the mean error of all rows."""
error_gap = GroupErrorScorer("gap")
"""Minus the gap: largest minus smallest error of the groups."""
total_plus_gap = GroupErrorScorer("total_plus_gap")
"""Minus the sum of both, the paper's measure."""
