"""Newton's method in the slopes: it ends at leading eigenspaces, and says so only if it did."""

from __future__ import annotations

import numpy as np
import pytest

from fairspan.certificate.box import root_box
from fairspan.certificate.closed_form import closed_form_bound
from fairspan.objectives.robust import RobustFairObjective
from fairspan.problem.subspace import SubspaceProblem
from fairspan.solvers.many_groups.certified_newton import solve_newton
from fairspan.solvers.many_groups.leading_newton import follow_leading
from tests import reference

ACCURACY = 1e-10


def similar_groups(seed):
    """Groups that differ little, so that their answer is an eigenspace more often than not."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(3, 7)), int(rng.integers(4, 12))
    k = int(rng.integers(1, d))
    common = reference.random_moments(rng, 1, d)
    moments = common + 0.1 * reference.random_moments(rng, n, d)
    shares = rng.dirichlet(np.ones(n))
    radii = rng.choice([0.0, 0.01, 0.1]) * rng.exponential(1.0, n) * np.trace(moments[0]) / d
    weight = float(rng.choice([0.1, 0.5, 2.0]))
    return SubspaceProblem(moments, shares, k), RobustFairObjective(shares, weight, radii), rng


def followed(problem, objective):
    def unproved(m, value):
        return ACCURACY * value

    return follow_leading(problem, objective, objective.shares, (), unproved)


@pytest.mark.parametrize("seed", range(40))
def test_what_it_ends_at_is_proved_to_the_accuracy_asked_for(seed):
    problem, objective, _ = similar_groups(seed)
    found = followed(problem, objective)
    if found is None:  # no leading eigenspace is stationary; the next test counts these
        return
    o, m = objective, reference.group_errors(problem.moments, found.subspace)
    assert found.value == pytest.approx(
        reference.objective(m, o.shares, o.fairness_weight, o.radii), rel=1e-12
    )
    proved = closed_form_bound(
        problem, found.mixture, found.touch, root_box(problem), found.leading
    )
    assert proved == -np.inf or proved >= found.value * (1 - 2 * ACCURACY)


def test_it_is_the_common_case_and_agrees_with_descents_from_many_starts():
    ended = 0
    for seed in range(40):
        problem, objective, rng = similar_groups(seed)
        found = followed(problem, objective)
        if found is not None:
            ended += 1
            start = reference.random_subspace(rng, problem.d, problem.k)
            other = solve_newton(problem, objective, start=start)
            assert found.value <= other.objective * (1 + 1e-8)
    assert ended >= 25
