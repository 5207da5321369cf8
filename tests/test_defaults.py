"""The same setting has the same default wherever it can be given."""

from __future__ import annotations

import argparse
import inspect
from importlib import import_module

import pytest

import fairspan
from fairspan import inference, metrics, plotting, report, scorers, solvers, sources
from fairspan.cli import COMMANDS

MODULES = (fairspan, inference, metrics, plotting, report, scorers, solvers, sources)
# Made-up data has numbers of its own.
ENTRIES = {
    name: entry
    for module in MODULES
    for name in module.__all__
    if inspect.isfunction(entry := getattr(module, name))
    or (inspect.isclass(entry) and not issubclass(entry, Warning | dict))
}
DEFAULTS = {
    "n_components": 2,
    "fairness_weight": 1.0,
    "radius": 0.0,
    "standardize": False,
    "group_weights": "share",
    "missing_groups": "raise",
    "solver": "auto",
    "tol": 1e-8,
    "effort": 1.0,
    "max_time": None,
    "n_init": 20,
    "retraction": "qr",
    "level": 0.95,
    "radius_level": 0.95,
    "n_bootstrap": 1000,
    "centering": "global",
    "gap_centering": "global",
}
OTHERS = {
    ("FairPCA", "solver"): "exact",
    # The solver that found a result.
    ("SolverResult", "solver"): "",
    # The work that a proof has cost.
    ("SolverResult", "effort"): 0.0,
    # Replicates of a radius, which moments are made of, not of an interval.
    ("RobustFairPCA", "n_bootstrap"): 200,
    # Replicates of a bound for the population, each of which is solved.
    ("certify", "n_bootstrap"): 400,
    # Deprecated.
    ("fairness_frontier", "n_bootstrap"): None,
    ("build", "n_bootstrap"): None,
    ("advise", "n_bootstrap"): None,
    ("advise", "level"): None,
    # What a verdict may claim.
    ("Verdict", "level"): None,
    # The rule of the model that is scored.
    ("GroupErrorScorer", "missing_groups"): None,
    # A range of numbers, drawn against each other.
    ("plot_errors_by_components", "n_components"): None,
    # That of the components, if components are given.
    ("dominating_projection", "n_components"): None,
    # Several sizes are compared: those that fit the table.
    ("assess_downstream", "n_components"): None,
}
"""Where a name means something else, and what its default is there."""
IN_OPTIONS = {"components": "n_components", "tolerance": "tol", "bootstrap": "n_bootstrap"}

BEHIND = {"frontier": "fairness_frontier", "downstream": "assess_downstream"}
"""Commands that are named otherwise than the function behind them."""


def test_functions_and_estimators_agree():
    found = {
        (name, parameter.name): parameter.default
        for name, entry in ENTRIES.items()
        for parameter in inspect.signature(entry).parameters.values()
        if parameter.name in DEFAULTS and parameter.default is not parameter.empty
    }
    expected = {where: OTHERS.get(where, DEFAULTS[where[1]]) for where in found}
    assert found == expected
    assert set(OTHERS) <= set(found)
    assert {name for _, name in found} == set(DEFAULTS)


# The paper's experiments are run with the paper's settings.
@pytest.mark.parametrize("command", sorted(set(COMMANDS) - {"reproduce"}))
def test_commands_agree(command):
    parser = argparse.ArgumentParser()
    import_module(COMMANDS[command][1]).add_arguments(parser)
    for action in parser._actions:
        name = IN_OPTIONS.get(action.dest, action.dest)
        if name in DEFAULTS and action.default is not None:
            where = (BEHIND.get(command, command), name)
            assert action.default == OTHERS.get(where, DEFAULTS[name]), action.dest
