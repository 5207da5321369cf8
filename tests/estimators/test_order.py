"""Orders of components: what the first j are good for, and what the order leaves unchanged."""

from __future__ import annotations

import numpy as np
import pytest

from fairspan import GroupMoments, RobustFairPCA, datasets, load_model
from fairspan.objectives.robust import RobustFairObjective
from fairspan.problem.subspace import SubspaceProblem
from fairspan.solvers import SolverOptions, solve
from fairspan.solvers.ordering import _reflection, nested_basis, solve_greedy
from tests.conftest import needs_paper_data
from tests.test_dominance import errors_of, rows

LARGEST = {"wine_quality": 0.025, "statlog": 0.045, "e_coli": 0.0001}


@pytest.mark.parametrize("n_groups", [1, 2, 4])
@pytest.mark.parametrize("radius", [0.0, 0.5])
@pytest.mark.parametrize("order", ["variance", "nested", "greedy"])
@pytest.mark.filterwarnings("ignore::fairspan.NoGroupsWarning")
def test_prefixes_are_judged_as_what_they_are(n_groups, radius, order):
    X, groups = rows(n_groups, 2)
    model = RobustFairPCA(4, radius=radius, order=order).fit(X, sensitive_features=groups)
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(4), atol=1e-12)
    found = model.prefixes(optima=True)
    for j in range(1, 5):
        errors = errors_of(X, groups, model.components_[:j])
        np.testing.assert_allclose(found.group_errors[j - 1], errors, rtol=1e-9)
        best = RobustFairPCA(j, radius=radius).fit(X, sensitive_features=groups)
        assert found.optimum[j - 1] == pytest.approx(best.objective_, rel=1e-7)
        assert found.objective[j - 1] >= found.lower_bound[j - 1]
    assert found.objective[-1] == pytest.approx(model.objective_, rel=1e-12)
    np.testing.assert_allclose(found.group_errors[-1], model.group_errors_, rtol=1e-9)
    # A bound that is true for the order is true for the best subspace.
    assert model.lower_bound_ <= best.objective_ * (1 + 1e-12)
    if order == "greedy":
        assert found.excess[0] < 1e-7
        assert model.optimality_gap_ == pytest.approx(1 - best.lower_bound_ / model.objective_)
        assert (model.result_.status == "optimal") == (found.excess[-1] < 1e-8)
    else:
        span = model.components_.T @ model.components_
        np.testing.assert_allclose(span, best.components_.T @ best.components_, atol=1e-9)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(("weight", "radius"), [(0.2, 0.0), (1.0, 0.0), (1.0, 0.3), (20.0, 0.0)])
def test_each_step_of_two_groups_drops_the_best_direction(seed, weight, radius):
    X, groups = rows(2, seed, d=7)
    moments = GroupMoments.from_arrays(X, groups)
    problem = SubspaceProblem(moments.second_moments, moments.shares, 5)
    objective = RobustFairObjective(moments.shares, weight, np.full(2, radius))
    basis = nested_basis(problem, np.eye(7)[:, :5], lambda size: objective)
    np.testing.assert_allclose(basis.T @ basis, np.eye(5), atol=1e-12)
    np.testing.assert_allclose(basis[5:], 0, atol=1e-15)
    for size in range(4, 0, -1):
        outer = basis[:, : size + 1]
        inside = SubspaceProblem(
            outer.T @ problem.moments @ outer, moments.shares, size, traces=problem.traces
        )
        best = solve(inside, objective)
        value = objective.value(problem.errors(basis[:, :size]))
        assert best.lower_bound <= value * (1 + 1e-12)
        # With a radius the pieces are concave: each step ends where no small turn helps.
        assert value <= best.objective * (1 + (1e-6 if radius == 0 else 1e-2))


@pytest.mark.parametrize("n_groups", [2, 3])
@pytest.mark.parametrize("disparity", ["gap", "largest"])
def test_each_nested_step_compares_with_the_references_of_its_size(n_groups, disparity):
    X, groups = rows(n_groups, 1, d=4)
    moments = GroupMoments.from_arrays(X, groups)
    problem = SubspaceProblem(moments.second_moments, moments.shares, 3)
    rng = np.random.default_rng(0)
    references = problem.traces * rng.uniform(0, 0.8, (4, n_groups))

    def objective_of(size):
        given = (moments.shares, 2.0, np.zeros(n_groups), None, disparity, references[size])
        return RobustFairObjective(*given)

    basis = nested_basis(problem, np.eye(4)[:, :3], objective_of)
    for size in (2, 1):
        outer, objective = basis[:, : size + 1], objective_of(size)
        dropped = rng.normal(size=(20_000, size + 1)) @ outer.T
        dropped /= np.linalg.norm(dropped, axis=1, keepdims=True)
        lost = np.einsum("ni,aij,nj->na", dropped, problem.moments, dropped)
        least = objective.values(problem.errors(outer) + lost).min()
        value = objective.value(problem.errors(basis[:, :size]))
        assert value <= least + 1e-6 * problem.scale


