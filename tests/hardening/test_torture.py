"""Numerical torture: hard tables, every estimator; bounds hold against values found elsewhere.

Values and errors come from ``tests/reference.py``, which shares no code with the package. Nothing
but the documented warnings is raised.
"""

from __future__ import annotations

import contextlib
import warnings

import numpy as np
import pytest

from fairspan import (
    ConvexFairPCA,
    ExactlyFairPCA,
    FairPCA,
    GroupMoments,
    NullSpaceFairPCA,
    RobustFairPCA,
    certify,
    fairness_frontier,
)
from tests import reference
from tests.hardening.law import DOCUMENTED

N = 60
SPREAD = np.logspace(-12, 12, 5)
"""Scales of five features, 24 orders of magnitude apart."""


def base(d: int = 5, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((N, d)) @ rng.standard_normal((d, d))


def commuting() -> np.ndarray:
    """Both groups have their axes along the features, with unlike spreads, and no means."""
    X = np.zeros((N, 4))
    for group in (0, 1):
        rows = np.arange(group, N, 2)
        half = len(rows) // 2
        spread = [4.0, 3.0, 2.0, 1.0] if group else [1.0, 2.0, 3.0, 4.0]
        for j in range(4):
            X[rows[j::4], j] = spread[j]
        X[rows[half:]] *= -1
    return X


def far_larger() -> np.ndarray:
    X = base()
    X[1::2] *= 1e6
    return X


def subnormal_column() -> np.ndarray:
    X = base()
    X[:, 0] *= 5e-312
    return X


TABLES = {
    "rank 1": lambda: np.outer(base(1)[:, 0], np.arange(1, 6)),
    "rank 0": lambda: np.tile(np.arange(5.0), (N, 1)),
    "duplicated columns": lambda: np.hstack([base(3)] * 2),
    "24 orders of magnitude": lambda: base() * SPREAD,
    "two features": lambda: base(2),
    "equal groups": lambda: np.repeat(base()[: N // 2], 2, axis=0),
    "one group 1e6 times larger": far_larger,
    "commuting": commuting,
    "far from the origin": lambda: base() + 1e8,
    "a subnormal column": subnormal_column,
    "tiny": lambda: 1e-60 * base(),
    "large": lambda: 1e60 * base(),
    "fewer rows than features": lambda: np.random.default_rng(0).standard_normal((N, 90)),
    "integers that repeat": lambda: np.round(base()),
    "one row apart": lambda: np.vstack([np.zeros((N - 1, 4)), np.ones((1, 4))]),
}
ESTIMATORS = {
    "robust": RobustFairPCA,
    "exact": ExactlyFairPCA,
    "minimax": FairPCA,
    "convex": ConvexFairPCA,
    "null space": NullSpaceFairPCA,
}
GROUPS = {2: np.arange(N) % 2, 3: np.arange(N) % 3}


@pytest.fixture(autouse=True)
def only_documented_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for category in DOCUMENTED:
            warnings.simplefilter("ignore", category)
        yield


def sizes(d: int) -> list[int]:
    return sorted({1, max(d // 2, 1), d - 1})


def assert_orthonormal(V: np.ndarray) -> None:
    assert np.abs(V @ V.T - np.eye(len(V))).max() < 1e-10


def second_moments(X: np.ndarray, groups: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    # Far from the origin the reference's own mean rounds; centering first costs it nothing.
    return reference.group_second_moments(X - X[0], groups)


def rounding(moments: np.ndarray, weight: float) -> float:
    """What the reference itself may be off by."""
    traces = np.trace(moments, axis1=1, axis2=2)
    return 1e-12 * (1 + 2 * weight) * float(traces.max())


@pytest.mark.parametrize("n_groups", GROUPS)
@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("name", TABLES)
def test_no_subspace_beats_the_bound_and_the_objective_is_the_references(
    name, standardize, n_groups
):
    X, groups = TABLES[name](), GROUPS[n_groups]
    for k in sizes(X.shape[1]):
        for weight, radius in ((1.0, 0.1), (0.2, 0.0), (10.0, 5.0)):
            model = RobustFairPCA(
                k,
                fairness_weight=weight,
                radius=radius,
                standardize=standardize,
                effort=0.01,
                random_state=0,
            ).fit(X, sensitive_features=groups)
            assert_orthonormal(model.components_)
            scaled = X if model.scale_ is None else (X - X[0]) / model.scale_
            moments, shares = second_moments(scaled, groups)
            slack = rounding(moments, weight)
            value = reference.objective(
                reference.group_errors(moments, model.components_.T),
                shares,
                weight,
                model.group_radii_,
            )
            assert model.lower_bound_ <= model.objective_
            assert model.objective_ == pytest.approx(value, rel=1e-6, abs=1e3 * slack)
            rng = np.random.default_rng(k)
            starts = [reference.random_subspace(rng, X.shape[1], k) for _ in range(5)]
            starts += [np.linalg.eigh(moment)[1][:, -k:] for moment in moments]
            for V in starts:
                errors = reference.group_errors(moments, V)
                other = reference.objective(errors, shares, weight, model.group_radii_)
                assert model.lower_bound_ <= other + slack


@pytest.mark.parametrize("method", ESTIMATORS)
@pytest.mark.parametrize("name", TABLES)
def test_every_method_gives_an_orthonormal_basis_and_true_errors(name, method):
    X, groups = TABLES[name](), GROUPS[2]
    moments, _ = second_moments(X, groups)
    slack = 1e3 * rounding(moments, 0.0)
    for k in sizes(X.shape[1]):
        model = ESTIMATORS[method](k)
        # Methods that take directions away may have too few left; all others may not.
        may_refuse = method in ("convex", "null space", "exact")
        with contextlib.suppress(ValueError) if may_refuse else contextlib.nullcontext():
            model.fit(X, sensitive_features=groups)
        if not hasattr(model, "components_"):
            continue
        assert_orthonormal(model.components_)
        errors = reference.group_errors(moments, model.components_.T)
        assert model.group_errors_ == pytest.approx(errors, rel=1e-6, abs=slack)
        assert model.lower_bound_ <= model.objective_


@pytest.mark.parametrize("name", TABLES)
def test_the_frontier_is_attained_and_no_subspace_lies_below_it(name):
    X, groups = TABLES[name](), GROUPS[2]
    moments, shares = second_moments(X, groups)
    frontier = fairness_frontier(X, 1, sensitive_features=groups)
    assert np.isfinite(frontier.group_errors).all()
    assert (frontier.lower_bound <= frontier.objective).all()
    rng = np.random.default_rng(0)
    for _ in range(10):
        V = reference.random_subspace(rng, X.shape[1], 1)
        errors = reference.group_errors(moments, V)
        for weight, bound in zip(frontier.fairness_weight, frontier.lower_bound, strict=True):
            if np.isfinite(weight):
                value = reference.objective(errors, shares, weight, np.zeros(2))
                assert bound <= value + rounding(moments, weight)


@pytest.mark.parametrize("name", TABLES)
def test_certify_never_proves_too_much(name):
    X, groups = TABLES[name](), GROUPS[2]
    moments, shares = second_moments(X, groups)
    given = GroupMoments.from_arrays(X, groups)
    rng = np.random.default_rng(1)
    k = sizes(X.shape[1])[-1]
    V = reference.random_subspace(rng, X.shape[1], k)
    result = certify(V.T, given, fairness_weight=0.7, radius=0.0, effort=0.05)
    assert result.lower_bound <= result.objective
    for _ in range(10):
        other = reference.group_errors(moments, reference.random_subspace(rng, X.shape[1], k))
        value = reference.objective(other, shares, 0.7, np.zeros(2))
        assert result.lower_bound <= value + rounding(moments, 0.7)


def test_a_group_a_million_times_heavier_leaves_a_proved_optimum():
    X, groups = base(), GROUPS[2]
    weight = np.where(groups == 0, 1e6, 1.0)
    model = RobustFairPCA(2, radius=0.0).fit(X, sensitive_features=groups, sample_weight=weight)
    assert model.optimality_gap_ <= 1e-8
    rows = np.repeat(np.arange(N), np.where(groups == 0, 1000, 1))
    fewer = RobustFairPCA(2, radius=0.0).fit(
        X, sensitive_features=groups, sample_weight=np.where(groups == 0, 1000.0, 1.0)
    )
    moments, shares = second_moments(X[rows], groups[rows])
    value = reference.objective(
        reference.group_errors(moments, fewer.components_.T), shares, 1.0, np.zeros(2)
    )
    assert fewer.objective_ == pytest.approx(value, rel=1e-8)


def test_equal_groups_are_pca():
    X = np.repeat(base()[: N // 2], 2, axis=0)
    model = RobustFairPCA(2, radius=0.0).fit(X, sensitive_features=GROUPS[2])
    values = np.linalg.eigvalsh(np.cov(X.T, ddof=0))[::-1]
    assert model.objective_ == pytest.approx(values[2:].sum(), rel=1e-9)
    assert model.error_gap_ == pytest.approx(0.0, abs=1e-9)


def test_an_offset_of_1e8_costs_no_more_than_the_digits_of_the_rows():
    X = base()
    near = RobustFairPCA(2).fit(X, sensitive_features=GROUPS[2])
    far = RobustFairPCA(2).fit(X + 1e8, sensitive_features=GROUPS[2])
    # At 1e8 the rows themselves are rounded to 1.5e-8.
    assert far.objective_ == pytest.approx(near.objective_, rel=1e-6)


def test_values_whose_squares_vanish_are_refused():
    with pytest.raises(ValueError, match="too little to square"):
        RobustFairPCA(2, radius=0.0).fit(1e-170 * base(), sensitive_features=GROUPS[2])


@pytest.mark.parametrize("factor", [1e-80, 1e80])
def test_variances_that_cannot_be_squared_are_refused(factor):
    for method in (RobustFairPCA(2), RobustFairPCA(2, solver="subgradient"), FairPCA(2)):
        with pytest.raises(ValueError, match="to compute with in double precision"):
            method.fit(factor * base(), sensitive_features=GROUPS[2])
