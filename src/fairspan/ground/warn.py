"""Warnings that point at the line of the user's program."""

from __future__ import annotations

import sys
import warnings

_BETWEEN = {"fairspan", "sklearn", "joblib"}
"""Packages whose frames may lie between a warning and the line that caused it."""


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the innermost line that lies outside fairspan and scikit-learn.

    Parameters
    ----------
    message : str
        The text.
    category : type of Warning
        The kind of warning.
    """
    # The skip_file_prefixes of warnings.warn need Python 3.12, and miss generated functions.
    frame, level = sys._getframe(), 1
    while frame.f_back and str(frame.f_globals.get("__name__")).partition(".")[0] in _BETWEEN:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
