"""Decisions on projections: fitted inside the split, measured outside, chosen inside."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from fairspan import FairPCA, RobustFairPCA, datasets
from fairspan.downstream import assess, assess_downstream
from fairspan.downstream.reading import against_pca, shown_metrics, with_interval
from fairspan.downstream.rule import Rule

pytest.importorskip("fairlearn")


def people(n=400, seed=0):
    """Two groups; the target depends on the first feature and on the group."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6)) * [3, 2, 1, 1, 1, 1]
    group = np.where(rng.random(n) < 0.4, "f", "m")
    y = (X[:, 0] + 2 * (group == "m") + rng.normal(size=n) > 1).astype(int)
    return X, y, group


def held_out(result, **wanted):
    """The values on held-out rows of one metric, or of one candidate."""
    return [
        row["value"]
        for row in result.rows
        if row["stage"] == "outer" and all(row[key] == value for key, value in wanted.items())
    ]


def split_of(X, y, group, seed=0):
    """The rows of the only split, by the same random draws."""
    from sklearn.model_selection import StratifiedShuffleSplit

    strata = np.unique([f"{a} {b}" for a, b in zip(y, group, strict=True)], return_inverse=True)[1]
    drawn = StratifiedShuffleSplit(n_splits=1, test_size=0.25, random_state=seed)
    return next(drawn.split(X, strata))


def test_values_are_those_of_a_pipeline_and_fairlearn_by_hand():
    from fairlearn.metrics import (
        MetricFrame,
        demographic_parity_difference,
        equalized_odds_difference,
        selection_rate,
    )
    from sklearn.metrics import accuracy_score, roc_auc_score

    X, y, group = people()
    train, test = split_of(X, y, group)
    scaler = StandardScaler().fit(X[train])
    pca = RobustFairPCA(2).fit(scaler.transform(X[train]), sensitive_features=group[train])
    model = LogisticRegression().fit(pca.transform(scaler.transform(X[train])), y[train])
    Z = pca.transform(scaler.transform(X[test]))
    predicted, groups = model.predict(Z), {"sensitive_features": group[test]}
    result = assess_downstream(
        X, y, group, methods=["RobustFairPCA"], n_components=2, n_splits=1, inner_splits=0
    )
    frame = MetricFrame(
        metrics={"accuracy": accuracy_score, "selection_rate": selection_rate},
        y_true=y[test],
        y_pred=predicted,
        **groups,
    )
    expected = {
        "roc_auc": roc_auc_score(y[test], model.predict_proba(Z)[:, 1]),
        "demographic_parity_difference": demographic_parity_difference(
            y[test], predicted, **groups
        ),
        "equalized_odds_difference": equalized_odds_difference(y[test], predicted, **groups),
        "accuracy": frame.overall["accuracy"],
        "accuracy_difference": frame.difference()["accuracy"],
        "selection_rate_difference": frame.difference()["selection_rate"],
    }
    for metric, value in expected.items():
        found = held_out(result, method="RobustFairPCA", metric=metric, group=None)
        assert found == pytest.approx([value], abs=1e-12)
    for label in ("f", "m"):
        found = held_out(result, method="RobustFairPCA", metric="accuracy", group=label)
        assert found == pytest.approx([frame.by_group["accuracy"][label]])


def test_a_column_that_equals_the_target_in_held_out_rows_only_is_of_no_use():
    rng = np.random.default_rng(1)
    X, _, group = people(2000, 1)
    y = (X[:, 0] + 3 * rng.normal(size=2000) > 0).astype(int)
    _, test = split_of(X, y, group)
    tempting = X.copy()
    tempting[:, 5] = rng.integers(2, size=2000)
    tempting[test, 5] = y[test]
    settings = {"methods": ["RobustFairPCA"], "n_components": 6, "n_splits": 1}
    honest, tempted = (
        held_out(assess_downstream(rows, y, group, **settings), metric="accuracy", group=None)
        for rows in (X, tempting)
    )
    assert tempted == pytest.approx(honest, abs=0.05)
    assert max(tempted) < 0.8


def test_shuffled_labels_are_predicted_by_chance():
    X, y, group = people(1000)
    y = np.random.default_rng(0).permutation(y)
    result = assess_downstream(
        X, y, group, methods=["FairPCA"], n_components=3, n_splits=5, metrics=["roc_auc"]
    )
    for row in result.summary("roc_auc"):
        assert abs(row["mean"] - 0.5) < 0.08


