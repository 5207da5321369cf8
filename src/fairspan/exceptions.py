"""Warnings of this package."""


class CollapsedRuleWarning(UserWarning):
    """A linear rule that should separate groups is 0 up to rounding, and so separates nothing.

    The distance that is read off it is an artefact of the solver, not a property of the data.
    """


class HiddenFeatureWarning(UserWarning):
    """Features vary so little compared with the largest one that rounding hides them.

    Double precision has about 16 digits. If the standard deviation of one feature is ten million
    times larger than those of the others, the errors of the others are lost in rounding, and proofs
    hold only up to that. Look for outliers, or fit with ``standardize=True``.
    """


class NoGroupsWarning(UserWarning):
    """A fair method received fewer than two groups, so there is nothing to balance.

    Most often the sensitive features were passed to a pipeline or a search that did not forward
    them. Pass them as ``fit(X, sensitive_features=...)``, and enable metadata routing for pipelines
    and searches.
    """


class SmallGroupWarning(UserWarning):
    """A group has so few rows that its error says little about the population.

    A group with no more rows than components can be reconstructed without error by chance alone.
    The group is kept as it is: merge it with another, or report its size together with its error.
    """
