"""A grid of objectives by products: one basis, a proof for each, one failure probability."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from fairspan import (
    GroupMoments,
    RobustFairPCA,
    certify,
    dominating_projection,
    fairness_frontier,
)
from fairspan.moments.groups import Groups
from fairspan.objectives.robust import RobustFairObjective
from fairspan.products import grid, second_moments, solve, solve_products
from fairspan.products.grid import SharedBasis
from tests.products.rows import least_by_duality, moments_of
from tests.products.test_solve import steep

WEIGHTS = (0.0, 0.05, 0.2, 0.5, 1.0, 4.0)


def shared_of(X, codes, k=3, n_proofs=6, *, failure=1e-10, seed=0):
    operator = second_moments(X, Groups.of(codes, len(X), "raise"))
    rng = np.random.default_rng(seed)
    return SharedBasis(operator, k, n_proofs, 1e-8, failure, rng)


def test_every_objective_of_a_grid_is_proved_with_few_passes_more_than_one():
    X, codes = steep(0)
    shared = shared_of(X, codes)
    operator, moments = shared.operator, moments_of(X, codes)
    one = second_moments(X, Groups.of(codes, len(X), "raise"))
    objectives = [RobustFairObjective(operator.shares, λ, np.zeros(2)) for λ in WEIGHTS]
    rng = np.random.default_rng(0)
    for objective in objectives:
        solve_products(one, objective, 3, tol=1e-8, failure_probability=1e-10, rng=rng)
    for λ, objective in zip(WEIGHTS, objectives, strict=True):
        found = shared.solve(objective)
        least = least_by_duality(moments, operator.shares, 3, λ)
        assert found.status == "optimal"
        assert found.lower_bound <= least * (1 + 1e-11) <= found.objective * (1 + 2e-11)
        assert found.proof == "with probability 1 - 1e-10"
        projected = found.components @ moments @ found.components.T
        errors = np.einsum("aii->a", moments) - np.einsum("aii->a", projected)
        np.testing.assert_allclose(errors, found.group_errors, rtol=1e-9)
    assert operator.passes < 0.5 * one.passes


def test_failures_are_divided_among_the_objectives(monkeypatch):
    X, codes = steep(1)
    seen = []

    class Watched(solve.Tail):
        def __init__(self, basis, weights, failure, rng):
            seen.append(failure)
            super().__init__(basis, weights, failure, rng)

    monkeypatch.setattr(solve, "Tail", Watched)
    shared = shared_of(X, codes, n_proofs=4, failure=1e-6)
    for λ, ε in zip(WEIGHTS[:4], (0.0, 0.1, 1.0, 3.0), strict=True):
        shared.solve(RobustFairObjective(shared.operator.shares, λ, np.full(2, ε)))
    assert seen
    assert max(seen) <= 1e-6 / 4 / 2
    assert sum(seen) <= 1e-6
    with pytest.raises(RuntimeError, match="divided among 4 proofs"):
        shared.solve(RobustFairObjective(shared.operator.shares, 1.0, np.zeros(2)))


def test_no_bound_of_a_grid_is_above_what_is_attained():
    # Bounds are passed on from basis to basis: the least value is known by duality.
    for seed in range(40):
        rng = np.random.default_rng(seed)
        d, k = int(rng.integers(8, 40)), int(rng.integers(1, 5))
        X, codes = steep(seed, n=80, d=d)
        shared = shared_of(X, codes, k, failure=1e-3, seed=seed)
        moments = moments_of(X, codes)
        for λ in rng.permutation(WEIGHTS):
            found = shared.solve(RobustFairObjective(shared.operator.shares, λ, np.zeros(2)))
            least = least_by_duality(moments, shared.operator.shares, k, λ)
            assert found.lower_bound <= least * (1 + 1e-10)


def test_bounds_on_combinations_hold_for_later_bases():
    X, codes = steep(2)
    shared = shared_of(X, codes)
    shares, moments = shared.operator.shares, moments_of(X, codes)
    shared.solve(RobustFairObjective(shares, 0.0, np.zeros(2)))
    first = shared.basis.size
    assert shared.basis.learned
    for λ in (4.0, 0.3):
        shared.solve(RobustFairObjective(shares, λ, np.array([1.0, 0.5])))
    assert shared.basis.size > first
    outside = np.eye(len(moments[0])) - shared.basis.columns @ shared.basis.columns.T
    for weights, bound in shared.basis.learned:
        rest = outside @ np.tensordot(weights, moments, 1) @ outside
        assert np.linalg.eigvalsh(rest)[-1] <= bound


def test_a_refined_basis_contains_the_subspace_to_its_accuracy():
    X, codes = steep(3)
    shared = shared_of(X, codes)
    moments = moments_of(X, codes)
    for λ, accuracy in ((0.0, None), (0.0, 1e-9)):
        shared.solve(RobustFairObjective(shared.operator.shares, λ, np.zeros(2)), accuracy=accuracy)
        _, vectors = np.linalg.eigh(np.tensordot(shared.operator.shares, moments, 1))
        top = vectors[:, -3:]
        off = np.linalg.norm(top - shared.basis.columns @ (shared.basis.columns.T @ top))
    assert off < 1e-8
    small = grid.small_moments(shared.operator, shared.basis.columns)
    np.testing.assert_allclose(small, shared.basis.small, atol=1e-12 * small.max())


@pytest.mark.parametrize(
    "setting",
    [
        {},
        {"radius": (0.0, 2.0), "fairness_weights": WEIGHTS},
        {"disparity": "largest", "standardize": True, "group_weights": "equal"},
        {"reference": {"a": 2.0, "b": 1.0}, "fairness_weights": 0.5},
    ],
)
def test_a_frontier_by_products_has_the_points_of_moments(setting):
    X, codes = steep(4)
    groups = np.array(["b", "a"])[codes]
    found = fairness_frontier(
        sparse.csr_array(X), 3, sensitive_features=groups, route="products", **setting
    )
    assert found.route == "products"
    assert found.proof == "with probability 1 - 1e-10"
    assert set(found.status) == {"optimal"}
    assert found.curve is None
    # The complete curve has other points: the grid is asked for.
    setting = setting | {"fairness_weights": np.unique(found.fairness_weight)}
    known = fairness_frontier(X, 3, sensitive_features=groups, route="moments", **setting)
    assert known.proof == "deterministic"
    for name in ("objective", "lower_bound"):
        np.testing.assert_allclose(getattr(found, name), getattr(known, name), rtol=3e-8)
    for name in ("gap", "total_error", "weighted_error", "group_errors"):
        scale = known.total_error.max()
        np.testing.assert_allclose(getattr(found, name), getattr(known, name), atol=1e-4 * scale)
    np.testing.assert_array_equal(found.dominated, known.dominated)
    np.testing.assert_array_equal(found.radius, known.radius)
    found.plot()
    assert len(found.to_frame()) == len(known.to_frame())


def test_three_groups_share_a_basis_too():
    X, _ = steep(5)
    groups = np.arange(len(X)) % 3
    given = {"sensitive_features": groups, "fairness_weights": (0.0, 0.1, 0.5)}
    found = fairness_frontier(X, 2, route="products", **given)
    known = fairness_frontier(X, 2, **given)
    assert (found.lower_bound <= known.objective * (1 + 1e-11)).all()
    np.testing.assert_allclose(found.objective, known.objective, rtol=1e-6)


def test_what_a_frontier_cannot_do_by_products_is_said():
    X, codes = steep(6, n=60, d=20)
    given = {"sensitive_features": codes, "route": "products"}
    with pytest.raises(ValueError, match="not possible with reference='own'"):
        fairness_frontier(X, 2, **given, reference="own")
    with pytest.raises(ValueError, match="not possible with small_groups='pool'"):
        fairness_frontier(X, 2, **given, small_groups="pool")
    with pytest.raises(ValueError, match="at least 2 groups to compare"):
        fairness_frontier(X, 2, route="products")
    with pytest.raises(ValueError, match="failure_probability=2 must be"):
        fairness_frontier(X, 2, **given, failure_probability=2)


@pytest.mark.parametrize(
    "setting",
    [
        {"fairness_weight": 0.3, "radius": 0.0},
        {"fairness_weight": 4.0, "radius": 0.0},
        {"fairness_weight": 0.4, "radius": 2.0, "standardize": True},
        {"fairness_weight": 1.0, "radius": 0.0, "disparity": "largest", "group_weights": "equal"},
    ],
)
def test_certificates_by_products_are_those_of_moments(setting):
    X, codes = steep(7)
    model = RobustFairPCA(3, route="moments", **setting).fit(X, sensitive_features=codes)
    worse = np.linalg.qr(model.components_.T + 0.01 * np.eye(X.shape[1])[:, :3])[0].T
    for components, is_best in ((model.components_, True), (worse, False)):
        given = {"sensitive_features": codes, **setting}
        found = certify(components, sparse.csc_array(X), route="products", **given)
        known = certify(components, X, **given)
        assert (found.proof, known.proof) == ("with probability 1 - 1e-10", "deterministic")
        assert (found.status == "optimal") is is_best is (known.status == "optimal")
        assert found.objective == pytest.approx(known.objective, rel=1e-10)
        assert found.lower_bound == pytest.approx(known.lower_bound, rel=2e-8)
        assert found.lower_bound <= model.objective_ * (1 + 1e-11)
        np.testing.assert_allclose(found.group_errors, known.group_errors, rtol=1e-10)
        mine, theirs = found.dominating, known.dominating
        unit = 1e-6 * known.group_errors.max()
        assert mine.dominates == theirs.dominates
        assert mine.gain == pytest.approx(theirs.gain, abs=unit)
        assert mine.bound == pytest.approx(theirs.bound, abs=unit)
        assert theirs.gain <= mine.bound * (1 + 1e-9)
        moments = moments_of(X, codes, scale=model.scale_)
        kept = np.einsum("kd,ade,ke->a", mine.components, moments, mine.components)
        errors = np.einsum("aii->a", moments) - kept
        np.testing.assert_allclose(errors, mine.group_errors, rtol=1e-9)
        assert mine.finding.failure == mine.failure_probability > 0


def test_a_dominating_projection_of_given_errors_is_found_by_products():
    X, _ = steep(8)
    groups = np.arange(len(X)) % 3
    X[groups == 2] *= 1.3
    fair = RobustFairPCA(2, fairness_weight=3.0).fit(X, sensitive_features=groups)
    given = {"sensitive_features": groups, "n_components": 2}
    known = dominating_projection(fair.group_errors_, X, **given)
    found = dominating_projection(fair.group_errors_, X, route="products", **given)
    unit = 1e-6 * known.given_errors.max()
    assert found.dominates is known.dominates is True
    assert found.gain == pytest.approx(known.gain, abs=unit)
    assert known.gain <= found.bound <= known.bound + unit


def test_a_certificate_that_needs_moments_says_so():
    X, codes = steep(9, n=60, d=20)
    given = {"sensitive_features": codes, "fairness_weight": 1.0, "radius": 0.0}
    with pytest.raises(ValueError, match=r"not possible with population=\.\.\."):
        certify(np.eye(20)[:2], X, route="products", population=0.9, **given)
    moments = GroupMoments.from_arrays(X, codes)
    with pytest.raises(ValueError, match="moments were given"):
        certify(np.eye(20)[:2], moments, fairness_weight=1, radius=0, route="products")
