"""Whatever is given to a plot or to the report, it draws or answers with a sentence."""

from __future__ import annotations

from typing import Any

import pytest
from scipy.sparse import issparse

from fairspan import RobustFairPCA, fairness_frontier, plotting, report
from tests.hardening import inputs
from tests.hardening.law import REFUSED, outcome
from tests.hardening.test_fuzz_functions import values_for

pytestmark = pytest.mark.fuzz

pytest.importorskip("bokeh")
matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")

X, GROUPS = inputs.good()
MODEL = RobustFairPCA(2).fit(X, sensitive_features=GROUPS)
# What is computed when it is first asked for is computed now.
FRONTIER = fairness_frontier(X, 1, sensitive_features=GROUPS, fairness_weights=[0.0, 1.0])
FRONTIER.plot()
ROWS = {"X": X, "sensitive_features": GROUPS}
CASES: dict[str, tuple[Any, dict[str, Any]]] = {
    "plot_frontier": (plotting.plot_frontier, {"frontier": FRONTIER, "ax": None}),
    "plot_loadings": (
        plotting.plot_loadings,
        {"model": MODEL, "component": 0, "n_features": 3, "ax": None},
    ),
    "plot_projection": (
        plotting.plot_projection,
        {"model": MODEL, **ROWS, "components": (0, 1)},
    ),
    "plot_group_errors": (
        plotting.plot_group_errors,
        {"models": MODEL, **ROWS, "n_bootstrap": 20, "random_state": 0},
    ),
    "plot_errors_by_components": (
        plotting.plot_errors_by_components,
        {
            "X_or_moments": X,
            "sensitive_features": GROUPS,
            "n_components": [1, 2],
            "fairness_weight": 1.0,
            "radius": 0.1,
            "standardize": False,
        },
    ),
    "plot_history": (plotting.plot_history, {"model": MODEL, "ax": None}),
    "report": (
        report.build,
        {
            **ROWS,
            "n_components": 1,
            "fairness_weight": 1.0,
            "radius": 0.1,
            "standardize": False,
            "feature_names": None,
            "title": None,
            "sample_weight": None,
            "max_components": 1,
            "include_rows": False,
            "random_state": 0,
        },
    ),
}
PARAMETERS = [(case, name) for case, (_, usual) in CASES.items() for name in usual]


@pytest.mark.parametrize("case", CASES)
def test_the_plain_call_draws(case):
    function, usual = CASES[case]
    assert outcome(function, **usual) is not REFUSED


def left_out(name: str, value: Any) -> bool:
    """Scipy notes in a sparse array what it was asked; numpy fails on integers beyond a float."""
    if name == "models" and isinstance(value, dict):
        return any(isinstance(number, int) and number > 2**62 for number in value.values())
    return name == "model" and issparse(value)


@pytest.mark.parametrize(("case", "name"), PARAMETERS)
def test_a_value_of_any_kind_is_drawn_or_refused(case, name):
    function, usual = CASES[case]
    # With more than two groups these search for seconds, as "advise" does.
    makers = list(values_for("advise", name).values())
    # A report takes rows and labels as the others do, and takes longer.
    for make in makers[:: 4 if case == "report" and name in ROWS else 1]:
        value = make()
        if left_out(name, value):
            continue
        found = outcome(function, **(usual | {name: value}))
        if case == "report" and found is not REFUSED:
            found.to_json()
        plt.close("all")
