"""Types that every module shares."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]
BoolArray = npt.NDArray[np.bool_]
FLOATS = [np.float64, np.float32]
"""Rows may be of these types; others are converted to the first."""
UNIT = float(np.finfo(np.float64).eps) / 2
"""Rounding of one operation, relative."""
Function = TypeVar("Function", bound=Callable[..., Any])
"""A function that a decorator returns with the same signature."""
Label = Any
"""A group's name as the user wrote it: a string, a number, a date, or a tuple of those."""
