"""The page, driven in a browser: it opens from disk, follows its sliders, and tells the truth."""

from __future__ import annotations

import re

import numpy as np
import pytest

from fairspan import GroupMoments, RobustFairPCA, dominating_projection, report
from fairspan.judging.improvement import improvement
from fairspan.moments.from_rows import pooled_scale
from fairspan.problem.subspace import SubspaceProblem
from tests.report.conftest import HOSTILE, SENTENCES, SLIDERS, many_rows


@pytest.fixture(scope="module")
def two_page(open_page, two_groups):
    return open_page(two_groups)


@pytest.fixture(scope="module")
def many_page(open_page, many_groups):
    return open_page(many_groups)


def snapshot(page):
    return {
        "point": (page.column("marks-price", "x")[-1], page.column("marks-price", "y")[-1]),
        "bars": tuple(page.column("bars-chosen", "error")),
        "text": page.text("effect"),
        "code": page.text("code"),
    }


def test_a_page_opens_from_disk_without_network_or_complaint(two_page, two_groups):
    assert two_page.troubles == []
    assert len(two_page.requests) == 1
    shown = " ".join(two_page.text(name) for name in SENTENCES)
    assert "\N{NO-BREAK SPACE}%" in shown
    assert " %" not in shown
    assert shown.replace("\N{NO-BREAK SPACE}", " ") == two_groups.summary


def test_bars_and_table_show_the_same_digits(two_page):
    two_page.tab.locator("#reset").click()
    cells = two_page.tab.locator("#table tbody td[data-value]")
    script = "cells => cells.map(c => c.firstChild.textContent)"
    table = np.array(cells.evaluate_all(script)).reshape(-1, 2)
    assert two_page.column("bars-pca", "text") == table[:2, 0].tolist()
    assert two_page.column("bars-chosen", "text") == table[:2, 1].tolist()
    digits = [len(text.replace(".", "").lstrip("0")) for text in table[:3].ravel()]
    assert digits == [4] * len(digits)


@pytest.mark.parametrize("fixture", ["two_page", "many_page"])
@pytest.mark.parametrize("name", ["notion", *SLIDERS])
def test_every_control_moves_the_point_the_bars_and_the_text(fixture, name, request):
    page = request.getfixturevalue(fixture)
    page.tab.locator("#reset").click()
    before = snapshot(page)
    places = {"notion": 1, "weight": 1, "radius": -1, "components": 0}
    last = int(page.tab.locator(f"#{name}").get_attribute("max") or 2)
    page.move(name, places[name] if places[name] >= 0 else last)
    after = snapshot(page)
    assert all(before[part] != after[part] for part in before)
    page.tab.locator("#reset").click()
    assert snapshot(page) == before


def test_the_keyboard_moves_the_sliders(two_page):
    two_page.tab.locator("#reset").click()
    before = two_page.text("weight-value")
    two_page.tab.locator("#weight").focus()
    two_page.tab.keyboard.press("ArrowRight")
    assert float(two_page.text("weight-value")) > float(before)
    assert two_page.tab.locator("#weight").get_attribute("aria-valuetext") != before
    two_page.tab.locator("#reset").click()


def settings(made, n, seed):
    stops = made.content["stops"]
    rng = np.random.default_rng(seed)
    for _ in range(n):
        places = [rng.integers(len(stops[name])) for name in ("weights", "radii", "components")]
        model = RobustFairPCA(
            stops["components"][places[2]],
            fairness_weight=stops["weights"][places[0]],
            radius=stops["radii"][places[1]],
            standardize=True,
        )
        notion = int(rng.integers(3))
        chosen = [("gap", "none"), ("largest", "none"), ("largest", "own")][notion]
        model.set_params(disparity=chosen[0], reference=chosen[1])
        yield dict(zip(["notion", *SLIDERS], [notion, *places], strict=True)), model


