"""The barrier method: what it proves is true for any multipliers, and it reaches the optimum."""

from __future__ import annotations

import numpy as np
import pytest

from fairspan.certificate.box import root_box
from fairspan.certificate.fantope import Program, maximise, on_sums
from fairspan.certificate.node import Node, solve_node
from fairspan.certificate.pieces import columns, compared_groups
from fairspan.certificate.work import Work
from fairspan.objectives.robust import RobustFairObjective
from fairspan.problem.subspace import SubspaceProblem
from tests import reference


def draw(seed, size=0.0):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 9)), int(rng.integers(2, 13))
    k = int(rng.integers(1, d))
    rank = int(rng.integers(1, d + 1)) if seed % 3 == 0 else None
    moments = reference.random_moments(rng, n, d, rank)
    shares = rng.dirichlet(np.ones(n))
    radii = size * rng.exponential(1.0, n) * np.trace(moments.mean(axis=0)) / d
    weight = float(rng.choice([0.0, 0.3, 5.0, 50.0]))
    return rng, SubspaceProblem(moments, shares, k), RobustFairObjective(shares, weight, radii)


@pytest.mark.parametrize("seed", range(60))
def test_without_radii_the_bound_meets_the_value_of_the_relaxed_matrix(seed):
    _, problem, objective = draw(seed)
    compared = compared_groups(objective)
    weights, node = columns(objective, compared, compared), Node(root_box(problem))
    size = problem.traces.max() * (1 + objective.fairness_weight)

    def solved(enough):
        return solve_node(problem, objective, weights, node, enough=enough, work=Work(np.inf))

    bound = solved(np.inf).node.bound
    # The last digits of X are lost where the barrier is lowest: stop a little before.
    X = solved(bound + 1e-7 * size).X
    x = np.linalg.eigvalsh(X)
    assert x.min() >= -1e-12
    assert x.max() <= 1 + 1e-12
    assert np.trace(X) == pytest.approx(problem.k)
    # A matrix of the Fantope has at least the minimum, a bound at most: here they meet.
    errors = problem.traces - np.einsum("ade,de->a", problem.moments, X)
    value = objective.shares @ errors + objective.fairness_weight * np.ptp(errors)
    assert value - 1e-5 * size <= bound <= value + 1e-12 * size


@pytest.mark.parametrize("seed", range(40))
def test_whatever_the_multipliers_no_matrix_of_the_set_is_below_the_bound(seed):
    rng = np.random.default_rng(seed)
    d, n, extra = int(rng.integers(2, 7)), 4, 3
    k = int(rng.integers(1, d))
    K = rng.standard_normal((n + extra, d, d))
    K = K + K.transpose(0, 2, 1)
    constants = rng.standard_normal(n + extra)
    sums = np.zeros((1, n + extra))
    sums[0, :n] = 1.0
    program = Program(K, k, constants, np.eye(n + extra), sums, 1.0)
    start = on_sums(program, rng.exponential(1.0, n + extra))
    found = maximise(program, start, 0.1, enough=1e3, work=Work(np.inf))
    for _ in range(200):
        V = reference.random_subspace(rng, d, k)
        functions = constants - np.einsum("jde,de->j", K, V @ V.T)
        # The last ones are constraints, function <= 0; the others are the pieces of a maximum.
        if (functions[n:] <= 0).all():
            assert found.bound <= functions[:n].max() + 1e-9


def test_work_stops_it_and_counts_the_same_on_any_machine():
    counts = []
    for _ in range(2):
        _, problem, objective = draw(5)
        work = Work(1.0)
        compared = compared_groups(objective)
        solved = solve_node(
            problem,
            objective,
            columns(objective, compared, compared),
            Node(root_box(problem)),
            enough=np.inf,
            work=work,
        )
        assert work.is_spent()
        assert not work.was_cut
        counts.append((work.left, solved.node.bound))
    assert counts[0] == counts[1]
    late = Work(1e9, max_time=0.0)
    late.spend(1.0)
    assert late.is_spent()
    assert late.was_cut


def test_rounding_of_a_bound_covers_what_more_digits_find():
    """Eigenvalues and sums in doubles, against the same of diagonal matrices in long double."""
    off = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        d, n, k = 8, 5, 3
        diagonals, constants = rng.standard_normal((n, d)), rng.standard_normal(n)
        Q = reference.random_subspace(rng, d, d)
        K = (Q * diagonals[:, None, :]) @ Q.T
        z = rng.dirichlet(np.ones(n))
        program = Program(K, k, constants, np.eye(n), np.ones((1, n)), 1.0)
        A = program.combination(z)
        bound = float(constants @ z) - float(np.linalg.eigvalsh(A)[-k:].sum())
        long = z.astype(np.longdouble)
        exact = long @ constants - np.sort(long @ diagonals)[-k:].sum()
        rounding = program.rounding(z, float(np.linalg.norm(A)))
        off.append(abs(float(bound - exact)))
        assert off[-1] <= rounding <= 1e-12
    assert max(off) > 0


def test_multipliers_that_miss_their_sums_prove_less():
    rng = np.random.default_rng(0)
    d, n = 6, 4
    K, constants = reference.random_moments(rng, n, d), 10 * rng.standard_normal(n)
    program = Program(K, 2, constants, np.eye(n), np.ones((1, n)), 1.0)
    for missed in (1e-9, 1e-5, 1e-2):
        for z in rng.dirichlet(np.ones(n), 20):
            raised = z * (1 + missed)
            norm = float(np.linalg.norm(program.combination(raised)))
            assert program.rounding(raised, norm) >= missed * float(abs(constants @ z))