def test_the_choice_never_sees_held_out_rows():
    X, y, group = people()
    _, test = split_of(X, y, group)
    changed = X.copy()
    changed[test] = np.random.default_rng(2).normal(size=(len(test), 6)) * 100
    settings = {"methods": ["RobustFairPCA"], "n_components": [1, 3], "n_splits": 1}
    results = [
        assess_downstream(rows, y, group, inner_splits=2, **settings) for rows in (X, changed)
    ]
    inner, outer = (
        [[row for row in result.rows if row["stage"] == stage] for result in results]
        for stage in ("inner", "outer")
    )
    assert inner[0] == inner[1]
    assert outer[0] != outer[1]
    rule = "highest accuracy with demographic_parity_difference <= 0.3"
    assert results[0].best(rule).chosen == results[1].best(rule).chosen


def test_inner_values_are_of_rows_that_the_inner_fit_does_not_see():
    """A model that remembers its rows is right about them, and is not chosen for that."""
    rng = np.random.default_rng(0)
    X, _, group = people()
    y = rng.integers(2, size=len(X))
    result = assess_downstream(
        X,
        y,
        group,
        methods=[],
        n_components=2,
        model=DecisionTreeClassifier(random_state=0),
        metrics=["accuracy"],
        n_splits=2,
    )
    inner = [
        row["value"]
        for row in result.rows
        if (row["stage"], row["metric"], row["group"]) == ("inner", "accuracy", None)
    ]
    assert len(inner) == 4
    assert max(inner) < 0.7


def test_the_choice_is_best_inside_and_reported_outside():
    X, y, group = people()
    result = assess_downstream(
        X, y, group, methods=["PCA"], n_components=[1, 2, 3], n_splits=3, metrics=["accuracy"]
    )
    choice = result.best("highest accuracy")
    for split, (method, k, _) in enumerate(choice.chosen):
        inner = {
            (row["method"], row["n_components"]): row["value"]
            for row in result.rows
            if (row["stage"], row["split"], row["metric"], row["group"])
            == ("inner", split, "accuracy", None)
        }
        assert inner[method, k] == max(inner.values())
    outer = [
        held_out(
            result, split=split, method=key[0], n_components=key[1], metric="accuracy", group=None
        )
        for split, key in enumerate(choice.chosen)
    ]
    assert choice.values[0]["mean"] == pytest.approx(np.mean(outer))


def test_limits_come_before_the_metric_and_broken_ones_are_counted():
    X, y, group = people()
    result = assess_downstream(
        X, y, group, methods=["NullSpaceFairPCA"], n_components=[1, 2], n_splits=2
    )
    strict = result.best("highest accuracy with demographic_parity_difference <= -1")
    assert strict.within_limits == 0
    free = result.best("highest accuracy with demographic_parity_difference <= 1")
    assert free.within_limits == 2
    assert free.values[0]["mean"] >= strict.values[0]["mean"]


def test_intervals_count_the_overlap_of_splits():
    X, y, group = people()
    result = assess_downstream(
        X, y, group, methods=["FairPCA"], n_components=2, n_splits=5, metrics=["accuracy"]
    )
    fair = np.array(held_out(result, method="FairPCA", metric="accuracy", group=None))
    pca = np.array(held_out(result, method="PCA", metric="accuracy", group=None))
    row = next(r for r in result.summary("accuracy") if r["method"] == "FairPCA" and not r["group"])
    half = stats.t.ppf(0.975, 4) * np.std(fair - pca, ddof=1) * np.sqrt(1 / 5 + 100 / 300)
    assert row["minus_pca_mean"] == pytest.approx(np.mean(fair - pca))
    assert row["minus_pca_high"] - row["minus_pca_mean"] == pytest.approx(half)


def test_differences_are_paired_with_pca_of_the_same_size_and_with_no_reduction():
    X, y, group = people()
    result = assess_downstream(
        X, y, group, methods=["FairPCA"], n_components=[1, 3], n_splits=3, metrics=["roc_auc"]
    )
    values = {
        (method, k): np.array(
            held_out(result, method=method, n_components=k, metric="roc_auc", group=None)
        )
        for method, k in (("no reduction", None), ("PCA", 1), ("PCA", 3), ("FairPCA", 3))
    }
    rows = result.summary("roc_auc")
    row = next(
        r for r in rows if (r["method"], r["n_components"], r["group"]) == ("FairPCA", 3, None)
    )
    fair = values["FairPCA", 3]
    assert row["minus_pca_mean"] == pytest.approx(np.mean(fair - values["PCA", 3]))
    assert row["minus_none_mean"] == pytest.approx(np.mean(fair - values["no reduction", None]))
    assert abs(np.mean(values["PCA", 1] - values["PCA", 3])) > 1e-3


