"""ConvexFairPCA: equal means, similar covariances, and solves that fail loudly."""

from __future__ import annotations

import builtins

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from fairspan import GroupMoments, NoGroupsWarning
from fairspan.estimators.convex import ConvexFairPCA
from fairspan.estimators.nullspace import NullSpaceFairPCA
from fairspan.solvers.convex import conic
from fairspan.solvers.convex.isometric_admm import project_fantope, solve_isometric_admm
from tests.conftest import needs_paper_data, paper_table, standardised
from tests.estimators.test_samadi import random_groups

BOTH = "mean+covariance"
# An interior-point method cannot always prove as much as the splitting method.
TOL = {"auto": 1e-8, "conic": 1e-6}


def test_the_projected_means_are_equal():
    X, groups = random_groups(0)
    model = ConvexFairPCA(3).fit(X, sensitive_features=groups)
    Z = model.transform(X)
    assert Z[groups == 0].mean(axis=0) == pytest.approx(Z[groups == 1].mean(axis=0), abs=1e-10)
    assert model.mean_difference_ < 1e-10
    assert model.total_error_ == pytest.approx(model.objective_)
    assert model.optimality_gap_ < 1e-10


def test_the_mean_alone_is_the_null_space_method_for_two_groups():
    X, groups = random_groups(1)
    convex = ConvexFairPCA(2).fit(X, sensitive_features=groups)
    null_space = NullSpaceFairPCA(2).fit(X, sensitive_features=groups)
    assert convex.components_ == pytest.approx(null_space.components_)


def test_no_subspace_with_equal_means_has_less_error():
    X, groups = random_groups(2)
    model = ConvexFairPCA(2).fit(X, sensitive_features=groups)
    f = X[groups == 1].mean(axis=0) - X[groups == 0].mean(axis=0)
    f /= np.linalg.norm(f)
    centred = X - X.mean(axis=0)
    rng = np.random.default_rng(0)
    for _ in range(200):
        W = rng.standard_normal((7, 2))
        V = np.linalg.qr(W - np.outer(f, f @ W))[0]
        assert np.mean(np.sum((centred - centred @ V @ V.T) ** 2, axis=1)) >= model.lower_bound_


@pytest.mark.parametrize("mu", [1e-3, 0.1, 1.0, 30.0])
def test_the_splitting_method_agrees_with_the_conic_solver(mu):
    pytest.importorskip("clarabel")
    X, groups = random_groups(3)
    found = {}
    for solver in ("auto", "conic"):
        model = ConvexFairPCA(3, constraint=BOTH, mu=mu, solver=solver, tol=TOL[solver])
        found[solver] = model.fit(X, sensitive_features=groups)
        assert found[solver].result_.status == "optimal"
    assert found["auto"].objective_ == pytest.approx(found["conic"].objective_, rel=1e-8)
    assert found["auto"].mean_difference_ < 1e-9


@needs_paper_data
@pytest.mark.parametrize("name", ["e_coli", "energy", "wine_quality"])
def test_the_splitting_method_agrees_with_the_conic_solver_on_the_paper_s_data(name):
    pytest.importorskip("clarabel")
    X, groups, _ = paper_table(name)
    moments = GroupMoments.from_arrays(standardised(X), groups)
    values = [
        ConvexFairPCA(3, constraint=BOTH, solver=solver, tol=TOL[solver])
        .fit_moments(moments)
        .objective_
        for solver in ("auto", "conic")
    ]
    assert values[0] == pytest.approx(values[1], abs=1e-8)


@pytest.mark.parametrize("constraint", ["mean", BOTH])
def test_a_positive_delta_is_honoured_by_the_relaxation(constraint):
    pytest.importorskip("clarabel")
    X, groups = random_groups(4)
    f = X[groups == 1].mean(axis=0) - X[groups == 0].mean(axis=0)
    delta = 0.4 * np.sqrt(X.size) * np.linalg.norm(f)
    model = ConvexFairPCA(2, constraint=constraint, delta=delta, mu=0.01)
    model.fit(X, sensitive_features=groups)
    reached = np.linalg.norm(model.relaxation_ @ f)
    assert reached <= delta**2 / (X.size * np.linalg.norm(f)) * (1 + 1e-5)
    strict = ConvexFairPCA(2, constraint=constraint, mu=0.01).fit(X, sensitive_features=groups)
    assert model.lower_bound_ <= strict.objective_ + 1e-8
    assert model.optimality_gap_ <= 1e-8


