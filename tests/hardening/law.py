"""The law of every public entry: a result, or an error that says what was wrong; nothing else.

Inputs are never changed. Of the errors only those are allowed that a caller can be expected to
handle, and each must be raised on purpose, with a message; IndexError, a warning of numpy, what a
library says in its own words and all others are defects.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
import traceback
import warnings
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from hypothesis import HealthCheck, settings
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import fairspan
from fairspan import HiddenFeatureWarning, NoGroupsWarning, SmallGroupWarning

REFUSALS = (ValueError, TypeError, NotFittedError, ImportError, OSError)
DOCUMENTED = (ConvergenceWarning, HiddenFeatureWarning, NoGroupsWarning, SmallGroupWarning)
MORE = int(os.environ.get("FAIRSPAN_FUZZ", "1"))
"""How many times more examples to try than the tests do; then they differ from run to run."""
_NAMES = "X (has|does not have) (valid )?feature names"
"""scikit-learn's own warning of frames that meet arrays."""
_LEAST = 12
"""A message has at least so many letters."""

_OURS, _SKLEARN = (Path(package.__file__).parent for package in (fairspan, sklearn))

REFUSED = object()
"""What stands for a refusal where a result is looked for."""


def searched(examples: int) -> Any:
    """Settings of a search over generated inputs."""
    return settings(
        max_examples=examples * MORE,
        derandomize=MORE == 1,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


def fingerprint(value: Any) -> bytes:
    """A hash of all that an input holds."""
    if isinstance(value, np.random.Generator | np.random.RandomState):
        # A generator is there to be used up.
        held: Any = "generator"
    elif hasattr(value, "__dask_graph__"):
        held = fingerprint(value.compute(scheduler="sync"))
    elif isinstance(value, np.ndarray) and not value.dtype.hasobject:
        held = (value.dtype.str, value.shape, np.asarray(value).tobytes())
    elif hasattr(value, "to_csv"):
        # Under the mask of nullable columns anything may stand.
        held = (value.to_csv(), str(getattr(value, "dtypes", "")))
    elif is_dataclass(value):
        # Only fields: what is computed when it is first asked for may come and go.
        held = [fingerprint(getattr(value, field.name)) for field in fields(value)]
    elif isinstance(value, list | tuple):
        held = [fingerprint(part) for part in value]
    else:
        held = value
    try:
        return hashlib.sha256(pickle.dumps(held)).digest()
    except (TypeError, AttributeError, pickle.PicklingError):
        return hashlib.sha256(repr(value).encode()).digest()


def outcome(call: Any, *inputs: Any, **named: Any) -> Any:
    """Call and give the result, or REFUSED; fail on whatever else happens."""
    before = [fingerprint(value) for value in (*inputs, *named.values())]
    found: Any = REFUSED
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for category in DOCUMENTED:
            warnings.simplefilter("ignore", category)
        warnings.filterwarnings("ignore", _NAMES)
        with contextlib.suppress(*REFUSALS):
            try:
                found = call(*inputs, **named)
            except REFUSALS as error:
                _check_message(error)
                raise
    after = [fingerprint(value) for value in (*inputs, *named.values())]
    assert before == after, "an input was changed"
    return found


def _check_message(error: BaseException) -> None:
    """Only what this package or scikit-learn's validation raised on purpose says what is wrong."""
    assert not isinstance(error, np.linalg.LinAlgError), repr(error)
    assert len(str(error)) >= _LEAST, f"{error!r} does not say what is wrong"
    if isinstance(error, OSError):
        return
    innermost = traceback.extract_tb(error.__traceback__)[-1]
    place = Path(innermost.filename)
    checked = place.is_relative_to(_SKLEARN)
    on_purpose = place.is_relative_to(_OURS) and (innermost.line or "").startswith("raise")
    assert checked or on_purpose, f"{error!r} comes from {innermost.filename}:{innermost.lineno}"
