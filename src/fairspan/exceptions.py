"""Warnings of this package."""


class NoGroupsWarning(UserWarning):
    """Fairness was asked for, but there are no two groups to be fair to.

    Most often the sensitive features were given to a pipeline or a search that did not pass them
    on. Give them as ``fit(X, sensitive_features=...)``, with metadata routing enabled where other
    objects stand in between.
    """
