"""The objective: a function of the short vector of group errors."""

from __future__ import annotations

import numpy as np
import pytest

from fairspan.objectives.counting import radii_from
from fairspan.objectives.robust import (
    RobustFairObjective,
    worst_error,
    worst_error_slope,
)
from tests import reference

WEIGHTS = [0.0, 0.1, 0.5, 1.0, 7.0]


def random_case(seed: int, n_groups: int, fairness_weight: float, spread: float = 1.0):
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.ones(n_groups))
    radii = spread * rng.exponential(1.0, n_groups)
    errors = rng.exponential(1.0, n_groups)
    return RobustFairObjective(shares, fairness_weight, radii), errors


@pytest.mark.parametrize("n_groups", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("fairness_weight", WEIGHTS)
@pytest.mark.parametrize("spread", [0.0, 0.01, 10.0])
def test_the_value_is_the_largest_piece_over_all_ordered_pairs(n_groups, fairness_weight, spread):
    for seed in range(20):
        objective, errors = random_case(seed, n_groups, fairness_weight, spread)
        expected = reference.objective(errors, objective.shares, fairness_weight, objective.radii)
        assert objective.value(errors) == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("n_groups", [2, 5])
@pytest.mark.parametrize("fairness_weight", WEIGHTS)
def test_without_radius_it_is_the_total_error_plus_the_weighted_gap(n_groups, fairness_weight):
    for seed in range(10):
        objective, m = random_case(seed, n_groups, fairness_weight, spread=0.0)
        expected = objective.shares @ m + fairness_weight * (m.max() - m.min())
        assert objective.value(m) == pytest.approx(expected, rel=1e-13)


def test_the_total_error_is_not_dropped_for_many_groups():
    # The printed theorem for more than two groups keeps only what depends on the pair: with
    # weight 0 and radius 0 a constant, where the right objective is the total error.
    objective = RobustFairObjective(np.array([0.2, 0.3, 0.5]), 0.0, np.zeros(3))
    assert objective.value(np.array([1.0, 2.0, 4.0])) == pytest.approx(0.2 + 0.6 + 2.0)


def test_the_fairness_weight_is_never_lowered():
    # The authors' program lowers the weight to the smallest share; here every weight counts.
    shares, errors = np.array([0.9, 0.1]), np.array([1.0, 3.0])
    values = [RobustFairObjective(shares, w, np.zeros(2)).value(errors) for w in (0.1, 1, 10)]
    assert values == pytest.approx([1.2 + 0.2, 1.2 + 2.0, 1.2 + 20.0])


def test_a_group_with_negative_coefficient_shrinks_to_nothing_below_its_radius():
    # p - weight = -1.5: the second group's radius 4 exceeds its error 1, so it adds nothing.
    objective = RobustFairObjective(np.array([0.5, 0.5]), 2.0, np.array([0.0, 4.0]))
    assert objective.piece(np.array([3.0, 1.0]), (0, 1)) == pytest.approx(2.5 * 3.0)
    assert objective.piece(np.array([3.0, 9.0]), (0, 1)) == pytest.approx(7.5 - 1.5 * 1.0)


@pytest.mark.parametrize("n_groups", [2, 3, 6])
@pytest.mark.parametrize("fairness_weight", WEIGHTS)
def test_the_active_pair_attains_the_value_and_has_two_different_groups(n_groups, fairness_weight):
    for seed in range(20):
        objective, m = random_case(seed, n_groups, fairness_weight)
        pair = objective.active_pair(m)
        assert pair[0] != pair[1]
        assert objective.piece(m, pair) == pytest.approx(objective.value(m), rel=1e-13)


def test_the_coefficients_of_a_pair_are_the_shares_moved_by_the_weight():
    objective = RobustFairObjective(np.array([0.2, 0.3, 0.5]), 0.7, np.ones(3))
    assert objective.coefficients((2, 0)) == pytest.approx([-0.5, 0.3, 1.2])
    assert objective.coefficients((1, 2)) == pytest.approx([0.2, 1.0, -0.2])
    assert objective.shares == pytest.approx([0.2, 0.3, 0.5])


@pytest.mark.parametrize("n_groups", [1, 2, 3, 6])
@pytest.mark.parametrize("fairness_weight", WEIGHTS)
def test_slopes_are_the_derivatives_of_the_piece(n_groups, fairness_weight):
    step = 1e-6
    for seed in range(10):
        objective, m = random_case(seed, n_groups, fairness_weight)
        pair = objective.active_pair(m)
        slopes = objective.slopes(m, pair)
        for c in range(n_groups):
            more, less = m.copy(), m.copy()
            more[c] += step
            less[c] -= step
            if abs(m[c] - objective.radii[c]) < 2 * step:
                continue
            rise = (objective.piece(more, pair) - objective.piece(less, pair)) / (2 * step)
            assert slopes[c] == pytest.approx(rise, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("fairness_weight", WEIGHTS)
def test_every_piece_is_concave_and_the_largest_is_not_below_any(fairness_weight):
    rng = np.random.default_rng(1)
    for seed in range(20):
        objective, left = random_case(seed, 3, fairness_weight)
        right, share = rng.exponential(1.0, 3), rng.uniform()
        for pair in [(0, 1), (1, 0), (0, 2), (2, 0), (1, 2), (2, 1)]:
            chord = share * objective.piece(left, pair) + (1 - share) * objective.piece(right, pair)
            middle = share * left + (1 - share) * right
            assert objective.piece(middle, pair) >= chord - 1e-12
            assert objective.value(middle) >= objective.piece(middle, pair) - 1e-12


@pytest.mark.parametrize("n_groups", [1, 2, 4])
def test_many_vectors_at_once_equal_one_at_a_time(n_groups):
    objective, _ = random_case(3, n_groups, 0.4)
    m = np.random.default_rng(0).exponential(1.0, (5, 6, n_groups))
    values, slopes = objective.values(m), objective.active_slopes(m)
    assert values.shape == (5, 6)
    for index in np.ndindex(5, 6):
        assert values[index] == pytest.approx(objective.value(m[index]), rel=1e-14)
        expected = objective.slopes(m[index], objective.active_pair(m[index]))
        assert slopes[index] == pytest.approx(expected, rel=1e-13)


def test_zero_errors_are_safe():
    objective = RobustFairObjective(np.array([0.5, 0.3, 0.2]), 1.0, np.array([0.1, 0.0, 0.4]))
    zero = np.zeros(3)
    expected = reference.objective(zero, objective.shares, 1.0, objective.radii)
    assert objective.value(zero) == pytest.approx(expected)
    # Group 2 counts up by 1.2 * 0.4, group 0 by its share, and 1 counts down: 0.48 + 0.05.
    assert objective.value(zero) == pytest.approx(0.53)
    slopes = objective.slopes(zero, (2, 0))
    assert slopes[0] == 0.0
    assert slopes[1] == pytest.approx(0.3)
    assert slopes[2] == np.inf


@pytest.mark.parametrize(
    ("u", "m", "eps", "value", "slope"),
    [
        (2.0, 4.0, 1.0, 18.0, 3.0),
        (-2.0, 4.0, 1.0, -2.0, -1.0),
        (-2.0, 1.0, 4.0, 0.0, 0.0),
        (0.0, 4.0, 1.0, 0.0, 0.0),
        (3.0, 4.0, 0.0, 12.0, 3.0),
        (-3.0, 4.0, 0.0, -12.0, -3.0),
        (1.0, 0.0, 4.0, 4.0, np.inf),
        (-1.0, 0.0, 4.0, 0.0, 0.0),
        (1.0, 0.0, 0.0, 0.0, 1.0),
    ],
)
def test_the_worst_error_of_one_group_by_hand(u, m, eps, value, slope):
    assert worst_error(u, m, eps) == pytest.approx(value)
    assert worst_error_slope(u, m, eps) == pytest.approx(slope)


def test_the_plain_total_error_is_recognised():
    shares = np.array([0.5, 0.5])
    assert RobustFairObjective(shares, 0.0, np.zeros(2)).is_linear
    assert RobustFairObjective(np.ones(1), 3.0, np.ones(1)).is_linear
    assert not RobustFairObjective(shares, 0.1, np.zeros(2)).is_linear
    assert not RobustFairObjective(shares, 0.0, np.array([0.0, 0.1])).is_linear


def test_a_radius_shrinks_with_the_square_root_of_the_groups_size():
    assert radii_from(0.6, np.array([1.0, 4.0, 9.0])) == pytest.approx([0.6, 0.3, 0.2])