@pytest.mark.parametrize("unit", [1e-8, 1e-6, 1e6, 1e8])
@pytest.mark.parametrize("constraint", ["mean", BOTH])
def test_the_conic_program_is_solved_in_any_units(constraint, unit):
    """With the mean alone nothing else changes; the covariances' offset of 1/2 has its own unit."""
    pytest.importorskip("clarabel")
    X, groups = random_groups(4)
    model = ConvexFairPCA(2, constraint=constraint, delta=0.5, solver="conic", tol=1e-6)
    here = model.fit(X, sensitive_features=groups).objective_
    model.set_params(delta=0.5 * unit).fit(unit * X, sensitive_features=groups)
    assert model.optimality_gap_ <= 1e-6
    assert model.lower_bound_ <= model.objective_
    if constraint == "mean":
        assert model.objective_ / unit**2 == pytest.approx(here, rel=1e-6)


def test_a_delta_that_pca_meets_gives_pca():
    X, groups = random_groups(5)
    model = ConvexFairPCA(2, delta=1e6).fit(X, sensitive_features=groups)
    right = np.linalg.svd(X - X.mean(axis=0))[2][:2]
    assert np.abs(model.components_ @ right.T) == pytest.approx(np.eye(2), abs=1e-9)


def test_a_solve_that_fails_raises(monkeypatch):
    pytest.importorskip("clarabel")
    X, groups = random_groups(6)

    class Failed:
        status, iterations = "NumericalError", 3

        def __init__(self, program):
            # What failed solvers return: something that looks perfect.
            self.x = np.zeros(program.n)
            self.z = np.zeros(program.n_rows)

    monkeypatch.setattr(conic._Program, "solve", lambda self, *_: Failed(self))
    for constraint in ("mean", BOTH):
        with pytest.raises(RuntimeError, match="Clarabel"):
            ConvexFairPCA(2, constraint=constraint, delta=1.0, solver="conic").fit(
                X, sensitive_features=groups
            )


def test_a_splitting_method_that_is_stopped_says_how_far_it_got():
    X, groups = random_groups(7)
    with pytest.warns(ConvergenceWarning, match="relative gap"):
        model = ConvexFairPCA(2, constraint=BOTH, max_iter=20).fit(X, sensitive_features=groups)
    assert model.optimality_gap_ > 1e-8
    with pytest.raises(RuntimeError, match="not finite"):
        solve_isometric_admm(np.eye(3), np.zeros((3, 3)), 1, mu=1.0, offset=0.5, max_iter=1)


def test_without_the_extra_the_error_names_it(monkeypatch):
    X, groups = random_groups(8)
    genuine = builtins.__import__

    def without(name, *rest):
        if name == "clarabel":
            raise ImportError(name)
        return genuine(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"fairspan\[sdp\]"):
        ConvexFairPCA(2, delta=0.1).fit(X, sensitive_features=groups)


def test_groups_and_components_are_checked():
    X, groups = random_groups(9, n_groups=3)
    with pytest.raises(ValueError, match="2 groups, but there are 3"):
        ConvexFairPCA(2).fit(X, sensitive_features=groups)
    X, groups = random_groups(9)
    with pytest.raises(ValueError, match="n_components=7 must be at most 6"):
        ConvexFairPCA(7).fit(X, sensitive_features=groups)
    with pytest.warns(NoGroupsWarning):
        ConvexFairPCA(7).fit(X)


@pytest.mark.parametrize("k", [1, 4, 9])
def test_the_projection_on_the_fantope(k):
    rng = np.random.default_rng(k)
    A = rng.standard_normal((9, 9))
    A = A + A.T
    X = project_fantope(A, k)
    values = np.linalg.eigvalsh(X)
    assert np.trace(X) == pytest.approx(k)
    assert values.min() >= -1e-12
    assert values.max() <= 1 + 1e-12
    # The residual makes an obtuse angle with every other point of the set.
    for _ in range(50):
        V = np.linalg.qr(rng.standard_normal((9, k)))[0]
        assert np.vdot(A - X, V @ V.T - X) <= 1e-9
