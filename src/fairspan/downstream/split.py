"""One split: everything is fitted on training rows and measured on the others."""

from __future__ import annotations

import inspect
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit

from fairspan.downstream.candidates import NO_REDUCTION, PCA, Candidate, fitted
from fairspan.downstream.measures import Measure, Predictions
from fairspan.exceptions import SmallGroupWarning
from fairspan.ground.types import FloatArray
from fairspan.moments.group_moments import GroupMoments

Row = dict[str, Any]
_SHUFFLES = 3
"""Shuffles of the group labels in each split; comparing groups is what takes time here."""


@dataclass(frozen=True)
class Task:
    """The rows, what is to be predicted, and how.

    Attributes
    ----------
    X : array or frame of shape (n_rows, n_features)
        The rows, as the preprocessor takes them.
    y : ndarray of shape (n_rows,)
        Classes as whole numbers from 0, or the values of a regression.
    groups : ndarray of shape (n_rows,) of str
        The name of the group of each row.
    labels : ndarray of shape (n_rows,) of object
        Its label as given, which a method may refer to.
    weight : ndarray of shape (n_rows,) or None
        Sample weights.
    steps : list of transformers
        What comes before the projection, not fitted.
    model : estimator
        What is trained on the projected rows, not fitted.
    candidates : list of Candidate
        The projections.
    measures : list of Measure
        The metrics.
    n_classes : int
        Number of classes; 0 for a regression.
    test_size : float
        Share of the rows that are held out.
    inner_splits : int
        Splits inside the training rows, for choosing.
    """

    X: Any
    y: Any
    groups: Any
    labels: Any
    weight: FloatArray | None
    steps: list[Any]
    model: Any
    candidates: list[Candidate]
    measures: list[Measure]
    n_classes: int
    test_size: float
    inner_splits: int

    def parts(self, rows: Any, n_splits: int, seed: Any) -> list[tuple[Any, Any]]:
        """Split rows at random, groups (and classes) as in all."""
        shuffle = {"n_splits": n_splits, "test_size": self.test_size, "random_state": seed}
        strata = self.groups[rows]
        if self.n_classes:
            strata = np.char.add(np.char.add(self.y[rows].astype(str), " "), strata)
        strata = np.unique(strata, return_inverse=True)[1]
        sizes = np.bincount(strata)
        # A stratum of a single row cannot be split; its row is drawn like those of the largest.
        strata = np.where(sizes[strata] < 2, sizes.argmax(), strata)
        n_test = int(np.ceil(self.test_size * len(rows)))
        if len(np.unique(strata)) > min(n_test, len(rows) - n_test):
            drawn = ShuffleSplit(**shuffle).split(rows)
        else:
            drawn = StratifiedShuffleSplit(**shuffle).split(rows, strata)
        return [(rows[train], rows[test]) for train, test in drawn]

    def inner_parts(self, train: Any, split: int) -> list[tuple[Any, Any]]:
        """Split training rows again, for choosing; the rows outside are out of reach."""
        return self.parts(train, self.inner_splits, split) if self.inner_splits else []


def run_split(task: Task, split: int, train: Any, test: Any) -> list[Row]:
    """Measure all candidates on held-out rows, and on rows held out inside the training rows.

    Parameters
    ----------
    task : Task
        What to do.
    split : int
        The number of the split, which seeds the inner ones.
    train, test : ndarray of int
        The rows to fit on, and to measure on.

    Returns
    -------
    list of dict
        Tidy rows; those with ``stage="inner"`` come from training rows alone, and those with
        ``stage="chance"`` compare groups whose labels were shuffled.
    """
    measured = _measured(task, train, test, shuffled_by=np.random.default_rng(split))
    rows = [{"split": split, "stage": "outer", **row} for row in measured]
    for inner_train, inner_test in task.inner_parts(train, split):
        measured = _measured(task, inner_train, inner_test)
        rows += [{"split": split, "stage": "inner", **row} for row in measured]
    return rows


def possible(task: Task, parts: list[tuple[Any, Any]]) -> tuple[Task, dict[str, str]]:
    """Try every projection on training rows; return those that exist, and why others do not.

    Parameters
    ----------
    task : Task
        What is wanted.
    parts : list of (ndarray of int, ndarray of int)
        The rows of each split. Whether a method has a solution may depend on how many groups are
        among the training rows, so each such number is tried once.

    Returns
    -------
    tuple
        The task without the candidates that have no solution, and the reasons by their names.
    """
    trials: dict[int, Any] = {}
    for split, (outer, _) in enumerate(parts):
        for train in (outer, *(inner for inner, _ in task.inner_parts(outer, split))):
            trials.setdefault(len(set(task.groups[train].tolist())), train)
    left_out: dict[str, str] = {}
    for train in trials.values():
        data = _prepared(task, train, train[:1])[0]
        for candidate in task.candidates:
            with warnings.catch_warnings():
                # What is not proved is said when the splits are run.
                warnings.simplefilter("ignore", ConvergenceWarning)
                try:
                    candidate.project(**data)
                except ValueError as error:
                    left_out.setdefault(candidate.name, str(error))
    kept = [candidate for candidate in task.candidates if candidate.name not in left_out]
    baselines = (NO_REDUCTION, PCA)
    wanted = [one for one in task.candidates if one.method not in baselines]
    wanted = wanted or [one for one in task.candidates if one.method == PCA]
    if not any(one in kept for one in wanted):
        name, reason = next(iter(left_out.items()))
        raise ValueError(f"{name} cannot be fitted: {reason}")
    return replace(task, candidates=kept), left_out


