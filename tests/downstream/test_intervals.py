"""What intervals of decisions say: chance, small groups, equal splits, many comparisons."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from fairspan import datasets
from fairspan.downstream import assess_downstream
from fairspan.downstream.reading import against_pca, with_interval

pytest.importorskip("fairlearn")


def table(seed, share=0.4, effect=0.0, n=400):
    """Groups are coin flips, unless the target depends on them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)) * [3, 2, 1, 1]
    group = np.where(rng.random(n) < share, "f", "m")
    X[:, 3] += effect * (group == "m")
    y = (X[:, 0] + X[:, 3] + rng.normal(size=n) > 0).astype(int)
    return X, y, group


def assessed(data, **given):
    """One projection and cheap metrics."""
    settings = {"n_components": 2, "methods": [], "metrics": ["selection_rate", "accuracy"]}
    return assess_downstream(*data, **settings | {"inner_splits": 0, "n_splits": 6} | given)


def levels(seeds, effect=0.0):
    """The disparity without reduction in several tables: mean, low, by chance."""
    found = []
    for seed in seeds:
        row = assessed(table(seed, effect=effect)).summary("selection_rate_difference")[0]
        found.append((row["mean"], row["low"], row["by_chance"]))
    return np.array(found).T


def test_random_groups_are_as_far_apart_as_by_chance_and_real_ones_further():
    mean, low, by_chance = levels(range(20))
    assert (low > 0).any(), "an interval of a level excludes 0 without a meaning"
    assert np.mean(mean) == pytest.approx(np.mean(by_chance), rel=0.25)
    mean, _, by_chance = levels(range(3), effect=4.0)
    assert (mean > 3 * by_chance).all()


def test_chance_is_of_differences_between_groups_without_reduction_and_is_shown():
    result = assessed(table(0), metrics=["accuracy"])
    assert result.comparing == ("accuracy_difference",)
    rows = result.summary()
    known = [row for row in rows if row["by_chance"] is not None]
    assert [(row["method"], row["metric"]) for row in known] == [
        ("no reduction", "accuracy_difference")
    ]
    assert with_interval(known[0]).endswith(f"; {known[0]['by_chance']:.3f} by chance")
    assert assessed(table(0), metrics=["accuracy"]).rows == result.rows
    document = json.loads(result.to_json())
    assert document["notes"] == result.notes
    assert "not that it is more than chance" in result.notes[0]
    assert {row["stage"] for row in result.rows} == {"outer", "chance"}
    of_frame = result.to_frame()
    assert len(of_frame) == sum(row["stage"] == "outer" for row in result.rows)


def test_small_groups_have_no_interval_and_are_named():
    X, y, group = table(0)
    group[:16] = "x"  # 4 of 100 held-out rows
    group[16:50] = "z"  # 8 or 9
    result = assessed((X, y, group), methods=["NullSpaceFairPCA"], n_components=1)
    assert result.group_sizes["x"] < 5 < result.group_sizes["z"] < 20
    for row in result.summary():
        rests_on_few = row["group"] == "x" or row["metric"].endswith("_difference")
        assert math.isnan(row["low"]) == math.isnan(row["high"]) == rests_on_few
        if rests_on_few and row["minus_pca_mean"] is not None:
            assert math.isnan(row["minus_pca_low"])
        if rests_on_few and row["mean"] == row["mean"]:
            assert "±" not in with_interval(row)
            assert " to " not in with_interval(row)
    assert all(text.endswith("a group has too few held-out rows.") for text in against_pca(result))
    assert any(text.startswith("No interval for x (") for text in result.notes)
    assert any(text.startswith("Few held-out rows: z (") for text in result.notes)
    assert not any("comparisons" in text for text in result.notes)
    pytest.importorskip("matplotlib")
    result.plot("accuracy", "accuracy_difference")


def test_unequal_weights_leave_fewer_rows():
    X, y, group = table(0)
    weight = np.ones(len(X))
    weight[np.flatnonzero(group == "f")[::20]] = 1e4  # two or so of the held-out rows count
    result = assessed((X, y, group), sample_weight=weight)
    assert result.group_sizes["f"] < 5 < result.group_sizes["m"]
    assert not result.has_enough_rows("accuracy_difference")
    assert result.has_enough_rows("accuracy")
    assert assessed((X, y, group)).group_sizes["f"] == pytest.approx(
        100 * np.mean(group == "f"), abs=1
    )


def test_splits_that_agree_have_no_interval_and_show_no_change():
    """A model that is always right: every split says 1, and all differences are 0."""
    X, _, group = table(0)
    y = (X[:, 0] > 0).astype(int)
    X[:, 0] = 100 * np.sign(X[:, 0])
    result = assessed((X, y, group), methods=["FairPCA"], n_components=4, metrics=["accuracy"])
    row = result.summary("accuracy")[0]
    assert row["mean"] == 1
    assert math.isnan(row["low"])
    assert with_interval(row) == "1.000"
    (text,) = against_pca(result)
    assert text.endswith("is not shown to change after FairPCA (k = 4).")


def test_comparisons_are_counted():
    data = table(0)
    given = {"methods": ["FairPCA", "NullSpaceFairPCA"], "n_components": [1, 2]}
    result = assessed(data, **given)
    assert (
        "These are 8 comparisons with PCA, each with a 95 % interval; they are not corrected for "
        "their number." in result.notes
    )
    one = assessed(data, methods=["FairPCA"], metrics=["accuracy"])
    assert not any("comparisons" in text for text in one.notes)


def test_one_split_says_that_groups_differ_by_chance():
    adult = datasets.load("adult")
    data = adult.X[:400], adult.target[:400], adult.sensitive_features[:400]
    result = assessed(data, n_splits=1)
    assert len(result.notes) == 1
    assert result.summary("accuracy_difference")[0]["by_chance"] > 0