def test_weights_seeds_and_several_inner_splits_count():
    X, y, group = people()
    given = {"methods": ["RobustFairPCA"], "n_components": 1, "metrics": ["roc_auc"]}
    given |= {"n_splits": 1, "inner_splits": 3, "fairness_weights": [0.0, 5.0]}
    result = assess_downstream(X, y, group, **given)
    pca, zero, five = (
        held_out(result, method=method, fairness_weight=weight, metric="roc_auc", group=None)
        for method, weight in (("PCA", None), ("RobustFairPCA", 0.0), ("RobustFairPCA", 5.0))
    )
    assert zero == pytest.approx(pca)
    assert five != pytest.approx(pca)
    assert assess_downstream(X, y, group, **given, random_state=1).rows != result.rows
    inner = {}
    for row in result.rows:
        if (row["stage"], row["metric"], row["group"]) == ("inner", "roc_auc", None):
            key = row["method"], row["n_components"], row["fairness_weight"]
            inner.setdefault(key, []).append(row["value"])
    assert {len(values) for values in inner.values()} == {3}
    means = {key: np.mean(values) for key, values in inner.items()}
    limit = sorted(means.values())[1]
    choice = result.best(f"lowest roc_auc with roc_auc >= {limit - 1e-9:.12f}")
    assert means[choice.chosen[0]] == pytest.approx(limit)


def test_interrupted_work_goes_on_and_ends_with_the_same_bytes(tmp_path, monkeypatch):
    X, y, group = people()
    settings = {"methods": ["RobustFairPCA"], "n_components": 2, "n_splits": 4}
    whole = assess_downstream(X, y, group, **settings).to_json()

    def interrupt(done, _):
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        assess_downstream(X, y, group, **settings, checkpoint=tmp_path, progress=interrupt)
    assert len(list(tmp_path.iterdir())) == 2
    ran = []
    monkeypatch.setattr(
        assess, "run_split", lambda task, split, *rows: ran.append(split) or run(task, split, *rows)
    )
    again = assess_downstream(X, y, group, **settings, checkpoint=tmp_path)
    assert ran == [2, 3]
    assert again.to_json() == whole
    other = assess_downstream(X, 1 - y, group, **settings, checkpoint=tmp_path)
    assert len(ran) == 6, "another target has files of its own"
    assert other.to_json() != whole


run = assess.run_split


@pytest.mark.parametrize(
    "change",
    [
        {"model": LogisticRegression(C=1e-3)},
        {"sample_weight": 1.0 + np.arange(400) % 7},
        {"methods": ["FairPCA"]},
        {"metrics": ["accuracy"]},
    ],
)
def test_finished_work_of_other_settings_is_not_taken(tmp_path, change):
    X, y, group = people()
    given = {"methods": [], "n_components": 2, "metrics": ["roc_auc"], "n_splits": 1}
    given |= {"inner_splits": 0}
    first = assess_downstream(X, y, group, **given, checkpoint=tmp_path)
    second = assess_downstream(X, y, group, **given | change, checkpoint=tmp_path)
    assert second.rows == assess_downstream(X, y, group, **given | change).rows
    assert second.rows != first.rows
    other = assess_downstream(X[:, :3], y, group, **given, checkpoint=tmp_path)
    assert other.rows != first.rows


def test_several_processes_find_the_same():
    X, y, group = people()
    one, two = (
        assess_downstream(X, y, group, methods=["FairPCA"], n_components=2, n_splits=2, n_jobs=n)
        for n in (1, 2)
    )
    assert one.to_json() == two.to_json()


def test_numbers_are_predicted_by_a_regression():
    X, _, group = people()
    y = X @ np.arange(6.0) + 3 * (group == "m")
    result = assess_downstream(X, y, group, methods=["PCA"], n_components=6, n_splits=2)
    assert (result.model, result.classes) == ("Ridge", None)
    assert min(held_out(result, metric="r2", group=None)) > 0.9
    assert "mean_prediction_difference" in result.metrics


