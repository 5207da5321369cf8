"""What the documentation lists as choices is what the code takes, no more and no less."""

from __future__ import annotations

import argparse
import inspect
import re
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import fairspan
from fairspan import datasets, inference, metrics, plotting, report, scorers, solvers, sources
from fairspan.cli import COMMANDS
from fairspan.experiments.settings import CHOICES
from fairspan.objectives import RobustFairObjective
from fairspan.problem import SubspaceProblem

ROOT = Path(__file__).parent.parent
X = np.random.default_rng(0).normal(size=(40, 3)) * [3, 2, 1]
GROUPS = ["a", "b"] * 20
MOMENTS = fairspan.GroupMoments.from_arrays(X, GROUPS)
MODEL = fairspan.RobustFairPCA(1).fit_moments(MOMENTS)
IMPOSSIBLE = "no such choice"

BUDGETS = {
    "gap_within_budget": {"total_budget": 1e9},
    "total_within_budget": {"gap_budget": 1e9},
}


def search(**given: str) -> None:
    budget = BUDGETS.get(given.get("scoring", ""), {})
    fairspan.RobustFairPCACV(1, cv=2, **budget, **given).fit(X, sensitive_features=GROUPS)


CALLS = {
    "GroupMoments.from_arrays": lambda **given: fairspan.GroupMoments.from_arrays(
        X, GROUPS, **given
    ),
    "RobustFairPCACV": search,
    "certify": lambda **given: fairspan.certify(
        np.eye(3)[:1], MOMENTS, fairness_weight=1, radius=0, **given
    ),
    "compare": lambda **given: fairspan.compare([MODEL], X, GROUPS, **given),
    "fairness_frontier": lambda **given: fairspan.fairness_frontier(MOMENTS, 1, **given),
    "Options": lambda **given: metrics.group_errors(MODEL, X, GROUPS, **given),
    "build": lambda **given: report.build(
        X, sensitive_features=GROUPS, n_components=1, max_components=1, **given
    ),
    "bootstrap_intervals": lambda **given: metrics.bootstrap_intervals(
        MODEL, X, GROUPS, n_bootstrap=20, **given
    ),
    "linear_leakage": lambda **given: metrics.linear_leakage(MODEL, X, GROUPS, **given),
    "excess_error": lambda **given: metrics.excess_error(MODEL, X, GROUPS, **given),
    "GroupErrorScorer": lambda measure="gap", **given: scorers.GroupErrorScorer(measure, **given)(
        MODEL, X, sensitive_features=GROUPS
    ),
    "advise": lambda **given: fairspan.advise(X, GROUPS, n_components=1, **given),
    "dominating_projection": lambda **given: fairspan.dominating_projection(
        [[1.0, 0.0]], X[:, :2], sensitive_features=GROUPS, **given
    ),
    "gap_test": lambda **given: inference.gap_test(
        X, sensitive_features=GROUPS, n_components=1, **given
    ),
    "moments_from_files": lambda **given: sources.moments_from_files("nowhere.csv", "g", **given),
    "rows_from_files": lambda **given: sources.rows_from_files("nowhere.csv", "g", **given),
    # Nothing is served there, and nothing is needed.
    "load": lambda **given: datasets.load(
        "biodeg", data_home="/nowhere", mirror="http://127.0.0.1:9", **given
    ),
}
"""How to call what documents choices; estimators are fitted."""

RESULTS = {("ReductionTest", "verdict")}
"""What is found, not chosen."""
WORDS = {
    ("DatasetInfo", "notes"),
    ("Frontier", "route"),
    ("SolverResult", "solver"),
    ("Verdict", "method"),
}
"""Texts that are no choices."""
ELSEWHERE = {
    ("RobustFairPCACV", name)
    for name in ("group_weights", "missing_groups", "small_groups", "solver")
} | {("SolverOptions", name) for name in ("solver", "retraction", "iterate")}
"""Choices that are documented at RobustFairPCA."""


