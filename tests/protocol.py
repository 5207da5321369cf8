"""The paper's experiment: splits, standardisation, selection and scores, to the last detail.

Scores are computed row by row from a d x d matrix P, without any code of the package, so that
relaxed solutions, which are no projections, can be judged as the paper judges them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from sklearn.model_selection import KFold

from fairspan import GroupMoments

COMPONENTS = 3
SEEDS = range(10)

Fit = Callable[[GroupMoments], np.ndarray]
"""From the moments of training rows to the matrix P that is applied to rows."""


class Part(NamedTuple):
    """Rows and their groups (0 or 1)."""

    X: np.ndarray
    groups: np.ndarray

    def take(self, rows: np.ndarray) -> Part:
        return Part(self.X[rows], self.groups[rows])

    def of(self, group: int) -> np.ndarray:
        return self.X[self.groups == group]

    @property
    def moments(self) -> GroupMoments:
        return GroupMoments.from_arrays(self.X, self.groups)


class Split(NamedTuple):
    """A training part, standardised, and a test part in the training part's units."""

    train: Part
    test: Part


def split(X: np.ndarray, groups: np.ndarray, seed: int) -> Split:
    """Split each group 30 to 70 and standardise by the training part."""
    rng = np.random.default_rng(seed)
    train, test = [], []
    for label in (0, 1):
        rows = np.flatnonzero(groups == label)
        rng.shuffle(rows)
        cut = int(0.3 * len(rows))
        train.append(rows[:cut])
        test.append(rows[cut:])
    train, test = np.concatenate(train), np.concatenate(test)
    rng.shuffle(train)
    rng.shuffle(test)
    whole = Part(X, groups)
    return standardised(whole.take(train), whole.take(test))


def standardised(train: Part, test: Part) -> Split:
    """Divide by the training part's deviation; columns constant up to rounding are only centred."""
    mean, spread = train.X.mean(axis=0), train.X.std(axis=0)
    spread = np.where(spread <= 1e-10, 1.0, spread)
    return Split(
        train._replace(X=(train.X - mean) / spread), test._replace(X=(test.X - mean) / spread)
    )


def total_error(P: np.ndarray, X: np.ndarray) -> float:
    """ARE: the mean of <x x', I - P> over rows."""
    return float(np.sum((X - X @ P) * X) / len(X))


def error_gap(P: np.ndarray, train: Part, test: Part) -> float:
    """ABDiff: groups of the test part are centred by the training part's group means."""
    errors = [total_error(P, test.of(a) - train.of(a).mean(axis=0)) for a in (0, 1)]
    return abs(errors[0] - errors[1])


def select(fits: Sequence[Fit], train: Part, seed: int) -> Fit:
    """The candidate with the least sum of ABDiff and ARE over three folds, the first on ties.

    A fold's rows are standardised again for the fit and for ARE, but not for ABDiff.
    """
    scores = np.zeros(len(fits))
    for inside, outside in KFold(3, shuffle=True, random_state=seed).split(train.X):
        raw = Split(train.take(inside), train.take(outside))
        fold = standardised(*raw)
        for i, fit in enumerate(fits):
            P = fit(fold.train.moments)
            scores[i] += error_gap(P, *raw) + total_error(P, fold.test.X)
    return fits[int(np.argmin(scores))]


def out_of_sample(
    fits: Sequence[Fit], X: np.ndarray, groups: np.ndarray, seeds: Iterable[int] = SEEDS
) -> tuple[float, float]:
    """Mean ABDiff and ARE on the test parts of ten splits."""
    rows = []
    for seed in seeds:
        train, test = split(X, groups, seed)
        fit = fits[0] if len(fits) == 1 else select(fits, train, seed)
        P = fit(train.moments)
        rows.append((error_gap(P, train, test), total_error(P, test.X)))
    gap, total = np.mean(rows, axis=0)
    return float(gap), float(total)
