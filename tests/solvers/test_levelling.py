"""Heavy fairness weights: errors to their last digit, and pieces that meet made equal."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from fairspan.objectives.robust import RobustFairObjective
from fairspan.problem.accurate import AccurateProblem
from fairspan.problem.subspace import SubspaceProblem
from fairspan.solvers import solve
from fairspan.solvers.many_groups.newton import descend
from tests import reference


def exact_errors(moments, subspace):
    """Errors of a span in exact fractions, by Gram and Schmidt without roots."""
    columns = [[Fraction(x) for x in column] for column in subspace.T.tolist()]
    found = []
    for M in moments:
        M = [[Fraction(x) for x in row] for row in M.tolist()]
        left, done = sum(M[i][i] for i in range(len(M))), []
        for column in columns:
            for other, size in done:
                share = sum(map(Fraction.__mul__, column, other)) / size
                column = [x - share * y for x, y in zip(column, other, strict=True)]
            size = sum(x * x for x in column)
            done.append((column, size))
            image = [sum(map(Fraction.__mul__, row, column)) for row in M]
            left -= sum(map(Fraction.__mul__, image, column)) / size
        found.append(left)
    return found


@pytest.mark.parametrize("seed", range(4))
def test_errors_are_right_to_their_last_digit(seed):
    rng = np.random.default_rng(seed)
    problem = SubspaceProblem(reference.random_moments(rng, 2, 6), np.array([0.4, 0.6]), 3)
    # A direction with nearly all variance, so that little is left of a large trace.
    direction = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    moments = problem.moments + 1e6 * np.outer(direction[:, 0], direction[:, 0])
    problem = SubspaceProblem(0.5 * (moments + moments.transpose(0, 2, 1)), problem.shares, 3)
    subspace = direction[:, :3]
    truth = exact_errors(problem.moments, subspace)
    found = AccurateProblem(problem).errors(subspace)
    assert max(abs(Fraction(x) / t - 1) for x, t in zip(found.tolist(), truth, strict=True)) < 1e-15
    plain = problem.errors(subspace)
    assert max(abs(Fraction(x) / t - 1) for x, t in zip(plain.tolist(), truth, strict=True)) > 1e-13


def test_variance_that_moments_do_not_show_stays_lost():
    rng = np.random.default_rng(0)
    moments, more = reference.random_moments(rng, 3, 5), np.array([3.0, 0.0, 1.0])
    traces = np.einsum("aii->a", moments) + more
    whole, shares = SubspaceProblem(moments, np.full(3, 1 / 3), 2), np.full(3, 1 / 3)
    inside = AccurateProblem(SubspaceProblem(moments, shares, 2, traces=traces))
    V = reference.random_subspace(rng, 5, 2)
    np.testing.assert_allclose(inside.errors(V), whole.errors(V) + more, rtol=1e-13)


@pytest.mark.parametrize("weight", [1e6, 1e9])
@pytest.mark.parametrize("seed", range(3))
def test_errors_that_can_be_equal_are_equal_to_their_last_digit(seed, weight):
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(3, 5.0))
    problem = SubspaceProblem(reference.random_moments(rng, 3, 8), shares, 3)
    objective = RobustFairObjective(shares, weight, np.zeros(3))
    found = solve(problem, objective)

    def value(subspace):
        errors = exact_errors(problem.moments, subspace)
        total = sum(Fraction(p) * m for p, m in zip(shares.tolist(), errors, strict=True))
        return float(total + Fraction(weight) * (max(errors) - min(errors)))

    ours = value(found.components.T)
    assert found.objective == pytest.approx(ours, rel=1e-15 * weight)
    for _ in range(3):
        V = reference.random_subspace(rng, 8, 3)
        for lighter in 10.0 ** np.arange(0, np.log10(weight) + 1):
            V = descend(problem, RobustFairObjective(shares, lighter, np.zeros(3)), V).subspace
        assert ours <= value(V) * (1 + 1e-6)
