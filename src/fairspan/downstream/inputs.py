"""What a user gives: rows of any kind, a target, groups; checked once, before anything is run."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.multiclass import type_of_target

from fairspan.ground.parameters import is_number
from fairspan.ground.rows import as_known, check_finite, check_rows
from fairspan.words import group_name

_CLASSES = 20
"""Whole numbers with more values than this are a regression's, if no model says otherwise."""


def group_names(labels: tuple[Any, ...]) -> Any:
    """Name the groups, which are two or more, each by a name of its own."""
    names = [group_name(label) for label in labels]
    if len(names) < 2:
        raise ValueError(
            f"sensitive_features has only one group, {names[0]!r}; at least two are compared."
        )
    # Labels that read alike, such as 1 and "1", are told apart by how Python writes them.
    return np.array(names if len(set(names)) == len(names) else [repr(one) for one in labels])


def prepared(X: Any, preprocessor: Any) -> tuple[Any, list[Any]]:
    """Return rows that can be indexed, and what is to be done to them inside each split."""
    frame = as_known(X, "X")
    if isinstance(frame, nw.DataFrame) and frame.implementation.is_pyarrow():
        X, frame = frame.to_pandas(), as_known(frame.to_pandas(), "X")
    if preprocessor is not None:
        if not (hasattr(preprocessor, "fit") and hasattr(preprocessor, "transform")):
            raise TypeError(f"preprocessor={preprocessor!r} must be a transformer: fit, transform.")
        return (X if isinstance(frame, nw.DataFrame) else np.asarray(X)), [preprocessor]
    kinds = frame.schema if isinstance(frame, nw.DataFrame) else {}
    dates = [name for name, kind in kinds.items() if kind.is_temporal()]
    if dates:
        raise ValueError(
            f"X has columns of dates or durations: {', '.join(map(repr, dates))}. Convert them to "
            "numbers or drop them."
        )
    numbers = [name for name, kind in kinds.items() if kind.is_numeric() or kind == nw.Boolean]
    _refuse_missing(X if not kinds else {name: frame[name].to_numpy() for name in numbers})
    text = [name for name in kinds if name not in numbers]
    if not text:
        return check_rows(X), [StandardScaler()]
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    encoded = ColumnTransformer([("numbers", "passthrough", numbers), ("text", encoder, text)])
    return X, [encoded, StandardScaler()]


def _refuse_missing(X: Any) -> None:
    """Name the columns that lack numbers; X is an array, or a dict of columns."""
    if isinstance(X, np.ndarray) and X.ndim == 2:
        X = dict(enumerate(X.T))
    columns = X if isinstance(X, dict) else {}
    floats = {name: column for name, column in columns.items() if column.dtype.kind == "f"}
    if not floats:
        return
    try:
        check_finite(np.column_stack(list(floats.values())), list(floats))
    except ValueError as error:
        raise ValueError(
            f"{error} Here, a preprocessor can fill them in, such as "
            "make_pipeline(SimpleImputer(), StandardScaler())."
        ) from None


def holds_classes(y: Any) -> bool:
    """Whether a target is to be classified: text, truth values, or few whole numbers."""
    if y.dtype.kind in "bUSO":
        return True
    return type_of_target(y) in ("binary", "multiclass") and len(np.unique(y)) <= _CLASSES


def checked_target(y: Any, n_rows: int, model: Any) -> tuple[Any, tuple[str, ...] | None, Any]:
    """Return the target, its classes if it has any, and the model for it."""
    known = as_known(y, "y", allow_series=True)
    y = np.asarray(known.to_numpy() if isinstance(known, nw.Series) else y)
    if y.shape != (n_rows,):
        raise ValueError(
            f"y has shape {y.shape} but X has {n_rows} rows; give one value for each row."
        )
    if y.dtype.kind in "mM":
        raise ValueError(f"y has dtype {y.dtype}; convert dates and durations to numbers first.")
    if y.dtype.kind == "c":
        raise ValueError("y holds complex numbers; give classes or real numbers.")
    missing = [value is None or value != value for value in y.tolist()]
    if any(missing):
        raise ValueError(f"y has {sum(missing)} missing values; drop their rows first.")
    if y.dtype.kind == "O" and all(map(is_number, y)):
        y = y.astype(np.float64)
    is_model = hasattr(model, "fit") and (is_classifier(model) or is_regressor(model))
    if model is not None and not is_model:
        raise TypeError(f"model={model!r} is neither a classifier nor a regressor.")
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise ValueError("y has infinite values; drop their rows first.")
    if (y == y[0]).all():
        raise ValueError(f"y has only one value, {y.tolist()[0]!r}; there is nothing to predict.")
    if model is None:
        model = LogisticRegression(max_iter=1000) if holds_classes(y) else Ridge()
    if is_regressor(model):
        if y.dtype.kind in "USO":
            raise ValueError(
                f"model={model!r} predicts numbers, but y holds text; use a classifier."
            )
        return y.astype(np.float64), None, model
    if y.dtype.kind == "f" and (y != np.round(y)).any():
        raise ValueError(
            f"model={model!r} predicts classes, but y holds numbers such as "
            f"{y[y != np.round(y)].tolist()[0]!r}; use a regressor."
        )
    classes, codes = np.unique(y.astype(str) if y.dtype.kind == "O" else y, return_inverse=True)
    return codes, tuple(map(str, classes)), model