def test_integer_weights_are_repetitions():
    X, y, group = people()
    train, test = split_of(X, y, group)
    weight = np.ones(len(X))
    weight[train[:150]] = 3.0
    result = assess_downstream(
        X,
        y,
        group,
        methods=["PCA"],
        n_components=2,
        n_splits=1,
        inner_splits=0,
        metrics=["roc_auc"],
        sample_weight=weight,
    )
    rows = np.repeat(train, weight[train].astype(int))
    scaler = StandardScaler().fit(X[rows])
    pca = RobustFairPCA(2, fairness_weight=0).fit(scaler.transform(X[rows]))
    model = LogisticRegression(tol=1e-8, max_iter=1000)
    model.fit(pca.transform(scaler.transform(X[rows])), y[rows])
    from sklearn.metrics import roc_auc_score

    scores = model.predict_proba(pca.transform(scaler.transform(X[test])))[:, 1]
    found = held_out(result, method="PCA", metric="roc_auc", group=None)
    assert found == pytest.approx([roc_auc_score(y[test], scores)], abs=2e-3)


def test_weights_of_held_out_rows_count_in_every_metric():
    """Held-out rows count as often as their weight says: overall, by group, between groups."""
    from fairlearn.metrics import demographic_parity_difference
    from sklearn.metrics import accuracy_score, roc_auc_score

    X, y, group = people()
    train, test = split_of(X, y, group)
    weight = np.ones(len(X))
    weight[test] = np.random.default_rng(1).integers(1, 9, len(test))
    result = assess_downstream(
        X,
        y,
        group,
        methods=[],
        n_components=2,
        metrics=["accuracy", "roc_auc", "demographic_parity_difference"],
        sample_weight=weight,
        n_splits=1,
        inner_splits=0,
    )
    scaler = StandardScaler().fit(X[train])
    model = LogisticRegression(max_iter=1000).fit(scaler.transform(X[train]), y[train])
    rows = np.repeat(test, weight[test].astype(int))
    predicted = model.predict(scaler.transform(X[rows]))
    scores = model.predict_proba(scaler.transform(X[rows]))[:, 1]
    sides = {"f": group[rows] == "f", "m": group[rows] == "m"}
    by_group = {a: accuracy_score(y[rows][own], predicted[own]) for a, own in sides.items()}
    expected = {
        ("accuracy", None): accuracy_score(y[rows], predicted),
        **{("accuracy", label): value for label, value in by_group.items()},
        ("accuracy_difference", None): abs(by_group["f"] - by_group["m"]),
        ("roc_auc", None): roc_auc_score(y[rows], scores),
        ("demographic_parity_difference", None): demographic_parity_difference(
            y[rows], predicted, sensitive_features=group[rows]
        ),
    }
    for (metric, label), value in expected.items():
        found = held_out(result, method="no reduction", metric=metric, group=label)
        assert found == pytest.approx([value], abs=1e-9)


def test_text_columns_and_several_sensitive_columns():
    pd = pytest.importorskip("pandas")
    adult = datasets.load("adult", sensitive=["sex", "race"])
    frame = pd.DataFrame(adult.columns).drop(columns=["income", "sex", "race"]).head(1500)
    groups = {name: column[:1500] for name, column in adult.sensitive_features.items()}
    groups["race"] = np.where(groups["race"] == "White", "White", "other")
    result = assess_downstream(
        frame,
        adult.target[:1500],
        groups,
        methods=["PCA"],
        n_components=5,
        n_splits=1,
        metrics=["accuracy"],
        inner_splits=0,
    )
    assert len(result.group_labels) == 4
    assert result.classes == ("<=50K", ">50K")
    assert min(held_out(result, metric="accuracy", group=None)) > 0.75


def test_frame_json_and_plot(tmp_path):
    pytest.importorskip("matplotlib")
    X, y, group = people()
    result = assess_downstream(X, y, group, methods=["FairPCA"], n_components=[1, 2], n_splits=2)
    document = json.loads(result.to_json())
    assert len(document["rows"]) == len(result.rows)
    assert len(result.to_frame()) == sum(row["stage"] == "outer" for row in result.rows)
    axes = result.plot("accuracy", "demographic_parity_difference")
    assert axes.get_ylabel() == "demographic parity difference"
    assert len(axes.containers) == 5


