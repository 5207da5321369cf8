"""Warnings of this package."""


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