def test_numbers_of_two_groups_at_random_settings_are_the_solvers(two_page, two_groups, cancer):
    X, groups, _ = cancer
    for places, model in settings(two_groups, 20, 0):
        for name, place in places.items():
            two_page.move(name, place)
        model.fit(X, sensitive_features=groups)
        shown = two_page.table()[:, 1]
        np.testing.assert_allclose(shown[:2], model.group_errors_, rtol=5e-5)
        np.testing.assert_allclose(shown[2], model.total_error_, rtol=5e-5)
        scale = model.total_error_
        np.testing.assert_allclose(shown[3], model.error_gap_, atol=1e-4 * scale)
        code = two_page.text("code")
        assert code.count(f"radius={model.radius}") == 1
        assert ('disparity="largest"' in code) == (model.disparity == "largest")
        assert ('reference="own"' in code) == (model.reference == "own")


def test_with_references_of_your_own_the_page_finds_the_optima_too(open_page, cancer):
    X, groups, _ = cancer
    given = {"disparity": "gap", "reference": {"benign": -1.0, "malignant": 2.5}}
    about = {"n_components": 2, "max_components": 2, "fairness_weight": 0.3}
    made = report.build(X[:, :8], sensitive_features=groups, standardize=True, **about, **given)
    page = open_page(made)
    assert page.summary() == made.summary
    assert len(made.content["notions"]) == 4
    for places, model in settings(made, 8, 2):
        for name, place in (places | {"notion": 3}).items():
            page.move(name, place)
        model.set_params(**given).fit(X[:, :8], sensitive_features=groups)
        shown = page.table()[:, 1]
        np.testing.assert_allclose(shown[:2], model.group_errors_, rtol=5e-5)
        above = np.subtract(model.group_errors_, [-1.0, 2.5])
        np.testing.assert_allclose(shown[4], np.ptp(above), atol=1e-4 * model.total_error_)
        assert "(benign -1.000, malignant 2.500): with PCA " in page.summary()
        assert f"reference={given['reference']!r}".replace('"', "'") in page.text("code")


def largest_relative_gain(moments, n_components, errors):
    """By which share of its error every group can gain: the game in units of each error."""
    units = np.array([errors[label] for label in moments.labels])
    second = moments.scaled(pooled_scale(moments)).second_moments / units[:, None, None]
    problem = SubspaceProblem(second, moments.shares, n_components)
    return improvement(problem, moments.labels, np.ones(len(units))).gain


@pytest.mark.parametrize("fixture", ["two_groups", "many_groups"])
def test_a_page_says_that_another_serves_all_better_where_one_does(fixture, request):
    made, told = request.getfixturevalue(fixture), set()
    two = fixture == "two_groups"
    page = request.getfixturevalue("two_page" if two else "many_page")
    X, groups, _ = request.getfixturevalue("cancer") if two else many_rows()
    moments = GroupMoments.from_arrays(X, groups)
    if not two:
        page.tab.get_by_role("button", name="Show all").first.click()
    for places, model in settings(made, 16, 3):
        for name, place in places.items():
            page.move(name, place)
        errors = {a: values[1] for a, values in page.rows().items() if a in moments.labels}
        found = dominating_projection(
            errors, moments, n_components=model.n_components, standardize=True
        )
        if 3e-4 < found.relative_gain < 1e-3:
            continue
        said = "Another projection serves every group better" in page.summary()
        assert said == found.finding.matters
        share = re.search(
            r"lowers each group's error by at least ([\d.]+) %\.(?! It)", page.summary()
        )
        if share and two:
            most = largest_relative_gain(moments, model.n_components, errors)
            assert 100 * most - 0.15 <= float(share[1]) <= 100 * most
            told.add("share")
        typed = 'disparity="largest" (--disparity largest) makes' in page.summary()
        assert typed == (said and model.disparity == "gap")
        told.add((said, model.disparity))
    seen = {(True, "gap"), (False, "gap"), (False, "largest")}
    assert told == (seen | {"share"} if two else seen)
    if not two:
        page.tab.get_by_role("button", name="Show the worst").first.click()
    page.tab.locator("#reset").click()


