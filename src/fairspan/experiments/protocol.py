"""The paper's protocol: splits, standardisation, choice of parameters and scores.

Scores need rows only once: the mean squared error of rows x under a matrix P is <S, I - P>, with S
the second moment of the rows. So each part of each split becomes three matrices, which judge every
candidate of every method.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from sklearn.model_selection import KFold

from fairspan.experiments.methods import Fit, Method
from fairspan.experiments.settings import Settings
from fairspan.ground.types import FloatArray, IntArray
from fairspan.moments.group_moments import GroupMoments

GROUPS = (0, 1)
_BLOCK = 1000
_CONSTANT = 1e-10
"""Columns with a smaller deviation are constant up to rounding, and are only centred."""


class Part(NamedTuple):
    """Rows and their groups (0 or 1)."""

    X: FloatArray
    groups: IntArray

    def take(self, rows: IntArray) -> Part:
        """Choose rows."""
        return Part(self.X[rows], self.groups[rows])

    def of(self, group: int) -> FloatArray:
        """Choose the rows of a group."""
        return np.asarray(self.X[self.groups == group])

    @property
    def moments(self) -> GroupMoments:
        """The moments of the rows."""
        return GroupMoments.from_arrays(self.X, self.groups)


class Scores(NamedTuple):
    """ABDiff, ARE, and the mean error of each group."""

    abdiff: float
    are: float
    group_errors: tuple[float, ...]


class Judge(NamedTuple):
    """Second moments of all rows and of each group, which may be centred differently."""

    rows: FloatArray
    groups: FloatArray

    def scores(self, P: FloatArray) -> Scores:
        """Judge the matrix P that is applied to rows."""
        errors = [float(np.trace(S) - np.vdot(S, P)) for S in (*self.groups, self.rows)]
        return Scores(abs(errors[0] - errors[1]), errors[2], tuple(errors[:2]))


@dataclass(frozen=True, eq=False)
class Stage:
    """Rows to fit a method to, and a judge of the result.

    Attributes
    ----------
    train, raw : Part
        The rows, and what they were before a fold standardised them again.
    judge : Judge
        Judges matrices.
    """

    train: Part
    raw: Part
    judge: Judge

    @cached_property
    def moments(self) -> GroupMoments:
        """Moments of the rows."""
        return self.train.moments

    def fits(self, method: Method, chosen: Sequence[int]) -> list[Fit]:
        """Fit some of a method's candidates to the rows it wants."""
        if method.rows == "standardized":
            return method.fits(self.moments, chosen)
        rows = self.raw if method.rows == "raw" else recentred(self.train)
        return method.fits(rows.moments, chosen)


def split_rows(groups: IntArray, seed: int, share: float = 0.3) -> tuple[IntArray, IntArray]:
    """Choose training and test rows: a share of each group, shuffled.

    Parameters
    ----------
    groups : ndarray of shape (n_rows,)
        Groups, 0 or 1.
    seed : int
        Number of the split.
    share : float
        The training rows' share of each group.

    Returns
    -------
    train, test : ndarray of int
        Indices of rows.
    """
    rng = np.random.default_rng(seed)
    parts: tuple[list[IntArray], list[IntArray]] = ([], [])
    for label in GROUPS:
        rows = np.flatnonzero(groups == label)
        rng.shuffle(rows)
        cut = int(share * len(rows))
        parts[0].append(rows[:cut])
        parts[1].append(rows[cut:])
    train, test = np.concatenate(parts[0]), np.concatenate(parts[1])
    rng.shuffle(train)
    rng.shuffle(test)
    return train, test


def standardized(train: Part, test: Part, *, scale: bool = True) -> tuple[Part, Part]:
    """Standardise both parts by the training part: mean 0 and, optionally, deviation 1.

    Parameters
    ----------
    train, test : Part
        Rows.
    scale : bool
        Whether columns are divided by their standard deviation.

    Returns
    -------
    train, test : Part
        The rows in new units.
    """
    mean, spread = train.X.mean(axis=0), train.X.std(axis=0)
    unit = np.where(spread <= _CONSTANT, 1.0, spread) if scale else 1.0
    return train._replace(X=(train.X - mean) / unit), test._replace(X=(test.X - mean) / unit)


