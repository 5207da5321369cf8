"""Convergence theory: its constants bound, its proximal points minimise, its rate holds."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import brentq

from fairspan import RobustFairPCA, convergence
from fairspan.convergence.proximal import _Model, lipschitz_constant, proximal_point, weak_convexity
from fairspan.metrics import group_errors
from fairspan.objectives import RobustFairObjective
from fairspan.problem import SubspaceProblem
from tests import reference
from tests.conftest import needs_paper_data, paper_table, standardised

ROOT = Path(__file__).parent.parent
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def example(seed, n_groups=2, d=5, k=2, weight=0.5, radius=0.3):
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(n_groups, 3.0))
    problem = SubspaceProblem(reference.random_moments(rng, n_groups, d), shares, k)
    return problem, RobustFairObjective(shares, weight, radius * rng.uniform(0.5, 1.5, n_groups))


def value(problem, objective, U):
    m = np.array([np.trace(U.T @ M @ U) for M in problem.moments])
    return reference.objective(m, objective.shares, objective.fairness_weight, objective.radii)


@pytest.mark.parametrize("n_groups", [1, 2, 3])
@pytest.mark.parametrize(("weight", "radius"), [(0.1, 0.3), (3.0, 0.0), (10.0, 4.0)])
def test_the_objective_is_weakly_convex_in_all_of_space(n_groups, weight, radius):
    problem, objective = example(4, n_groups, weight=weight, radius=radius)
    modulus = weak_convexity(problem, objective)
    rng = np.random.default_rng(0)
    for _ in range(300):
        A, B = rng.normal(size=(2, 5, 3)) * rng.choice([0.1, 1.0], size=(2, 1, 1))
        ends = (value(problem, objective, A) + value(problem, objective, B)) / 2
        slack = modulus / 8 * np.linalg.norm(A - B) ** 2
        assert value(problem, objective, (A + B) / 2) <= ends + slack + 1e-9


def test_the_modulus_by_hand():
    # The pieces count 2.5 and -1.5: their smallest eigenvalue is -1.5, and so the modulus 3.
    moments = np.array([np.diag([1.0, 0.0]), np.diag([0.0, 1.0])])
    shares = np.array([0.5, 0.5])
    problem = SubspaceProblem(moments, shares, 1)
    assert weak_convexity(problem, RobustFairObjective(shares, 2.0, np.zeros(2))) == 3.0
    assert weak_convexity(problem, RobustFairObjective(shares, 0.4, np.ones(2))) == 0.0
    # A group that is not compared is in no pair: weight 2 counts the second down to -1.75.
    moments, shares = np.array([*moments, 9 * np.eye(2)]), np.array([0.25, 0.25, 0.5])
    objective = RobustFairObjective(shares, 2.0, np.zeros(3), in_gap=np.array([True, True, False]))
    problem = SubspaceProblem(moments, shares, 1)
    assert weak_convexity(problem, objective) == 0.0  # -1.75 + 0.5 * 9 > 0
    assert lipschitz_constant(problem, objective) == 2 * (2.25 + 1.75 + 0.5 * 9)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("weight", "radius"), [(0.3, 0.5), (2.0, 0.0), (6.0, 0.2)])
def test_the_proximal_point_is_the_best_of_all_directions(seed, weight, radius):
    problem, objective = example(seed, d=2, k=1, weight=weight, radius=radius)
    total = lipschitz_constant(problem, objective) + weak_convexity(problem, objective)
    smoothing = 0.7 / total
    V = np.linalg.qr(np.random.default_rng(seed).normal(size=(2, 1)))[0]
    found = proximal_point(problem, objective, V, smoothing)
    X = np.array([[-V[1, 0]], [V[0, 0]]])
    angles = np.linspace(-np.pi, np.pi, 4001)
    turned = [np.array([[np.cos(t)], [np.sin(t)]]) for t in angles]
    envelope = min(
        value(problem, objective, Y) + np.linalg.norm(Y - X) ** 2 / (2 * smoothing) for Y in turned
    )
    # On a ridge the grid is as far above the minimum as it is coarse.
    assert envelope - 1e-3 * abs(envelope) <= found.value <= envelope + 1e-12
    assert found.value - found.bound <= 1e-9 * envelope
    assert found.value == pytest.approx(
        value(problem, objective, found.lost) + found.distance**2 / (2 * smoothing)
    )


@pytest.mark.parametrize("angle", [0.01, 1e-5])
def test_next_to_a_ridge_the_proximal_point_is_on_it(angle):
    # F = 1/2 + 2 |cos 2t| in the plane: both pieces are tied at its minimum, t = 45 degrees.
    moments, shares = np.array([np.diag([1.0, 0.0]), np.diag([0.0, 1.0])]), np.array([0.5, 0.5])
    problem, objective = (
        SubspaceProblem(moments, shares, 1),
        RobustFairObjective(shares, 2.0, np.zeros(2)),
    )
    t = np.pi / 4 + angle
    found = proximal_point(problem, objective, np.array([[-np.sin(t)], [np.cos(t)]]), 0.04)
    assert found.distance == pytest.approx(2 * np.sin(angle / 2), rel=1e-6)
    assert found.value == pytest.approx(0.5 + found.distance**2 / 0.08, rel=1e-9)


@pytest.mark.parametrize("angle", [0.1, 1e-4, 1e-7])
def test_next_to_a_smooth_minimum_the_distance_is_exact_too(angle):
    # Values differ by less than rounding there: F = 1 + 2 sin(t)^2 for one group.
    problem = SubspaceProblem(np.diag([1.0, 3.0])[None], np.ones(1), 1)
    objective = RobustFairObjective(np.ones(1), 0.0, np.zeros(1))
    found = proximal_point(problem, objective, np.array([[-np.sin(angle)], [np.cos(angle)]]), 0.1)
    # Where the slopes balance: 2 sin(2t) = sin(angle - t) / 0.1.
    t = brentq(lambda t: 2 * np.sin(2 * t) - np.sin(angle - t) / 0.1, 0, angle, xtol=1e-20)
    assert found.distance == pytest.approx(2 * np.sin((angle - t) / 2), rel=1e-5)


@pytest.mark.parametrize("disparity", ["gap", "largest"])
@pytest.mark.parametrize("seed", range(4))
def test_bounds_of_the_envelope_hold_from_any_point(seed, disparity):
    problem, objective = example(seed, 3, d=6, weight=4.0)
    objective = replace(objective, disparity=disparity)
    total = lipschitz_constant(problem, objective) + weak_convexity(problem, objective)
    rng = np.random.default_rng(seed)
    V, *others = np.linalg.qr(rng.normal(size=(6, 6, 2)))[0]
    found = proximal_point(problem, objective, V, 0.5 / total)
    assert found.value - found.bound <= 1e-9 * found.value
    model = _Model(problem, objective, np.linalg.qr(V, mode="complete")[0][:, 2:], 0.5 / total)
    for other in others:
        Y = np.linalg.qr(other, mode="complete")[0][:, 2:]
        _, bound = model.step(Y, [model.active(Y)])
        assert bound <= found.value + 1e-12


@pytest.mark.parametrize("n_groups", [2, 4])
def test_every_step_lowers_the_envelope_as_the_proof_says(n_groups):
    problem, objective = example(7, n_groups, d=6, weight=1.5)
    L, modulus = lipschitz_constant(problem, objective), weak_convexity(problem, objective)
    smoothing, step = 0.5 / (L + modulus), 1 / np.sqrt(31)
    V = np.linalg.qr(np.random.default_rng(1).normal(size=(6, 2)))[0]
    for _ in range(30):
        before = proximal_point(problem, objective, V, smoothing)
        m = problem.errors(V)
        C = np.tensordot(objective.active_slopes(m), problem.moments, axes=1)
        V = np.linalg.qr(V + step * 2 * (np.eye(6) - V @ V.T) @ C @ V)[0]
        after = proximal_point(problem, objective, V, smoothing)
        gap = before.distance / smoothing
        fall = step / 2 * (1 - smoothing * (L + modulus)) * gap**2
        assert after.value <= before.value - fall + step**2 * L**2 / (2 * smoothing) + 1e-9


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(2)
    groups = (rng.random(300) < 0.4).astype(int)
    return rng.normal(size=(300, 5)) * np.where(groups[:, None], [1, 2, 1, 1, 3], 1.5), groups


def fitted(data, **options):
    return RobustFairPCA(2, **options).fit(data[0], sensitive_features=data[1])


def test_the_optimum_is_stationary_and_other_subspaces_are_not(data):
    model = fitted(data)
    assert convergence.stationarity_gap(model) <= 1e-3
    other = np.linalg.qr(np.random.default_rng(0).normal(size=(5, 2)))[0].T
    found = convergence.proximal_point(model, other)
    limit = 1 / (convergence.lipschitz_constant(model) + convergence.weak_convexity(model))
    assert found.smoothing == pytest.approx(limit / 2)
    assert found.gap > 0.1
    assert found.gap <= 2 * convergence.lipschitz_constant(model)
    # The proximal point is better, and the envelope lies between the two values.
    errors = [group_errors(V, model.moments_).values for V in (found.components, other)]
    better, worse = (model._fitted_objective.value(m) for m in errors)
    assert better <= convergence.moreau_envelope(model, other) <= worse


def test_the_algorithm_as_printed_is_a_choice_of_the_estimator(data):
    printed = {"solver": "subgradient", "start": "random", "n_init": 1, "iterate": "last"}
    model = fitted(data, max_iter=40, random_state=3, **printed)
    assert model.n_iter_ == 40
    assert len(model.result_.history) == 41
    # The last iterate is the result, also where an earlier one was better.
    assert model.objective_ == model.result_.history[-1, 0]
    assert model.objective_ > model.result_.history[:, 0].min()
    from_pca = fitted(data, max_iter=1, solver="subgradient", start="pca", random_state=0)
    plain = fitted(data, fairness_weight=0.0)
    first = from_pca._fitted_objective.value(plain.group_errors_)
    assert from_pca.result_.history[0, 0] == pytest.approx(first)
    with pytest.raises(ValueError, match="n_init=0 must be 1 or more"):
        fitted(data, solver="subgradient", start="random", n_init=0)


def test_a_history_repeats_the_fit_it_belongs_to(data):
    model = fitted(
        data, solver="subgradient", max_iter=25, n_init=3, random_state=1, iterate="last"
    )
    history = convergence.convergence_history(model, every=10)
    assert history.steps.tolist() == [0, 10, 20, 25]
    assert history.values[-1] == pytest.approx(model.objective_, rel=1e-12)
    gap = convergence.stationarity_gap(model)
    assert history.gaps[-1] == pytest.approx(gap, rel=1e-5)
    with pytest.raises(ValueError, match="takes no descent steps"):
        convergence.convergence_history(fitted(data))
    with pytest.raises(ValueError, match="only from an integer"):
        convergence.convergence_history(model.set_params(random_state=None))
    limit = 1 / (convergence.lipschitz_constant(model) + convergence.weak_convexity(model))
    with pytest.raises(ValueError, match="must be below"):
        convergence.stationarity_gap(model, smoothing=limit)
    assert convergence.stationarity_gap(model, smoothing=0.999 * limit) > 0


def test_the_bound_of_a_history_is_that_of_its_start(data):
    model = fitted(data, solver="subgradient", start="pca", max_iter=9, random_state=0)
    plain = fitted(data, fairness_weight=0.0, radius=0.0)
    bound = convergence.rate_bound(model, plain.components_, 9)
    assert convergence.convergence_history(model).rate_bound == pytest.approx(bound, rel=1e-9)


@pytest.mark.parametrize("iterate", ["best", "last"])
def test_parameters_changed_after_the_fit_change_no_history_in_silence(data, iterate):
    starts = {"solver": "subgradient", "max_iter": 25, "n_init": 3, "random_state": 1}
    model = fitted(data, iterate=iterate, **starts)
    constant, before = convergence.lipschitz_constant(model), convergence.convergence_history(model)
    # What the fit has stored is what counts.
    model.set_params(max_iter=7, standardize=True, n_components=3, fairness_weight=9.0)
    assert convergence.lipschitz_constant(model) == constant
    after = convergence.convergence_history(model)
    np.testing.assert_array_equal(after.values, before.values)
    assert after.rate_bound == before.rate_bound
    # Of the starts the fit has stored nothing.
    with pytest.raises(ValueError, match="parameters were changed after the fit"):
        convergence.convergence_history(model.set_params(random_state=2))


def test_a_history_follows_the_start_that_the_fit_chose(data):
    model = fitted(data, solver="subgradient", max_iter=25, n_init=4, random_state=5)
    history = convergence.convergence_history(model, every=1)
    assert history.values.min() == model.objective_
    # The curve of the best start at each step is another one: the lead changes on the way.
    assert (history.values > np.array(model.result_.history)[:, 0] + 1e-3).any()


@needs_paper_data
@pytest.mark.parametrize("name", ["e_coli", "energy"])
def test_the_rate_holds_on_the_paper_s_data(name):
    X, groups, _ = paper_table(name)
    smallest = []
    for steps in (10, 100, 1000):
        model = RobustFairPCA(3, fairness_weight=0.5, radius=0.1, solver="subgradient")
        model.set_params(start="random", n_init=1, max_iter=steps, random_state=0)
        model.fit(standardised(X), sensitive_features=groups)
        history = convergence.convergence_history(model, every=max(steps // 50, 1))
        assert history.gaps.min() <= history.rate_bound
        smallest.append(history.gaps.min())
    # A hundred times the steps: the theorem promises a factor of 100 ** -0.25 = 0.32.
    assert smallest[2] <= 0.32 * smallest[0]


def test_stored_rates_are_what_the_page_says():
    stored = json.loads((ROOT / "benchmarks" / "results" / "convergence_rate.json").read_text())
    page = " ".join((ROOT / "docs" / "convergence.md").read_text(encoding="utf-8").split())
    for row in stored:
        assert (np.array(row["smallest_gaps"]) <= row["bounds"]).all()
    cases = {(row["data"], row["fairness_weight"]) for row in stored}
    assert len(stored) == len(cases) == 2 * 6
    assert {weight for _, weight in cases} == {0.5, 2.5}
    assert all(row["steps"] == [10, 100, 1000, 10000] for row in stored)
    at = stored[0]["steps"].index(1000)
    trivial = sum(row["bounds"][at] > 2 * row["lipschitz_constant"] for row in stored)
    assert f"in {trivial} of the {len(stored)} cases" in page
    smooth = ("e_coli", "energy", "default_credit")
    assert all((row["smallest_gaps"][at] < 1e-9) == (row["data"] in smooth) for row in stored)
    slopes = [row["exponent"] for row in stored if row["data"] not in smooth]
    assert f"is between {min(slopes):.2f} and {max(slopes):.2f}" in page


@pytest.mark.parametrize(("weight", "radius"), [(0.0, 9.0), (2.0, 0.1), (20.0, 5.0)])
def test_no_difference_quotient_exceeds_the_constant_although_moments_are_singular(weight, radius):
    rng = np.random.default_rng(0)
    directions = np.linalg.qr(rng.normal(size=(4, 4)))[0][:, :2].T
    moments = np.array([np.outer(v, v) for v in 2 * directions])
    shares = np.array([0.3, 0.7])
    problem = SubspaceProblem(moments, shares, 2)
    objective = RobustFairObjective(shares, weight, np.full(2, radius))
    L = lipschitz_constant(problem, objective)
    # One start loses nothing of either group, where the slope of the root is infinite.
    lossless = np.linalg.svd(directions)[2][2:].T
    largest = 0.0
    for size in (1e-6, 1e-2, 1.0):
        for start in (lossless, *np.linalg.qr(rng.normal(size=(40, 4, 2)))[0]):
            other = np.linalg.qr(start + size * rng.normal(size=(4, 2)))[0]
            other *= np.sign(np.einsum("dr,dr->r", start, other))
            change = abs(value(problem, objective, start) - value(problem, objective, other))
            largest = max(largest, change / np.linalg.norm(start - other))
    assert 0.02 * L < largest <= L


@pytest.mark.parametrize("n_lost", [1, 4])
@pytest.mark.parametrize("radius", [0.0, 2.0])
def test_where_all_directions_are_alike_the_constant_is_the_slope_of_scaling(n_lost, radius):
    """F(t U) falls by no less than its slope in t says, however many directions are lost."""
    d, c, h = 6, 3.0, 1e-6
    problem = SubspaceProblem(c * np.eye(d)[None], np.ones(1), d - n_lost)
    objective = RobustFairObjective(np.ones(1), 0.0, np.array([radius]))
    errors = c * n_lost * np.array([[(1 - h) ** 2], [(1 + h) ** 2]])
    change = np.diff(objective.values(errors))[0] / (2 * h * np.sqrt(n_lost))
    assert lipschitz_constant(problem, objective) == pytest.approx(change, rel=1e-6)


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_the_rate_is_that_of_the_theorem(share):
    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(80, 5)) * [3, 2, 1, 1, 1], np.arange(80) % 2
    X[groups == 1, 1:3] *= 2
    model = RobustFairPCA(2, fairness_weight=1.0).fit(X, sensitive_features=groups)
    L, ρ = convergence.lipschitz_constant(model), convergence.weak_convexity(model)
    assert ρ > 0.01 * L  # counted down, a group makes the objective weakly convex only
    μ, steps, start = share / (L + ρ), 24, np.eye(5)[3:]
    lost = ((X - X.mean(axis=0))[:, :3] ** 2).sum(axis=1)
    errors = np.array([lost[groups == a].mean() for a in (0, 1)])
    decrease = errors.mean() + abs(errors[0] - errors[1]) - model.lower_bound_
    expected = np.sqrt((2 * decrease + L**2 / μ) / ((1 - share) * 5))
    found = convergence.rate_bound(model, start, steps, smoothing=μ)
    assert found == pytest.approx(expected, rel=1e-9)