def test_numbers_of_many_groups_at_random_stops_are_the_solvers(many_page, many_groups):
    X, groups, _ = many_rows()
    many_page.tab.get_by_role("button", name="Show all").first.click()
    for places, model in settings(many_groups, 8, 1):
        for name, place in places.items():
            many_page.move(name, place)
        model.fit(X, sensitive_features=groups)
        expected = dict(zip(model.group_labels_, model.group_errors_, strict=True))
        expected |= {"total": model.total_error_, "gap": model.error_gap_}
        shown = many_page.rows()
        assert {name: shown[name][1] for name in expected} == pytest.approx(expected, rel=5e-5)
    many_page.tab.get_by_role("button", name="Show the worst").first.click()
    many_page.tab.locator("#reset").click()


def test_many_groups_are_sorted_and_folded_to_the_worst_and_the_best(many_page):
    many_page.tab.locator("#reset").click()
    find = many_page.tab.get_by_role("searchbox").first
    many_page.tab.get_by_role("button", name="Show all 12 groups").first.click()
    whole = list(many_page.rows().items())[:-2]
    many_page.tab.get_by_role("button", name="Show the worst").first.click()
    folded = list(many_page.rows())[:-2]
    new_rows = many_page.tab.locator("#new-rows tbody tr:visible")
    assert [values[1] for _, values in whole] == sorted((v[1] for _, v in whole), reverse=True)
    assert len(whole) == 12
    assert len(folded) < 11
    assert new_rows.count() < 12
    assert len(many_page.column("bars-chosen", "error")) == len(folded)
    for side in (0, 1):
        worst_first = sorted(whole, key=lambda row: -row[1][side])
        assert {worst_first[0][0], worst_first[-1][0]} <= set(folded)
    find.fill("Group 3")
    assert list(many_page.rows()) == ["group 3", "total", "gap"]
    assert new_rows.locator("th").all_text_contents() == ["group 3"]
    find.fill("")
    assert list(many_page.rows())[:-2] == folded


def test_forty_groups_need_less_than_four_screens_of_a_phone(open_page, forty_groups):
    phone = open_page(forty_groups, width=390)
    assert phone.tab.evaluate("document.documentElement.scrollHeight") < 4 * 844
    # The table has the numbers of the bars, which only a print has room for.
    assert phone.tab.locator("#chart-groups:visible").count() == 0
    assert not phone.overflows()
    assert phone.tab.locator("#facts:visible").count() == 0
    phone.tab.get_by_text("Model card", exact=True).click()
    assert phone.tab.locator("#facts:visible").count() == 1


def test_a_group_of_one_row_is_named_with_its_row(open_page, forty_groups):
    page, name = open_page(forty_groups), "'Lone Rock Territory'"
    assert name not in page.text("headline")
    assert f"reconstructs {name} (1 row) " in page.text("fitted").replace("\N{NO-BREAK SPACE}", " ")
    said = page.text("payers")
    assert f"worst-served group is {name} (1 row): error " in said
    assert said.count(name) == said.count(f"{name} (1 row)")
    assert page.summary() == forty_groups.summary
    assert f"worst-served group is {name} (1 row)" in forty_groups.model_card()


@pytest.mark.parametrize("fixture", ["two_groups", "forty_groups"])
@pytest.mark.parametrize("paper", ["A4", "Letter"])
@pytest.mark.parametrize("width", [390, 800, 1280])
def test_a_print_has_everything_on_few_pages(fixture, width, paper, open_page, request):
    page = open_page(request.getfixturevalue(fixture), width=width, color_scheme="dark")
    pages = len(re.findall(rb"/Type\s*/Page\b", page.tab.pdf(format=paper)))
    assert pages in (2, 3)
    page.tab.emulate_media(media="print")
    assert page.tab.locator("#chart-groups:visible").count() == 1
    style = "(all, name) => all.map(one => getComputedStyle(one)[name])"
    for selector, name, value in [
        (".card", "breakInside", "avoid"),
        (".mark", "printColorAdjust", "exact"),
    ]:
        assert set(page.tab.locator(selector).evaluate_all(style, name)) == {value}


