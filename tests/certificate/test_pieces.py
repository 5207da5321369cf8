"""Linear pieces below the objective: chords on a box, tangents at a projector, weights of both."""

from __future__ import annotations

import numpy as np
import pytest

from fairspan.certificate.box import Box, root_box
from fairspan.certificate.pieces import Centre, columns, compared_groups
from fairspan.objectives.mixture import Mixture
from fairspan.objectives.robust import RobustFairObjective
from fairspan.problem.subspace import SubspaceProblem
from tests import reference
from tests.certificate.problems import random_mixture


def random_weights(rng, sums):
    """Weights on the border of what the sums allow: the maximiser of a random linear function."""
    from scipy.optimize import linprog

    n = sums.shape[1]
    found = linprog(rng.standard_normal(n), A_eq=sums, b_eq=np.ones(len(sums)), bounds=(0, None))
    return found.x


def draw(seed, n_groups):
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.ones(n_groups))
    radii = rng.choice([0.0, 1.0]) * rng.exponential(1.0, n_groups)
    in_gap = rng.permutation(n_groups) < rng.integers(2, n_groups + 1)
    weight = float(rng.choice([0.0, 0.01, 0.3, 2.0, 50.0]))
    disparity = ("gap", "gap", "largest")[seed % 3]
    references = None if seed % 2 else rng.normal(0, 2, n_groups)
    return rng, RobustFairObjective(shares, weight, radii, in_gap, disparity, references)


def value_of(o, m):
    given = (o.shares, o.fairness_weight, o.radii, o.in_gap, o.disparity, o.references)
    return reference.compared_objective(m, *given)


@pytest.mark.parametrize("n_groups", [2, 3, 4, 6])
@pytest.mark.parametrize("seed", range(40))
def test_no_weights_that_are_allowed_make_a_mixture_above_the_objective(seed, n_groups):
    rng, o = draw(seed, n_groups)
    compared = compared_groups(o)
    chosen = [c if seed % 2 else np.unique(rng.choice(compared, 2)) for c in (compared, compared)]
    if len(np.union1d(*chosen)) < 2:
        chosen = [compared, compared]
    made = columns(o, *chosen)
    for _ in range(12):
        w = random_weights(rng, made.sums)
        mixture = made.mixture(o, w)
        assert (mixture.above >= -1e-12).all()
        for m in rng.exponential(1.0, (8, n_groups)) * rng.choice([1e-2, 1.0, 10.0], (8, 1)):
            value = value_of(o, m)
            assert mixture.value(m) <= value + 1e-9 * (1 + abs(value))


@pytest.mark.parametrize("seed", range(20))
def test_the_best_weights_reach_the_objective(seed):
    from scipy.optimize import linprog

    rng, o = draw(seed, 5)
    made = columns(o, compared_groups(o), compared_groups(o))
    m = rng.exponential(1.0, 5)
    root, edge = np.sqrt(m), np.sqrt(o.radii)
    worth = (root + edge) ** 2 @ made.above - np.maximum(root - edge, 0) ** 2 @ made.below
    worth = worth + made.constants
    ones = np.ones(len(made.sums))
    found = linprog(-worth, A_eq=made.sums, b_eq=ones, bounds=(0, None))
    value = value_of(o, m)
    assert -found.fun == pytest.approx(value, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_chords_touch_at_the_corners_of_a_box_and_stay_below_inside(seed):
    rng, o = draw(seed, 3)
    lower = rng.exponential(1.0, 3)
    upper = lower + rng.exponential(2.0, 3)
    made = columns(o, compared_groups(o), compared_groups(o))
    intercepts, slopes = made.chords(o, Box(lower, upper))
    for _ in range(20):
        w = random_weights(rng, made.sums)
        mixture = made.mixture(o, w)
        corner = np.where(rng.random(3) < 0.5, lower, upper)
        line = intercepts @ w + corner @ slopes @ w
        assert line == pytest.approx(mixture.value(corner), rel=1e-9, abs=1e-9)
        m = rng.uniform(lower, upper)
        assert intercepts @ w + m @ slopes @ w <= mixture.value(m) + 1e-9


@pytest.mark.parametrize("seed", range(40))
def test_a_tangent_minus_the_distance_is_below_the_mixture_at_every_projector(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(1, 5)), int(rng.integers(2, 7))
    k = int(rng.integers(1, d))
    moments = reference.random_moments(rng, n, d)
    problem = SubspaceProblem(moments, rng.dirichlet(np.ones(n)), k)
    radii = rng.exponential(1.0, n) * rng.choice([0.0, 0.1, 5.0])
    objective = RobustFairObjective(problem.shares, 2.0, radii)
    V = reference.random_subspace(rng, d, k)
    mixture = random_mixture(rng, objective) if n > 1 else Mixture(objective, np.ones(1), 0 * radii)
    errors = reference.group_errors(moments, V)
    centre = Centre(problem, V, rng.normal(0.5, 1.0, n), [mixture], errors)
    box = root_box(problem)
    for trial in range(60):
        step = 10.0 ** rng.uniform(-3, 1)
        W = np.linalg.qr(V + step * rng.standard_normal((d, k)))[0]
        X, m = W @ W.T, reference.group_errors(moments, W)
        apart = X - V @ V.T
        distance = centre.distance(X)
        # <N, (X - P)^2> for an N that commutes with P, whatever N is chosen.
        N = centre.matrix @ (np.eye(d) - 2 * V @ V.T)
        assert distance == pytest.approx(np.sum(N * (apart @ apart)), rel=1e-8, abs=1e-9)
        for reach in (distance * (1 + 1e-9), 1e3 * distance + 1.0):
            L = centre.losses(box.lower if trial % 2 else 0 * m, reach)[0]
            line = centre.values[0] + centre.slopes[:, 0] @ m - L * distance
            assert line <= mixture.value(m) + 1e-9 * (1 + abs(line))
