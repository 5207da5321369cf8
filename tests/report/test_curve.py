"""The boundary in a page: right at every stop of the sliders, whatever the moments."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from fairspan.objectives.counting import radii_from
from fairspan.objectives.robust import RobustFairObjective
from fairspan.problem.subspace import SubspaceProblem
from fairspan.report._curve import TOLERANCE, trace_page_curve
from fairspan.report._settings import NOTIONS, Notion, Settings
from fairspan.solvers.two_groups.angle import solve_boundary
from fairspan.solvers.two_groups.trace import TradeOff
from tests import reference
from tests.test_frontier import moments_of


def some_settings(moments, radius=0.1):
    variance = float(moments.shares @ np.einsum("aii->a", moments.second_moments))
    return Settings.around(moments, 1.0, radius, variance)


def least_on(curve, objective):
    """The least objective on all parabolas, searched from the best places of a scan."""

    def value(place):
        arc = min(int(place), len(curve.corners) - 1)
        s = place - arc
        a, b, c = curve.points[arc], curve.corners[arc], curve.points[arc + 1]
        point = (1 - s) ** 2 * a + 2 * s * (1 - s) * b + s**2 * c
        return objective.value(np.maximum(point, 0.0))

    places = np.arange(0, len(curve.corners) + 0.1, 0.25)
    values = np.array([value(place) for place in places])
    searched = [
        minimize_scalar(
            value,
            bounds=(max(places[i] - 0.25, 0.0), min(places[i] + 0.25, places[-1])),
            method="bounded",
            options={"xatol": 1e-12},
        ).fun
        for i in np.argsort(values)[:4]
    ]
    return min(*searched, values.min())


def problem_of(seed):
    """Moments of every kind: full, commuting, of two features, of tiny and of lopsided groups."""
    rng = np.random.default_rng(seed)
    d = 2 if seed % 5 == 0 else int(rng.integers(3, 9))
    second = reference.random_moments(rng, 2, d)
    if seed % 5 == 1:
        second = np.array([np.diag(np.diag(moment)) for moment in second])
    if seed % 5 == 2:
        second[0] *= 50
    sizes = [3, 400] if seed % 5 == 3 else rng.integers(20, 400, 2)
    k = int(rng.integers(1, d))
    return moments_of(second, sizes), k


@pytest.mark.parametrize("seed", range(12))
def test_the_least_objective_on_the_curve_is_the_solvers_at_every_kind_of_setting(seed):
    moments, k = problem_of(seed)
    problem = SubspaceProblem(moments.second_moments, moments.shares, k)
    trade_off = TradeOff(problem)
    own = np.array([np.linalg.eigvalsh(M)[: problem.d - k].sum() for M in problem.moments])
    settings = replace(some_settings(moments), own=own)
    assert len(trade_off.region.inner) > 2
    curve = trace_page_curve(trade_off.boundary, settings)
    assert curve.accuracy <= TOLERANCE
    rng = np.random.default_rng(seed)
    for _ in range(15):
        weight, radius = rng.choice(settings.weights), rng.choice(settings.radii)
        radii = radii_from(float(radius), moments.weights)
        notion = settings.notions[rng.integers(3)]
        against = (np.sqrt(own) + np.sqrt(radii)) ** 2 if notion.reference == "own" else None
        objective = RobustFairObjective(
            problem.shares, float(weight), radii, None, notion.disparity, against
        )
        exact = solve_boundary(problem, objective)
        room = TOLERANCE * objective.size(exact.group_errors)
        found = least_on(curve, objective)
        assert exact.lower_bound - room <= found <= exact.objective + room


def test_pieces_at_all_settings_are_the_objectives():
    moments, _ = problem_of(7)
    notions = (*NOTIONS, Notion("gap", "own"))
    settings = replace(some_settings(moments), own=np.array([0.3, 0.7]), notions=notions)
    m = np.random.default_rng(0).uniform(0, 3, (5, 2))
    pieces = settings.both_pieces(m)
    place = 0
    for notion, weight, radius in product(settings.notions, settings.weights, settings.radii):
        radii = radii_from(radius, moments.weights)
        against = (np.sqrt(settings.own) + np.sqrt(radii)) ** 2
        objective = RobustFairObjective(
            moments.shares,
            weight,
            radii,
            disparity=notion.disparity,
            references=against if notion.reference == "own" else None,
        )
        np.testing.assert_allclose(pieces[:, place].max(axis=0), objective.values(m))
        if objective.references is not None:
            least = [objective.size(each) - objective.value(each) for each in m]
            assert (np.array(least) >= settings.all_offsets[place] - 1e-9).all()
        place += 1
    assert place == pieces.shape[1]


def test_stops_hold_zero_the_given_setting_and_large_weights():
    moments, _ = problem_of(4)
    settings = Settings.around(moments, 0.333, 0.0777, 10.0)
    assert settings.weights[0] == settings.radii[0] == 0
    assert 0.333 in settings.weights
    assert 0.0777 in settings.radii
    assert max(settings.weights) >= 100
    assert settings.weights == sorted(set(settings.weights))
