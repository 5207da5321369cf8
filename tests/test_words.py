"""Sentences say what the values say and no more; bounds are never written smaller than proved."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from fairspan import words
from fairspan.words import (
    Findings,
    Verdict,
    at_least,
    at_most,
    number,
    percent,
    quoted,
    share_at_most,
)

PLAIN = Findings(
    labels=["a", "b"],
    errors=([1.0, 1.2], [1.1, 1.11]),
    totals=(1.1, 1.105),
    n_components=3,
    n_features=10,
    status="optimal",
    gap=2.1e-9,
)
PROVED = (
    "Proved optimal within 3e-9: no projection can lower the objective by more than that share."
)
HIDDEN = (
    "Nothing is proved: some features vary so little compared with others that rounding hides the "
    "objective."
)
UNEQUAL = "With 3 components, PCA reconstructs b 20 % worse than a on the fitted rows."
EQUAL = "With 3 components, PCA reconstructs all groups equally well on the fitted rows."
ROWS = "A verdict about new rows needs rows; here there are only moments."
NARROWS = "There, RobustFairPCA narrows the gap from 20 % to 0.9 % for 0.5 % more total error."


@pytest.mark.parametrize(
    ("changes", "sentences"),
    [
        ({}, (UNEQUAL, NARROWS, PROVED)),
        (
            {"failure": 1e-10},
            (
                UNEQUAL,
                NARROWS,
                f"{PROVED} This rests on random blocks and holds with probability 1 - 1e-10.",
            ),
        ),
        (
            {"gap": 0.0},
            (UNEQUAL, NARROWS, "Proved optimal: no projection has a smaller objective."),
        ),
        (
            {"status": "feasible", "gap": 0.1712},
            (
                UNEQUAL,
                NARROWS,
                "Not proved optimal: another projection may lower the objective by up to 18 % of "
                "it.",
            ),
        ),
        (
            {"status": "iteration_limit", "gap": 2.5e-7},
            (
                UNEQUAL,
                NARROWS,
                "Not proved optimal: another projection may lower the objective by up to 3e-7 of "
                "it.",
            ),
        ),
        ({"hidden": (False, True), "status": "feasible", "gap": 1.0}, (UNEQUAL, HIDDEN)),
        (
            {"hidden": (True, True), "status": "feasible", "gap": 1.0},
            ("With 3 components, rounding hides how well PCA reconstructs the groups.", HIDDEN),
        ),
        (
            {"labels": ["a"], "errors": ([1.0], [1.0])},
            (
                "There are fewer than two groups to compare, so the result is PCA.",
                PROVED,
            ),
        ),
        (
            {"n_components": 10, "errors": ([0.0, 0.0], [0.0, 0.0]), "gap": 0.0},
            ("All components are kept: nothing is lost, and there is nothing to choose.",),
        ),
        (
            {"errors": ([1.0, 1.0], [1.0, 1.0])},
            (EQUAL, "There, RobustFairPCA gives the same errors.", PROVED),
        ),
        (
            {"errors": ([0.0, 0.0], [0.0, 0.0]), "totals": (0.0, 0.0)},
            (EQUAL, "There, RobustFairPCA gives the same errors.", PROVED),
        ),
        (
            {"errors": ([0.0, 1.0], [0.5, 0.9]), "totals": (1.0, 1.4)},
            (
                "With 3 components, PCA reconstructs a without error on the fitted rows, but not "
                "b.",
                "There, RobustFairPCA narrows the gap from infinite to 80 % for 40 % more total "
                "error.",
                PROVED,
            ),
        ),
        (
            {"errors": ([1.0, 1.2], [1.3, 0.0]), "totals": (1.0, 1.2)},
            (
                UNEQUAL,
                "There, RobustFairPCA reconstructs b without error, but not a, for 20 % more total "
                "error.",
                PROVED,
            ),
        ),
        (
            {"errors": ([1.0, 1.2], [1.15, 1.15]), "totals": (1.0, 1.0001)},
            (
                UNEQUAL,
                "There, RobustFairPCA closes the gap for under 0.1 % more total error.",
                PROVED,
            ),
        ),
        (
            {"errors": ([1.0, 1.2], [1.0, 1.3]), "method": "FairPCA", "n_components": 1},
            (
                "With 1 component, PCA reconstructs b 20 % worse than a on the fitted rows.",
                "There, FairPCA widens the gap from 20 % to 30 % for 0.5 % more total error.",
                PROVED,
            ),
        ),
        (
            {"fairness_weight": 0.0, "kept": (0.6249, 0.6106)},
            (
                UNEQUAL,
                "There, RobustFairPCA leaves a gap of 0.9 % for 0.5 % more total error: at "
                "fairness weight 0 only the total error counts.",
                "PCA keeps 62.5 % of the variance, RobustFairPCA keeps 61.1 %.",
                PROVED,
            ),
        ),
        (
            {"kept": (0.6249, 0.6248)},
            (UNEQUAL, NARROWS, "62.5 % of the variance is kept.", PROVED),
        ),
        (
            {"labels": [("x", 1), 7]},
            (
                "With 3 components, PCA reconstructs '7' 20 % worse than 'x / 1' on the fitted "
                "rows.",
                NARROWS,
                PROVED,
            ),
        ),
    ],
)
def test_every_case_has_its_sentences(changes, sentences):
    found = dataclasses.replace(PLAIN, **changes)
    told = found.sentences
    assert tuple(one for one in told if one not in (ROWS, found.payers)) == sentences
    # What is known of the fitted rows only is said to be that.
    assert (ROWS in told) == ("on the fitted rows" in told[0])


def test_an_upper_bound_is_rounded_up():
    values = (0.0, -1e-17, 2.479e-10, 1e-8, 9.1e-9, 1.0000001e-5, 0.3)
    assert [at_most(x) for x in values] == ["0", "0", "3e-10", "1e-8", "1e-8", "2e-5", "3e-1"]
    for value in np.random.default_rng(0).lognormal(-20, 8, 500):
        assert value <= float(at_most(value)) <= 2.01 * value


def test_a_share_that_is_left_is_rounded_up_in_either_unit():
    values = (0.0, 2.479e-10, 1e-3, 0.00123, 0.07, 0.1801, 0.9949, 0.9951, 1.0)
    written = ["0", "3e-10", "0.1 %", "0.13 %", "7 %", "19 %", "100 %", "100 %", "100 %"]
    assert [share_at_most(x) for x in values] == written
    for value in np.random.default_rng(0).uniform(1e-4, 1, 500):
        text = share_at_most(value)
        read = float(text.removesuffix(" %")) / (100 if text.endswith("%") else 1)
        assert value <= read * (1 + 1e-15) <= 2.01 * value


def test_a_lower_bound_is_rounded_down():
    assert at_least(3.14159268, 8) == "3.1415926"
    for value in np.random.default_rng(1).normal(0, 100, 500):
        assert value - 1e-5 * abs(value) <= float(at_least(value, 6)) <= value


def test_numbers_read_well():
    shares = (-0.1, 0.0, 0.0004, 0.0005, 0.0123, 0.0994, 0.0996, 0.2345, 11.0, math.inf)
    small = "under 0.1 %"
    written = [small, small, small, "0.1 %", "1.2 %", "9.9 %", "10 %", "23 %", "1100 %", "infinite"]
    assert [percent(x) for x in shares] == written
    values = (0.0, 1.0, 0.01164, 1234.56, 9999.6, 12345.6, 2.5e9, -3.21e-7, math.nan)
    assert [number(x) for x in values] == [
        "0", "1.000", "0.01164", "1235", "10,000", "12,346", "2.500e9", "-3.210e-7", "nan",
    ]  # fmt: skip
    assert number(1e-14, 1.0) == "0"
    changes = (0.0, 4e-6, -6e-6, 3e-4, -4.9e-4, 5e-4, -0.0123, 0.2345, math.inf)
    assert [words.signed_percent(x) for x in changes] == [
        "0 %", "0 %", "-0.0006 %", "+0.03 %", "-0.05 %", "+0.1 %", "-1.2 %", "+23 %", "+infinite",
    ]  # fmt: skip
    labels = ("benign", "new york", "a-b", "", 3, ("male", "öst"))
    assert list(map(quoted, labels)) == [
        "benign",
        "'new york'",
        "'a-b'",
        "''",
        "'3'",
        "'male / öst'",
    ]


def test_a_frontier_says_what_is_offered_and_the_least_that_is_proved():
    weights, totals = [0.0, 0.3, math.inf], [1.0, 1.004, 1.013]
    half = "; 60 % of it for 0.4 % more total error (fairness weight 0.3000)."
    closes = "The gap can be closed for 1.3 % more total error"
    assert words.trade_off(weights, [1.0, 0.4, 0.0], totals, [False] * 3) == closes + half
    part = "50 % of the gap can be closed for 1.3 % more total error."
    assert words.trade_off(weights, [1.0, 0.9, 0.5], totals, [False] * 3) == part
    nothing = words.trade_off(weights, [1.0, 1.0, 1.0], totals, [False] * 3)
    assert nothing == "No fairness weight narrows the gap."
    assert words.trade_off(weights, [1.0, 0.4, 0.0], totals, [False, True, True]) == f"{closes}."
    proved = words.proof_of_points(["optimal"] * 2, [1e-9, 2.1e-9], [False] * 2)
    assert proved == "Every point is proved optimal within 3e-9."
    left = words.proof_of_points(["optimal", "feasible"], [2e-6, 0.123], [False] * 2)
    assert left == (
        "1 of 2 points are not proved optimal: another projection may lower the objective by up to "
        "13 % of it."
    )
    assert words.proof_of_points(["feasible"] * 2, [1.0, 1.0], [True, False]) == HIDDEN


def test_the_fairest_method_is_named_with_its_price():
    gaps = {"PCA": 1.0, "FairPCA": 0.5}
    told = words.fairest(gaps, {"PCA": 10.0, "FairPCA": 11.5})
    assert told == (
        "FairPCA has the smallest gap, for 15 % more total error than PCA, which has the smallest."
    )
    told = words.fairest(gaps, {"PCA": 10.0, "FairPCA": 9.0})
    assert told == "FairPCA has both the smallest gap and the smallest total error."
    # Rounding decides nothing.
    told = words.fairest({"PCA": 2e-16, "FairPCA": 1e-16}, {"PCA": 1.0, "FairPCA": 1 - 1e-15})
    assert told == "PCA has both the smallest gap and the smallest total error."


VERDICT = Verdict(
    labels=("a", "b"),
    rows=(300, 200),
    sizes=(300.0, 200.0),
    pvalue=0.0104,
    errors=(4.0, 5.6),
    intervals=((3.5, 4.5), (4.8, 6.4)),
    difference=1.62,
    difference_interval=(0.41, 2.83),
    change="reduced",
    method="RobustFairPCA",
    level=0.95,
)
SEVERAL = Verdict(
    labels=("a", "b", "c"),
    rows=(300, 200, 3),
    sizes=(300.0, 200.0, 3.0),
    pvalue=0.004,
    adjusted=(0.3, 0.004, None),
    errors=(4.0, 5.6, 4.4),
    intervals=((3.5, 4.5), (4.8, 6.4), None),
    gap_interval=(0.4, 2.8),
    method="RobustFairPCA",
    level=0.95,
)
LOW = (
    "A few rows make up most of the variance of income and 'x 2', so ranges are rough and have no "
    "stated confidence; clip=3 (--clip 3) limits such rows."
)
RANGES = "Ranges are 95 % intervals."


@pytest.mark.parametrize(
    ("verdict", "changes", "told"),
    [
        (
            VERDICT,
            {},
            "PCA serves b worse than a (difference 1.6, 0.4 to 2.8; p = 0.01). RobustFairPCA "
            f"reduces the difference on new rows. {RANGES}",
        ),
        (
            VERDICT,
            {"difference": -2.04, "difference_interval": (-4.3, 0.21), "pvalue": 0.0821},
            "No difference between groups is shown (a minus b: 2.0, -0.2 to 4.3; p = 0.082). "
            f"RobustFairPCA reduces what difference there is on new rows. {RANGES}",
        ),
        (
            VERDICT,
            {
                "pvalue": 1e-4,
                "change": "widened",
                "level": None,
                "low_support": {"income": 3.0, "x 2": 9.0},
            },
            "PCA serves b worse than a (difference 1.6, 0.4 to 2.8; p < 0.001). RobustFairPCA "
            f"widens the difference on new rows. {LOW}",
        ),
        (
            VERDICT,
            {"change": "not shown", "rows": (300, 12), "sizes": (300.0, 12.0)},
            "PCA serves b worse than a (difference 1.6, 0.4 to 2.8; p = 0.01). Whether "
            f"RobustFairPCA changes it is not shown on new rows. {RANGES} Few rows: b (12).",
        ),
        (
            # What was done already is not offered, and clusters are fewer than rows.
            VERDICT,
            {
                "clip": 3.0,
                "low_support": {"income": 3.0},
                "sizes": (300.0, 12.3),
                "difference_interval": None,
            },
            "PCA serves b worse than a (difference 1.620, no range; p = 0.01). RobustFairPCA "
            "reduces the difference on new rows. Even clipped at 3 standard deviations, a few "
            "rows make up most of the variance of income, so ranges are rough and have no stated "
            "confidence. Groups of fewer than 20 rows get no range: b (200 rows, "
            "effectively 12.3).",
        ),
        (
            # Of few rows, no column is to blame, and nothing is gained by clipping.
            VERDICT,
            {"low_support": {"income": 9.0}, "rows": (30, 25), "sizes": (30.0, 25.0)},
            "PCA serves b worse than a (difference 1.6, 0.4 to 2.8; p = 0.01). RobustFairPCA "
            "reduces the difference on new rows. With only 55 independent rows, ranges are rough "
            "and have no stated confidence: few of them carry the variance of income.",
        ),
        (
            # An end close to 0 has the digits that show on which side it is.
            VERDICT,
            {"difference": 1.5, "difference_interval": (0.0043, 2.9957), "pvalue": 0.11},
            "Whether PCA serves b worse than a is not settled: the range of the difference "
            "excludes 0 (1.500, 0.004 to 2.996), but the difference may be chance (p = 0.11). "
            f"RobustFairPCA reduces what difference there is on new rows. {RANGES}",
        ),
        (
            VERDICT,
            {"pvalue": None, "errors": (), "rows": (300, 1), "sizes": (300.0, 1.0), "change": None},
            "No statement about new rows: fewer than 5 rows in b (1).",
        ),
        (
            SEVERAL,
            {},
            "PCA serves b (error 5.60, 4.80 to 6.40; adjusted p = 0.004) worse than the average. "
            "Whether RobustFairPCA changes it on new rows is not tested for more than two groups. "
            f"{RANGES} No statement about c (3) on new rows: fewer than 5 rows.",
        ),
        (
            VERDICT,
            {"difference_interval": (-0.1, 3.3), "tested": (4.0, 5.1)},
            "PCA serves a and b differently (p = 0.01), but which of them worse on new rows is not "
            "settled (b minus a: 1.6, -0.1 to 3.3). RobustFairPCA reduces the difference on new "
            f"rows. {RANGES}",
        ),
        (
            VERDICT,
            {"pvalue": 0.0621, "tested": (5.1, 4.0), "method": ""},
            "Whether PCA serves b worse than a is not settled: the range of the difference "
            f"excludes 0 (1.6, 0.4 to 2.8), but the difference may be chance (p = 0.062). {RANGES}",
        ),
        (
            # Nothing is shown of PCA, so that no sentence may speak of the difference it makes.
            VERDICT,
            {"pvalue": 0.3, "difference_interval": (-0.1, 3.3), "change": "widened"},
            "No difference between groups is shown (b minus a: 1.6, -0.1 to 3.3; p = 0.30). "
            f"RobustFairPCA widens what difference there is on new rows. {RANGES}",
        ),
        (
            VERDICT,
            {"difference": -0.3, "difference_interval": (-1.5, 0.9), "tested": (4.0, 5.1)},
            "PCA serves b and a differently (p = 0.01), but which of them worse is not settled: a "
            "minus b is 0.3, -0.9 to 1.5 on new rows, and -1.100 on the rows of the test. "
            f"RobustFairPCA reduces the difference on new rows. {RANGES}",
        ),
        (
            SEVERAL,
            {"tested": (5.6, 4.0, 4.4), "method": ""},
            "PCA serves groups differently (p = 0.004), but which of them worse is not settled: "
            f"the rows of the test and new rows point different ways. {RANGES} No statement about "
            "c (3) on new rows: fewer than 5 rows.",
        ),
        (
            SEVERAL,
            {
                "pvalue": 0.3,
                "adjusted": (0.3, 0.4, None),
                "method": "",
                "gap_interval": (0.0, 2.8),
            },
            "No difference between groups is shown (largest difference 0 to 2.800; p = 0.30). "
            f"{RANGES} No statement about c (3) on new rows: fewer than 5 rows.",
        ),
        (
            SEVERAL,
            {"pvalue": 0.3, "adjusted": (0.3, 0.4, None), "method": ""},
            "Whether PCA serves groups differently is not settled: the range of the largest "
            "difference excludes 0 (0.4000 to 2.800), but the difference may be chance (p = 0.30). "
            f"{RANGES} No statement about c (3) on new rows: fewer than 5 rows.",
        ),
        (
            SEVERAL,
            {"errors": (5.6, 4.0, 5.5), "intervals": ((4.8, 6.4), None, None), "method": ""},
            "PCA serves b (error 4.000, no range; adjusted p = 0.004) better than the average. "
            f"{RANGES} No statement about c (3) on new rows: fewer than 5 rows.",
        ),
    ],
)
def test_a_verdict_says_what_the_data_shows_and_how_sure_that_is(verdict, changes, told):
    assert str(dataclasses.replace(verdict, **changes)) == told


def test_findings_lead_with_the_verdict():
    found = dataclasses.replace(PLAIN, verdict=VERDICT)
    headline, change = VERDICT.headline, VERDICT.effect
    assert found.sentences == (headline, change, UNEQUAL, NARROWS, found.payers, RANGES, PROVED)
    # The fitted rows may point the other way; then no sentence may hide it.
    turned = dataclasses.replace(VERDICT, difference=-1.62, difference_interval=(-2.83, -0.41))
    other = f"{UNEQUAL} {words.TEMPLATES['other way']}"
    assert dataclasses.replace(PLAIN, verdict=turned).fitted == other
    same = dataclasses.replace(PLAIN, verdict=turned, errors=([1.0, 1.0], [1.1, 1.1]))
    assert same.fitted == EQUAL
    # Where rounding hides the errors, or nothing is lost, there is nothing to judge.
    for changes in ({"hidden": (True, True)}, {"n_components": 10}):
        assert not {headline, change, RANGES} & {*dataclasses.replace(found, **changes).sentences}


WORSE = words.Better(["a", "b"], [1.0, 1.1], [0.0, 1.0], 0.05, 0.04299, 0.051, 1.1, True, True)
NONE_BETTER = dataclasses.replace(WORSE, gain=0.0, bound=1.1e-9, dominates=False)


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ([1.0, 1.2], [1.1, 1.15], "Errors compared with PCA: a +10 %, b -4.2 %."),
        ([1.0, 1.2], [1.1, 1.3], "Every group is worse off than with PCA (a +10 %, b +8.3 %)."),
        ([1.0, 1.2], [1.1, 1.2], "No group is better off than with PCA (a +10 %, b 0 %)."),
        ([1.0, 1.2], [0.9996, 1.2001], "Errors compared with PCA: a -0.04 %, b +0.008 %."),
        ([0.0, 1.2], [0.1, 1.1], "Errors compared with PCA: a +infinite, b -8.3 %."),
    ],
)
def test_who_pays(before, after, told):
    text = words.who_pays(["a", "b"], before, after, "X")
    numbers = f"{words.number(before[1])} with PCA and {words.number(after[1])} with X"
    assert text == f"There, the worst-served group is b: error {numbers}. {told}"
    turned = words.who_pays(["a", "b"], before, [1.3, 1.25], "X")
    assert "is b with PCA (error 1.200) and a with X (error 1.300)." in turned
    assert words.who_pays(["a", "b"], before, before, "X") == ""


def test_a_dominated_fit_says_what_to_type():
    found = dataclasses.replace(PLAIN, better=WORSE)
    assert "at least 4.2 %. It is PCA with the group weights a 0, b 1. " in found.payers
    assert found.payers.endswith(words.TEMPLATES["instead"])
    assert "--disparity largest" in found.payers
    largest = dataclasses.replace(found, disparity="largest")
    assert words.TEMPLATES["instead"] not in largest.payers
    proved = dataclasses.replace(PLAIN, better=NONE_BETTER)
    assert proved.payers.endswith(
        "no projection lowers the error of every group by more than 1e-9."
    )
    for nothing in ({"labels": ["a"]}, {"n_components": 8, "n_features": 8}, {"hidden": (0, 1)}):
        assert dataclasses.replace(found, **nothing).payers == ""


def test_of_many_group_weights_the_largest_are_written():
    weights = [0.0, 0.30004, 0.2, 0.1, 0.15, 0.0, 0.05, 0.2, 0.0]
    better = dataclasses.replace(WORSE, labels=list("abcdefghi"), group_weights=weights)
    told = "b 0.3, c 0.2, d 0.1, e 0.15, g 0.05, h 0.2 and 0 for 3 more."
    assert better.sentence.endswith(f"It is PCA with the group weights {told}")
    weights[:2] = [0.04, 0.26004]
    better = dataclasses.replace(better, group_weights=weights, is_pca=False)
    told = told.replace("b 0.3", "b 0.26").replace(" and 0 for 3 more.", " and 3 more")
    assert f"({told}) does not give it; fairspan.dominating_projection does." in better.sentence


def test_groups_that_are_not_compared_pay_or_gain_as_well():
    both = (["a", "b", "missing"], [1.0, 1.2, 1.5], [1.1, 1.3, 1.4])
    found = dataclasses.replace(PLAIN, errors=(both[1][:2], both[2][:2]))
    assert "Every group is worse off" in found.payers
    assert "with PCA: a +10 %, b +8.3 %, missing -6.7 %." in (
        dataclasses.replace(found, everyone=both).payers
    )


def test_errors_above_references_are_errors_less_references():
    beyond = words.References([1.0, 5.0], is_own=True)
    assert beyond.above([4.0, 6.0]) == [3.0, 1.0]
    assert beyond.effect([4.0, 6.0], [3.0, 6.0]) == "narrows above"
    assert beyond.effect([4.0, 6.0], [3.0, 7.0]) == "closes above"
    told = beyond.sentence(["A", "B"], [4.0, 6.0], [3.0, 6.0], "RobustFairPCA")
    assert "(A 1.000, B 5.000): with PCA A 3.000, B 1.000 (gap 2.000)" in told
    assert "with RobustFairPCA A 2.000, B 1.000 (gap 1.000)" in told


@pytest.mark.parametrize(("change", "says"), [("widened", True), ("reduced", False), (None, False)])
def test_what_new_rows_contradict_is_called_optimistic(change, says):
    verdict = Verdict(("a", "b"), (90, 80), (90.0, 80.0), pvalue=0.01, errors=(1.0, 1.2))
    verdict = dataclasses.replace(verdict, intervals=(None, None), difference=0.2, change=change)
    told = dataclasses.replace(PLAIN, verdict=verdict).effect
    assert told.startswith(NARROWS)
    assert ("Numbers on the fitted rows are optimistic" in told) == says
    widens = dataclasses.replace(PLAIN, verdict=verdict, errors=([1.0, 1.2], [1.0, 1.4]))
    assert "optimistic" not in widens.effect


def test_groups_of_too_few_rows_get_no_estimate():
    verdict = Verdict(("a", "b"), (90, 4), (90.0, 4.0), errors=(1.0, 2.0))
    verdict = dataclasses.replace(verdict, intervals=((0.8, 1.2), None))
    assert [verdict.on_new_rows(a) for a in range(2)] == ["1.00 (0.80 to 1.20)", "too few rows"]


def test_of_many_groups_the_worst_and_the_best_are_shown():
    few, many = list(range(20)), list(range(21))
    assert words.folded(few) == few
    assert words.folded(many) == [20, 19, 18, 17, 16, 15, 3, 2, 1, 0]
    other = [-error for error in many]
    assert words.folded(other, many) == [*many[:-7:-1], *range(5, -1, -1)]
