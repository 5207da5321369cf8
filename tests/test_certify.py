"""certify judges any projection: its bound is below every attained value, its gap is honest."""

from __future__ import annotations

import numpy as np
import pytest

from fairspan import GroupMoments, RobustFairPCA, certify
from fairspan.objectives.robust import RobustFairObjective
from fairspan.problem.subspace import SubspaceProblem
from fairspan.solvers.many_groups.certified_newton import solve_newton
from tests import reference

SETTINGS = [(0.0, 0.0), (0.5, 0.15), (2.0, 1.0)]


def data(seed, n_groups, d=6):
    rng = np.random.default_rng(seed)
    groups = np.arange(40 * n_groups) % n_groups
    spread = rng.standard_normal((n_groups, d, d))
    X = np.einsum("ni,nij->nj", rng.standard_normal((len(groups), d)), spread[groups])
    return X, groups, rng


def judged_projections(X, groups, weight, radius, k, rng):
    """PCA's projection, a random one, the subgradient method's and ours."""
    pca = np.linalg.svd(X - X.mean(axis=0))[2][:k]
    settings = {"fairness_weight": weight, "radius": radius}
    theirs = RobustFairPCA(
        k, solver="subgradient", n_init=2, max_iter=200, tol=1.0, random_state=0, **settings
    )
    moments = GroupMoments.from_arrays(X, groups)
    problem = SubspaceProblem(moments.second_moments, moments.shares, k)
    radii = radius / np.sqrt(moments.weights)
    ours = solve_newton(
        problem, RobustFairObjective(moments.shares, weight, radii), tol=1e-9, effort=0.1
    )
    yield "pca", pca
    yield "random", reference.random_subspace(rng, X.shape[1], k).T
    yield "subgradient", theirs.fit(X, sensitive_features=groups).components_
    yield "ours", ours.components


@pytest.mark.parametrize("n_groups", [2, 3, 4])
@pytest.mark.parametrize(("weight", "radius"), SETTINGS)
@pytest.mark.parametrize("k", [1, 3])
def test_whoever_made_a_projection_its_gap_is_no_smaller_than_its_distance_to_the_best(
    n_groups, weight, radius, k
):
    X, groups, rng = data(n_groups, n_groups)
    moments, shares = reference.group_second_moments(X, groups)
    radii = radius / np.sqrt(shares * len(X))
    verdicts, values = {}, {}
    for name, components in judged_projections(X, groups, weight, radius, k, rng):
        verdicts[name] = certify(
            components,
            GroupMoments.from_arrays(X, groups),
            fairness_weight=weight,
            radius=radius,
            effort=0.1,
        )
        errors = reference.group_errors(moments, components.T)
        values[name] = reference.objective(errors, shares, weight, radii)
        assert verdicts[name].objective == pytest.approx(values[name], rel=1e-10)
        assert verdicts[name].group_errors == pytest.approx(errors, rel=1e-10)
        np.testing.assert_array_equal(verdicts[name].components, components)
    best = min(values.values())
    for name, verdict in verdicts.items():
        assert verdict.lower_bound <= best * (1 + 1e-12)
        distance = (values[name] - best) / values[name]
        assert verdict.optimality_gap >= distance - 1e-12
        assert (verdict.status == "optimal") == (verdict.optimality_gap <= 1e-8)
        if n_groups == 2 or weight == radius == 0:  # Always proved, whoever is judged.
            assert verdict.optimality_gap == pytest.approx(distance, abs=3e-8)
    assert verdicts["random"].optimality_gap > 1e-3


def test_for_two_groups_the_gap_is_the_distance_to_the_scanned_minimum():
    X, groups, rng = data(7, 2)
    moments, shares = reference.group_second_moments(X, groups)
    radii = 1.0 / np.sqrt(shares * len(X))
    scan = reference.scan_boundary(moments[0], moments[1], n_angles=20000)[:, 2]
    lowest = reference.two_group_objective(scan, shares, 0.5, radii).min()
    V = reference.random_subspace(rng, 6, 2)
    verdict = certify(V.T, GroupMoments.from_arrays(X, groups), fairness_weight=0.5, radius=1.0)
    assert verdict.lower_bound <= lowest
    assert verdict.lower_bound == pytest.approx(lowest, rel=1e-3)
    distance = 1 - lowest / verdict.objective
    assert verdict.optimality_gap == pytest.approx(distance, abs=1e-3)


