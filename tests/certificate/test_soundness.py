"""Proofs by arcs, boxes and distances: no start from anywhere falls below what they claim."""

from __future__ import annotations

import pytest

from fairspan.solvers.many_groups.certified_newton import solve_newton
from tests.certificate.problems import any_ranks, attained, rounding


@pytest.mark.parametrize("seed", range(30))
def test_no_bound_exceeds_the_best_of_many_starts(seed):
    problem, objective, rng = any_ranks(seed)
    result = solve_newton(problem, objective, effort=0.05)
    lowest, where = attained(problem, objective, rng, 12)[0]
    slack = 1e-11 * abs(lowest) + rounding(problem, objective, where)
    assert result.lower_bound <= lowest + slack
    assert result.lower_bound <= result.objective
    if result.status == "optimal":
        assert result.objective <= lowest * (1 + 1.1e-8) + slack
