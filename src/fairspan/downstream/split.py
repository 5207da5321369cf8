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

from fairspan.downstream.candidates import NO_REDUCTION, PCA, Candidate
from fairspan.downstream.measures import Measure, Predictions
from fairspan.ground.types import FloatArray
from fairspan.moments.group_moments import GroupMoments

Row = dict[str, Any]


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
        The group of each row.
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
    classifies : bool
        Whether y holds classes.
    test_size : float
        Share of the rows that are held out.
    inner_splits : int
        Splits inside the training rows, for choosing.
    """

    X: Any
    y: Any
    groups: Any
    weight: FloatArray | None
    steps: list[Any]
    model: Any
    candidates: list[Candidate]
    measures: list[Measure]
    classifies: bool
    test_size: float
    inner_splits: int

    def parts(self, rows: Any, n_splits: int, seed: Any) -> list[tuple[Any, Any]]:
        """Split rows at random, groups (and classes) as in all."""
        shuffle = {"n_splits": n_splits, "test_size": self.test_size, "random_state": seed}
        strata = self.groups[rows]
        if self.classifies:
            strata = np.char.add(np.char.add(self.y[rows].astype(str), " "), strata)
        strata = np.unique(strata, return_inverse=True)[1]
        # Strata of a single row cannot be split; they are drawn like any other row.
        if np.bincount(strata).min() < 2:
            drawn = ShuffleSplit(**shuffle).split(rows)
        else:
            drawn = StratifiedShuffleSplit(**shuffle).split(rows, strata)
        return [(rows[train], rows[test]) for train, test in drawn]


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
        Tidy rows; those with ``stage="inner"`` come from training rows alone.
    """
    rows = [{"split": split, "stage": "outer", **row} for row in _measured(task, train, test)]
    if task.inner_splits:
        # The outer test rows are out of reach here: choices made on these rows are honest.
        for inner_train, inner_test in task.parts(train, task.inner_splits, split):
            measured = _measured(task, inner_train, inner_test)
            rows += [{"split": split, "stage": "inner", **row} for row in measured]
    return rows


def possible(task: Task, train: Any) -> tuple[Task, dict[str, str]]:
    """Try every projection on some training rows; return those that exist, and why others do not.

    Parameters
    ----------
    task : Task
        What is wanted.
    train : ndarray of int
        The rows to try on.

    Returns
    -------
    tuple
        The task without the candidates that have no solution, and the reasons by their names.
    """
    Z, _, moments = _prepared(task, train, train[:1])
    kept, left_out = [], {}
    for candidate in task.candidates:
        with warnings.catch_warnings():
            # What is not proved is said when the splits are run.
            warnings.simplefilter("ignore", ConvergenceWarning)
            try:
                candidate.project(Z, task.groups[train], moments)
            except ValueError as error:
                left_out[candidate.name] = str(error)
                continue
        kept.append(candidate)
    if all(candidate.method in (PCA, NO_REDUCTION) for candidate in kept) and left_out:
        name, reason = next(iter(left_out.items()))
        raise ValueError(f"{name} cannot be fitted: {reason}")
    return replace(task, candidates=kept), left_out


def _prepared(task: Task, train: Any, test: Any) -> tuple[FloatArray, FloatArray, GroupMoments]:
    """Return training rows, other rows by what was learnt from them, and their moments."""
    weight = None if task.weight is None else task.weight[train]
    Z, Z_test = _take(task.X, train), _take(task.X, test)
    for step in map(clone, task.steps):
        takes_weights = "sample_weight" in inspect.signature(step.fit).parameters
        step = _fitted(step, Z, weight=weight if takes_weights else None)
        Z, Z_test = step.transform(Z), step.transform(Z_test)
    Z, Z_test = _dense(Z), _dense(Z_test)
    return Z, Z_test, GroupMoments.from_arrays(Z, task.groups[train], sample_weight=weight)


def _measured(task: Task, train: Any, test: Any) -> list[Row]:
    weight, groups = None if task.weight is None else task.weight[train], task.groups[train]
    Z, Z_test, moments = _prepared(task, train, test)
    rows: list[Row] = []
    for candidate in task.candidates:
        project = candidate.project(Z, groups, moments)
        model = _fitted(clone(task.model), project(Z), task.y[train], weight=weight)
        told = _predictions(task, model, project(Z_test), test)
        about = dict(zip(("method", "n_components", "fairness_weight"), candidate.key, strict=True))
        rows += [{**about, **row} for measure in task.measures for row in measure.rows(told)]
    return rows


def _fitted(model: Any, *data: Any, weight: FloatArray | None) -> Any:
    if weight is None:
        return model.fit(*data)
    if "sample_weight" not in inspect.signature(model.fit).parameters:
        raise ValueError(
            f"{type(model).__name__} takes no sample_weight, so it cannot be fitted to weighted "
            "rows; choose another one, or leave the weights out."
        )
    return model.fit(*data, sample_weight=weight)


def _predictions(task: Task, model: Any, Z: FloatArray, test: Any) -> Predictions:
    predicted = model.predict(Z)
    scores = predicted
    if task.classifies and hasattr(model, "predict_proba"):
        shares = model.predict_proba(Z)
        scores = shares[:, 1] if shares.shape[1] == 2 else shares
    elif task.classifies and hasattr(model, "decision_function"):
        scores = model.decision_function(Z)
    weight = None if task.weight is None else task.weight[test]
    return Predictions(task.y[test], predicted, scores, task.groups[test], weight)


def _take(X: Any, rows: Any) -> Any:
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def _dense(Z: Any) -> FloatArray:
    return np.asarray(Z.toarray() if hasattr(Z, "toarray") else Z, dtype=np.float64)