@pytest.mark.parametrize("n_groups", [2, 3])
@pytest.mark.parametrize("disparity", ["gap", "largest"])
@pytest.mark.parametrize("seed", range(2))
def test_each_greedy_component_is_the_best_given_those_before_it(n_groups, disparity, seed):
    X, groups = rows(n_groups, seed, d=4)
    moments = GroupMoments.from_arrays(X, groups)
    problem = SubspaceProblem(moments.second_moments, moments.shares, 3)
    rng = np.random.default_rng(seed)
    # References differ by the number of components, as the errors of own projections do.
    references = problem.traces * rng.uniform(0, 0.8, (4, n_groups))
    radii = np.full(n_groups, 0.0 if seed else 0.2)

    def objective_of(size):
        given = (moments.shares, 1.0, radii, None, disparity, references[size])
        return RobustFairObjective(*given)

    found = solve_greedy(problem, objective_of, SolverOptions()).components.T
    np.testing.assert_allclose(found.T @ found, np.eye(3), atol=1e-12)
    tried = rng.normal(size=(20_000, 4))
    for size in (1, 2, 3):
        before, objective = found[:, : size - 1], objective_of(size)
        left = tried - tried @ before @ before.T
        left /= np.linalg.norm(left, axis=1, keepdims=True)
        errors = problem.errors(before) - np.einsum("ni,aij,nj->na", left, problem.moments, left)
        value = objective.value(problem.errors(found[:, :size]))
        assert value <= objective.values(np.maximum(errors, 0.0)).min() + 1e-7 * problem.scale


def test_nested_order_of_plain_pca_is_its_own():
    X, groups = rows(2, 4)
    plain, nested = (
        RobustFairPCA(3, fairness_weight=0, order=order).fit(X, sensitive_features=groups)
        for order in ("variance", "nested")
    )
    np.testing.assert_allclose(nested.components_, plain.components_, atol=1e-7)


@pytest.mark.parametrize("order", ["nested", "greedy"])
@pytest.mark.parametrize("case", ["all kept", "rank one", "equal groups", "constant"])
@pytest.mark.parametrize("radius", [0.0, 0.1])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_degenerate_data(order, case, radius):
    X, groups = rows(2, 6, d=4)
    k = 4 if case == "all kept" else 3
    if case == "rank one":
        X = np.outer(X[:, 0], np.arange(1.0, 5.0))
    elif case == "equal groups":
        X, groups = np.vstack([X, X]), np.repeat([0, 1], len(X))
    elif case == "constant":
        X[:, 1:] = 3.0
    model = RobustFairPCA(k, order=order, radius=radius).fit(X, sensitive_features=groups)
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(k), atol=1e-10)
    assert np.isfinite(model.prefixes().objective).all()


@needs_paper_data
@pytest.mark.parametrize("name", LARGEST)
def test_nesting_is_nearly_free_on_the_papers_tables(name):
    data = datasets.load(name)
    excess = {}
    for order in ("variance", "nested"):
        model = RobustFairPCA(6, standardize=True, order=order)
        model.fit(data.X, sensitive_features=data.sensitive_features)
        found = model.prefixes(optima=True)
        assert set(found.status) == {"optimal"}
        excess[order] = found.excess.max()
    assert excess["nested"] <= LARGEST[name]
    assert excess["variance"] > 0.2


def test_models_keep_their_order_in_files(tmp_path):
    X, groups = rows(2, 1)
    model = RobustFairPCA(3, order="nested").fit(X, sensitive_features=groups)
    model.save(tmp_path / "model.npz")
    loaded = load_model(tmp_path / "model.npz")
    assert loaded.order == "nested"
    np.testing.assert_array_equal(loaded.prefixes().objective, model.prefixes().objective)
    model.save(tmp_path / "small.npz", moments=False)
    with pytest.raises(ValueError, match="moments=False"):
        load_model(tmp_path / "small.npz").prefixes()


def test_refusals():
    X, groups = rows(2, 1)
    with pytest.raises(ValueError, match="order='best' is not known"):
        RobustFairPCA(2, order="best").fit(X, sensitive_features=groups)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize("tilt", [0.0, 1e-12, 0.5])
def test_a_reflection_puts_the_dropped_direction_last(sign, tilt):
    vector = np.array([tilt, 0.0, sign])
    vector /= np.linalg.norm(vector)
    turn = _reflection(vector)
    np.testing.assert_allclose(turn @ turn, np.eye(3), atol=1e-12)
    assert abs(turn[:, -1] @ vector) == pytest.approx(1, abs=1e-12)
