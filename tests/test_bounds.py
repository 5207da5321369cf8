"""Bounds are never written smaller than they are proved."""

from __future__ import annotations

import numpy as np

from fairspan.ground.bounds import at_least, at_most


def test_an_upper_bound_is_rounded_up():
    values = (0.0, -1e-17, 2.479e-10, 1e-8, 9.1e-9, 1.0000001e-5, 0.3)
    assert [at_most(x) for x in values] == ["0", "0", "3e-10", "1e-8", "1e-8", "2e-5", "3e-1"]
    for value in np.random.default_rng(0).lognormal(-20, 8, 500):
        assert value <= float(at_most(value)) <= 2.01 * value


def test_a_lower_bound_is_rounded_down():
    assert at_least(3.14159268, 8) == "3.1415926"
    for value in np.random.default_rng(1).normal(0, 100, 500):
        assert value - 1e-5 * abs(value) <= float(at_least(value, 6)) <= value
