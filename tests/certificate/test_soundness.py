"""Proofs by arcs, boxes and distances: no start from anywhere falls below what they claim."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from fairspan.certificate import node
from fairspan.certificate.box import Box
from fairspan.certificate.closed_form import closed_form_bound
from fairspan.certificate.node import Node, solve_node
from fairspan.certificate.pieces import columns
from fairspan.certificate.work import Work
from fairspan.objectives.mixture import Mixture
from fairspan.objectives.robust import RobustFairObjective
from fairspan.problem.subspace import SubspaceProblem
from fairspan.solvers.many_groups.bounds import plain_bound
from fairspan.solvers.many_groups.certified_newton import solve_newton
from tests import reference
from tests.certificate.problems import any_ranks, attained, rounding
from tests.hunt import attack


@pytest.mark.parametrize("seed", range(20))
def test_no_bound_exceeds_the_best_of_many_starts(seed):
    problem, objective, rng = any_ranks(seed)
    result = solve_newton(problem, objective, effort=0.02)
    lowest, where = attained(problem, objective, rng, 12)[0]
    slack = 1e-11 * abs(lowest) + rounding(problem, objective, where)
    assert result.lower_bound <= lowest + slack
    assert result.lower_bound <= result.objective
    if result.status == "optimal":
        assert result.objective <= lowest * (1 + 1.1e-8) + slack


@pytest.mark.parametrize("brought_back", [True, False])
def test_mixtures_of_nodes_never_exceed_the_objective(monkeypatch, brought_back):
    # Radii far above the variances multiply whatever the weights of the pieces miss of 1.
    rng = np.random.default_rng(0)
    work, below = Work(1e9, None), []
    if not brought_back:
        monkeypatch.setattr(node, "on_sums", lambda program, z: z * (1 + 1e-7))
    for _ in range(10):
        moments = np.array([np.outer(v, v) for v in rng.standard_normal((4, 5))])
        shares, radii = rng.dirichlet(np.ones(4)), 1e4 * rng.exponential(1.0, 4)
        problem = SubspaceProblem(moments, shares, 2)
        objective = RobustFairObjective(shares, float(rng.choice([0.01, 1.0])), radii)
        compared = np.arange(4)
        solved = solve_node(
            problem,
            objective,
            columns(objective, compared, compared),
            Node(Box(np.zeros(4), problem.traces)),
            enough=np.inf,
            work=work,
        )
        for errors in rng.random((50, 4)) * problem.traces:
            value = objective.value(errors)
            assert solved.mixture.value(errors) <= value * (1 + 1e-14)
            below.append(solved.mixture.value(errors) / value)
    assert max(below) > 0.999


def test_errors_next_to_0_with_large_radii_are_not_cut_off():
    # Two groups of rank one: the best subspace serves both without error.
    assert attack("one rank, more groups compared", 625, "auto") == []


@pytest.mark.parametrize("seed", range(20))
def test_heavy_weights_that_cancel_leave_no_rounding_in_the_closed_form(seed):
    # Each pair weighs as much as its reverse: the mixture is the total error, whatever the weight.
    rng = np.random.default_rng(seed)
    moments = np.array([np.diag(row) for row in rng.integers(1, 100, (3, 5)).astype(float)])
    shares = rng.dirichlet(np.ones(3))
    problem = SubspaceProblem(moments, shares, 2)
    objective = RobustFairObjective(shares, 1e9, np.zeros(3))
    half = 0.5 * rng.dirichlet(np.ones(3))
    pairs = [(0, 1), (1, 2), (2, 0), (1, 0), (2, 1), (0, 2)]
    mixture = Mixture.of_pairs(objective, pairs, np.append(half, half))
    errors = problem.errors(np.linalg.qr(rng.standard_normal((5, 2)))[0])
    bound = closed_form_bound(problem, mixture, errors, Box(np.zeros(3), problem.traces))
    totals = [
        sum(Fraction(p) * int(x) for p, x in zip(shares, row, strict=True))
        for row in np.diagonal(moments, axis1=1, axis2=2).T
    ]
    least = sum(sorted(totals)[:3])
    assert bound <= least
    assert bound >= least - Fraction(1, 100)


def test_the_plain_bound_of_equal_groups_is_met_by_pca():
    moment = reference.random_moments(np.random.default_rng(0), 1, 6)
    problem = SubspaceProblem(np.repeat(moment, 3, axis=0), np.array([0.2, 0.3, 0.5]), 2)
    objective = RobustFairObjective(problem.shares, 0.0, np.array([0.1, 0.4, 2.0]))
    errors = problem.best_subspace(problem.shares).errors
    assert plain_bound(problem, objective) == pytest.approx(objective.value(errors), rel=1e-12)
