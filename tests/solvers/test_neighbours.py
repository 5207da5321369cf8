"""Answers foretell those to other weights; a bad forecast costs work, never truth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fairspan.solvers import SolverOptions, solve
from fairspan.solvers.neighbours import Neighbours
from tests.solvers.test_newton import random_problem

WEIGHTS = np.geomspace(0.3, 0.4, 12)


@pytest.fixture(scope="module")
def solved():
    problem, objective, _ = random_problem(3, 4, 8, 2)
    objectives = [replace(objective, fairness_weight=weight) for weight in WEIGHTS]
    return (
        problem,
        objectives,
        [solve(problem, one, SolverOptions(tol=1e-10)) for one in objectives],
    )


def test_nothing_is_known_at_first(solved):
    options = SolverOptions(tol=1e-6)
    assert Neighbours().options(options, solved[1][0]) is options


def test_slopes_are_foretold_where_the_same_pieces_meet(solved):
    _, objectives, found = solved
    near = Neighbours()
    for objective, answer in zip(objectives[:-1], found, strict=False):
        near.learn(objective, answer)
    options = near.options(SolverOptions(), objectives[-1])
    assert np.array_equal(options.start, found[-2].components.T)
    last, truth = found[-2].bound_weights, found[-1].bound_weights
    assert np.abs(options.slope - truth).max() < 0.05 * np.abs(last - truth).max()
    assert [pair for pair, _ in options.pieces] == [pair for pair, _ in found[-1].pieces]
    assert sum(weight for _, weight in options.pieces) == pytest.approx(1)


def test_what_another_radius_changed_is_foretold():
    problem, objective, _ = random_problem(3, 4, 8, 2)
    settings = [(0.3, 0.04), (0.33, 0.04), (0.3, 0.05), (0.33, 0.05)]
    objectives = [
        replace(objective, fairness_weight=weight, radii=np.full(4, radius))
        for weight, radius in settings
    ]
    found = [solve(problem, one, SolverOptions(tol=1e-10)) for one in objectives]
    near = Neighbours()
    for one, answer in zip(objectives[:-1], found, strict=False):
        near.learn(one, answer)
    options = near.options(SolverOptions(), objectives[-1])
    assert np.array_equal(options.start, found[1].components.T)
    truth, nearest = found[-1].bound_weights, found[1].bound_weights
    assert np.abs(options.slope - truth).max() < 0.2 * np.abs(nearest - truth).max()
    weights, true = dict(options.pieces), dict(found[-1].pieces)
    assert weights.keys() == true.keys()
    assert sum(weights.values()) == pytest.approx(1)
    off = max(abs(weights[pair] - true[pair]) for pair in true)
    assert off < 0.2 * max(abs(dict(found[1].pieces)[pair] - true[pair]) for pair in true)


def test_a_far_weight_starts_at_the_nearest_answer_and_foretells_nothing(solved):
    _, objectives, found = solved
    near = Neighbours()
    for i in (5, 0, 11, 8):
        near.learn(objectives[i], found[i])
    options = near.options(SolverOptions(), objectives[1])
    assert np.array_equal(options.start, found[0].components.T)
    assert options.slope is None
    # An answer that is learnt again is the one that counts.
    near.learn(objectives[0], found[3])
    assert np.array_equal(near.options(SolverOptions(), objectives[1]).start, found[3].components.T)


@pytest.mark.parametrize("seed", range(4))
def test_wrong_slopes_change_no_answer(solved, seed):
    problem, objectives, found = solved
    rng = np.random.default_rng(seed)
    slope = rng.uniform(0, 2, problem.n_groups) * 10.0 ** rng.integers(-3, 3)
    options = SolverOptions(
        tol=1e-10,
        start=found[0].components.T,
        pieces=found[seed].pieces,
        slope=slope,
    )
    again = solve(problem, objectives[-1], options)
    assert again.status == "optimal"
    assert again.objective == pytest.approx(found[-1].objective, rel=1e-9)
    assert again.lower_bound <= found[-1].objective * (1 + 1e-13)