def test_methods_that_do_the_same_are_both_seen_in_the_plot():
    pytest.importorskip("matplotlib")
    X, y, group = people()
    methods = {"one": FairPCA(), "two": FairPCA()}
    result = assess_downstream(X, y, group, methods=methods, n_components=2, n_splits=2)
    points = {}
    for drawn in result.plot().containers:
        x, height = drawn.lines[0].get_xdata()[0], drawn.lines[0].get_ydata()[0]
        points.setdefault((x, height), []).append(drawn.lines[0].get_markersize())
    twins = [sizes for sizes in points.values() if len(sizes) > 1]
    assert len(twins) == 1
    assert twins[0][0] > twins[0][1]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"n_splits": 0}, "n_splits"),
        ({"test_size": 1.5}, "between 0 and 1"),
        ({"methods": ["ICA"]}, "use one of 'PCA', 'RobustFairPCA'"),
        ({"methods": {"mine": 3}}, "an estimator with n_components"),
        ({"metrics": ["goodness"]}, "neither to scikit-learn nor to fairlearn"),
        ({"model": "logistic"}, "neither a classifier nor a regressor"),
        ({"n_components": []}, "at least one value"),
        ({"n_components": 9}, "PCA with 9 components cannot be fitted"),
        ({"methods": {"PCA": FairPCA()}}, "'PCA' is always compared"),
        (
            {"metrics": ["confusion_matrix"]},
            "confusion_matrix cannot be used here: it gives ndarray",
        ),
        (
            {"methods": ["NullSpaceFairPCA"], "n_components": 6},
            "NullSpaceFairPCA with 6 components",
        ),
    ],
)
def test_bad_settings_are_refused_in_words(given, says):
    X, y, group = people(60)
    with pytest.raises((ValueError, TypeError), match=says):
        assess_downstream(X, y, group, **{"n_splits": 1, **given})


def test_bad_targets_are_refused_in_words():
    X, y, group = people(60)
    for bad, says in (
        (y[:-1], "one value for each row"),
        (np.where(y == 0, np.nan, 1.0), "missing values"),
        (np.zeros(60, dtype=int), "only one value, 0"),
        (np.full(60, 1.5), "only one value, 1.5"),
        (np.where(y == 0, np.inf, 1.0), "infinite values"),
    ):
        with pytest.raises(ValueError, match=says):
            assess_downstream(X, bad, group, n_splits=1)


@pytest.mark.parametrize("rule", ["", "accuracy with", "accuracy with gap < 1", "most accuracy x"])
def test_rules_that_mean_nothing_are_refused(rule):
    with pytest.raises(ValueError, match="is not understood"):
        Rule.parse(rule, ["accuracy", "gap"])
    with pytest.raises(ValueError, match="which was not measured; measured were accuracy, gap"):
        Rule.parse("best f1", ["accuracy", "gap"])


def test_less_of_an_error_is_better_unless_said_otherwise():
    assert Rule.parse("best mean_absolute_error", ["mean_absolute_error"]).lowest
    assert not Rule.parse("best accuracy", ["accuracy"]).lowest
    assert Rule.parse("lowest selection_rate", ["selection_rate"]).lowest


def test_losses_of_probabilities_are_given_probabilities():
    from sklearn.metrics import brier_score_loss, log_loss

    X, y, group = people()
    train, test = split_of(X, y, group)
    metrics = ["log_loss", "brier_score_loss"]
    settings = {"methods": ["PCA"], "n_components": 6, "n_splits": 1, "inner_splits": 0}
    result = assess_downstream(X, y, group, metrics=metrics, **settings)
    scaler = StandardScaler().fit(X[train])
    model = LogisticRegression(max_iter=1000).fit(scaler.transform(X[train]), y[train])
    shares = model.predict_proba(scaler.transform(X[test]))[:, 1]
    for metric, function in (("log_loss", log_loss), ("brier_score_loss", brier_score_loss)):
        found = held_out(result, method="no reduction", metric=metric, group=None)
        assert found == pytest.approx([function(y[test], shares)], abs=1e-6)


def test_methods_without_a_solution_of_a_size_are_left_out_and_named():
    X, y, group = people()
    with pytest.warns(UserWarning, match="is left out") as caught:
        result = assess_downstream(X, y, group, n_components=6, n_splits=1, metrics=["accuracy"])
    named = {str(warning.message).partition(" is left")[0] for warning in caught}
    assert named == set(result.left_out) >= {"NullSpaceFairPCA with 6 components"}
    methods = {row["method"] for row in result.rows}
    assert "NullSpaceFairPCA" not in methods
    assert {"PCA", "RobustFairPCA", "no reduction"} <= methods