def public() -> dict[str, object]:
    """Public classes and functions, and methods that make instances."""
    modules = (
        fairspan,
        datasets,
        inference,
        metrics,
        plotting,
        report,
        scorers,
        solvers,
        sources,
    )
    found = {
        name: getattr(module, name)
        for module in modules
        for name in module.__all__
        if inspect.isclass(getattr(module, name)) or inspect.isfunction(getattr(module, name))
    }
    return found | {"GroupMoments.from_arrays": fairspan.GroupMoments.from_arrays}


def documented() -> dict[tuple[str, str], list[str]]:
    return {
        (name, parameter): re.findall('"(.*?)"', choices)
        for name, entry in public().items()
        for parameter, choices in re.findall(
            r"^(\w+) : \{(.*?)\}", inspect.getdoc(entry) or "", flags=re.M
        )
        if (name, parameter) not in RESULTS
    }


def call(name: str, **given: str) -> None:
    if name in CALLS:
        CALLS[name](**given)
    else:
        getattr(fairspan, name)(1, **given).fit(X, sensitive_features=GROUPS)


def accepts(name: str, parameter: str, choice: str) -> bool:
    """Whether a choice is known, even if files or programs that it needs are not there."""
    try:
        call(name, **{parameter: choice})
    except Exception as error:
        return "is not known" not in str(error)
    return True


@pytest.mark.parametrize(("name", "parameter"), documented())
def test_documented_choices_are_those_of_the_code(name, parameter):
    if name == "moments_from_files":
        pytest.importorskip("pyarrow")
    choices = documented()[name, parameter]
    with pytest.raises(ValueError, match="is not known; use") as refused:
        call(name, **{parameter: IMPOSSIBLE})
    listed = re.findall("'(.*?)'", str(refused.value).partition("; use")[2])
    assert sorted(listed) == sorted(choices)
    for choice in choices:
        assert accepts(name, parameter, choice)


def test_every_choice_is_documented():
    words = {
        (name, parameter.name): parameter.default
        for name, entry in public().items()
        if not (inspect.isclass(entry) and issubclass(entry, Warning | dict))
        for parameter in inspect.signature(entry).parameters.values()
        if isinstance(parameter.default, str)
    }
    listed = documented()
    assert set(words) - set(listed) == WORDS | ELSEWHERE
    assert [where for where in listed if where in words and words[where] not in listed[where]] == []


def first_column(page: str, header: str) -> list[str]:
    """Quoted words in the first cells of the table below a header."""
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    rows = text.partition(f"\n| {header} |")[2].partition("\n\n")[0]
    cells = re.findall(r"^\| ([^|]*) \|", rows, flags=re.M)
    return sorted(word for cell in cells for word in re.findall('`"(.*?)"`', cell))


def test_pages_list_the_choices_of_the_code():
    known = documented()
    assert first_column("solvers", "`solver=`") == sorted(known["RobustFairPCA", "solver"])
    assert first_column("choosing", "scoring") == sorted(known["RobustFairPCACV", "scoring"])
    problem = SubspaceProblem(MOMENTS.second_moments, MOMENTS.shares, 1)
    objective = RobustFairObjective(MOMENTS.shares, 1.0, np.zeros(2))
    with pytest.raises(ValueError, match="is not known") as refused:
        solvers.solve(problem, objective, solvers.SolverOptions(solver=IMPOSSIBLE))
    listed = set(re.findall("'(.*?)'", str(refused.value).partition("is not known")[2]))
    assert first_column("solvers", "solver") == sorted(listed - {"auto"})
    page = (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8")
    switches = re.findall(r"^\| `--([\w-]+) ([^|]*) \|", page, flags=re.M)
    listed = {name.replace("-", "_"): re.findall(r"[\w-]+", words) for name, words in switches}
    assert {name: tuple(choices) for name, choices in listed.items()} == CHOICES


@pytest.mark.parametrize("command", COMMANDS)
def test_options_of_commands_show_their_choices(command):
    parser = argparse.ArgumentParser()
    import_module(COMMANDS[command][1]).add_arguments(parser)
    for action in parser._actions:
        if action.choices and action.help != argparse.SUPPRESS:
            text = parser.format_help()
            assert [choice for choice in action.choices if choice not in text] == []
            assert action.default is None or action.default in action.choices
