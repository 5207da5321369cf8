"""What is judged: components, or a fitted model with the way it was fitted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from fairspan.ground import defaults
from fairspan.ground.parameters import check_flag
from fairspan.moments.group_moments import GroupMoments
from fairspan.moments.small_groups import GroupRule, treated


@dataclass(frozen=True)
class Given:
    """Components, or other numbers, and how the data is treated before it is looked at.

    Attributes
    ----------
    projection : array-like
        What was given, or the components of the model that was given.
    standardize : bool
        Whether features are divided by their standard deviation.
    rule : GroupRule
        What becomes of rows without a label and of small groups.
    min_rows : int
        The fewest rows of a group that is not small.
    """

    projection: Any
    standardize: bool
    rule: GroupRule
    min_rows: int

    def moments(self, data: Any, sensitive_features: Any) -> GroupMoments:
        """Give the moments of data: groups as in the fit, and small ones treated."""
        moments = self.rule.moments(data, sensitive_features)
        return treated(moments, self.rule.small_groups, self.min_rows)


def given_projection(
    projection: Any,
    standardize: bool,
    rule: GroupRule | None = None,
    min_rows: int = defaults.MIN_ROWS,
) -> Given:
    """Take components as they are asked for, and a fitted model as it was fitted.

    Parameters
    ----------
    projection : array-like, mapping or fitted estimator
        What is judged.
    standardize : bool
        Whether features are divided by their standard deviation; a model says so itself.
    rule : GroupRule, optional
        What was asked for; of a model, only what is not the default goes before its own.
    min_rows : int
        See ``rule``.

    Returns
    -------
    Given
        What is judged and how.
    """
    rule = rule or GroupRule()
    check_flag("standardize", standardize)
    if not isinstance(projection, BaseEstimator):
        return Given(projection, standardize, rule, min_rows)
    _check_model(projection)
    own = GroupRule.of(projection)
    asked_missing, asked_small = rule.missing_groups != "raise", rule.small_groups != "keep"
    both = GroupRule(
        own.labels,
        rule.missing_groups if asked_missing else own.missing_groups,
        rule.small_groups if asked_small else own.small_groups,
    )
    least = min_rows if asked_small else getattr(projection, "min_rows", min_rows)
    return Given(projection.components_, _standardizes(projection, standardize), both, least)


def _check_model(model: Any) -> None:
    if isinstance(model, Pipeline):
        raise TypeError(
            "A pipeline cannot be judged as a whole; pass its projection, pipeline[-1], and the "
            "rows as the earlier steps give them, pipeline[:-1].transform(X)."
        )
    check_is_fitted(model)
    if not hasattr(model, "components_"):
        raise TypeError(f"{type(model).__name__} has no components_ to judge.")
    if hasattr(model, "clip_limits_"):
        raise ValueError(
            "The model clips features, and data is judged as it is given; pass model.components_ "
            "and np.clip(X, *model.clip_limits_)."
        )


def _standardizes(model: Any, asked: bool) -> bool:
    """Whether a model works on standardised data; refuse to take its components for others."""
    own = getattr(model, "scale_", None) is not None
    if asked and not own:
        raise ValueError(
            "standardize=True, but the model was fitted to data that is not standardised; leave "
            "standardize out, or fit the model with standardize=True."
        )
    return own