def test_numbers_that_are_not_defined_are_null_in_json():
    X, _, group = people()
    y = (group == "f") & (X[:, 0] > 0)
    settings = {"methods": ["FairPCA"], "n_components": 2, "n_splits": 2, "metrics": ["roc_auc"]}
    document = json.loads(assess_downstream(X, y, group, **settings).to_json(), parse_constant=int)
    of_men = [row["value"] for row in document["rows"] if row["group"] == "m"]
    assert of_men
    assert set(of_men) == {None}


def test_a_damaged_checkpoint_is_made_again(tmp_path):
    X, y, group = people()
    settings = {"methods": ["PCA"], "n_components": 2, "n_splits": 2, "checkpoint": tmp_path}
    whole = assess_downstream(X, y, group, **settings).to_json()
    next(tmp_path.iterdir()).write_text("half", encoding="utf-8")
    assert assess_downstream(X, y, group, **settings).to_json() == whole
    with pytest.raises(ValueError, match="is a file; name a folder"):
        assess_downstream(X, y, group, **settings | {"checkpoint": next(tmp_path.iterdir())})


def test_a_candidate_within_all_limits_comes_before_a_better_one_that_breaks_some():
    rule = Rule.parse("highest a with b <= 0.1 and c >= 0.6", ["a", "b", "c"])
    within = {"a": 0.5, "b": 0.1, "c": 0.6}
    above, below = {"a": 0.9, "b": 0.3, "c": 0.9}, {"a": 0.8, "b": 0.0, "c": 0.5}
    assert rule.violation(within) == 0
    assert rule.violation(above) == pytest.approx(0.2)
    assert rule.violation(below) == pytest.approx(0.1)
    assert rule.violation(above | {"c": 0.5}) == pytest.approx(0.2)
    assert sorted([above, below, within], key=rule.order) == [within, below, above]
    unknown = within | {"b": float("nan")}
    assert rule.violation(unknown) == float("inf")
    assert min([unknown, above], key=rule.order) is above
    better = within | {"a": 0.6, "c": 0.9}
    assert min([within, better], key=rule.order) is better


def test_intervals_of_shares_stay_between_0_and_1_and_say_so():
    X, y, group = people(120)
    y = (X[:, 0] > 0).astype(int)  # nearly all decisions are right
    result = assess_downstream(
        X, y, group, methods=["FairPCA"], n_components=5, n_splits=4, inner_splits=0
    )
    rows = result.summary()
    assert all(0 <= row["mean"] <= 1 for row in rows)
    # Where all splits agree there is no interval.
    ranged = [row for row in rows if row["low"] == row["low"]]
    assert len(ranged) > len(rows) / 2
    assert all(0 <= row["low"] <= row["mean"] <= row["high"] <= 1 for row in ranged)
    at_limit = [row for row in rows if row["low"] == 0 or row["high"] == 1]
    assert at_limit
    assert all(" to " in with_interval(row) for row in at_limit if row["low"] < row["high"])
    # Differences to PCA have a sign.
    assert any(row["minus_pca_low"] is not None and row["minus_pca_low"] < 0 for row in rows)


def test_a_signed_metric_is_not_taken_for_a_share():
    def signed_difference(y_true, y_pred):
        return float(y_pred.mean() - y_true.mean()) - 0.5

    X, y, group = people()
    result = assess_downstream(
        X, y, group, methods=["FairPCA"], metrics=[signed_difference], n_splits=3, inner_splits=0
    )
    assert all(row["low"] < 0 for row in result.summary("signed_difference"))


def test_one_split_compares_nothing_and_tables_show_what_sentences_name():
    X, y, group = people()
    once = assess_downstream(X, y, group, methods=["FairPCA"], n_splits=1, inner_splits=0)
    assert against_pca(once) == [
        "One split has no interval, so methods are not compared; use more splits."
    ]
    asked = {"methods": ["FairPCA"], "n_splits": 3, "inner_splits": 0, "n_components": 2}
    alone = assess_downstream(X, y, group, metrics=["accuracy"], **asked)
    assert shown_metrics(alone) == ["accuracy", "accuracy_difference"]
    assert len(against_pca(alone)) == 1
