"""One verdict from rows and a setting, for every headline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats
from scipy.sparse import issparse
from sklearn.base import clone

from fairspan.estimators.base import BaseFairPCA
from fairspan.ground.rows import named_column
from fairspan.ground.types import FloatArray
from fairspan.inference.crossfitting import (
    CrossFit,
    check_two_groups,
    crossfit,
    sample_for,
    seeded,
    summary,
)
from fairspan.inference.gap import GapTest, gap_test
from fairspan.inference.held_out import held_out, plain_pca
from fairspan.inference.sample import Means, Sample
from fairspan.moments.groups import encode_groups
from fairspan.moments.small_groups import treated_rows
from fairspan.words import LEAST_ROWS, Verdict

_LEVELS = {"reduced": 0.05, "widened": 0.025}
"""Both would be wrong where groups do not matter; claims of the second kind are then the more
frequent ones, so that they need more evidence."""


@named_column
def verdict(
    estimator: Any,
    X: Any,
    *,
    sensitive_features: Any,
    sample_weight: Any = None,
    clusters: Any = None,
    feature_names: Sequence[str] | None = None,
    random_state: Any = None,
) -> Verdict:
    """Judge new rows: whether groups differ, and whether a method helps.

    It is :func:`gap_test` and, for two groups, :func:`reduction_test`; for more groups PCA is
    cross-fitted and there is no statement about the estimator. Printed, it is a few sentences.

    Parameters
    ----------
    estimator : estimator
        A fair PCA of this package. It is cloned, not fitted.
    X : array-like or sparse array of shape (n_rows, n_features)
        Rows as they are, not standardised.
    sensitive_features : array-like, frame, dict or str
        The group of each row. A str names a column of X, which is then not a feature.
    sample_weight : array-like of shape (n_rows,), optional
        How much each row counts.
    clusters : array-like of shape (n_rows,), optional
        Rows that belong together have the same entry.
    feature_names : sequence of str, optional
        Names of the features; those of a frame are known.
    random_state : int, RandomState instance, Generator or None, default=None
        Seed of folds and permutations; None is a fixed one.

    Returns
    -------
    Verdict
        The verdict.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from fairspan import RobustFairPCA
    >>> from fairspan.inference import verdict
    >>> X = load_diabetes().data[:, [0, 2, 3, 4, 5, 6, 7, 8, 9]]
    >>> sex = load_diabetes().data[:, 1] > 0
    >>> found = verdict(RobustFairPCA(3, standardize=True), X, sensitive_features=sex)
    >>> found.is_shown, found.change
    (False, 'not shown')
    """
    if not isinstance(estimator, BaseFairPCA):
        raise TypeError(
            f"A verdict is about a fair PCA of this package, not {type(estimator).__name__}; use "
            "crossfit, gap_test and reduction_test."
        )
    rule = getattr(estimator, "missing_groups", "raise")
    if estimator.small_groups != "keep":
        groups = encode_groups(sensitive_features, None, rule)
        rules = (estimator.small_groups, estimator.min_rows)
        sensitive_features, rest = treated_rows(groups, *rules)
        # Rows have their labels now, which no part of them may change.
        rule = rest or rule
        estimator = clone(estimator).set_params(small_groups="keep", missing_groups=rule)
    given = {
        "sensitive_features": sensitive_features,
        "sample_weight": sample_weight,
        "clusters": clusters,
        "random_state": random_state,
    }
    units = {"standardize": estimator.standardize, "clip": estimator.clip}
    k = estimator.n_components
    test = gap_test(X, n_components=k, missing_groups=rule, **units, **given)
    is_plain = getattr(estimator, "fairness_weight", None) == 0 and estimator.radius == 0
    plain, fair, change = None, None, None
    if not np.isnan(test.pvalue):
        if len(test.labels) == 2 and not is_plain:
            change, fair, plain = _reduction(estimator, X, given)
        else:
            pca = plain_pca(k, **units).set_params(missing_groups=rule)
            plain = crossfit(pca, X, **given)
    return Verdict(
        method="" if is_plain else type(estimator).__name__,
        change=change,
        clip=estimator.clip,
        can_clip=not issparse(X),
        low_support={_column(j, feature_names): n for j, n in test.low_support.items()},
        **_tested(test),
        **(_estimated(test, plain) if plain else {}),
        **({f"fair_{a}": b for a, b in _numbers(test, fair).items()} if fair else {}),
    )


def _reduction(
    estimator: Any, X: Any, given: dict[str, Any]
) -> tuple[str | None, CrossFit, CrossFit]:
    found = reduction_test(estimator, X, **given)
    return found.verdict, found.fair, found.plain


def _tested(test: GapTest) -> dict[str, Any]:
    several = len(test.labels) > 2
    return {
        "labels": test.labels,
        "rows": tuple(test.counts.tolist()),
        "sizes": tuple(test.sizes.tolist()),
        "pvalue": _known(test.pvalue),
        "tested": tuple(test.group_errors.tolist()),
        "adjusted": tuple(map(_known, test.adjusted.tolist())) if several else (),
    }


def _estimated(test: GapTest, plain: CrossFit) -> dict[str, Any]:
    return {
        **_numbers(test, plain),
        "gap_interval": _range(plain.gap_interval),
        "level": plain.level,
    }


def _numbers(test: GapTest, found: CrossFit) -> dict[str, Any]:
    """Errors and difference of the groups that are compared."""
    places = [found.labels.index(label) for label in test.labels]
    pair = len(places) == 2
    return {
        "errors": tuple(found.group_errors[places].tolist()),
        "intervals": tuple(map(_range, found.group_intervals[places])),
        "difference": float(found.difference) if pair else None,
        "difference_interval": _range(found.difference_interval) if pair else None,
    }


def _column(name: Any, names: Sequence[str] | None) -> str:
    """Name a column that may be known by its position only."""
    if isinstance(name, str):
        return name
    return f"column {name}" if names is None else str(names[name])


def _range(ends: FloatArray) -> tuple[float, float] | None:
    return None if np.isnan(ends).any() else (float(ends[0]), float(ends[1]))


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


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


@named_column
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
    sensitive_features : array-like, frame, dict or str
        The group of each row. A str names a column of X, which is then not a feature.
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
