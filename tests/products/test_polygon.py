"""Polygons of lifted lines: all objectives of a grid share them, and every line holds."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fairspan.objectives.robust import RobustFairObjective
from fairspan.products.lifted import LiftedProblem, Rests
from fairspan.products.polygon import Polygon
from tests.products.rows import moments_of
from tests.products.test_grid import shared_of
from tests.products.test_solve import steep

SETTINGS = [(λ, ε) for ε in (0.1, 1.0, 8.0) for λ in (0.1, 0.5, 0.7, 2.0, 5.0)]


def solved(seed, d=150, k=3):
    X, codes = steep(seed, d=d)
    shared = shared_of(X, codes, k, n_proofs=2 * len(SETTINGS))
    shares = shared.operator.shares
    objectives = [RobustFairObjective(shares, λ, np.full(2, ε)) for λ, ε in SETTINGS]
    return shared, objectives, moments_of(X, codes)


def lifted_of(shared):
    residuals = shared.basis.residuals()
    rests = Rests(shared.basis, residuals)
    return LiftedProblem(shared.basis, shared.operator.shares, shared.k, rests, residuals)


def test_every_line_that_objectives_share_holds_in_the_whole_space():
    for seed in range(5):
        shared, objectives, moments = solved(seed, d=60)
        for objective in objectives:
            found = shared.solve(objective)
            assert found.status == "optimal"
            assert list(shared.basis.cuts) == [shared.k]
            for cut in shared.basis.cuts[shared.k]:
                normal = np.array([math.cos(cut.angle), math.sin(cut.angle)])
                combined = np.tensordot(normal, moments, 1)
                least = np.trace(combined) - np.linalg.eigvalsh(combined)[-shared.k :].sum()
                assert cut.sigma <= least + 1e-11 * np.trace(moments.sum(axis=0))
                assert normal @ cut.point == pytest.approx(cut.sigma + cut.slack)


def test_a_second_proof_needs_no_line_of_its_own(monkeypatch):
    shared, objectives, _ = solved(0)
    first = [shared.solve(objective) for objective in objectives]
    size = shared.basis.size
    again = [shared.solve(objective) for objective in reversed(objectives)]
    assert shared.basis.size == size
    # The first of them were proved on a smaller basis, whose lines are gone.
    shared.n_solved = 0
    monkeypatch.setattr(LiftedProblem, "best_subspace", None)
    for objective, before, known in zip(objectives, first, reversed(again), strict=True):
        found = shared.solve(objective)
        assert found.status == "optimal"
        assert found.lower_bound == pytest.approx(before.lower_bound, rel=1e-8)
        assert found.lower_bound == pytest.approx(known.lower_bound, rel=1e-8)


def test_lines_are_dropped_when_more_is_known():
    shared, objectives, _ = solved(1)
    shared.solve(objectives[1])
    assert shared.basis.cuts[shared.k]
    weights, bound = shared.basis.learned[0]
    lifted = lifted_of(shared)
    lifted.rests.learn(weights, bound)
    assert not lifted.known_cuts
    shared.solve(objectives[1])
    assert shared.basis.cuts[shared.k]
    shared.basis.grow(np.random.default_rng(0).standard_normal((150, 1)))
    assert not shared.basis.cuts


def test_a_line_next_to_an_axis_is_not_the_least_error_of_a_group():
    shared, objectives, _ = solved(2)
    found = shared.solve(objectives[1])
    lifted = lifted_of(shared)
    polygon = Polygon(lifted, objectives[1], found.group_errors)
    lifted.known_cuts.clear()
    for angle in (-1e-6, 0.5 * math.pi + 1e-6):
        polygon._cut(angle)
    beside = Polygon(lifted, objectives[1], found.group_errors)
    expected = [lifted.least_error(0), lifted.least_error(1)]
    np.testing.assert_allclose(polygon.least, expected, rtol=1e-10)
    np.testing.assert_allclose(beside.least, expected, rtol=1e-10)


def test_a_known_line_that_cuts_off_an_answer_is_refused():
    shared, objectives, _ = solved(3)
    shared.solve(objectives[0])
    cuts = shared.basis.cuts[shared.k]
    cuts[:] = [cut._replace(sigma=1.001 * cut.sigma + cut.slack) for cut in cuts]
    with pytest.raises(RuntimeError, match="exceeds a value that is attained"):
        shared.solve(objectives[0])
