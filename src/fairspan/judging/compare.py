"""Comparing methods: one function judges every subspace, in the same units."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from sklearn.base import clone

from fairspan.estimators.clipping import learned_limits
from fairspan.fitting import prepare
from fairspan.ground import defaults
from fairspan.ground.extras import as_frame
from fairspan.ground.listed import listed
from fairspan.ground.parameters import check_choice, check_flag, is_listing, renamed
from fairspan.ground.rows import check_rows, named_column
from fairspan.ground.types import FloatArray
from fairspan.ground.warn import warn
from fairspan.judging import metrics
from fairspan.judging.case import Options
from fairspan.judging.improvement import DominatingProjection, improvement
from fairspan.moments.from_rows import pooled_scale
from fairspan.moments.group_moments import GroupMoments
from fairspan.moments.groups import encode_groups
from fairspan.moments.projection import Projection
from fairspan.moments.small_groups import groups_as_fitted, treated
from fairspan.problem.spectrum import top_space

OWN_PCA = "each group's own PCA"


@renamed("centring", "centering")
@named_column
def compare(
    methods: Mapping[str, Any] | Iterable[Any],
    X: Any,
    sensitive_features: Any,
    *,
    X_test: Any = None,
    sensitive_features_test: Any = None,
    centering: str = "global",
    standardize: bool = False,
    clip: float | None = None,
    by: str = "method",
    small_groups: str = "keep",
    min_rows: int = defaults.MIN_ROWS,
) -> Any:
    """Fit methods to the same data and evaluate their subspaces in the same way.

    Parameters
    ----------
    methods : mapping of names to estimators, or iterable of estimators
        Unfitted estimators with ``components_`` and ``mean_`` after fit: those of this package, or
        scikit-learn's PCA. They are cloned. Their own ``standardize`` must be off.
    X : array-like of shape (n_rows, n_features)
        Training rows.
    sensitive_features : array-like, frame, dict or str
        The group of each training row. A str names a column of X, which is then not a feature.
    X_test, sensitive_features_test : optional
        More rows to judge on.
    centering : {"global", "group"}, default="global"
        From where group errors are measured; the total error always uses the global mean.
    standardize : bool, default=False
        Divide all data by the standard deviations of the training rows.
    clip : float, optional
        Clip all data at this number of standard deviations of the training rows from their mean.
    by : {"method", "group"}, default="method"
        A row for each method, or one for each group and method.
    small_groups : {"keep", "pool"}, default="keep"
        What to do with groups of fewer than ``min_rows`` training rows: they stay as they are, or
        become one group.
    min_rows : int, default=5
        See ``small_groups``.

    Returns
    -------
    pandas.DataFrame or list of dict
        For each method and sample ("train", "test") the total error, the gap, the largest group
        error, the status of the fit ("optimal" if it is proved), the proved relative gap to the
        optimum of the method's own objective, whether rounding hides that objective, whether
        another projection serves every group better on the training data, by at least which share
        of its error, and the seconds of the fit; or, by group, what
        :func:`fairspan.metrics.by_group` gives. The last method is a reference: the own PCA of each
        group, which is not a single projection. A method that has no solution is left out with a
        warning that says why.
    """
    check_choice("by", by, ("method", "group"))
    check_flag("standardize", standardize)
    check_choice("small_groups", small_groups, ("keep", "pool"))
    scale = None
    limits = None if clip is None else learned_limits(check_rows(X), clip, None)
    if limits is not None:
        X = np.clip(check_rows(X), *limits)
    if standardize:
        scale = pooled_scale(GroupMoments.from_arrays(X, sensitive_features))
        X = np.asarray(X, dtype=np.float64) / scale
    training = treated(GroupMoments.from_arrays(X, sensitive_features), small_groups, min_rows)
    samples = {"train": training}
    if (X_test is None) != (sensitive_features_test is None):
        raise ValueError("X_test and sensitive_features_test must be given together.")
    if X_test is not None:
        X_test = check_rows(X_test, name="X_test")
        X_test = X_test if limits is None else np.clip(X_test, *limits)
        X_test = X_test if scale is None else X_test / scale
        groups = encode_groups(sensitive_features_test, len(X_test))
        groups = groups_as_fitted(groups, training.labels, small_groups)
        samples["test"] = GroupMoments.from_groups(X_test, groups)
        unseen = [a for a in samples["test"].labels if a not in training.labels]
        if unseen:
            raise ValueError(
                "sensitive_features_test has groups that are not in the training data: "
                f"{listed(unseen)}."
            )
    rows: list[dict[str, Any]] = []
    k = 0
    for name, (model, seconds) in _fitted(_named(methods), X, training).items():
        k = max(k, len(model.components_))
        better = _better(model.components_, training)
        evidence = _evidence(getattr(model, "result_", None), better) | {"seconds": seconds}
        for sample, moments in samples.items():
            judged = _judge(model, moments, training, centering, by, evidence)
            rows += [{"method": name, "sample": sample, **row} for row in judged]
    for sample, moments in samples.items():
        own = _own_pca(k, moments, training, centering, by)
        rows += [{"method": OWN_PCA, "sample": sample, **row} for row in own]
    return as_frame(rows)


def _named(methods: Any) -> dict[str, Any]:
    if hasattr(methods, "fit") or not (isinstance(methods, Mapping) or is_listing(methods)):
        raise TypeError(
            f"methods={methods!r} must be a list or a mapping of estimators, not a single one."
        )
    given = methods if isinstance(methods, Mapping) else _numbered(methods)
    for method in given.values():
        if not hasattr(method, "fit") or isinstance(method, type):
            raise TypeError(f"methods contains {method!r}, which is not an estimator.")
    if not given:
        raise TypeError("methods is empty; give at least one estimator.")
    return dict(given)


def _numbered(methods: Iterable[Any]) -> dict[str, Any]:
    """Name methods by their classes, with a number from the second of a class on."""
    named: dict[str, Any] = {}
    seen: Counter[str] = Counter()
    for method in methods:
        name = type(method).__name__
        seen[name] += 1
        named[name if seen[name] == 1 else f"{name} {seen[name]}"] = method
    return named


def _fitted(
    methods: dict[str, Any], X: Any, training: GroupMoments
) -> dict[str, tuple[Any, float]]:
    """Fit all methods that have a solution, and say why the others have none."""
    found: dict[str, tuple[Any, float]] = {}
    reasons: dict[str, ValueError | ImportError] = {}
    for name, method in methods.items():
        try:
            found[name] = _fit(method, X, training)
        except (ValueError, ImportError) as error:
            reasons[name] = error
            continue
        model = found[name][0]
        if not hasattr(model, "components_"):
            raise TypeError(f"Method {name!r} has no components_ after fit; it cannot be compared.")
        if getattr(model, "scale_", None) is not None:
            raise ValueError(
                f"Method {name!r} standardises by itself, so its errors are in other units; set "
                "its standardize=False and use compare(..., standardize=True)."
            )
    if not found:
        raise next(iter(reasons.values()))
    for name, reason in reasons.items():
        warn(f"{name} is left out. {reason}", UserWarning)
    return found


def _fit(method: Any, X: Any, training: GroupMoments) -> tuple[Any, float]:
    model = clone(method)
    start = time.perf_counter()
    model = model.fit_moments(training) if hasattr(model, "fit_moments") else model.fit(X)
    return model, time.perf_counter() - start


def _judge(
    model: Any,
    moments: GroupMoments,
    training: GroupMoments,
    centering: str,
    by: str,
    evidence: dict[str, Any],
) -> list[dict[str, Any]]:
    options: Options = {"centering": centering, "mean": training.mean, "training": training}
    errors = metrics.group_errors(model, moments, **options).values
    total = metrics.total_error(model, moments, mean=training.mean)
    if by == "method":
        return [{**_summary(errors, total), **evidence}]
    return metrics.group_rows(model, moments, **options)


def _summary(errors: FloatArray, total: float) -> dict[str, float]:
    return {
        "total_error": total,
        "error_gap": float(np.ptp(errors)),
        "largest_error": float(errors.max()),
    }


def _better(components: FloatArray, training: GroupMoments) -> DominatingProjection:
    """Find what serves every group of the training data better, if anything does."""
    # Of hidden features the fit has warned.
    problem = prepare(training, warn=False).problem(len(components))
    errors = problem.errors(np.linalg.qr(components.T)[0])
    return improvement(problem, training.labels, errors)


def _evidence(result: Any, better: DominatingProjection | None = None) -> dict[str, Any]:
    """Return what is proved about a result; nothing for methods of other packages."""
    if result is None:
        proof = {"optimality_gap": np.nan, "status": None, "hidden": None}
    else:
        proof = {
            "optimality_gap": result.optimality_gap,
            "status": result.status,
            "hidden": result.is_hidden,
        }
    if better is None:
        return proof | {"dominated": None, "gain_for_all": np.nan}
    gain = better.relative_gain if better.dominates else 0.0
    return proof | {"dominated": better.dominates, "gain_for_all": gain}


def _own_pca(
    k: int, moments: GroupMoments, training: GroupMoments, centering: str, by: str
) -> list[dict[str, Any]]:
    """Return the reference: each group in the best subspace for its own training rows."""
    judge = Projection(np.eye(training.n_features)[:k], training.mean, None, training)
    fitted = judge.second_moments(training, centering)
    about_mean: Options = {"mean": training.mean, "training": training}
    options: Options = {**about_mean, "centering": centering}
    rows, totals = [], []
    for a, label in enumerate(moments.labels):
        own = top_space(fitted[training.labels.index(label)], k).vectors.T
        rows.append(metrics.group_rows(own, moments, **options)[a])
        totals.append(metrics.group_errors(own, moments, **about_mean).values[a])
    if by == "group":
        return rows
    errors = np.array([row["error"] for row in rows])
    total = float(moments.shares @ np.array(totals))
    return [{**_summary(errors, total), **_evidence(None), "seconds": np.nan}]
