"""Page, card, terminal and library say the same about the same result, whatever is proved of it."""

from __future__ import annotations

import csv
import json
import re

import numpy as np
import pytest

from fairspan import RobustFairPCA, advise, report, words
from fairspan.cli import console, main
from fairspan.solvers import door
from tests.report.conftest import SLIDERS

QUICK = {"max_components": 2, "n_components": 2}


def findings(content, page, errors, point, weight):
    """What Python says of errors that a page shows."""
    shares = np.array([group["share"] for group in content["groups"]])
    pca = page["pca"]
    both = (pca["errors"], errors)
    return words.Findings(
        labels=[group["label"] for group in content["groups"]],
        errors=both,
        totals=tuple(float(shares @ m) for m in both),
        n_components=page["k"],
        n_features=content["data"]["features"],
        status=point["status"],
        gap=point["proved"],
        hidden=(pca["hidden"], point["hidden"]),
        verdict=page["verdict"] and words.Verdict(**page["verdict"]),
        better=words.Better(**point["better"]) if "better" in point else None,
        fairness_weight=weight,
        kept=tuple(1 - float(shares @ m) / content["data"]["variance"] for m in both),
    )


def sentences(found, own, shown):
    """What a page says; whether a method helps on new rows was tested at one setting only."""
    change, payers = found.change if own else found.elsewhere, [found.payers]
    # Whether another projection serves every group better, the page finds by itself.
    better = re.search(r"Another projection serves every group better(: it .*? %)?\.", shown)
    if better and "serves every group better" not in payers[0]:
        payers.append(better[0])
    if words.TEMPLATES["instead"] in shown and words.TEMPLATES["instead"] not in payers[0]:
        payers.append(words.TEMPLATES["instead"])
    told = (found.headline, change, found.fitted, found.effect, found.variance)
    told = (*told, *payers, found.caveats, found.proof)
    return " ".join(filter(None, told))


def check_stops(page, content, n_stops):
    """Move the sliders and compare every sentence and number with Python's."""
    stops, told = content["stops"], set()
    rng = np.random.default_rng(0)
    sizes = [len(stops[name]) for name in ("weights", "radii", "components")]
    corners = [[-1, 0, -1], [-1, -1, -1], [0, 0, 0]] % np.array(sizes)
    for at in [*corners.tolist(), *rng.integers(sizes, size=(n_stops, 3)).tolist()]:
        for name, place in zip(SLIDERS, at, strict=True):
            page.move(name, place)
        one = content["by_components"][at[2]]
        weight, radius = stops["weights"][at[0]], stops["radii"][at[1]]
        own = (weight, radius) == tuple(
            content["setting"][n] for n in ("fairness_weight", "radius")
        )
        plain = weight == radius == 0 and not own
        if plain:
            point = one["pca"]
        elif "curve" in one and not own:
            point = one["curve"] | {"proved": one["curve"]["accuracy"]}
        else:
            point = one["chosen"] if own else one["optima"][at[0] * len(stops["radii"]) + at[1]]
        table = page.table()
        errors = table[: len(content["groups"]), 1].tolist()
        found = findings(content, one, errors, point, weight)
        tested = own and one["k"] == content["setting"]["n_components"]
        shown = page.summary()
        expected = sentences(found, tested, shown)
        assert shown == (expected.replace(f"{found.elsewhere} ", "") if plain else expected)
        told.add(found.effect.split()[2])
        assert page.text("figure-proved").replace("\xa0", " ") == words.share_at_most(found.gap)
        cells = page.tab.locator("#table tbody td[data-value]").evaluate_all(
            "cells => cells.map(c => c.firstChild.textContent)"
        )
        *errors, gaps = table
        same = words.RULES["same"] * np.max(errors[:-1], axis=0)
        gaps = np.where(gaps < same, 0.0, gaps)
        assert cells == [words.number(value) for value in np.ravel([*errors, gaps])]
    return told


def test_the_page_speaks_as_python_does_wherever_the_sliders_stand(open_page, two_groups):
    told = check_stops(open_page(two_groups), two_groups.content, 15)
    assert told == {"gives", "narrows", "closes", "leaves"}