def test_what_lies_outside_the_axes_is_marked_at_their_edge(two_page):
    two_page.tab.locator("#reset").click()
    x, outside = two_page.column("marks-price", "x"), two_page.column("marks-price", "outside")
    names, fill = two_page.column("marks-price", "name"), two_page.column("marks-price", "alpha")
    script = "name => Bokeh.documents.map(d => d.get_model_by_name(name)).find(m => m).end"
    assert outside == [False, True, False, False]
    assert fill == [1, 0, 1, 1]
    assert 0.9 * two_page.tab.evaluate(script, "x-price") < x[1]
    assert x[1] < two_page.tab.evaluate(script, "x-price")
    assert re.fullmatch(r"FairPCA: [\d.]+, [\d.]+", names[1])
    assert two_page.tab.locator("#legend-outside").is_visible()


@pytest.mark.parametrize("fixture", ["two_page", "many_page"])
def test_without_a_fairness_weight_nothing_is_narrowed(fixture, request):
    page = request.getfixturevalue(fixture)
    page.tab.locator("#reset").click()
    page.move("weight", 0)
    page.move("radius", page.tab.locator("#radius").get_attribute("max"))
    assert "at fairness weight 0 only the total error counts" in page.text("effect")
    page.move("radius", 0)
    values = page.table()
    assert page.text("effect") == "There, RobustFairPCA gives the same errors."
    assert page.text("change") == ""
    np.testing.assert_array_equal(values[:, 0], values[:, 1])
    page.tab.locator("#reset").click()


def test_names_are_text_and_never_markup(many_page, many_groups):
    assert many_page.troubles == []
    assert HOSTILE in many_page.text("table")
    assert many_page.tab.title().startswith(HOSTILE)
    assert many_page.tab.locator("img, b:has-text('feature')").count() == 0
    assert "settings" in many_page.text("method-text")
    html = many_groups.to_html()
    assert HOSTILE not in html
    assert "</script><script>alert" not in html


@pytest.mark.parametrize("fixture", ["two_groups", "many_groups", "many_features"])
def test_no_width_or_medium_overflows(fixture, request, open_page):
    made = request.getfixturevalue(fixture)
    phone = open_page(made, width=390)
    assert not phone.overflows()
    paper = int((210 - 2 * 11) / 25.4 * 96)  # A4 without its margins
    phone.tab.set_viewport_size({"width": paper, "height": 900})
    phone.tab.emulate_media(media="print")
    assert not phone.overflows()
    assert phone.troubles == []
    phone.tab.emulate_media(media="screen")
    phone.tab.set_viewport_size({"width": 1280, "height": 900})
    assert not phone.overflows()


def test_night_and_print_change_the_colours_of_page_and_charts(two_page):
    def colours():
        page = two_page.tab.evaluate("getComputedStyle(document.body).backgroundColor")
        return page, two_page.column("marks-price", "colour")[-1]

    day = colours()
    two_page.tab.emulate_media(color_scheme="dark")
    night = colours()
    assert night[0] != day[0]
    assert night[1] != day[1]
    two_page.tab.emulate_media(color_scheme="dark", media="print")
    assert colours()[1] == day[1]
    two_page.tab.emulate_media(color_scheme="light", media="screen")
    assert colours() == day


def test_the_setting_can_be_copied_without_a_clipboard(two_page):
    two_page.tab.locator("#reset").click()
    two_page.tab.locator("#copy").click()
    # The message goes away by itself. Waiting by a function needs eval, which the page forbids.
    told = re.compile(r"^(Copied\.|Selected: press Ctrl\+C to copy\.)$")
    two_page.tab.locator("#copied").filter(has_text=told).wait_for()
    namespace = {"X": None, "groups": None}
    code = two_page.text("code").replace(".fit(X, sensitive_features=groups)", "")
    exec(code, namespace)
    assert namespace["pca"].n_components == 3


def test_the_smallest_tables_and_moments_alone_have_a_page(open_page):
    rng = np.random.default_rng(1)
    X, groups = rng.normal(size=(60, 2)) * [2, 1], ["a", "b", "b"] * 20
    rows = report.build(X, sensitive_features=groups, n_components=1, include_rows=True)
    page = open_page(rows)
    assert page.troubles == []
    assert len(page.column("rows", "x")) == 60
    moments = report.build(GroupMoments.from_arrays(X, groups), n_components=1)
    page = open_page(moments)
    assert page.troubles == []
    assert page.text("caveats").startswith("A verdict about new rows needs rows")
