"""Linear pieces of the relaxation lie below the true ones on a box and touch at its corners."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from fairspan.certificate.box import Box
from fairspan.certificate.relaxation import _Chords
from fairspan.objectives.robust import RobustFairObjective


def piece(shares, weight, radii, m, pair):
    """What a piece is, written out: group a counts more by the weight, group b less."""
    coefficients = shares.copy()
    a, b = pair
    coefficients[a] += weight
    coefficients[b] -= weight
    worse = (np.sqrt(m) + np.sqrt(radii)) ** 2
    better = np.maximum(np.sqrt(m) - np.sqrt(radii), 0.0) ** 2
    return float(coefficients @ np.where(coefficients >= 0, worse, better))


@pytest.mark.parametrize("weight", [0.01, 0.3, 2.0])
@pytest.mark.parametrize("seed", range(10))
def test_chords_touch_the_pieces_at_the_corners_and_stay_below_inside(seed, weight):
    rng = np.random.default_rng(seed)
    shares, radii = rng.dirichlet(np.ones(3)), rng.exponential(1.0, 3)
    lower = rng.exponential(1.0, 3)
    upper = lower + rng.exponential(2.0, 3)
    chords = _Chords(RobustFairObjective(shares, weight, radii), Box(lower, upper))
    for pair in itertools.permutations(range(3), 2):
        intercept, slope = chords.piece(pair)
        for corner in itertools.product(*zip(lower, upper, strict=True)):
            m = np.array(corner)
            expected = piece(shares, weight, radii, m, pair)
            assert intercept + slope @ m == pytest.approx(expected, rel=1e-10)
        for m in rng.uniform(lower, upper, (50, 3)):
            most = piece(shares, weight, radii, m, pair)
            assert intercept + slope @ m <= most + 1e-10 * abs(most)
