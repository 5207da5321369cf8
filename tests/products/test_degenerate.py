"""Rows that leave nothing to choose or to explain, and what is proved of them by products."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from fairspan import RobustFairPCA
from fairspan.moments.groups import Groups
from fairspan.products import second_moments
from fairspan.products.basis import Basis
from fairspan.products.lifted import Rests
from tests.products.rows import made, moments_of


def both(X, groups, k, radius):
    """What both routes find; neither proves everything where errors vanish under a radius."""
    models = [
        RobustFairPCA(k, radius=radius, tol=1e-8, route=one) for one in ("moments", "products")
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return [model.fit(X, sensitive_features=groups).result_ for model in models]


@pytest.mark.parametrize("radius", [0.0, 0.1])
@pytest.mark.parametrize("n_groups", [2, 3])
@pytest.mark.parametrize("kind", ["all components", "no variance", "more components than rank"])
def test_what_leaves_no_error_is_solved_and_proved(kind, n_groups, radius):
    X, _ = made(0, 180, 40)
    groups = np.arange(180) % n_groups
    k = 40 if kind == "all components" else 5
    if kind == "no variance":
        X[:] = 1.0
    elif kind == "more components than rank":
        X = X[:, :3] @ np.random.default_rng(1).standard_normal((3, 40))
    by_moments, by_products = both(X, groups, k, radius)
    assert by_products.objective == pytest.approx(by_moments.objective, abs=1e-12)
    assert by_products.lower_bound <= by_moments.objective
    if radius == 0 or kind != "more components than rank":
        # No error is negative: that is no matter of chance.
        assert (by_products.status, by_products.failure_probability) == ("optimal", 0.0)
    # Slopes are infinite where errors vanish, so that rounding of errors counts by its root.
    assert by_products.lower_bound == pytest.approx(by_moments.objective, rel=3e-3, abs=1e-12)


def test_a_bound_on_a_multiple_of_one_group_counts_by_that_multiple():
    X, groups = made(1)
    operator = second_moments(X, Groups.of(groups, len(X)))
    basis = Basis(operator)
    basis.grow(np.random.default_rng(0).standard_normal((60, 8)))
    rests = Rests(basis, basis.residuals())
    complement = np.linalg.qr(basis.columns, mode="complete")[0][:, 8:]
    largest = [
        np.linalg.eigvalsh(complement.T @ moment @ complement)[-1]
        for moment in moments_of(X, groups)
    ]
    rests.learn(np.array([0.25, 0.0]), 0.25 * largest[0] * (1 + 1e-9))
    for weights in ([1.0, 0.0], [0.25, 0.0], [2.0, -0.5]):
        least = np.linalg.eigvalsh(
            complement.T @ np.tensordot(weights, moments_of(X, groups), 1) @ complement
        )[-1]
        assert rests.of(np.array(weights)) >= least
    assert rests.of(np.array([1.0, 0.0])) == pytest.approx(largest[0], rel=1e-6)
