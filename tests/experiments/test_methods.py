"""Methods by name: whole grids at once are the estimators one by one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fairspan import GroupMoments, RobustFairPCA
from fairspan.estimators.convex import ConvexFairPCA
from fairspan.experiments import methods
from fairspan.experiments.methods import TITLES, largest_gain, method
from fairspan.experiments.settings import Settings

SETTINGS = Settings(n_components=2)


@pytest.fixture
def moments():
    rng = np.random.default_rng(3)
    groups = (rng.random(300) < 0.4).astype(int)
    stretch = np.where(groups[:, None] == 1, [1, 2, 1, 1, 3.0], [3, 1, 2, 1, 1.0])
    return GroupMoments.from_arrays(
        rng.normal(size=(300, 5)) * stretch + 0.3 * groups[:, None], groups
    )


def everything(name, moments, settings=SETTINGS):
    found = method(name, settings)
    return found.grid, found.fits(moments, range(len(found.grid)))


def test_the_grids_are_the_paper_s():
    described = replace(SETTINGS, mu="described", fairpca="multiplicative-weights")
    sizes = {name: len(method(name, described).grid) for name in TITLES}
    assert sizes == {"pca": 1, "rfpca": 18, "fairpca": 18, "cfpca-mean": 8, "cfpca-both": 5}
    first, second = method("rfpca", SETTINGS).grid[:2]
    assert first == {"radius": 0.05, "fairness_weight": 0.0}
    assert second == {"radius": 0.05, "fairness_weight": 0.5}
    assert method("cfpca-both", SETTINGS).grid == ({"mu": 1.0},)


@pytest.mark.parametrize("name", TITLES)
def test_every_method_gives_projections(name, moments):
    for fit in everything(name, moments)[1]:
        assert fit.components.shape == (2, 5)
        np.testing.assert_allclose(fit.components @ fit.components.T, np.eye(2), atol=1e-10)
        np.testing.assert_allclose(fit.matrix, fit.components.T @ fit.components, atol=1e-10)
        assert fit.gap <= 1e-8


def test_a_shared_boundary_gives_the_optimum_of_every_candidate(moments):
    grid, fits = everything("rfpca", moments)
    for candidate, fit in zip(grid, fits, strict=True):
        model = RobustFairPCA(2, **candidate).fit_moments(moments)
        errors = moments.second_moments
        lost = [np.trace(S) - np.vdot(S, fit.matrix) for S in errors]
        value = model._fitted_objective.value(np.array(lost))
        assert value == pytest.approx(model.objective_, rel=1e-7)


def test_the_descent_never_beats_the_optimum_and_depends_on_its_seed_alone(moments):
    short = replace(SETTINGS, solver="subgradient", descent_steps=30)
    first, again, other = (method("rfpca", short, s).fits(moments, [7])[0] for s in (0, 0, 1))
    np.testing.assert_array_equal(first.matrix, again.matrix)
    assert np.abs(first.matrix - other.matrix).max() > 1e-6
    exact = method("rfpca", SETTINGS).fits(moments, [7])[0]
    assert first.gap > exact.gap


def test_averages_of_published_weights_are_applied_as_they_are(moments):
    published = replace(SETTINGS, fairpca="multiplicative-weights")
    slow = method("fairpca", published).fits(moments, [0])[0]
    exact = everything("fairpca", moments)[1][0]
    assert np.trace(slow.matrix) == pytest.approx(2)
    # A small step size arrives near the optimum; the average is no projection.
    np.testing.assert_allclose(slow.matrix, exact.matrix, atol=0.05)
    assert np.linalg.norm(slow.matrix @ slow.matrix - slow.matrix) > 1e-9


@pytest.mark.parametrize("seed", range(6))
def test_no_delta_gains_more_than_is_proved(seed):
    pytest.importorskip("clarabel")
    rng = np.random.default_rng(seed)
    groups = (rng.random(40) < 0.5).astype(int)
    shift = rng.normal(size=4) * groups[:, None] * 0.3
    moments = GroupMoments.from_arrays(rng.normal(size=(40, 4)) * [3, 2, 1, 1] + shift, groups)
    tight = ConvexFairPCA(2).fit_moments(moments)
    gain = largest_gain(moments, 2)
    shares = []
    for delta in (0.2, 0.9, 3.0):
        loose = ConvexFairPCA(2, delta=delta).fit_moments(moments)
        share = (tight.objective_ - loose.objective_) / tight.objective_
        assert share <= delta**2 * gain + 1e-7
        shares.append(share)
    assert shares[-1] > 1e-4


def test_a_delta_that_matters_is_solved(moments, monkeypatch):
    pytest.importorskip("clarabel")
    monkeypatch.setattr(methods, "NEGLIGIBLE", 0.0)
    _, solved = everything("cfpca-mean", moments)
    monkeypatch.setattr(methods, "NEGLIGIBLE", np.inf)
    _, closed = everything("cfpca-mean", moments)
    assert all(fit is closed[0] for fit in closed)
    assert np.abs(solved[-1].matrix - closed[-1].matrix).max() > 1e-9
    np.testing.assert_array_equal(solved[0].matrix, closed[0].matrix)


def test_unknown_methods_are_refused():
    with pytest.raises(ValueError, match="method='tsne' is not known; use one of pca, rfpca"):
        method("tsne", SETTINGS)
