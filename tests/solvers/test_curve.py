"""The curve of attainable errors, followed without eigen-solves, leads to the minimiser."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fairspan.objectives.robust import RobustFairObjective
from fairspan.problem.subspace import SubspaceProblem
from fairspan.solvers.two_groups.angle import solve_boundary
from fairspan.solvers.two_groups.curve import Curve, follow
from fairspan.solvers.two_groups.pieces import TwoPieces
from tests import reference


def made_problem(seed, d=7, k=3):
    rng = np.random.default_rng(seed)
    factors = rng.standard_normal((2, d, d)) * np.exp(rng.normal(0, 0.5, (2, 1, d)))
    shares = rng.dirichlet([2.0, 2.0])
    return SubspaceProblem(factors @ factors.transpose(0, 2, 1), shares, k)


@pytest.mark.parametrize("seed", range(20))
def test_a_point_of_the_curve_is_the_leading_eigenspace_at_its_angle(seed):
    problem = made_problem(seed)
    curve = Curve(problem)
    for angle in 0.3 + np.array([0.0, 1e-4, 0.01, 0.2, 0.9]):
        place = curve.at(angle)
        mixed = math.cos(angle) * problem.moments[0] + math.sin(angle) * problem.moments[1]
        exact = np.linalg.eigh(mixed)[1][:, -problem.k :]
        V = place.subspace
        np.testing.assert_allclose(V.T @ V, np.eye(problem.k), atol=1e-13)
        np.testing.assert_allclose(V @ V.T, exact @ exact.T, atol=1e-9)
        errors = reference.group_errors(problem.moments, exact)
        np.testing.assert_allclose(place.errors, errors, rtol=1e-10)


@pytest.mark.parametrize("weight", [0.0, 0.05, 0.3, 3.0])
@pytest.mark.parametrize("radius", [0.0, 0.01, 1.0])
@pytest.mark.parametrize("seed", range(8))
def test_from_any_start_the_curve_leads_to_the_minimum_or_says_that_it_does_not(
    seed, weight, radius
):
    problem = made_problem(seed)
    radii = radius * np.array([1.0, 2.0])
    objective = RobustFairObjective(problem.shares, weight, radii)
    pieces = TwoPieces(objective)
    best = solve_boundary(problem, objective).objective
    curve, found = Curve(problem), []
    for start in (0.1, 0.5, 0.8, 1.1, 1.5):
        place = follow(curve, objective, start)
        if place is not None:
            found.append(pieces.value(place.errors))
    assert found
    np.testing.assert_allclose(found, best, rtol=1e-8)
