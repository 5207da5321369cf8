"""Did it help? A fair projection against plain PCA on rows that neither has seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from fairspan.ground.types import FloatArray
from fairspan.inference.crossfitting import (
    CrossFit,
    check_two_groups,
    sample_for,
    seeded,
    summary,
)
from fairspan.inference.held_out import held_out
from fairspan.inference.intervals import LEAST_ROWS, Means
from fairspan.inference.sample import Sample

_LEVELS = {"reduced": 0.05, "widened": 0.025}
"""Both would be wrong where groups do not matter; claims of the second kind are then the more
frequent ones, so that they need more evidence."""


@dataclass(frozen=True)
class ReductionTest:
    """Whether a recipe reduces the gap that plain PCA leaves, on new rows.

    Attributes
    ----------
    verdict : {"reduced", "widened", "not shown"} or None
        None for other than two groups, or fewer than 5 rows in one of them: there is no test.
    fair : CrossFit
        The recipe.
    plain : CrossFit
        PCA in the same units with as many components, on the same folds.
    """

    verdict: str | None
    fair: CrossFit
    plain: CrossFit


def reduction_test(
    estimator: Any,
    X: Any,
    *,
    sensitive_features: Any,
    sample_weight: Any = None,
    folds: int = 10,
    clusters: Any = None,
    random_state: Any = None,
) -> ReductionTest:
    """Test whether a recipe reduces, or widens, the gap between two groups on new rows.

    With the signed differences a of PCA and b of the recipe, ``|b| < |a|`` says that a - b and
    a + b have the same sign. Both are estimated by cross-fitting, and a claim needs both to differ
    from 0, by a one-sided test at 5 %; that the gap has widened, at 2.5 %. For more than two groups
    there are intervals and no verdict.

    Parameters
    ----------
    estimator : estimator
        The recipe, as in :func:`crossfit`.
    X : array-like or sparse array of shape (n_rows, n_features)
        Rows as they are, not standardised.
    sensitive_features : array-like, frame or dict
        The group of each row.
    sample_weight : array-like of shape (n_rows,), optional
        How much each row counts.
    folds : int, default=10
        Number of folds.
    clusters : array-like of shape (n_rows,), optional
        Rows that belong together have the same entry.
    random_state : int, RandomState instance, Generator or None, default=None
        Seed of the folds; None is a fixed one.

    Returns
    -------
    ReductionTest
        The verdict, with the estimates of both.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fairspan import RobustFairPCA
    >>> from fairspan.inference import reduction_test
    >>> data = load_breast_cancer()
    >>> pca = RobustFairPCA(3, radius=0, standardize=True)
    >>> reduction_test(pca, data.data, sensitive_features=data.target).verdict
    'not shown'
    """
    rng = seeded(random_state)
    sample = sample_for(estimator, X, sensitive_features, sample_weight, clusters)
    check_two_groups(sample)
    drawn = sample.folds(folds, rng)
    found = held_out(estimator, sample, drawn, plain=True)
    assert found.plain is not None
    return ReductionTest(
        verdict=_verdict(sample, found.plain, found.errors),
        fair=summary(sample, drawn, found, found.errors, rng),
        plain=summary(sample, drawn, found, found.plain, rng),
    )


def _verdict(sample: Sample, plain: FloatArray, fair: FloatArray) -> str | None:
    pair = np.flatnonzero(sample.compared).tolist()
    if len(pair) != 2:
        return None
    signs, pvalues = [], []
    for change in (plain - fair, plain + fair):
        means = Means.of(sample.sums(change), sample.weights, sample.codes, len(sample.labels))
        if (means.sizes[pair] < LEAST_ROWS).any():
            return None
        difference, error, degrees = means.welch(pair[1], pair[0])
        signs.append(np.sign(difference))
        pvalues.append(float(stats.t.sf(abs(difference) / error, degrees)) if error > 0 else 1.0)
    claim = "reduced" if signs[0] == signs[1] else "widened"
    return claim if max(pvalues) < _LEVELS[claim] else "not shown"
