"""Does some projection serve every group better? Found, or proved that none does by more than x.

The best answer to errors m is the game of FairPCA with offsets m: the least, over subspaces, of the
largest m'_a - m_a. It is negative if and only if every group can gain.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fairspan.estimators.wide import Asked, only_moments, shared_basis
from fairspan.fitting import prepare
from fairspan.ground import defaults
from fairspan.ground.parameters import (
    check_by_group,
    check_integer,
    check_level,
    check_number,
)
from fairspan.ground.rows import named_column
from fairspan.ground.types import FloatArray
from fairspan.judging.given import given_projection
from fairspan.judging.improvement import (
    PROVED,
    ROUNDS,
    DominatingProjection,
    improvement,
    improvement_on,
)
from fairspan.moments.projection import check_orthonormal
from fairspan.moments.summary import GroupSummary
from fairspan.products import SecondMoments


@named_column
def dominating_projection(
    components_or_group_errors: Any,
    moments: Any,
    *,
    n_components: int | None = None,
    sensitive_features: Any = None,
    standardize: bool = False,
    route: str = "auto",
    failure_probability: float = defaults.FAILURE_PROBABILITY,
    random_state: Any = None,
) -> DominatingProjection:
    """Find a projection that serves every group better, or prove that none does by more than x.

    Closing a gap by making the better served group worse may leave every group worse off than
    another projection would. That projection is PCA with groups reweighted; any number of groups.

    Parameters
    ----------
    components_or_group_errors : array-like of shape (n_components, n_features) or (n_groups,), \
mapping or estimator
        Orthonormal rows, or the error of each group: in the order of the sorted labels, or as
        {label: error}. Both in the units of the data, or of the standardised data if
        ``standardize``. A fitted model stands for its components. It brings its ``standardize``,
        and the groups are its own: it says what becomes of rows without a label and of small
        groups, which are among the groups to serve better.
    moments : GroupMoments or array-like of shape (n_rows, n_features)
        Moments of the data, or its rows. Errors are about the mean of all rows.
    n_components : int, optional
        Number of components; needed with group errors.
    sensitive_features : array-like, frame, dict or str, optional
        The group of each row, with rows. A str names a column of them, which is then not a feature.
    standardize : bool, default=False
        Whether features are divided by their standard deviation over these rows.
    route : {"auto", "moments", "products"}, default="auto"
        How wide rows are treated, as in RobustFairPCA.
    failure_probability : float, default=1e-10
        By products: how probably the bound may be wrong.
    random_state : int, RandomState instance, Generator or None, default=None
        By products: the seed of random blocks; None is a fixed one.

    Returns
    -------
    DominatingProjection
        The projection, its errors and gain, and the proved bound on the gain of any other.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from fairspan import GroupMoments, RobustFairPCA, dominating_projection
    >>> data = load_wine()
    >>> moments = GroupMoments.from_arrays(data.data, data.target == 0)
    >>> fair = RobustFairPCA(2, standardize=True).fit_moments(moments)
    >>> better = dominating_projection(fair.components_, moments, standardize=True)
    >>> better.dominates, better.gain <= better.bound
    (True, True)
    """
    check_level("failure_probability", failure_probability)
    judged = given_projection(components_or_group_errors, standardize)
    given, rule = judged.projection, judged.rule
    by_errors = isinstance(given, Mapping) or np.ndim(given) == 1
    if not by_errors and np.ndim(given) != 2:
        raise TypeError(
            f"components_or_group_errors is a {type(given).__name__}; pass components, group "
            "errors or a fitted model."
        )
    if by_errors and n_components is None:
        raise ValueError(
            "Group errors do not say how many components the projection may have; pass "
            "n_components=..., or the components themselves."
        )
    k = check_integer("n_components", n_components, 1) if by_errors else len(given)
    needs = only_moments(small_groups=rule.small_groups)
    asked = Asked(route, needs, k, rule.missing_groups, judged.standardize)
    operator = asked.operator(moments, sensitive_features)
    if operator is None:
        moments = judged.moments(moments, sensitive_features)
    known = moments if operator is None else operator
    if known.n_groups < 2:
        raise ValueError("There is only one group; pass sensitive_features, one label per row.")
    errors = _errors(given, known) if by_errors else None
    # Rounding left in the rows would show in their errors.
    subspace = None if by_errors else np.linalg.qr(_components(given, known, n_components).T)[0]
    if operator is not None:
        return improvement_by_products(
            operator, k, errors, subspace, failure_probability, random_state
        )
    problem = prepare(moments, judged.standardize).problem(k)
    if errors is None:
        assert subspace is not None
        errors = problem.errors(subspace)
    return improvement(problem, moments.labels, errors, subspace)


def _components(given: Any, moments: GroupSummary, n_components: int | None) -> FloatArray:
    rows = check_orthonormal(given)
    if rows.shape[1] != moments.n_features or n_components not in (None, len(rows)):
        raise ValueError(
            f"components has shape {rows.shape}; it must have one column for each of the "
            f"n_features={moments.n_features} features"
            + (f" and n_components={n_components} rows." if n_components else ".")
        )
    return rows


def improvement_by_products(
    operator: SecondMoments,
    n_components: int,
    errors: FloatArray | None,
    subspace: FloatArray | None,
    failure_probability: float,
    random_state: Any,
) -> DominatingProjection:
    """Find the projection that improves most on errors, or on those of a subspace, by products."""
    shared = shared_basis(
        operator,
        n_components,
        ROUNDS,
        tol=PROVED.tol,
        failure_probability=failure_probability,
        random_state=random_state,
    )
    shared.start()
    if errors is None:
        assert subspace is not None
        errors = shared.errors(subspace)
    return improvement_on(shared, errors, subspace)


def better_than(model: Any) -> DominatingProjection:
    """Find what improves most on a fitted model, on the rows of its fit."""
    prepared = prepare(
        model.moments_, model.scale_ is not None, room=model.n_components_, warn=False
    )
    errors = model.group_errors_
    return improvement(prepared.problem(model.n_components_), model.moments_.labels, errors)


def _errors(given: Any, moments: GroupSummary) -> FloatArray:
    """Take group errors by label, or in the order of the labels."""
    if isinstance(given, Mapping):
        check_by_group("group_errors", given, moments.labels)
        given = [given[label] for label in moments.labels]
    if len(given) != len(moments.labels):
        raise ValueError(
            f"There are {len(given)} group errors for {len(moments.labels)} groups; components "
            "have two dimensions, group errors one number for each group."
        )
    return np.array([check_number("group_errors", value) for value in given])