@pytest.fixture
def stopped(monkeypatch):
    """Proofs are given up before they begin."""
    newton = door._SOLVERS["newton"]

    def stop(*problem, **options):
        return newton.run(*problem, **options | {"effort": 1e-9})

    monkeypatch.setitem(door._SOLVERS, "newton", newton._replace(run=stop))


def eight_groups():
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 8, 400)
    X = rng.normal(size=(400, 8)) @ rng.normal(size=(8, 8)) * rng.uniform(0.3, 2, (8, 8))[codes]
    return X, np.array([f"group {a}" for a in codes])


def huge_column():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5)) * [1e9, 2, 1, 1, 1.5]
    groups = rng.choice(["a", "b"], 200)
    X[groups == "b", 3] *= 3
    return X, groups


@pytest.fixture
def say(tmp_path, monkeypatch, capsys):
    """What a command says, in one line; its table is the one given last."""
    monkeypatch.chdir(tmp_path)

    def call(line, table=None):
        if table is not None:
            rows = zip(*table[0].T.tolist(), table[1], strict=True)
            with open("table.csv", "w", newline="") as file:
                header = [*(f"x{j}" for j in range(table[0].shape[1])), "group"]
                csv.writer(file).writerows([header, *rows])
        main(line.replace("table.csv", "table.csv -s group -k 2").split())
        return " ".join(capsys.readouterr().out.split())

    return call


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_proof_that_was_stopped_is_claimed_by_nobody(stopped, say, open_page):
    X, groups = eight_groups()
    made = report.build(X, sensitive_features=groups, **QUICK)
    chosen = made.content["by_components"][1]["chosen"]
    model = RobustFairPCA(2).fit(X, sensitive_features=groups)
    assert chosen["status"] == model.result_.status == "feasible"
    assert chosen["proved"] == pytest.approx(model.optimality_gap_, rel=1e-6)
    left = words.share_at_most(model.optimality_gap_)
    proof = f"Not proved optimal: another projection may lower the objective by up to {left} of it."
    page = open_page(made)
    assert page.summary() == made.summary
    assert page.summary().endswith(proof)
    assert proof in page.text("facts")
    assert check_stops(page, made.content, 5)
    card = made.model_card()
    assert card.count(proof) == 2
    assert f"relative gap between them: {left}\n" in card
    for text in (card, made.to_html().split("<script")[0]):
        assert "Proved optimal" not in text
    told = " ".join(console.sentences(made.summary).split())
    assert told in say("fit table.csv -o model.npz", (X, groups))
    assert told in say("report table.csv")
    assert f"RobustFairPCA: {proof}" in say("compare table.csv")
    told = f"1 of 2 points are not proved optimal: {proof.split(': ')[1]}"
    assert told in say("frontier table.csv --weights 0 1")
    assert proof in say("info model.npz")
    assert proof in say("certify model.npz")


@pytest.mark.filterwarnings("ignore::fairspan.exceptions.HiddenFeatureWarning")
def test_what_rounding_hides_is_claimed_by_nobody(say, open_page):
    X, groups = huge_column()
    made = report.build(X, sensitive_features=groups, **QUICK)
    hidden = words.TEMPLATES["hidden"]
    blurred = "With 2 components, rounding hides how well PCA reconstructs the groups."
    assert made.summary == f"{blurred} {hidden}"
    page = open_page(made)
    assert page.summary() == made.summary
    page.move("weight", 3)
    page.move("radius", 2)
    assert page.summary() == made.summary
    assert page.text("figure-proved") == "unknown"
    shown = page.tab.locator("body").inner_text()
    assert not re.search("no other|lies below|proved right", shown)
    card = made.model_card()
    assert card.count(hidden) == 2
    assert "lower bound" not in card
    assert made.summary in say("fit table.csv -o model.npz", (X, groups))
    for line in ("report table.csv", "frontier table.csv", "frontier table.csv --weights 0 1"):
        assert made.summary in say(line)
    for line in ("compare table.csv", "certify model.npz", "info model.npz"):
        assert hidden in say(line)
    told = str(advise(X, groups, standardize=False, random_state=0))
    assert blurred in told
    assert hidden in told


