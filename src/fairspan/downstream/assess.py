"""``assess_downstream``: projections judged by the decisions that are made on them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import joblib
import narwhals as nw
import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.multiclass import type_of_target

from fairspan.downstream.candidates import candidates
from fairspan.downstream.measures import measures
from fairspan.downstream.result import DownstreamResult
from fairspan.downstream.split import Row, Task, possible, run_split
from fairspan.ground.atomic import replacing
from fairspan.ground.parameters import check_integer, check_number
from fairspan.ground.rows import as_known, check_rows, check_weights
from fairspan.ground.warn import warn
from fairspan.moments.groups import encode_groups
from fairspan.words import group_name

_CLASSES = 20
"""Whole numbers with more values than this are a regression's, if no model says otherwise."""


def assess_downstream(
    X: Any,
    y: Any,
    sensitive_features: Any,
    *,
    methods: Mapping[str, Any] | Iterable[str] | None = None,
    n_components: Any = (2, 5),
    fairness_weights: Any = (1.0,),
    model: Any = None,
    metrics: Mapping[str, Any] | Iterable[Any] | None = None,
    preprocessor: Any = None,
    sample_weight: Any = None,
    n_splits: int = 10,
    test_size: float = 0.25,
    inner_splits: int = 1,
    random_state: int = 0,
    n_jobs: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> DownstreamResult:
    """Train a model on every projection and measure it on held-out rows, over repeated splits.

    In each split the preprocessing, the projection and the model are fitted on training rows only.
    PCA and the model without any reduction are always among what is compared.

    Parameters
    ----------
    X : array-like or frame of shape (n_rows, n_features)
        The rows, without the target and without the sensitive columns (unless the model may use
        them). Text columns of a frame are one-hot encoded by default.
    y : array-like of shape (n_rows,)
        What is to be predicted: classes or numbers.
    sensitive_features : array-like, frame or dict
        The group of each row; several columns are intersected.
    methods : mapping of names to estimators, or list of names, optional
        Projections, not fitted; names are "PCA", "RobustFairPCA", "FairPCA", "NullSpaceFairPCA" and
        "ConvexFairPCA". All of these by default. A method that has no solution of some size is left
        out with a warning.
    n_components : int or list of int, default=(2, 5)
        Numbers of components.
    fairness_weights : float or list of float, default=(1.0,)
        Fairness weights, for methods that have one.
    model : scikit-learn classifier or regressor, optional
        What is trained on the projected rows. By default a logistic regression for classes and a
        ridge regression for numbers (text, booleans, and up to 20 whole numbers are classes).
    metrics : list of names or functions, or mapping of names to functions, optional
        Names in ``sklearn.metrics`` or ``fairlearn.metrics``. A function that takes
        ``sensitive_features`` compares groups; any other is computed overall, by group, and as the
        largest difference between groups, under its name with "_difference".
    preprocessor : scikit-learn transformer, optional
        What comes before the projection; it must give numbers. By default text is one-hot encoded
        and all columns are standardised.
    sample_weight : array-like of shape (n_rows,), optional
        How much each row counts: in standardising, in projections, in the model and in metrics.
    n_splits : int, default=10
        Random splits, stratified by group and class.
    test_size : float, default=0.25
        The share of the rows that is held out.
    inner_splits : int, default=1
        Splits of the training rows of each split, on which
        :meth:`fairspan.downstream.DownstreamResult.best` chooses; 0 saves their time.
    random_state : int, default=0
        Seed of the splits.
    n_jobs : int, optional
        Splits that run in parallel, as in joblib.
    checkpoint : path, optional
        A folder that keeps finished splits; the same call goes on where it was interrupted.
    progress : callable, optional
        Called with the number of finished splits and of all splits.

    Returns
    -------
    DownstreamResult
        All values, their summary with intervals, a plot, and choices by a rule.

    Examples
    --------
    >>> from fairspan import datasets
    >>> from fairspan.downstream import assess_downstream
    >>> adult = datasets.load("adult")
    >>> result = assess_downstream(
    ...     adult.X[:2000], adult.target[:2000], adult.sensitive_features[:2000],
    ...     methods=["RobustFairPCA"], n_components=2, metrics=["accuracy"], n_splits=3,
    ... )
    >>> [row["method"] for row in result.summary("accuracy") if row["group"] == "female"]
    ['no reduction', 'PCA', 'RobustFairPCA']
    """
    check_integer("n_splits", n_splits, 1)
    check_integer("inner_splits", inner_splits, 0)
    check_integer("random_state", random_state, 0)
    if not 0 < check_number("test_size", test_size) < 1:
        raise ValueError(f"test_size={test_size!r} must be between 0 and 1.")
    X, steps = _prepared(X, preprocessor)
    n_rows = X.shape[0]
    y, classes, model = _target(y, n_rows, model)
    coded = encode_groups(sensitive_features, n_rows)
    names = np.array([group_name(label) for label in coded.labels])
    task = Task(
        X=X,
        y=y,
        groups=names[coded.codes],
        weight=None if sample_weight is None else check_weights(sample_weight, n_rows),
        steps=steps,
        model=model,
        candidates=candidates(methods, n_components, fairness_weights),
        measures=measures(metrics, len(classes or ())),
        classifies=classes is not None,
        test_size=test_size,
        inner_splits=inner_splits,
    )
    parts = task.parts(np.arange(n_rows), n_splits, random_state)
    task, left_out = possible(task, parts[0][0])
    for name, reason in left_out.items():
        warn(f"{name} is left out. {reason}", UserWarning)
    store = None if checkpoint is None else _Store(Path(checkpoint), task, parts)
    rows = _run(task, parts, n_jobs, store, progress)
    return DownstreamResult(
        rows=rows,
        group_labels=tuple(names.tolist()),
        classes=classes,
        model=type(model).__name__,
        n_splits=n_splits,
        n_train=len(parts[0][0]),
        n_test=len(parts[0][1]),
        left_out=left_out,
        metrics=tuple(dict.fromkeys(row["metric"] for row in rows)),
    )


def _run(
    task: Task, parts: list[Any], n_jobs: int | None, store: _Store | None, progress: Any
) -> list[Row]:
    """Run the splits that are not done yet, and return the rows of all in their order."""
    done = {} if store is None else store.load()
    left = [split for split in range(len(parts)) if split not in done]
    tell = progress or (lambda *_: None)
    tell(len(done), len(parts))
    found = joblib.Parallel(n_jobs=n_jobs, return_as="generator")(
        joblib.delayed(run_split)(task, split, *parts[split]) for split in left
    )
    for split, rows in zip(left, found, strict=True):
        done[split] = rows
        if store is not None:
            store.save(split, rows)
        tell(len(done), len(parts))
    return [row for split in sorted(done) for row in done[split]]


class _Store:
    """Finished splits in a folder, one file each, under a name that says what they belong to."""

    def __init__(self, folder: Path, task: Task, parts: list[Any]) -> None:
        if folder.exists() and not folder.is_dir():
            raise ValueError(f"checkpoint={str(folder)!r} is a file; name a folder.")
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.n_splits = folder, len(parts)
        self.name = f"downstream-{joblib.hash((task, parts))}"

    def _path(self, split: int) -> Path:
        return self.folder / f"{self.name}-{split}.json"

    def load(self) -> dict[int, list[Row]]:
        """Read what is there."""
        paths = {split: self._path(split) for split in range(self.n_splits)}
        done = {}
        for split, path in paths.items():
            # A damaged file counts as one that is not there.
            with suppress(OSError, ValueError):
                done[split] = json.loads(path.read_text(encoding="utf-8"))
        return done

    def save(self, split: int, rows: list[Row]) -> None:
        """Write one split, whole or not at all."""
        with replacing(self._path(split)) as place:
            place.write_text(json.dumps(rows), encoding="utf-8")


def _prepared(X: Any, preprocessor: Any) -> tuple[Any, list[Any]]:
    """Return rows that can be indexed, and what is to be done to them inside each split."""
    frame = as_known(X, "X")
    if preprocessor is not None:
        return (X if isinstance(frame, nw.DataFrame) else np.asarray(X)), [preprocessor]
    kinds = frame.schema if isinstance(frame, nw.DataFrame) else {}
    dates = [name for name, kind in kinds.items() if kind.is_temporal()]
    if dates:
        raise ValueError(
            f"X has columns of dates or durations: {', '.join(map(repr, dates))}. Convert them to "
            "numbers or drop them."
        )
    numbers = [name for name, kind in kinds.items() if kind.is_numeric()]
    text = [name for name in kinds if name not in numbers]
    if not text:
        return check_rows(X), [StandardScaler()]
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    encoded = ColumnTransformer([("numbers", "passthrough", numbers), ("text", encoder, text)])
    return X, [encoded, StandardScaler()]


def holds_classes(y: Any) -> bool:
    """Whether a target is to be classified: text, truth values, or few whole numbers."""
    if y.dtype.kind in "bUSO":
        return True
    return type_of_target(y) in ("binary", "multiclass") and len(np.unique(y)) <= _CLASSES


def _target(y: Any, n_rows: int, model: Any) -> tuple[Any, tuple[str, ...] | None, Any]:
    """Return the target, its classes if it has any, and the model for it."""
    known = as_known(y, "y", allow_series=True)
    y = np.asarray(known.to_numpy() if isinstance(known, nw.Series) else y)
    if y.shape != (n_rows,):
        raise ValueError(f"y has shape {y.shape} but X has {n_rows} rows; give one value a row.")
    missing = [value is None or value != value for value in y.tolist()]
    if any(missing):
        raise ValueError(f"y has {sum(missing)} missing values; drop their rows first.")
    is_model = hasattr(model, "fit") and (is_classifier(model) or is_regressor(model))
    if model is not None and not is_model:
        raise TypeError(f"model={model!r} is neither a classifier nor a regressor.")
    if y.dtype.kind in "fc" and not np.isfinite(y).all():
        raise ValueError("y has infinite values; drop their rows first.")
    if (y == y[0]).all():
        raise ValueError(f"y has one value only, {y.tolist()[0]!r}; there is nothing to predict.")
    if model is None:
        model = LogisticRegression(max_iter=1000) if holds_classes(y) else Ridge()
    if is_regressor(model):
        if y.dtype.kind in "USO":
            raise ValueError(
                f"model={model!r} predicts numbers, but y holds text; use a classifier."
            )
        return y.astype(np.float64), None, model
    classes, codes = np.unique(y.astype(str) if y.dtype.kind == "O" else y, return_inverse=True)
    return codes, tuple(map(str, classes)), model
