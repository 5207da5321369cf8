"""What a solver reports: a bound is never above the value, and a gap is never flattered."""

from __future__ import annotations

import math

import pytest

from fairspan.solvers.result import relative_gap, safe_bound


def test_what_rounding_adds_to_a_bound_is_cut_off():
    assert safe_bound(2.0 + 1e-12, 2.0, 10.0) == 2.0
    assert safe_bound(1.5, 2.0, 10.0) == 1.5
    assert safe_bound(-math.inf, 2.0, 10.0) == -math.inf


@pytest.mark.parametrize(("bound", "value"), [(2.1, 2.0), (1.0, 0.0), (0.0, -1.0)])
def test_a_bound_above_an_attained_value_raises(bound, value):
    with pytest.raises(RuntimeError, match="defect of fairspan"):
        safe_bound(bound, value, 10.0)


def test_a_gap_is_relative_to_the_objective_unless_that_is_next_to_nothing():
    assert relative_gap(2.0, 1.0, 10.0) == pytest.approx(0.5)
    assert relative_gap(2.0, 2.0 + 1e-12, 10.0) == 0.0
    assert relative_gap(0.0, -0.1, 10.0) == pytest.approx(100.0)
    assert relative_gap(1.0, -math.inf, 10.0) == math.inf
    assert relative_gap(0.0, 0.0, 0.0) == 0.0