def test_what_errors_are_compared_with_is_said_everywhere(say, open_page):
    X, groups = eight_groups()
    groups = np.where(groups < "group 4", "a", "b")
    made = report.build(X, sensitive_features=groups, reference="own", **QUICK)
    model = RobustFairPCA(2, reference="own").fit(X, sensitive_features=groups)
    plain = RobustFairPCA(2, fairness_weight=0).fit_moments(model.moments_)
    rows = [X[groups == a] - X.mean(axis=0) for a in "ab"]
    own = [np.linalg.eigvalsh(Z.T @ Z / len(Z))[:-2].sum() for Z in rows]
    before, after = plain.group_errors_ - own, model.group_errors_ - own
    assert np.ptp(before) > np.ptp(after)
    a, b, c, d = (words.number(x) for x in (*before, *after))
    gaps = [words.number(np.ptp(x), model.total_error_) for x in (before, after)]
    told = (
        f"Errors are compared above each group's own best (a {words.number(own[0])}, "
        f"b {words.number(own[1])}): with PCA a {a}, b {b} (gap {gaps[0]}), with RobustFairPCA "
        f"a {c}, b {d} (gap {gaps[1]}). The verdict about new rows compares the errors themselves."
    )
    assert told in made.summary
    page = open_page(made)
    assert page.summary() == made.summary
    assert page.table().shape == (5, 2)
    assert page.table()[4] == pytest.approx([np.ptp(before), np.ptp(after)], abs=1e-7)
    page.move("notion", 0)
    assert "compared above" not in page.summary()
    page.move("notion", 2)
    assert "Errors are compared above each group's own best" in page.summary()
    assert told in made.model_card()
    assert f"| a | {(groups == 'a').sum()} | {words.number(own[0])} |" in made.model_card()
    fit = say("fit table.csv --reference own -o model.npz", (X, groups))
    assert told in fit
    assert f"gap above own best {' '.join(gaps)}" in fit
    assert told in say("report table.csv --reference own")
    assert "errors compared above each group's own best" in say("certify model.npz")
    told = told.replace("RobustFairPCA", "the smallest gap").split(" The verdict")[0]
    assert told in say("frontier table.csv --reference own --weights 0 1")
    document = json.loads(say("fit table.csv --reference own --json"))
    assert document["fit"]["gap_above_references"] == pytest.approx(np.ptp(after), abs=1e-9)
    found = [group["error_above_reference"] for group in document["pca"]["groups"]]
    assert found == pytest.approx(before, abs=1e-9)
    for line in ("certify model.npz --json", "certify model.npz --json --reference own"):
        found = [group["reference"] for group in json.loads(say(line))["groups"]]
        assert found == pytest.approx(own, abs=1e-9)
    document = json.loads(say("frontier table.csv --reference own --weights 0 1 --json"))
    found = [point["gap_above_references"] for point in document["points"]]
    assert found == pytest.approx([np.ptp(before), np.ptp(after)], abs=1e-7)
    named = say("certify model.npz --reference a=1 --reference b=2")
    assert "errors compared above the given references" in named


def test_programs_are_told_the_status_everywhere(say, two_groups):
    X, groups = eight_groups()
    groups = np.where(groups < "group 4", "a", "b")
    fit = json.loads(say("fit table.csv --json", (X, groups)))
    for model in (fit["fit"], fit["pca"], json.loads(say("report table.csv --json"))):
        assert model["status"] == "optimal"
        assert model["optimality_gap"] <= 1e-8
        assert model["hidden"] is False
    for point in json.loads(say("frontier table.csv --weights 0 1 --json"))["points"]:
        assert (point["status"], point["hidden"]) == ("optimal", False)
    methods = json.loads(say("compare table.csv --json"))["methods"]
    assert methods["RobustFairPCA"]["status"] == "optimal"
    assert methods["PCA"]["status"] is None
    for page in two_groups.content["by_components"]:
        for name in ("pca", "chosen", "fair_pca", "curve"):
            assert page[name]["status"] == "optimal"
            assert page[name]["hidden"] is False


def test_pca_is_compared_with_or_without_standardising(say):
    """Features of very different size once silenced the comparison where they were not scaled."""
    X, groups = eight_groups()
    X[:, 0] *= 1e5
    groups = np.where(groups < "group 4", "a", "b")
    for options in ("", " --standardize"):
        for line in ("fit table.csv", "report table.csv", "frontier table.csv --weights 0 1"):
            said = say(line + options, (X, groups))
            assert re.search(r"PCA reconstructs [ab] [\d.]+ % worse than [ab] on the fitted", said)
