"""Fits by products: no bound above the optimum, the optimum where it is proved."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.exceptions import ConvergenceWarning

from fairspan.moments.groups import Groups
from fairspan.objectives.robust import RobustFairObjective
from fairspan.products import second_moments, solve_products
from fairspan.products.basis import Basis, LostOrthogonality
from fairspan.products.lifted import LiftedProblem, Rests
from fairspan.products.solve import ProductsFit
from fairspan.products.tail import Tail
from tests.products.rows import least_by_duality, made, moments_of


def fitted(X, groups, k, λ=0.5, radii=(0.0, 0.0), *, tol=1e-7, failure=1e-10, seed=0, **options):
    operator = second_moments(X, Groups.of(groups, len(X)), **options)
    radii = np.asarray(radii)[: operator.n_groups]
    objective = RobustFairObjective(operator.shares, λ if operator.n_groups > 1 else 0.0, radii)
    rng = np.random.default_rng(seed)
    found = solve_products(operator, objective, k, tol=tol, failure_probability=failure, rng=rng)
    return found.result, operator, objective


def random_problem(seed):
    """Small problems of all kinds: flat and steep spectra, few rows, columns without variance.

    Every other one is easy: its basis stays small, and the rest is bounded by chance.
    """
    rng = np.random.default_rng(seed)
    if seed % 2:
        d, k = int(rng.integers(45, 61)), int(rng.integers(1, 5))
        scales = np.concatenate([np.linspace(6, 3, k), np.ones(d - k)])
        groups = (np.arange(4 * d) % 3 > 0).astype(int)
        X = rng.standard_normal((4 * d, d)) * scales
        X[groups == 1] *= rng.uniform(0.7, 1.4, d)
        X = X @ np.linalg.qr(rng.standard_normal((d, d)))[0]
        return X, groups, k, float(rng.choice([0.1, 0.5, 1, 5])), 1e-2
    d = int(rng.integers(4, 61))
    k, n = int(rng.integers(1, min(8, d))), int(rng.integers(max(6, d // 2), 4 * d + 8))
    X = rng.standard_normal((n, d)) * np.exp(-rng.uniform(0, 4) * np.arange(d) / d)
    if rng.random() < 0.3:
        X = X @ np.linalg.qr(rng.standard_normal((d, d)))[0]
    if rng.random() < 0.2:
        X[:, d // 2 :] = 0.0
    groups = (rng.random(n) < rng.uniform(0.2, 0.6)).astype(int)
    groups[:4] = 0, 1, 0, 1
    X[groups == 1] *= rng.uniform(0.5, 2, d)
    return X, groups, k, float(rng.choice([0.1, 0.5, 1, 5, 50])), 1e-7


def many(seeds, failure=1e-3):
    """How many bounds are above the optimum, how many are proved, and how many by chance."""
    above = proved = by_chance = 0
    for seed in seeds:
        X, groups, k, λ, tol = random_problem(seed)
        result, operator, _ = fitted(X, groups, k, λ, tol=tol, failure=failure, seed=seed)
        moments = moments_of(X, groups)
        truth = least_by_duality(moments, operator.shares, k, λ)
        rounding = 1e-9 * abs(truth) + 1e-13 * (1 + λ) * result.scale
        above += int(result.lower_bound > truth + rounding)
        proved += result.status == "optimal"
        by_chance += result.failure_probability > 0
        assert result.objective >= truth - rounding
        kept = np.einsum("kd,ade,ke->a", result.components, moments, result.components)
        m = np.einsum("aii->a", moments) - kept
        value = operator.shares @ m + λ * np.ptp(m)
        assert abs(value - result.objective) <= 1e-9 * abs(value) + 1e-12 * (1 + λ) * result.scale
        np.testing.assert_allclose(result.components @ result.components.T, np.eye(k), atol=1e-12)
    return above, proved, by_chance


def test_small_problems_with_known_truth():
    above, proved, by_chance = many(range(200))
    assert above <= binom.ppf(1 - 1e-6, 200, 1e-3)
    assert proved >= 195
    assert by_chance >= 70


def steep(seed, n=400, d=250, k=4):
    """Problems whose basis stays small, so that the rest is bounded by chance."""
    rng = np.random.default_rng(seed)
    scales = np.concatenate([np.linspace(6, 4, k), np.linspace(1.2, 0.8, d - k)])
    groups = rng.integers(0, 2, n)
    X = rng.standard_normal((n, d)) * scales
    X[groups == 1] *= rng.uniform(0.8, 1.25, d)
    return X, groups


@pytest.mark.parametrize("λ", [0.0, 0.3, 3.0])
def test_the_optimum_is_proved_from_a_small_basis(λ):
    for seed in range(5):
        X, groups = steep(seed)
        result, operator, _ = fitted(X, groups, 4, λ, tol=1e-8, seed=seed)
        truth = least_by_duality(moments_of(X, groups), operator.shares, 4, λ)
        assert result.status == "optimal"
        assert result.proof == "with probability 1 - 1e-10"
        assert result.lower_bound <= truth * (1 + 1e-12) <= result.objective * (1 + 2e-12)
        assert result.objective - result.lower_bound <= 1e-8 * truth
        assert operator.columns < 250


@pytest.mark.parametrize("disparity", ["gap", "largest"])
def test_with_radii_no_subspace_is_below_the_bound(disparity):
    from fairspan import RobustFairPCA

    for seed in range(4):
        X, groups = steep(seed)
        setting = {"fairness_weight": 0.7, "radius": 8.0, "disparity": disparity}
        by_moments = RobustFairPCA(4, **setting, route="moments")
        by_moments.fit(X, sensitive_features=groups)
        by_products = RobustFairPCA(4, **setting, route="products")
        by_products.fit(X, sensitive_features=groups)
        assert by_products.result_.status == "optimal"
        assert by_products.lower_bound_ <= by_moments.objective_ * (1 + 1e-12)
        assert by_products.objective_ == pytest.approx(by_moments.objective_, rel=2e-8)
        np.testing.assert_allclose(by_products.group_errors_, by_moments.group_errors_, rtol=1e-4)


def test_every_line_of_a_lifted_problem_holds_in_the_whole_space():
    rng = np.random.default_rng(0)
    for seed in range(10):
        X, groups = made(seed, d=40)
        moments = moments_of(X, groups)
        operator = second_moments(X, Groups.of(groups, len(X)))
        basis = Basis(operator)
        block = np.linalg.eigh(moments.sum(axis=0))[1][:, -12:]
        basis.grow(block + 0.05 * rng.standard_normal(block.shape))
        residuals = basis.residuals()
        rests = Rests(basis, residuals)
        # Bounds on combinations that are just true; what follows from them must be true as well.
        outside = np.eye(40) - basis.columns @ basis.columns.T
        known = [np.array([0.6, 0.8]), np.array([1.4, -0.3]), np.array([1.0, 0.0])]
        for one in known:
            matrix = outside @ np.tensordot(one, moments, 1) @ outside
            rests.learn(one, float(np.linalg.eigvalsh(matrix)[-1]) * (1 + 1e-12))
        lifted = LiftedProblem(basis, operator.shares, 3, rests, residuals)
        for angle in np.linspace(-1.5, 3, 40):
            w = np.array([np.cos(angle), np.sin(angle)])
            matrix = np.tensordot(w, moments, 1)
            rest = np.linalg.eigvalsh(outside @ matrix @ outside)[-1]
            assert rests.of(w) >= rest - 1e-9
            truth = w @ operator.traces - np.linalg.eigvalsh(matrix)[-3:].sum()
            found = lifted.best_subspace(w)
            assert found.sigma <= truth + 1e-9
            assert w @ found.errors >= truth - 1e-9


def test_low_rank_data_is_proved_without_doubt():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((300, 12)) @ rng.standard_normal((12, 400))
    groups = np.arange(300) % 2
    result, operator, _ = fitted(X, groups, 3)
    assert result.status == "optimal"
    assert result.proof == "deterministic"
    truth = least_by_duality(moments_of(X, groups), operator.shares, 3, 0.5)
    assert result.lower_bound <= truth * (1 + 1e-9) <= result.objective * (1 + 2e-9)


def test_one_group_and_many_groups_without_fairness_are_pca():
    X, _ = steep(3)
    for labels in (np.zeros(len(X), int), np.arange(len(X)) % 5):
        result, operator, _ = fitted(X, labels, 4, 0.0, np.zeros(5))
        total = np.tensordot(operator.shares, moments_of(X, labels), 1)
        truth = np.trace(total) - np.linalg.eigvalsh(total)[-4:].sum()
        assert result.status == "optimal"
        assert result.lower_bound <= truth * (1 + 1e-12)
        assert result.objective == pytest.approx(truth, rel=1e-7)


@pytest.mark.parametrize("disparity", ["gap", "largest"])
@pytest.mark.parametrize("n_groups", [3, 5])
def test_more_groups_without_radii_are_proved_by_one_line(n_groups, disparity):
    from fairspan import RobustFairPCA

    proved = 0
    for seed in range(4):
        X, _ = steep(seed, d=150)
        rng = np.random.default_rng(seed)
        groups = rng.integers(0, n_groups, len(X))
        for a in range(n_groups):
            X[groups == a] *= rng.uniform(0.7, 1.4, 150)
        setting = {"fairness_weight": 0.6, "disparity": disparity, "tol": 1e-7}
        models = [RobustFairPCA(4, **setting, route=one) for one in ("moments", "products")]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            by_moments, by_products = (m.fit(X, sensitive_features=groups) for m in models)
        assert by_products.lower_bound_ <= by_moments.objective_ * (1 + 1e-12)
        assert by_products.objective_ >= by_moments.lower_bound_ * (1 - 1e-12)
        proved += by_products.result_.status == "optimal"
        # The weights of the line are slopes that a mixture of pieces can have.
        m = rng.uniform(1, 2, (1000, n_groups))
        fit = _fit(X, groups, disparity=disparity)
        fit.run()
        values = fit.objective.values(m)
        assert (m @ fit.weights <= values * (1 + 1e-12)).all()
    assert proved >= 3


def test_failures_are_shared_among_matrices_and_attempts(monkeypatch):
    seen = []
    original = Tail.__init__

    def spy(self, basis, weights, failure, rng):
        seen.append(failure)
        original(self, basis, weights, failure, rng)

    monkeypatch.setattr(Tail, "__init__", spy)
    fit = _fit(*steep(0), failure=1e-4)
    fit.start()
    for attempt in (1, 2, 3):
        next(fit._tails())
        assert seen.pop() == 1e-4 / 2**attempt
    # With radii, a group that counts negatively needs bounds of its own.
    fit.weights = np.array([1.5, -0.2])
    fit.objective = RobustFairObjective(fit.objective.shares, 0.5, np.ones(2))
    next(fit._tails())
    assert seen == [1e-4 / 3 / 2**4] * 3


def _fit(X, groups, failure=1e-10, disparity="gap"):
    operator = second_moments(X, Groups.of(groups, len(X)))
    radii = np.zeros(operator.n_groups)
    objective = RobustFairObjective(operator.shares, 0.5, radii, disparity=disparity)
    return ProductsFit(operator, objective, 4, 1e-7, failure, np.random.default_rng(0))


def test_the_random_block_is_drawn_after_the_basis_is_fixed(monkeypatch):
    # The state of the generator when a tail starts has not served the basis that it bounds.
    X, groups = steep(1)
    fit = _fit(X, groups)
    original = Tail.__init__
    columns = []

    def spy(self, basis, weights, failure, rng):
        before = rng.bit_generator.state
        original(self, basis, weights, failure, rng)
        fresh = np.random.default_rng(0)
        fresh.bit_generator.state = before
        drawn = fresh.standard_normal((basis.operator.n_features, self.width))
        # Fresh columns are no more in the basis than chance puts them there.
        inside = np.linalg.norm(basis.columns.T @ drawn) ** 2 / np.linalg.norm(drawn) ** 2
        columns.append(inside * basis.operator.n_features / basis.size)
        outside = drawn - basis.columns @ (basis.columns.T @ drawn)
        np.testing.assert_allclose(self._blocks[0] @ self._start, outside, atol=1e-10)

    monkeypatch.setattr(Tail, "__init__", spy)
    fit.run()
    assert columns
    assert max(columns) < 2


def test_no_two_tails_share_a_random_block(monkeypatch):
    # The basis has grown by what the block of an earlier attempt found: it is no fresh one.
    seen = []
    original = Tail.__init__

    def spy(self, basis, weights, failure, rng):
        before = rng.bit_generator.state
        original(self, basis, weights, failure, rng)
        seen.append((before["state"]["state"], rng is fit.rng))

    monkeypatch.setattr(Tail, "__init__", spy)
    fit = _fit(*steep(0))
    fit.start()
    for _ in range(3):
        next(fit._tails())
    fit.weights = np.array([1.5, -0.2])
    fit.objective = RobustFairObjective(fit.objective.shares, 0.5, np.ones(2))
    next(fit._tails())
    states, own = zip(*seen, strict=True)
    assert len(set(states)) == len(states) == 6
    assert all(own), "the generator is that of the fit, whose seed the caller chooses"


def test_lost_orthogonality_is_refused_not_proved():
    X, groups = steep(2)
    fit = _fit(X, groups)
    fit.start()
    fit.basis._columns[:, 3] += 1e-6 * fit.basis._columns[:, 0]
    with pytest.raises(LostOrthogonality):
        fit.run()


def test_a_bound_above_an_attained_value_is_an_error(monkeypatch):
    X, groups = steep(3)
    sigma = LiftedProblem._sigma
    monkeypatch.setattr(LiftedProblem, "_sigma", lambda self, w, bound: sigma(self, w, 0.9 * bound))
    for radii in ((0.0, 0.0), (1.0, 1.0)):
        with pytest.raises(RuntimeError, match="exceeds a value that is attained"):
            fitted(X, groups, 4, 0.5, radii)


def test_the_same_call_gives_the_same_answer():
    X, groups = steep(4)
    first, second = (fitted(X, groups, 4)[0] for _ in range(2))
    np.testing.assert_array_equal(first.components, second.components)
    assert first.lower_bound == second.lower_bound