def _prepared(task: Task, train: Any, test: Any) -> tuple[dict[str, Any], FloatArray]:
    """Return all about the training rows, and other rows by what was learnt from these alone."""
    weight, y = None if task.weight is None else task.weight[train], task.y[train]
    Z, Z_test = _take(task.X, train), _take(task.X, test)
    for step in map(clone, task.steps):
        takes_weights = "sample_weight" in inspect.signature(step.fit).parameters
        step = fitted(step, Z, weight if takes_weights else None, y=y)
        Z, Z_test = step.transform(Z), step.transform(Z_test)
    Z, groups = _dense(Z), task.labels[train]
    moments = GroupMoments.from_arrays(Z, groups, sample_weight=weight)
    about = {"Z": Z, "moments": moments, "weight": weight, "y": y, "sensitive_features": groups}
    return about, _dense(Z_test)


def _measured(
    task: Task, train: Any, test: Any, shuffled_by: np.random.Generator | None = None
) -> list[Row]:
    data, Z_test = _prepared(task, train, test)
    rows: list[Row] = []
    for candidate in task.candidates:
        with warnings.catch_warnings():
            # Said once, when the projections are tried.
            warnings.simplefilter("ignore", SmallGroupWarning)
            try:
                project = candidate.project(**data)
                model = fitted(clone(task.model), project(data["Z"]), data["weight"], y=data["y"])
            except ValueError as error:
                raise ValueError(_refusal(task, candidate, train, error)) from error
        predictions = _predictions(task, model, project(Z_test), test)
        about = dict(zip(("method", "n_components", "fairness_weight"), candidate.key, strict=True))
        rows += [{**about, **row} for measure in task.measures for row in measure.rows(predictions)]
        if shuffled_by and candidate.method == NO_REDUCTION:
            rows += [{**about, **row} for row in _by_chance(task, predictions, test, shuffled_by)]
    return rows


def _by_chance(
    task: Task, predictions: Predictions, test: Any, rng: np.random.Generator
) -> list[Row]:
    """Compare groups that are drawn at random: these differ by chance alone."""
    found: dict[str, list[float]] = {}
    for _ in range(_SHUFFLES):
        shuffled = replace(predictions, groups=_shuffled(task, test, rng))
        for measure in task.measures:
            between = measure.rows(shuffled)[-1]
            found.setdefault(between["metric"], []).append(between["value"])
    return [
        {"stage": "chance", "metric": metric, "group": None, "value": float(np.mean(values))}
        for metric, values in found.items()
    ]


def _refusal(task: Task, candidate: Candidate, train: Any, error: ValueError) -> str:
    """Say why a model has no fit; only a class or a group without rows calls for merging some."""
    text = f"{candidate.name}, then {type(task.model).__name__}, cannot be fitted to the "
    text += "training rows of a split: "
    lacks_class = len(np.unique(task.y[train])) < task.n_classes
    if lacks_class or len(np.unique(task.groups[train])) < len(np.unique(task.groups)):
        rare = "class" if lacks_class else "group"
        return f"{text}they have no row of some {rare}. Merge rare ones, or leave their rows out."
    return text + str(error).partition("\n")[0].rstrip(".") + "."


def _predictions(task: Task, model: Any, Z: FloatArray, test: Any) -> Predictions:
    predicted = model.predict(Z)
    scores = predicted
    if task.n_classes and hasattr(model, "predict_proba"):
        # A class that the training rows lack has the probability 0.
        shares = np.zeros((len(predicted), task.n_classes))
        shares[:, model.classes_] = model.predict_proba(Z)
        scores = shares[:, 1] if task.n_classes == 2 else shares
    elif task.n_classes and hasattr(model, "decision_function"):
        scores = model.decision_function(Z)
    weight = None if task.weight is None else task.weight[test]
    return Predictions(task.y[test], predicted, scores, task.groups[test], weight)


def _take(X: Any, rows: Any) -> Any:
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def _dense(Z: Any) -> FloatArray:
    return np.asarray(Z.toarray() if hasattr(Z, "toarray") else Z, dtype=np.float64)


def _shuffled(task: Task, test: Any, rng: np.random.Generator) -> Any:
    """Shuffle the groups of all rows; the held-out rows of each class get their share of each."""
    drawn = rng.permutation(task.groups)
    classes = task.y if task.n_classes else np.zeros(len(task.y), dtype=int)
    groups = np.empty_like(task.groups[test])
    for one in np.unique(classes[test]):
        # Splits are stratified, so shares that were only drawn in the held-out rows vary too much.
        pool, own = np.sort(drawn[classes == one]), np.flatnonzero(classes[test] == one)
        places = (np.arange(len(own)) + rng.random()) * len(pool) / len(own)
        groups[own] = rng.permutation(pool[places.astype(int)])
    return groups
