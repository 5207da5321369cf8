"""A short round of the hunt (``make hunt``), and the problems that once were found by it."""

from __future__ import annotations

import pytest

from tests import hunt

FOUND = [
    ("scales apart, more groups", 100026, "newton"),
    ("columns apart, two groups", 100567, "newton"),
    ("low rank, more groups", 100683, "newton"),
    ("one rank, more groups", 1, "auto"),
    ("scales apart, two groups", 9002318, "auto"),
    ("columns apart, two groups compared", 500165, "auto"),
]


@pytest.mark.parametrize(("family", "seed", "solver"), FOUND)
def test_what_the_hunt_once_found_stays_mended(family, seed, solver):
    assert hunt.attack(family, seed, solver) == []


@pytest.mark.fuzz
@pytest.mark.parametrize("family", hunt.FAMILIES)
def test_no_subspace_beats_a_proved_bound(family):
    assert [fault for seed in range(3) for fault in hunt.attack(family, seed, "auto")] == []


def test_a_false_bound_is_found():
    problem, objective, rng = hunt.FAMILIES["plain, two groups"](0)
    best = hunt.solve(problem, objective, hunt.SolverOptions())
    beaten = [
        hunt.problems.value(problem, objective, V) < 1.01 * best.objective
        for V in hunt._subspaces(problem, objective, best.components.T, rng)
    ]
    assert any(beaten)
