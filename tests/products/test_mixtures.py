"""Three groups and more by products: the bounds of the moments route, lifted to the whole space."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from fairspan import RobustFairPCA
from fairspan.certificate import branch
from fairspan.certificate.box import root_box, tighten
from fairspan.certificate.work import Work
from fairspan.moments.groups import Groups
from fairspan.objectives.mixture import Mixture
from fairspan.objectives.robust import RobustFairObjective
from fairspan.problem.subspace import SubspaceProblem
from fairspan.products import second_moments
from fairspan.products.basis import Basis
from fairspan.products.lifted import LiftedProblem, Rests
from fairspan.products.mixtures import mixed_answer, mixed_bound
from fairspan.solvers import SolverOptions, solve
from tests.products.rows import moments_of
from tests.products.test_solve import steep

SETTINGS = [
    {"radius": 0.5},
    {"radius": 20.0},
    {"radius": 5.0, "disparity": "largest"},
    {"reference": {a: 1.0 * a for a in range(5)}},
    {"reference": {a: 5.0 * a for a in range(5)}, "disparity": "largest"},
    {"radius": 2.0, "reference": {a: 1.0 * a for a in range(5)}},
]


def made_groups(seed, n_groups, n=500, d=150):
    X, _ = steep(seed, n=n, d=d)
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, n_groups, n)
    for a in range(n_groups):
        X[groups == a] *= rng.uniform(0.7, 1.4, d)
    return X, groups


def both(X, groups, k, **setting):
    """The fit by moments and that by products; their claims must not contradict each other."""
    if "reference" in setting:
        setting["reference"] = {a: setting["reference"][a] for a in np.unique(groups).tolist()}
    models = [RobustFairPCA(k, **setting, route=one) for one in ("moments", "products")]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        by_moments, by_products = (m.fit(X, sensitive_features=groups) for m in models)
    rounding = 1e-11 * (abs(by_moments.objective_) + 1e-2 * by_moments.result_.scale)
    assert by_products.lower_bound_ <= by_moments.objective_ + rounding
    assert by_products.objective_ >= by_moments.lower_bound_ - rounding
    return by_moments, by_products


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("n_groups", [3, 5])
def test_many_groups_with_radii_and_references_are_proved(n_groups, setting):
    for seed in range(2):
        X, groups = made_groups(seed, n_groups)
        by_moments, by_products = both(X, groups, 4, fairness_weight=0.6, tol=1e-7, **setting)
        assert by_products.result_.status == "optimal"
        assert by_products.result_.proof == "with probability 1 - 1e-10"
        assert by_products.objective_ == pytest.approx(by_moments.objective_, rel=2e-7)
        np.testing.assert_allclose(by_products.group_errors_, by_moments.group_errors_, rtol=1e-3)
        for name in ("group_radii_", "group_references_"):
            np.testing.assert_allclose(getattr(by_products, name), getattr(by_moments, name))


def test_hard_problems_get_a_fit_and_an_honest_gap():
    above, proved, _ = many_hard(range(12))
    assert above == 0
    assert proved >= 9


def hard_problem(seed):
    """Flat spectra, heavy weights, large radii: some optima are proved by neither route."""
    rng = np.random.default_rng(seed)
    n_groups, d = int(rng.integers(3, 6)), int(rng.integers(20, 60))
    n, k = int(rng.integers(3 * d, 6 * d)), int(rng.integers(1, 5))
    X = rng.standard_normal((n, d)) * np.exp(-rng.uniform(0, 4) * np.arange(d) / d)
    groups = np.arange(n) % n_groups
    for a in range(n_groups):
        X[groups == a] *= rng.uniform(0.5, 2, d)
    setting = {
        "fairness_weight": float(rng.choice([0.05, 0.3, 1, 5])),
        "radius": float(rng.choice([0, 0.1, 1, 5])),
        "disparity": str(rng.choice(["gap", "largest"])),
    }
    if rng.random() < 0.3:
        setting["reference"] = {a: float(rng.uniform(0, 5)) for a in range(n_groups)}
    return X, groups, k, setting


def many_hard(seeds, failure=1e-3):
    """How many bounds are above what is attained, and how many optima each route proves."""
    above = proved = by_moments = 0
    for seed in seeds:
        X, groups, k, setting = hard_problem(seed)
        setting |= {"tol": 1e-6, "failure_probability": failure, "random_state": seed}
        plain, found = (
            RobustFairPCA(k, **setting, route=route) for route in ("moments", "products")
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            plain.fit(X, sensitive_features=groups)
            found.fit(X, sensitive_features=groups)
        size = abs(plain.objective_) + 1e-2 * plain.result_.scale
        above += int(found.lower_bound_ > plain.objective_ + 1e-11 * size)
        proved += found.result_.status == "optimal"
        by_moments += plain.result_.status == "optimal"
        # A fit is found in any case, and the best that moments can prove is not undercut.
        assert plain.lower_bound_ - 1e-11 * size <= found.objective_
        assert found.objective_ <= plain.objective_ + 1e-4 * size
    return above, proved, by_moments


def lifted_problem(seed, n_groups=3, k=3, d=40):
    X, groups = made_groups(seed, n_groups, n=300, d=d)
    moments = moments_of(X, groups)
    operator = second_moments(X, Groups.of(groups, len(X)))
    basis = Basis(operator)
    block = np.linalg.eigh(moments.sum(axis=0))[1][:, -10:]
    basis.grow(block + 0.02 * np.random.default_rng(seed).standard_normal(block.shape))
    residuals = basis.residuals()
    rests = Rests(basis, residuals)
    outside = np.eye(d) - basis.columns @ basis.columns.T
    for one in (np.ones(n_groups), *np.eye(n_groups)):
        matrix = outside @ np.tensordot(one, moments, 1) @ outside
        rests.learn(one, float(np.linalg.eigvalsh(matrix)[-1]) * (1 + 1e-12))
    lifted = LiftedProblem(basis, operator.shares, k, rests, residuals)
    return lifted, basis.columns, moments


@pytest.mark.parametrize("k", [3, 10])
def test_what_closed_forms_ask_holds_in_the_whole_space(k):
    rng = np.random.default_rng(0)
    for seed in range(8):
        lifted, Q, moments = lifted_problem(seed, k=k)
        weights = rng.uniform(-0.2, 1, 3)
        A = np.tensordot(weights, moments, 1)
        found = lifted.top(weights)
        V = Q @ found.vectors
        # A is at most a matrix with these leading pairs and nothing above the rest beside them.
        above = (V * found.values) @ V.T + found.rest * (np.eye(len(A)) - V @ V.T)
        assert np.linalg.eigvalsh(above - A)[0] >= -1e-9
        assert found.bound >= np.linalg.eigvalsh(A)[-k:].sum() - 1e-9
        growth = rng.uniform(0.5, 2, k)
        top, across = lifted.blocks([0, 2], found.vectors, growth)
        image = moments[[0, 2]] @ V
        np.testing.assert_allclose(top, V.T @ image, atol=1e-9)
        off = ((image - V @ (V.T @ image)) / np.sqrt(growth)).reshape(2, -1)
        assert np.linalg.eigvalsh(across - off @ off.T)[0] >= -1e-9
        project = np.eye(len(A)) - V @ V.T
        for a in range(3):
            truth = np.linalg.eigvalsh(project @ moments[a] @ project)[-1]
            assert truth - 1e-9 <= lifted.largest_outside(a, found.vectors) <= 3 * truth


def test_nothing_is_branched_inside_a_basis(monkeypatch):
    # Branches of a part of the space would prove nothing of the rest.
    def refuse(*given):
        raise AssertionError("branched")

    monkeypatch.setattr(branch, "Tree", refuse)
    for seed in range(4):
        lifted, _, moments = lifted_problem(seed)
        objective = RobustFairObjective(lifted.shares, 5.0, np.full(3, 20.0))
        inside = SubspaceProblem(lifted.moments, lifted.shares, 3, traces=lifted.traces)
        found, _ = mixed_answer(inside, objective, SolverOptions())
        bound = mixed_bound(found, lifted, objective, 1e-9)
        whole = SubspaceProblem(moments, lifted.shares, 3)
        assert 0 < bound <= solve(whole, objective).objective


def test_boxes_of_lifted_problems_lose_no_better_subspace():
    rng = np.random.default_rng(1)
    for seed in range(4):
        lifted, _, moments = lifted_problem(seed)
        objective = RobustFairObjective(lifted.shares, 0.5, np.full(3, 2.0))
        mixture = Mixture.of_pairs(objective, [(0, 1), (2, 0)], np.array([0.4, 0.6]))
        root = root_box(lifted)
        errors = []
        for weights in rng.uniform(-0.3, 1, (200, 3)):
            V = np.linalg.eigh(np.tensordot(weights, moments, 1))[1][:, -3:]
            errors.append(lifted.traces - np.einsum("dk,ade,ek->a", V, moments, V))
        errors = np.array(errors)
        assert ((errors >= root.lower - 1e-9) & (errors <= root.upper + 1e-9)).all()
        best = float(np.quantile(objective.values(errors), 0.3))
        box = tighten(lifted, mixture, root, best, Work(1e9))
        better = errors[objective.values(errors) <= best]
        assert len(better)
        assert ((better >= box.lower - 1e-9) & (better <= box.upper + 1e-9)).all()
