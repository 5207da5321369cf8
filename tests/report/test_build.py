"""A report is a pure function of data, holds aggregates only, and says what is wrong with input."""

from __future__ import annotations

import json
import re
import sys

import numpy as np
import pytest

from fairspan import ExactlyFairPCA, FairPCA, GroupMoments, RobustFairPCA, report
from fairspan.exceptions import SmallGroupWarning
from fairspan.inference import gap_test, reduction_test
from fairspan.report._page import embedded_json
from tests.report.conftest import HOSTILE

QUICK = {"n_components": 2, "max_components": 2, "standardize": True}


def test_its_numbers_are_those_of_the_estimators(two_groups, cancer):
    X, groups, _ = cancer
    page = two_groups.content["by_components"][2]
    data = {"sensitive_features": groups}
    fitted = {
        "pca": RobustFairPCA(3, fairness_weight=0, radius=0, standardize=True),
        "chosen": RobustFairPCA(3, radius=0.1, standardize=True),
        "fair_pca": FairPCA(3, standardize=True),
        "exactly_fair": ExactlyFairPCA(3, standardize=True),
    }
    for name, model in fitted.items():
        np.testing.assert_allclose(
            page[name]["errors"], model.fit(X, **data).group_errors_, rtol=1e-7
        )
    threshold = fitted["exactly_fair"].fairness_weight_threshold_
    assert page["exactly_fair"]["threshold"] == pytest.approx(threshold, rel=1e-6)
    assert page["chosen"]["proved"] <= 1e-8


def test_the_verdict_is_that_of_the_tests(cancer):
    X, groups, names = cancer
    made = report.build(X, sensitive_features=groups, feature_names=names, **QUICK)
    given = {"sensitive_features": groups}
    for k, page in enumerate(made.content["by_components"], 1):
        found = page["verdict"]
        test = gap_test(X, n_components=k, standardize=True, **given)
        recipe = RobustFairPCA(k, standardize=True)
        change = reduction_test(recipe, X, **given)
        assert found["pvalue"] == test.pvalue
        assert found["difference"] == change.plain.difference
        assert list(found["low_support"]) == [names[j] for j in test.low_support]
        assert found["change"] == (change.verdict if k == 2 else None)
    assert found["fair_difference_interval"] == list(change.fair.difference_interval)
    card, page = made.model_card(), made.to_html()
    low, high = np.floor(change.fair.group_intervals[1])
    assert re.search(rf"\| malignant \|.* \({low:.0f}[.\d]* to {high:.0f}[.\d]*\) \|", card)
    assert "concavity error" in card
    assert "95 %" not in card
    assert "95&nbsp;%" not in page


def test_the_same_data_gives_the_same_page(cancer):
    X, groups, _ = cancer
    options = QUICK | {"max_components": 1, "n_components": 1}
    first, second = (report.build(X, sensitive_features=groups, **options) for _ in range(2))
    assert first.to_json() == second.to_json()


def test_rows_and_their_moments_give_the_same_numbers_without_a_verdict(cancer):
    X, groups, _ = cancer
    rows = report.build(X, sensitive_features=groups, **QUICK)
    moments = report.build(GroupMoments.from_arrays(X, groups), **QUICK)
    assert moments.content["data"]["from_moments"]
    for ours, theirs in zip(
        *(made.content["by_components"] for made in (moments, rows)), strict=True
    ):
        assert ours == theirs | {"verdict": None}
    needed = "A verdict about new rows needs rows; here there are only moments."
    assert needed in moments.summary
    assert moments.model_card().count(needed) == 2
    assert needed not in rows.summary


def test_weights_count_as_repeated_rows(cancer):
    X, groups, _ = cancer
    weight = np.arange(len(X)) % 3
    weighted = report.build(X, sensitive_features=groups, sample_weight=weight, **QUICK)
    repeated = report.build(
        np.repeat(X, weight, axis=0), sensitive_features=np.repeat(groups, weight), **QUICK
    )
    for one, other in zip(
        weighted.content["by_components"], repeated.content["by_components"], strict=True
    ):
        np.testing.assert_allclose(one["chosen"]["errors"], other["chosen"]["errors"], rtol=1e-7)
    assert weighted.content["data"]["weighted"]


def test_no_row_is_in_the_page_unless_asked_for(cancer):
    X, groups, _ = cancer
    options = QUICK | {"n_components": 2, "max_components": 1}
    silent = report.build(X, sensitive_features=groups, **options)
    assert silent.content["projected"] is None
    asked = report.build(X, sensitive_features=groups, include_rows=True, **options)
    model = RobustFairPCA(2, standardize=True).fit(X, sensitive_features=groups)
    shown = np.column_stack([asked.content["projected"]["x"], asked.content["projected"]["y"]])
    np.testing.assert_allclose(shown, model.transform(X), rtol=1e-5, atol=1e-5)


def test_json_and_the_model_card_say_the_same(two_groups, many_groups):
    assert json.loads(two_groups.to_json()) == two_groups.content
    card = two_groups.model_card()
    assert two_groups.headline in card
    assert "357" in card
    assert "not a guarantee of fairness downstream" in card
    facts = two_groups.to_html().partition('id="facts"')[2].partition("</dl>")[0]
    assert "<dt>who pays</dt><dd>There, the worst-served group is" in facts
    assert "fairspan" in card.rsplit("## Versions", 1)[1]
    assert HOSTILE not in many_groups.model_card()
    assert "&lt;img src=x onerror=alert(1)&gt;" in many_groups.model_card()


