"""Warnings of this package."""


class HiddenFeatureWarning(UserWarning):
    """Features vary so little beside the largest one that rounding hides them.

    Double precision holds about 16 digits. Beside a feature whose standard deviation is ten million
    times larger, the errors of the others are rounding, and what is proved is proved up to
    that. Look for outliers, or fit with ``standardize=True``.
    """


class NoGroupsWarning(UserWarning):
    """Fairness was asked for, but there are no two groups to be fair to.

    Most often the sensitive features were given to a pipeline or a search that did not pass them
    on. Give them as ``fit(X, sensitive_features=...)``, with metadata routing enabled where other
    objects stand in between.
    """


class SmallGroupWarning(UserWarning):
    """A group has so few rows that its error says little about people like them.

    Up to as many rows as components can be reconstructed without any error by chance alone. The
    group is kept as it is: merge it with another, or read its error beside its count.
    """
