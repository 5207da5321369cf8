"""Page, card, terminal and library say the same about the same result, whatever is proved of it."""

from __future__ import annotations

import csv
import json
import re

import numpy as np
import pytest

from fairspan import RobustFairPCA, advise, report, words
from fairspan.cli import main
from fairspan.solvers import door
from tests.report.conftest import SLIDERS

QUICK = {"max_components": 2, "n_components": 2}


def findings(content, page, errors, point):
    """What Python says of errors that a page shows."""
    shares = np.array([group["share"] for group in content["groups"]])
    pca = page["pca"]
    return words.Findings(
        labels=[group["label"] for group in content["groups"]],
        errors=(pca["errors"], errors),
        totals=(float(shares @ pca["errors"]), float(shares @ errors)),
        n_components=page["k"],
        n_features=content["data"]["features"],
        status=point["status"],
        gap=point["proved"],
        hidden=(pca["hidden"], point["hidden"]),
        verdict=page["verdict"] and words.Verdict(**page["verdict"]),
        better=words.Better(**point["better"]) if "better" in point else None,
    )


def sentences(found, own, shown):
    """What a page says; whether a method helps on new rows was tested at one setting only."""
    change, payers = found.change if own else found.elsewhere, [found.payers]
    for name in ("dominated here", "instead"):
        # Whether another projection serves every group better, the page finds by itself.
        if words.TEMPLATES[name] in shown and words.TEMPLATES[name] not in payers[0]:
            payers.append(words.TEMPLATES[name])
    told = (found.headline, change, found.fitted, found.effect, *payers, found.caveats, found.proof)
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
        if "curve" in one and not own:
            point = one["curve"] | {"proved": one["curve"]["accuracy"]}
        else:
            point = one["chosen"] if own else one["optima"][at[0] * len(stops["radii"]) + at[1]]
        table = page.table()
        found = findings(content, one, table[: len(content["groups"]), 1].tolist(), point)
        tested = own and one["k"] == content["setting"]["n_components"]
        shown = page.summary()
        assert shown == sentences(found, tested, shown)
        told.add(found.effect.split()[2])
        assert page.text("figure-proved").replace("\xa0", " ") == words.share_at_most(found.gap)
        cells = page.tab.locator("#table tbody td[data-value]").evaluate_all(
            "cells => cells.map(c => c.firstChild.textContent)"
        )
        assert cells == [words.number(value) for value in table.ravel()]
    return told


def test_the_page_speaks_as_python_does_wherever_the_sliders_stand(open_page, two_groups):
    told = check_stops(open_page(two_groups), two_groups.content, 15)
    assert told == {"gives", "narrows", "closes", "widens"}


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
    assert made.summary in say("fit table.csv -o model.npz", (X, groups))
    assert made.summary in say("report table.csv")
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
