"""Default settings, the same for every estimator, function, plot and command."""

from __future__ import annotations

N_COMPONENTS = 2
FAIRNESS_WEIGHT = 1.0
RADIUS = 0.0
"""The data is trusted; the paper's experiments use 0.05 to 0.15."""
TOL = 1e-8
MAX_ITER = 1000
EFFORT = 1.0
"""Multiplies the work that a proof for three groups or more may cost."""
N_INIT = 20
FAILURE_PROBABILITY = 1e-10
"""Of bounds that rest on random blocks."""
LEVEL = 0.95
"""Confidence level of intervals, and of the radius that is found by resampling."""
INTERVAL = ((1 - LEVEL) / 2, (1 + LEVEL) / 2)
N_BOOTSTRAP = 1000
"""Replicates behind an interval."""
RADIUS_REPLICATES = 200
"""Replicates behind ``radius="bootstrap"``; each needs moments of its own."""
POPULATION_REPLICATES = 400
"""Replicates behind bounds for the population; each needs a few eigenvalue problems."""
MIN_COUNT = 10
"""Moments of groups of fewer rows are not written to files."""
MIN_ROWS = 5
"""Groups of fewer rows are small, unless a user says otherwise."""
SEED = 0
"""Of pages, pictures and commands, so that the same data gives the same."""
