"""Rows of the tables: one (data set, split, method) at a time."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from fairspan.experiments.methods import Fit, Method, method
from fairspan.experiments.protocol import Trial
from fairspan.experiments.settings import Settings
from fairspan.experiments.sources import rows_of
from fairspan.experiments.store import Row
from fairspan.judging.leakage import Search

VALUES = ("abdiff", "are", "abdiff_in_sample", "are_in_sample")
"""Scores outside and inside the training part."""
NOISES = (1, 2, 3, 4, 5, 6, 7)
"""Seeds of the perturbations that show how far rounding moves the published FairPCA."""


def scores(dataset: str, seed: int, name: str, settings: Settings) -> list[Row]:
    """Choose, fit and judge a method on one split.

    Parameters
    ----------
    dataset : str
        Name of the data set.
    seed : int
        Number of the split.
    name : str
        Name of the method.
    settings : Settings
        The protocol.

    Returns
    -------
    list of dict
        One row: scores outside and inside the training part, what was chosen, and the proved gap
        of the program behind it; of the published FairPCA, also the scores of perturbed runs.
    """
    trial = _trial(dataset, seed, settings)
    chosen, fit = _fitted(trial, method(name, settings, seed))
    row: Row = {"dataset": dataset, "method": name, "seed": seed}
    row |= dict(zip(VALUES, _scores(trial, fit), strict=True))
    row |= {"chosen": chosen, "gap": fit.gap}
    if name == "fairpca" and settings.fairpca == "published":
        runs = (_fitted(trial, method(name, settings, seed, noise)) for noise in NOISES)
        row["perturbed"] = [_scores(trial, fit) for _, fit in runs]
    return [row]


def leakage(dataset: str, seed: int, name: str, settings: Settings) -> list[Row]:
    """Measure how well a linear rule separates the groups of the projected test part.

    Parameters
    ----------
    dataset : str
        Name of the data set.
    seed : int
        Number of the split.
    name : str
        Name of the method.
    settings : Settings
        The protocol.

    Returns
    -------
    list of dict
        One row: the published distance, whether its rule has collapsed, and the distance of a rule
        that counts both groups alike.
    """
    trial = _trial(dataset, seed, settings)
    _, fit = _fitted(trial, method(name, settings, seed))
    Z, y = trial.test.X @ fit.components.T, np.where(trial.test.groups == 1, 1.0, -1.0)
    published, balanced = (
        Search(is_balanced, seed=seed).separation(Z, y) for is_balanced in (False, True)
    )
    row: Row = {"dataset": dataset, "method": name, "seed": seed}
    row |= {"delta_f_lin": published.distance, "collapsed": int(published.is_collapsed)}
    return [row | {"balanced": balanced.distance}]


def size(dataset: str, seed: int, settings: Settings) -> list[Row]:
    """Count rows and features of a data set.

    Parameters
    ----------
    dataset : str
        Name of the data set.
    seed : int
        Number of the split.
    settings : Settings
        The protocol.

    Returns
    -------
    list of dict
        One row.
    """
    n, d = rows_of(dataset, seed, settings).X.shape
    return [{"dataset": dataset, "n": n, "d": d}]


# The methods of one split run one after the other in the same process.
@lru_cache(maxsize=1)
def _trial(dataset: str, seed: int, settings: Settings) -> Trial:
    return Trial.of(rows_of(dataset, seed, settings), seed, settings)


def _fitted(trial: Trial, candidates: Method) -> tuple[str, Fit]:
    chosen = trial.select(candidates)
    return candidates.label(chosen), trial.fit(candidates, chosen)


def _scores(trial: Trial, fit: Fit) -> list[float]:
    outside, inside = trial.outside.scores(fit.matrix), trial.inside.scores(fit.matrix)
    return [outside.abdiff, outside.are, inside.abdiff, inside.are]