def test_a_page_is_smaller_than_three_megabytes(two_groups, many_groups):
    pytest.importorskip("bokeh")
    for made in (two_groups, many_groups):
        assert len(made.to_html().encode()) < 3e6


def test_embedded_json_cannot_end_its_element():
    text = embedded_json({"a": "</script><!-- & \u2028\u2029"})
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text)["a"] == "</script><!-- & \u2028\u2029"


def test_a_failed_write_leaves_the_old_file(two_groups, tmp_path, monkeypatch):
    pytest.importorskip("bokeh")
    path = tmp_path / "page.html"
    path.write_text("old")
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        two_groups.write_html(path)
    assert [file.name for file in tmp_path.iterdir()] == ["page.html"]
    assert path.read_text() == "old"


def test_the_shortcut_writes_what_it_returns(cancer, tmp_path):
    pytest.importorskip("bokeh")
    X, groups, _ = cancer
    options = QUICK | {"n_components": 1, "max_components": 1}
    made = report.write_report(tmp_path / "a.html", X, sensitive_features=groups, **options)
    page = (tmp_path / "a.html").read_text(encoding="utf-8").replace("&nbsp;", " ")
    assert made.headline in page


def test_without_bokeh_the_extra_is_named(cancer, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "bokeh", None)
    X, groups, _ = cancer
    with pytest.raises(ImportError, match=r"fairspan\[report\]"):
        report.write_report(tmp_path / "a.html", X, sensitive_features=groups)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"sensitive_features": None}, ValueError, "There is 1 group"),
        ({"sensitive_features": ["a"] * 40}, ValueError, "There is 1 group"),
        ({"n_components": 4}, ValueError, "at most n_features - 1 = 3"),
        ({"n_components": 5}, ValueError, "n_components=5"),
        ({"fairness_weight": -1}, ValueError, "fairness_weight=-1"),
        ({"radius": "big"}, TypeError, "radius='big'"),
        ({"max_components": 0}, ValueError, "max_components=0"),
        ({"feature_names": ["a"]}, ValueError, "feature_names has 1 names"),
        ({"standardize": 1}, TypeError, "standardize=1"),
        ({"random_state": None}, TypeError, "random_state=None"),
    ],
)
def test_bad_input_is_named(options, error, message):
    X = np.random.default_rng(0).normal(size=(40, 4))
    given = {"sensitive_features": ["a", "b"] * 20} | options
    with pytest.raises(error, match=message):
        report.build(X, **given)


def test_moments_cannot_show_rows_or_take_groups():
    X = np.random.default_rng(0).normal(size=(40, 4))
    moments = GroupMoments.from_arrays(X, ["a", "b"] * 20)
    with pytest.raises(ValueError, match="include_rows=True needs the rows"):
        report.build(moments, include_rows=True)
    with pytest.raises(ValueError, match="already contain groups"):
        report.build(moments, sensitive_features=["a", "b"] * 20)


@pytest.mark.filterwarnings("ignore::fairspan.SmallGroupWarning")
@pytest.mark.parametrize("clip", [None, 3.0])
def test_small_groups_are_pooled_whether_rows_are_clipped_or_not(clip):
    X = np.random.default_rng(0).normal(size=(100, 4))
    groups = ["a"] * 50 + ["b"] * 43 + ["c"] * 4 + ["d"] * 3
    made = report.build(
        X, sensitive_features=groups, max_components=2, small_groups="pool", clip=clip
    )
    content = json.loads(made.to_json())
    assert [group["label"] for group in content["groups"]] == ["a", "b", "small groups"]


@pytest.mark.parametrize("small", [1, 4, 5])
def test_small_groups_get_no_statement_or_a_mark(small):
    X = np.random.default_rng(0).normal(size=(60, 4))
    groups = ["a"] * (60 - small) + ["b"] * small
    with pytest.warns(SmallGroupWarning, match=f"'b': {small}"):
        made = report.build(X, sensitive_features=groups, n_components=1, max_components=1)
    few = f"No statement about new rows: fewer than 5 rows in b ({small})."
    card = made.model_card()
    assert (few in card) == (small < 5)
    assert ("Groups of fewer than 20 rows get no range: b (5)" in card) == (small == 5)
    assert ("p = " in card) == (small == 5)
    assert (" to " in card.partition("## Errors on new rows")[2].partition("##")[0]) == (small == 5)


def test_progress_counts_every_step_to_the_end():
    rng = np.random.default_rng(0)
    X, groups, seen = rng.normal(size=(90, 3)), ["a", "b", "c"] * 30, []
    options = {"n_components": 1, "max_components": 2}
    made = report.build(
        X, sensitive_features=groups, progress=lambda *at: seen.append(at), **options
    )
    stops = made.content["stops"]
    total = 2 * len(made.content["notions"]) * len(stops["weights"]) * len(stops["radii"])
    assert seen == [(done, total) for done in range(1, total + 1)]