def recentred(part: Part) -> Part:
    """Centre and scale rows again, by a matrix product, as the published CFPCA does.

    The product with I - 11'/n leaves rounding noise in a column that is constant up to rounding;
    its deviation is not 0, so that it is scaled to variance 1.

    Parameters
    ----------
    part : Part
        Rows.

    Returns
    -------
    Part
        The rows as the published program sees them.
    """
    n = len(part.X)
    # Blocks bound the memory of the n x n matrix; small tables are one block.
    blocks = (np.eye(min(_BLOCK, n - i), n, k=i) - 1 / n for i in range(0, n, _BLOCK))
    X = np.concatenate([block @ part.X for block in blocks])
    spread = X.std(axis=0)
    return part._replace(X=X / np.where(spread > 0, spread, 1.0))


def judge(rows: FloatArray, train: Part, test: Part, centering: str = "group") -> Judge:
    """Make the judge of a projection.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, d)
        The rows that ARE is about.
    train, test : Part
        ABDiff is about the test part, centred by means of the training part.
    centering : {"group", "global"}
        Whether each group is centred by its own mean, or all rows by theirs.

    Returns
    -------
    Judge
        The moments.
    """
    whole = train.X.mean(axis=0)
    centers = [train.of(a).mean(axis=0) if centering == "group" else whole for a in GROUPS]
    groups = [_second_moment(test.of(a) - centers[a]) for a in GROUPS]
    return Judge(_second_moment(rows), np.array(groups))


@dataclass(frozen=True, eq=False)
class Trial:
    """One split of a data set: where parameters are chosen, fitted and judged.

    Attributes
    ----------
    train, test : Part
        Rows in units of the training part.
    seed : int
        Number of the split.
    settings : Settings
        The protocol.
    """

    train: Part
    test: Part
    seed: int
    settings: Settings

    @classmethod
    def of(cls, whole: Part, seed: int, settings: Settings, share: float = 0.3) -> Trial:
        """Split a data set."""
        train, test = (whole.take(rows) for rows in split_rows(whole.groups, seed, share))
        return cls(*standardized(train, test, scale=settings.scale), seed, settings)

    @cached_property
    def whole(self) -> Stage:
        """The training part, where the chosen candidate is fitted."""
        return Stage(self.train, self.train, self.inside)

    @cached_property
    def inside(self) -> Judge:
        """The training part as a judge."""
        return self._judge(self.train)

    @cached_property
    def outside(self) -> Judge:
        """The test part as a judge."""
        return self._judge(self.test)

    @cached_property
    def folds(self) -> list[Stage]:
        """Parts of the training part, standardised again for the fit and ARE, not for ABDiff."""
        return list(self._folds())

    def select(self, method: Method) -> int:
        """Choose parameters: the least mean of ABDiff plus ARE over the folds, first on ties."""
        if len(method.grid) == 1:
            return 0
        everything = range(len(method.grid))
        scores = np.zeros(len(method.grid))
        for stage in self.folds:
            fits = stage.fits(method, everything)
            scores += [_loss(stage.judge.scores(fit.matrix)) for fit in fits]
        return int(np.argmin(scores))

    def fit(self, method: Method, chosen: int) -> Fit:
        """Fit one of a method's candidates to the training part."""
        return self.whole.fits(method, [chosen])[0]

    def _judge(self, part: Part) -> Judge:
        return judge(part.X, self.train, part, self.settings.gap_centering)

    def _folds(self) -> Iterator[Stage]:
        cuts = KFold(self.settings.n_folds, shuffle=True, random_state=self.seed)
        for inside, outside in cuts.split(self.train.X):
            raw = self.train.take(inside), self.train.take(outside)
            train, test = standardized(*raw, scale=self.settings.scale)
            yield Stage(train, raw[0], judge(test.X, *raw, self.settings.gap_centering))


def _loss(scores: Scores) -> float:
    return scores.abdiff + scores.are


def _second_moment(rows: FloatArray) -> FloatArray:
    return np.asarray(rows.T @ rows / len(rows))
