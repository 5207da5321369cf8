"""``assess_downstream``: projections judged by the decisions that are made on them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import joblib
import numpy as np

from fairspan.downstream.candidates import candidates, check_takes_weights
from fairspan.downstream.checkpoint import Store
from fairspan.downstream.inputs import checked_target, group_names, prepared
from fairspan.downstream.measures import measures
from fairspan.downstream.result import DownstreamResult
from fairspan.downstream.split import Row, Task, possible, run_split
from fairspan.ground.listed import listed
from fairspan.ground.parameters import check_integer, check_number, is_integer
from fairspan.ground.rows import check_weights, named_column
from fairspan.ground.warn import warn
from fairspan.moments.groups import encode_groups

_ROWS = 4
"""Fewer rows cannot be split, and split again."""
_SIZES = (2, 5)
"""Numbers of components to try where none are asked for."""


@named_column
def assess_downstream(
    X: Any,
    y: Any,
    sensitive_features: Any,
    *,
    methods: Mapping[str, Any] | Iterable[str] | None = None,
    n_components: Any = None,
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
    sensitive_features : array-like, frame, dict or str
        The group of each row; several columns are intersected. A str names a column of X, which is
        then not a feature.
    methods : mapping of names to estimators, or list of names, optional
        Projections, not fitted; names are "PCA", "RobustFairPCA", "RobustFairPCA (largest)"
        (``disparity="largest"``), "FairPCA", "NullSpaceFairPCA" and "ConvexFairPCA". All of these
        by default. Other transformers with n_components may be given; their fit gets y,
        sensitive_features and sample_weight if it takes them. A method that has no solution of
        some size is left out with a warning.
    n_components : int or list of int, optional
        Numbers of components. By default 2 and 5, or those of them that X has columns for.
    fairness_weights : float or list of float, default=(1.0,)
        Fairness weights, for methods that have one.
    model : scikit-learn classifier or regressor, optional
        What is trained on the projected rows. By default a logistic regression for classes and a
        ridge regression for numbers (text, booleans, and up to 20 whole numbers are classes).
    metrics : list of names or functions, or mapping of names to functions, optional
        Names in ``sklearn.metrics`` or ``fairlearn.metrics``. A function that takes
        ``sensitive_features`` compares groups; any other is computed overall, by group, and as the
        largest difference between groups, under its name with "_difference". Functions get the
        classes as whole numbers, their places in the result's ``classes``, and scores instead of
        predictions if their second parameter is called y_score, y_prob or y_proba.
    preprocessor : scikit-learn transformer, optional
        What comes before the projection; it must give numbers. Its fit gets sample weights if it
        takes them. By default text is one-hot encoded and all columns are standardised.
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
        A folder that keeps finished splits; the same call continues where it was interrupted.
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
        raise ValueError(f"test_size={test_size!r} must be strictly between 0 and 1.")
    if n_jobs is not None and (not is_integer(n_jobs) or n_jobs == 0):
        raise ValueError(f"n_jobs={n_jobs!r} must be 1 or more, or -1 for all cores.")
    if progress is not None and not callable(progress):
        raise TypeError(f"progress={progress!r} must be callable.")
    X, steps = prepared(X, preprocessor)
    n_rows = X.shape[0]
    if n_rows < _ROWS:
        raise ValueError(f"X has {n_rows} rows; at least {_ROWS} are needed to split them.")
    if np.ceil(test_size * n_rows) >= n_rows:
        raise ValueError(f"test_size={test_size!r} leaves none of the {n_rows} rows to fit to.")
    y, classes, model = checked_target(y, n_rows, model)
    coded = encode_groups(sensitive_features, n_rows)
    names = group_names(coded.labels)
    labels = np.fromiter(coded.labels, dtype=object, count=len(names))
    if sample_weight is not None:
        sample_weight = check_weights(sample_weight, n_rows)
        check_takes_weights(model)
    if n_components is None:
        n_components = [k for k in _SIZES if k <= X.shape[1]] or [1]
    task = Task(
        X=X,
        y=y,
        groups=names[coded.codes],
        labels=labels[coded.codes],
        weight=sample_weight,
        steps=steps,
        model=model,
        candidates=candidates(methods, n_components, fairness_weights),
        measures=measures(metrics, len(classes or ())),
        n_classes=len(classes or ()),
        test_size=test_size,
        inner_splits=inner_splits,
    )
    parts = task.parts(np.arange(n_rows), n_splits, random_state)
    task, left_out = possible(task, parts)
    for reason in dict.fromkeys(left_out.values()):
        some = [name for name, why in left_out.items() if why == reason]
        are = "is" if len(some) == 1 else "are"
        warn(f"{listed(some, str, most=len(some))} {are} left out. {reason}", UserWarning)
    store = None if checkpoint is None else Store(Path(checkpoint), task, parts)
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
        group_sizes={name: _held_out(task, parts, name) for name in names.tolist()},
        metrics=tuple(dict.fromkeys(row["metric"] for row in rows)),
    )


def _held_out(task: Task, parts: list[Any], name: str) -> float:
    """Return how many held-out rows of a group are independent, on average over splits."""
    sizes = []
    for _, test in parts:
        own = test[task.groups[test] == name]
        weight = np.ones(len(own)) if task.weight is None else task.weight[own]
        sizes.append(weight.sum() ** 2 / np.sum(weight**2) if weight.any() else 0.0)
    return float(np.mean(sizes))


def _run(
    task: Task, parts: list[Any], n_jobs: int | None, store: Store | None, progress: Any
) -> list[Row]:
    """Run the splits that are not done yet, and return the rows of all in their order."""
    done = {} if store is None else store.load()
    left = [split for split in range(len(parts)) if split not in done]
    report = progress or (lambda *_: None)
    report(len(done), len(parts))
    found = joblib.Parallel(n_jobs=n_jobs, return_as="generator")(
        joblib.delayed(run_split)(task, split, *parts[split]) for split in left
    )
    for split, rows in zip(left, found, strict=True):
        done[split] = rows
        if store is not None:
            store.save(split, rows)
        report(len(done), len(parts))
    return [row for split in sorted(done) for row in done[split]]
