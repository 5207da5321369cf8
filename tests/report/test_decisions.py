"""The panel about decisions: shown where a target is given, with the numbers of the assessment."""

from __future__ import annotations

import numpy as np
import pytest

from fairspan import assess_downstream, report
from fairspan.downstream.reading import with_interval
from fairspan.moments.group_moments import GroupMoments

pytest.importorskip("bokeh")
pytest.importorskip("fairlearn")


def people():
    rng = np.random.default_rng(0)
    groups = rng.choice(["a", "<b>"], 300)
    X = rng.normal(size=(300, 4)) * np.where((groups == "a")[:, None], [3, 2, 1, 1], [1, 1, 2, 3])
    return X, groups, np.where(X[:, 0] + rng.normal(size=300) > 0, "yes", "no")


def test_a_target_adds_the_assessment_of_the_reports_setting():
    X, groups, target = people()
    page = report.build(X, sensitive_features=groups, target=target, max_components=2)
    panel = page.content["decisions"]
    expected = assess_downstream(X, target, groups, n_components=2, n_splits=5, inner_splits=0)
    rows = [row for row in expected.summary("accuracy") if row["group"] is None]
    assert {row["method"]: with_interval(row) for row in rows} == {
        name: cells[0] for name, cells in panel["rows"].items()
    }
    html = page.to_html()
    assert '<table id="decisions">' in html
    assert all(cell in html for cells in panel["rows"].values() for cell in cells)


def test_without_a_target_there_is_no_panel_and_moments_have_none():
    X, groups, target = people()
    assert (
        "decisions" not in report.build(X, sensitive_features=groups).to_html().split("<script")[0]
    )
    moments = GroupMoments.from_arrays(X, groups)
    with pytest.raises(ValueError, match="target needs the rows"):
        report.build(moments, target=target)


def test_three_groups_leave_out_what_compares_two():
    X, groups, target = people()
    groups = np.where(X[:, 3] > 2, "c", groups)
    page = report.build(X, sensitive_features=groups, target=target, max_components=2)
    panel = page.content["decisions"]
    assert "ConvexFairPCA" not in panel["rows"]
    assert panel["sentences"][-1].startswith("ConvexFairPCA with 2 components is left out.")


def test_references_of_groups_that_are_numbers_reach_the_panel():
    X, groups, target = people()
    numbers = (groups == "a").astype(int)
    page = report.build(
        X, sensitive_features=numbers, target=target, max_components=2, reference={0: 1.0, 1: 2.0}
    )
    assert "RobustFairPCA" in page.content["decisions"]["rows"]
    html = page.to_html()
    assert "standardised features to 2 components" in html
    assert "The positive class is &#x27;yes&#x27;." in html
