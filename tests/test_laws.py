"""Laws that hold for all data, searched for counterexamples."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fairspan import GroupMoments, RobustFairPCA
from fairspan.objectives.robust import RobustFairObjective
from fairspan.problem.subspace import SubspaceProblem
from fairspan.solvers.descent import solve_subgradient
from fairspan.solvers.two_groups.angle import solve_boundary
from tests import reference

seeds = st.integers(0, 2**32 - 1)
weights = st.sampled_from([0.0, 0.05, 0.3, 0.7, 1.0, 2.5, 20.0])
radii = st.sampled_from([0.0, 1e-3, 0.15, 1.0, 30.0])
searched = settings(max_examples=60, deadline=None, derandomize=True)


def table(seed: int, n_groups: int = 2, n_rows: int = 60, d: int = 5):
    """Correlated rows around different means and scales, every group present."""
    rng = np.random.default_rng(seed)
    groups = np.concatenate([np.arange(n_groups), rng.integers(0, n_groups, n_rows - n_groups)])
    mixes = rng.standard_normal((n_groups, d, d)) * np.exp(rng.normal(0, 1, (n_groups, 1, d)))
    X = np.einsum("nd,nde->ne", rng.standard_normal((n_rows, d)), mixes[groups])
    return X + rng.normal(0, 1, (n_groups, d))[groups] + rng.normal(0, 5, d), groups


def assert_same_moments(left: GroupMoments, right: GroupMoments):
    assert left.labels == right.labels
    assert np.array_equal(left.counts, right.counts)
    for name in ("weights", "squared_weights", "means", "scatters", "second_moments"):
        expected = getattr(right, name)
        np.testing.assert_allclose(
            getattr(left, name), expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max()
        )


def fit(X, groups, k=2, **parameters):
    return RobustFairPCA(k, tol=1e-9, **parameters).fit(X, sensitive_features=groups)


def assert_same_result(found, expected, *, errors=1.0):
    """Equal objective; a flat minimum may be reached at slightly different errors."""
    assert found.objective_ == pytest.approx(errors * expected.objective_, rel=1e-8)
    assert found.lower_bound_ == pytest.approx(errors * expected.lower_bound_, rel=1e-8)
    scale = errors * expected.explained_variance_.sum()
    assert found.group_errors_ == pytest.approx(errors * expected.group_errors_, abs=2e-4 * scale)


@searched
@given(seeds, st.integers(1, 4), st.lists(st.integers(1, 58), min_size=2, max_size=2, unique=True))
def test_merging_is_associative_and_commutative(seed, n_groups, cuts):
    X, groups = table(seed, n_groups)
    i, j = sorted(cuts)
    parts = [slice(0, i), slice(i, j), slice(j, None)]
    a, b, c = (GroupMoments.from_arrays(X[part], groups[part]) for part in parts)
    whole = GroupMoments.from_arrays(X, groups)
    for merged in ((a + b) + c, a + (b + c), (c + a) + b, c + (b + a), sum([b, c, a])):
        assert_same_moments(merged, whole)


@searched
@given(seeds, weights, radii, st.integers(1, 4))
def test_rotating_the_data_rotates_the_subspace_and_leaves_the_errors(seed, weight, radius, k):
    X, groups = table(seed)
    R = np.linalg.qr(np.random.default_rng(seed).standard_normal((5, 5)))[0]
    plain = fit(X, groups, k, fairness_weight=weight, radius=radius)
    turned = fit(X @ R, groups, k, fairness_weight=weight, radius=radius)
    assert_same_result(turned, plain)
    # The turned solution, turned back, has the plain one's value: it is a minimiser too.
    V = R @ turned.components_.T
    moments, shares = reference.group_second_moments(X, groups)
    value = reference.objective(
        reference.group_errors(moments, V), shares, weight, plain.group_radii_
    )
    assert value == pytest.approx(plain.objective_, rel=1e-8, abs=1e-8)


@searched
@given(seeds, weights, radii, st.floats(0.01, 100.0))
def test_scaling_the_data_and_its_square_the_radius_leaves_the_subspace(seed, weight, radius, c):
    X, groups = table(seed)
    plain = fit(X, groups, fairness_weight=weight, radius=radius)
    scaled = fit(c * X, groups, fairness_weight=weight, radius=c**2 * radius)
    assert_same_result(scaled, plain, errors=c**2)
    moments, shares = reference.group_second_moments(X, groups)
    errors = reference.group_errors(moments, scaled.components_.T)
    value = reference.objective(errors, shares, weight, plain.group_radii_)
    assert value == pytest.approx(plain.objective_, rel=1e-8)


@searched
@given(seeds, weights, radii)
def test_the_order_of_rows_and_the_names_of_groups_do_not_matter(seed, weight, radius):
    X, groups = table(seed)
    order = np.random.default_rng(seed).permutation(len(X))
    plain = fit(X, groups, fairness_weight=weight, radius=radius)
    shuffled = fit(X[order], groups[order], fairness_weight=weight, radius=radius)
    assert_same_result(shuffled, plain)
    swapped = fit(X, np.array(["z", "a"])[groups], fairness_weight=weight, radius=radius)
    assert swapped.group_labels_ == ["a", "z"]
    assert swapped.objective_ == pytest.approx(plain.objective_, rel=1e-8)
    assert swapped.group_weights_ == pytest.approx(plain.group_weights_[::-1])
    size = plain.explained_variance_.sum()
    assert swapped.group_errors_ == pytest.approx(plain.group_errors_[::-1], abs=2e-4 * size)


@searched
@given(seeds, weights, radii, st.integers(2, 4), st.integers(1, 3))
def test_the_bound_never_exceeds_the_value_of_any_random_subspace(
    seed, weight, radius, n_groups, k
):
    X, groups = table(seed, n_groups)
    moments, shares = reference.group_second_moments(X, groups)
    eps = radius / np.sqrt(shares * len(X))
    problem = SubspaceProblem(moments, shares, k)
    objective = RobustFairObjective(shares, weight, eps)
    results = [solve_subgradient(problem, objective, max_iter=5, n_init=1)]
    if n_groups == 2:
        results.append(solve_boundary(problem, objective))
    rng = np.random.default_rng(seed)
    for _ in range(30):
        errors = reference.group_errors(moments, reference.random_subspace(rng, 5, k))
        value = reference.objective(errors, shares, weight, eps)
        for result in results:
            assert result.lower_bound <= value
    for result in results:
        errors = reference.group_errors(moments, result.components.T)
        value = reference.objective(errors, shares, weight, eps)
        assert result.objective == pytest.approx(value, rel=1e-9)
        assert result.lower_bound <= result.objective


@searched
@given(seeds, weights, st.integers(1, 4))
def test_a_larger_radius_or_weight_never_lowers_the_objective(seed, weight, k):
    X, groups = table(seed)
    values = [
        fit(X, groups, k, fairness_weight=weight, radius=r).objective_ for r in (0, 0.1, 1, 10)
    ]
    assert np.all(np.diff(values) >= -1e-8 * np.abs(values[1:]))
    values = [
        fit(X, groups, k, fairness_weight=weight + w, radius=0.1).objective_ for w in (0, 0.2, 2)
    ]
    assert np.all(np.diff(values) >= -1e-8 * np.abs(values[1:]))


@searched
@given(seeds, st.lists(st.integers(0, 3), min_size=60, max_size=60))
def test_integer_weights_equal_repetition(seed, repeats):
    X, groups = table(seed)
    repeats = np.array(repeats)
    assume(all(repeats[groups == a].sum() > 0 for a in (0, 1)))
    weighted = RobustFairPCA(2).fit(X, sensitive_features=groups, sample_weight=repeats)
    repeated = fit(np.repeat(X, repeats, axis=0), np.repeat(groups, repeats))
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-7)
    assert weighted.group_radii_ == pytest.approx(repeated.group_radii_)
    assert weighted.mean_ == pytest.approx(repeated.mean_)
    total = weighted.explained_variance_ / weighted.explained_variance_ratio_
    expected = repeated.explained_variance_ / repeated.explained_variance_ratio_
    assert total == pytest.approx(expected)