def test_all_components_leave_nothing_to_improve():
    X, groups, rng = data(1, 3)
    Q = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    verdict = certify(Q, GroupMoments.from_arrays(X, groups), fairness_weight=1.0, radius=0.0)
    assert verdict.status == "optimal"
    assert verdict.objective == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("factor", [1 - 4e-9, 1 + 4e-9])
def test_rows_that_are_orthonormal_up_to_rounding_are_judged_as_what_they_span(factor):
    # Nearly all variance lies in two directions: what is left is small beside what is kept.
    X, groups, _ = data(2, 2)
    X = X * np.array([1e3, 1e3, 1.0, 1.0, 1.0, 1.0])
    moments = GroupMoments.from_arrays(X, groups)
    settings = {"fairness_weight": 0.5, "radius": 0.0}
    exact = RobustFairPCA(2, **settings).fit_moments(moments)
    verdict = certify(factor * exact.components_, moments, **settings)
    assert verdict.objective == pytest.approx(exact.objective_, rel=1e-6)
    assert verdict.lower_bound <= exact.objective_ * (1 + 1e-8)


@pytest.mark.parametrize(
    ("components", "message"),
    [
        (np.eye(6)[:2] * 2, "not orthonormal"),
        (np.ones((2, 6)) / 6**0.5, r"not orthonormal.*numpy\.linalg\.qr"),
        (np.eye(5)[:2], "n_features=6"),
        (np.vstack([np.eye(6), np.eye(6)[:1]]), "at most as many rows"),
        (np.full((1, 6), np.nan), "NaN"),
        (np.eye(6)[0], "2D array"),
        (np.empty((0, 6)), "0 sample"),
        (np.eye(6)[:2].astype(str), "could not convert"),
    ],
)
def test_components_that_are_no_projection_are_refused(components, message):
    X, groups, _ = data(0, 2)
    moments = GroupMoments.from_arrays(X, groups)
    if message == "could not convert":
        components = [["a"] * 6]
    with pytest.raises(ValueError, match=message):
        certify(components, moments, fairness_weight=1.0, radius=0.0)


def test_a_negative_fairness_weight_or_radius_is_refused():
    X, groups, _ = data(0, 2)
    moments = GroupMoments.from_arrays(X, groups)
    with pytest.raises(ValueError, match="fairness_weight"):
        certify(np.eye(6)[:1], moments, fairness_weight=-1.0, radius=0.0)
    with pytest.raises(ValueError, match="radius"):
        certify(np.eye(6)[:1], moments, fairness_weight=1.0, radius=-1.0)


@pytest.mark.parametrize(
    "counting",
    [
        {"group_weights": "equal"},
        {"group_weights": {"a": 1.0, "b": 3.0, "missing": 2.0}},
        {"missing_groups": "total_only"},
        {"group_weights": "equal", "missing_groups": "total_only"},
    ],
)
def test_a_fit_that_counts_groups_otherwise_is_judged_by_what_it_counts(counting):
    X, codes, _ = data(3, 3)
    few = (codes != 0) | (np.arange(len(X)) < 60)
    X, codes = X[few], codes[few]
    groups = np.array(["a", "b", "missing"])[codes]
    model = RobustFairPCA(2, fairness_weight=0.05, **counting).fit(X, sensitive_features=groups)
    setting = {"fairness_weight": 0.05, "radius": model.radius}
    same = certify(model.components_, model.moments_, **setting, **counting)
    assert same.status == "optimal"
    assert same.objective == pytest.approx(model.objective_, rel=1e-12)
    other = certify(model.components_, model.moments_, **setting)
    assert other.optimality_gap > 1e-4


def test_ways_of_counting_that_are_not_known_are_refused():
    X, groups, _ = data(0, 2)
    moments = GroupMoments.from_arrays(X, groups)
    setting = {"fairness_weight": 1.0, "radius": 0.0}
    with pytest.raises(ValueError, match="group_weights='rows' is not known"):
        certify(np.eye(6)[:2], moments, **setting, group_weights="rows")
    with pytest.raises(ValueError, match="missing_groups='drop'"):
        certify(np.eye(6)[:2], moments, **setting, missing_groups="drop")
