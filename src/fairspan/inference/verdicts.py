"""One verdict from rows and a setting, for every headline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fairspan.estimators.base import BaseFairPCA
from fairspan.ground.types import FloatArray
from fairspan.inference.crossfitting import CrossFit, crossfit
from fairspan.inference.gap import GapTest, gap_test
from fairspan.inference.held_out import plain_pca
from fairspan.inference.reduction import reduction_test
from fairspan.words import Verdict


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
    """Say what rows tell about new ones: whether groups differ, and whether a method helps.

    It is :func:`gap_test` and, for two groups, :func:`reduction_test`; for more groups PCA is
    cross-fitted and there is no statement about the estimator. Printed, it is a few sentences.

    Parameters
    ----------
    estimator : estimator
        A fair PCA of this package. It is cloned, not fitted.
    X : array-like or sparse array of shape (n_rows, n_features)
        Rows as they are, not standardised.
    sensitive_features : array-like, frame or dict
        The group of each row.
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
    given = {
        "sensitive_features": sensitive_features,
        "sample_weight": sample_weight,
        "clusters": clusters,
        "random_state": random_state,
    }
    rule = getattr(estimator, "missing_groups", "raise")
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
