"""Every entry point says the same about the same data: status, gap, bound and errors."""

from __future__ import annotations

import csv
import json
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairspan import (
    GroupMoments,
    RobustFairPCA,
    RobustFairPCACV,
    advise,
    certify,
    compare,
    dominating_projection,
    fairness_frontier,
    report,
)
from fairspan import words as spoken
from fairspan.cli import main
from fairspan.inference import gap_test, reduction_test
from fairspan.solvers import door

K = 2


@dataclass(frozen=True)
class Case:
    """A table and a setting."""

    X: np.ndarray
    groups: Any
    weight: np.ndarray | None = None
    counting: dict[str, str] = field(default_factory=dict)
    standardize: bool = False
    fairness_weight: float = 1.0
    radius: float = 0.2
    stopped: bool = False

    @property
    def setting(self) -> dict[str, Any]:
        return {"fairness_weight": self.fairness_weight, "radius": self.radius}

    @property
    def model(self) -> RobustFairPCA:
        return RobustFairPCA(K, standardize=self.standardize, **self.setting, **self.counting)

    @property
    def moments(self) -> GroupMoments:
        rule = self.counting.get("missing_groups", "raise")
        return GroupMoments.from_arrays(
            self.X, self.groups, sample_weight=self.weight, missing_groups=rule
        )

    def write(self, folder: Path) -> list[str]:
        """Write the table; give what the command line needs to read it."""
        names = [f"x{j}" for j in range(self.X.shape[1])]
        with open(folder / "table.csv", "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow([*names, "group", "count"])
            for i, row in enumerate(self.X):
                weight = 1 if self.weight is None else self.weight[i]
                writer.writerow([*map(repr, row.tolist()), self.groups[i], weight])
        options = ["-s", "group", "-k", str(K), "--radius", str(self.radius)]
        options += ["--features", *names]
        options += ["--weight", "count"] if self.weight is not None else []
        return [str(folder / "table.csv"), *options, *["--standardize"] * self.standardize]


def table(n_groups: int = 2, n_features: int = 6, n: int = 240) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    codes = rng.integers(0, n_groups, n)
    spreads = rng.uniform(0.3, 3.0, (n_groups, n_features))
    return rng.standard_normal((n, n_features)) * spreads[codes], np.array(list("abcdefgh"))[codes]


def hidden() -> Case:
    X, groups = table()
    X[:, 0] *= 1e9
    return Case(X, groups, radius=0.0)


def unproved() -> Case:
    rng = np.random.default_rng(0)
    rows = [rng.standard_normal((40, 5)) @ rng.standard_normal((5, 10)) for _ in range(8)]
    return Case(np.vstack(rows), np.repeat(list("abcdefgh"), 40), fairness_weight=5.0, stopped=True)


def missing(rule: str) -> Case:
    X, groups = table(3)
    labels = np.where(groups == "c", None, groups)
    return Case(X, labels, counting={"missing_groups": rule, "group_weights": "equal"})


def weighted() -> Case:
    X, groups = table()
    return Case(X, groups, weight=np.random.default_rng(5).integers(1, 4, len(X)).astype(float))


CASES = {
    "plain": lambda: Case(*table()),
    "standardised": lambda: Case(*table(), standardize=True),
    "four groups": lambda: Case(*table(4)),
    "a feature hidden by rounding": hidden,
    "a proof stopped early": unproved,
    "weights": weighted,
    "missing groups apart": lambda: missing("own_group"),
    "missing groups in the total only": lambda: missing("total_only"),
    "one group": lambda: Case(table()[0], ["a"] * 240),
}


@dataclass(frozen=True)
class Said:
    """What an entry point says about the optimum of a setting; None where it has no such word."""

    status: str | None
    gap: float
    bound: float | None = None
    errors: Any = None


def of_model(model: Any) -> Said:
    return Said(
        model.result_.status, model.optimality_gap_, model.lower_bound_, model.group_errors_
    )


def by_fit(case: Case, folder: Path) -> Said:
    given = {"sensitive_features": case.groups, "sample_weight": case.weight}
    return of_model(case.model.fit(case.X, **given))


def by_fit_moments(case: Case, folder: Path) -> Said:
    return of_model(case.model.fit_moments(case.moments))


def by_certify(case: Case, folder: Path) -> Said:
    model = case.model.fit_moments(case.moments)
    moments = case.moments if model.scale_ is None else case.moments.scaled(model.scale_)
    found = certify(model.components_, moments, **case.setting, **case.counting)
    return Said(found.status, found.optimality_gap, found.lower_bound, found.group_errors)


def by_frontier(case: Case, folder: Path) -> Said:
    found = fairness_frontier(
        case.moments,
        K,
        fairness_weights=case.fairness_weight,
        radius=case.radius,
        standardize=case.standardize,
        **case.counting,
    )
    numbers = (found.optimality_gap[0], found.lower_bound[0], found.group_errors[0])
    return Said(found.status[0], *numbers)


def search(case: Case, refit: bool) -> RobustFairPCACV:
    return RobustFairPCACV(
        K,
        fairness_weights=[case.fairness_weight],
        radii=[case.radius],
        standardize=case.standardize,
        refit=refit,
        random_state=0,
        **case.counting,
    ).fit(case.X, sensitive_features=case.groups, sample_weight=case.weight)


def by_search(case: Case, folder: Path) -> Said:
    return of_model(search(case, refit=True).best_estimator_)


def by_search_without_refit(case: Case, folder: Path) -> Said:
    # Folds are other data: what they share with a fit is whether anything is proved.
    return Said(None, float(search(case, refit=False).cv_results_["optimality_gap"][0]))


def by_compare(case: Case, folder: Path) -> Said:
    methods = {"fair": RobustFairPCA(K, **case.setting, **case.counting)}
    rows = compare(methods, case.X, case.groups, standardize=case.standardize)
    row = next(row for row in rows.to_dict("records") if row["method"] == "fair")
    return Said(row["status"], row["optimality_gap"])


def by_report(case: Case, folder: Path) -> Said:
    page = report.build(
        case.X,
        sensitive_features=case.groups,
        sample_weight=case.weight,
        n_components=K,
        max_components=K,
        standardize=case.standardize,
        **case.setting,
    )
    chosen = json.loads(page.to_json())["by_components"][K - 1]["chosen"]
    return Said(chosen["status"], chosen["proved"], chosen["lower_bound"], chosen["errors"])


def by_command(name: str) -> Callable[[Case, Path], Said]:
    def said(case: Case, folder: Path) -> Said:
        words = case.write(folder)
        weight = str(case.fairness_weight)
        model = str(folder / "model.npz")
        told = ["--weights", weight] if name == "frontier" else ["--fairness-weight", weight]
        if name == "certify":
            _answer(["fit", *words, *told, "-o", model])
            found = _answer(["certify", model])
        elif name == "fit":
            found = _answer(["fit", *words, *told])["fit"]
        else:
            found = _answer([name, *words, *told])["points"][0]
        errors = [group["error"] for group in found.get("groups", [])]
        errors = errors or [value for key, value in found.items() if key.startswith("error_")]
        return Said(found["status"], found["optimality_gap"], found["lower_bound"], errors)

    return said


def _answer(words: list[str]) -> dict[str, Any]:
    import io
    from contextlib import redirect_stdout

    with redirect_stdout(io.StringIO()) as out:
        main([*words, "--json"])
    return json.loads(out.getvalue())


ENTRIES = {
    "fit_moments": by_fit_moments,
    "certify": by_certify,
    "fairness_frontier": by_frontier,
    "RobustFairPCACV": by_search,
    "RobustFairPCACV without refit": by_search_without_refit,
    "compare": by_compare,
    "report": by_report,
    "fairspan fit": by_command("fit"),
    "fairspan certify": by_command("certify"),
    "fairspan frontier": by_command("frontier"),
}

NO_WORD = {
    "weights": {"compare"},
    "missing groups apart": {"compare", "report", "fairspan fit", "fairspan certify"},
    "one group": {"fairness_frontier", "report"},
}
NO_WORD["missing groups in the total only"] = NO_WORD["missing groups apart"]
NO_WORD["missing groups apart"] |= {"fairspan frontier"}
NO_WORD["one group"] |= {"fairspan frontier"}
"""Entry points that do not take such a table: they have no such parameter, or refuse it."""


@pytest.fixture
def patience(monkeypatch):
    """Proofs of more than two groups end at once, so that every entry point stops alike."""

    newton = door._SOLVERS["newton"]

    def at_once(*problem: Any, **options: Any) -> Any:
        return newton.run(
            *problem, **options | {"effort": 1e-9, "start": None, "rng": np.random.default_rng(0)}
        )

    def stop(case: Case) -> None:
        if case.stopped:
            monkeypatch.setitem(door._SOLVERS, "newton", newton._replace(run=at_once))

    return stop


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("name", CASES)
def test_every_entry_point_says_what_fit_says(name, entry, tmp_path, patience):
    if entry in NO_WORD.get(name, ()):
        return
    case = CASES[name]()
    patience(case)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected, found = by_fit(case, tmp_path), ENTRIES[entry](case, tmp_path)
    # Folds add up in another order: that rounding moves a proof which is stopped at once.
    by_folds = case.stopped and entry == "RobustFairPCACV"
    assert found.status in (None, expected.status)
    if expected.status == "optimal":
        assert found.gap <= (1e-8 if found.bound is not None else 1e-3)
    elif found.bound is not None or expected.gap == 1:
        assert found.gap == pytest.approx(expected.gap, rel=0.1 if by_folds else 1e-6)
    if found.bound is not None:
        assert found.bound == pytest.approx(expected.bound, rel=0.01 if by_folds else 1e-7)
        assert found.errors == pytest.approx(expected.errors, rel=1e-5)


def test_the_cases_are_what_they_are_called(tmp_path, patience):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert by_fit(CASES["plain"](), tmp_path).status == "optimal"
        nothing = by_fit(hidden(), tmp_path)
        assert (nothing.status, nothing.gap) == ("feasible", 1.0)
        stopped = CASES["a proof stopped early"]()
        patience(stopped)
        said = by_fit(stopped, tmp_path)
    assert said.status == "feasible"
    assert 1e-6 < said.gap < 1


def verdicts(case: Case, folder: Path) -> dict[str, dict[str, Any] | None]:
    """What entry points say about new rows, to programs."""
    words, weight = case.write(folder), str(case.fairness_weight)
    found: dict[str, Any] = {}
    for name in ("fit", "compare", "report", "frontier"):
        told = [] if name == "frontier" else ["--fairness-weight", weight]
        page = ["-o", str(folder / "page.html")] if name == "report" else []
        found[name] = _answer([name, *words, *told, *page])["verdict"]
    made = report.build(
        case.X,
        sensitive_features=case.groups,
        n_components=K,
        max_components=K,
        standardize=case.standardize,
        **case.setting,
    )
    found["report.build"] = made.content["by_components"][K - 1]["verdict"]
    advice = advise(case.X, case.groups, n_components=K, standardize=case.standardize)
    found["advise"] = None if advice.verdict is None else advice.verdict.document
    return found


@pytest.mark.parametrize(
    "name", ["plain", "standardised", "four groups", "a feature hidden by rounding"]
)
def test_every_entry_point_gives_the_verdict_of_the_tests(name, tmp_path):
    case = CASES[name]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = verdicts(case, tmp_path)
    if name == "a feature hidden by rounding":
        assert set(found.values()) == {None}
        return
    given = {"sensitive_features": case.groups}
    test = gap_test(case.X, n_components=K, standardize=case.standardize, **given)
    change = reduction_test(case.model, case.X, **given)
    for entry, said in found.items():
        assert said["pvalue"] == test.pvalue
        assert said["errors"] == pytest.approx(change.plain.group_errors)
        ends = [said["intervals"][a] for a in range(len(test.labels))]
        assert ends == [pytest.approx(own) for own in change.plain.group_intervals]
        if entry not in ("frontier", "advise"):
            assert said["change"] == change.verdict
    assert test.pvalue < 0.05
    assert {said.get("headline", "") for said in found.values()} == {
        found["fit"]["headline"],
        "",
    }


def dominated_by_entry(case: Case, folder: Path) -> dict[str, bool]:
    """What entry points say about whether another projection serves every group better."""
    model = case.model.fit_moments(case.moments)
    scaled = case.moments if model.scale_ is None else case.moments.scaled(model.scale_)
    units = {"standardize": case.standardize}
    robust = RobustFairPCA(K, **case.setting)
    frontier = fairness_frontier(
        case.moments, K, fairness_weights=case.fairness_weight, radius=case.radius, **units
    )
    page = report.build(
        case.X,
        sensitive_features=case.groups,
        n_components=K,
        max_components=K,
        **units,
        **case.setting,
    )
    table = case.write(folder)
    weight = str(case.fairness_weight)
    saved = ["--fairness-weight", weight, "-o", str(folder / "model.npz")]
    compared = compare({"fair": robust}, case.X, case.groups, **units).to_dict("records")
    return {
        "dominating_projection": dominating_projection(model.components_, scaled).dominates,
        "certify": certify(model.components_, scaled, **case.setting).dominating.dominates,
        "fairness_frontier": frontier.dominated[0],
        "compare": compared[0]["dominated"],
        "report": page.content["by_components"][K - 1]["chosen"]["better"]["dominates"],
        "card": spoken.TEMPLATES["dominated"][:45] in page.model_card(),
        "fairspan fit": _answer(["fit", *table, *saved])["dominating"]["dominates"],
        "fairspan certify": _answer(["certify", str(folder / "model.npz")])["dominating"][
            "dominates"
        ],
        "fairspan frontier": _answer(["frontier", *table, "--weights", weight])["points"][0][
            "dominated"
        ],
    }


@pytest.mark.parametrize("n_groups", [2, 4])
@pytest.mark.parametrize(("weight", "dominated"), [(0.05, False), (5.0, True)])
def test_every_entry_point_says_whether_all_could_be_served_better(
    n_groups, weight, dominated, tmp_path
):
    X, groups = table(n_groups)
    X[groups == "a"] *= 0.3
    case = Case(X, groups, standardize=True, fairness_weight=weight, radius=0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = dominated_by_entry(case, tmp_path)
    assert {name: bool(one) for name, one in found.items()} == dict.fromkeys(found, dominated)
