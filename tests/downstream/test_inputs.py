"""What people give: rare classes, small groups, odd metrics and frames; used rightly or refused."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, f1_score, log_loss, r2_score, roc_auc_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from fairspan import FairPCA, RobustFairPCA
from fairspan.downstream import assess_downstream
from fairspan.downstream.measures import less_is_better, measures
from fairspan.downstream.split import Task
from tests.downstream.test_assess import held_out, people, split_of

pytest.importorskip("fairlearn")

FAST = {"methods": [], "n_components": 2, "n_splits": 1, "inner_splits": 0}


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"metrics": []}, "metrics is empty"),
        ({"metrics": [lambda t, p: 1.0]}, "has no name; use a mapping"),
        ({"metrics": [functools.partial(accuracy_score)]}, "has no name; use a mapping"),
        ({"metrics": ["accuracy", "accuracy"]}, "'accuracy', 'accuracy_difference' would be"),
        (
            {"metrics": {"a": "accuracy", "a_difference": lambda t, p, sensitive_features: 7.0}},
            "'a_difference' would be measured twice",
        ),
        ({"metrics": {"a": lambda t, p: None}}, "it gives NoneType, not one number"),
        ({"methods": [FairPCA()]}, "such as {'fair': FairPCA"),
        ({"preprocessor": "passthrough"}, "must be a transformer"),
        ({"progress": 3}, "must be callable"),
        ({"n_jobs": 0}, "n_jobs=0 must be 1 or more"),
        ({"n_jobs": "two"}, "n_jobs='two' must be 1 or more"),
        ({"test_size": 0.999}, "leaves none of the 60 rows"),
        ({"model": LogisticRegression(C=-1)}, r"of a split: The 'C' parameter .* instead\.$"),
        ({"model": KNeighborsClassifier(), "sample_weight": np.ones(60)}, "takes no sample_weight"),
        ({"methods": {"own": PCA()}, "sample_weight": np.ones(60)}, "PCA takes no sample_weight"),
    ],
)
def test_what_cannot_be_used_is_refused(given, says):
    X, y, group = people(60)
    with pytest.raises((ValueError, TypeError), match=says):
        assess_downstream(X, y, group, **FAST | given)


def test_targets_and_groups_that_cannot_be_used_are_refused():
    X, y, group = people(60)
    three = np.array(["a", "b", "c"])[np.arange(60) % 3]
    number = X[:, 0].astype(object)
    assert assess_downstream(X, number, group, **FAST).model == "Ridge"
    for target, given, says in (
        (X[:, 0], {"model": LogisticRegression()}, "predicts classes, but y holds numbers such as"),
        (three, {"model": Ridge()}, "predicts numbers, but y holds text"),
        (np.datetime64("2020-01-01") + np.arange(60), {}, "convert dates"),
        (1j * np.arange(60), {}, "y holds complex numbers"),
        (three, {"metrics": ["demographic_parity_difference"]}, "needs two classes"),
    ):
        with pytest.raises(ValueError, match=says):
            assess_downstream(X, target, group, **FAST | given)
    with pytest.raises(ValueError, match="only one group, 'all'"):
        assess_downstream(X, y, np.full(60, "all"), **FAST)
    with pytest.raises(ValueError, match="X has 3 rows; at least 4"):
        assess_downstream(X[:3], [0, 1, 0], ["a", "b", "a"], **FAST)


@pytest.mark.parametrize("library", ["array", "pandas", "polars"])
def test_missing_numbers_are_named_with_what_to_do(library):
    X, y, group = people(60)
    X[3, 1] = np.nan
    rows, name = X, "1"
    if library != "array":
        frames = pytest.importorskip(library)
        columns = {f"c{i}": column for i, column in enumerate(X.T)}
        rows, name = frames.DataFrame(columns | {"flag": y > 0, "city": group}), "'c1'"
    with pytest.raises(ValueError, match=rf"such values: {name}\).*make_pipeline\(SimpleImputer"):
        assess_downstream(rows, y, group, **FAST)


def test_frames_of_every_library_give_the_same():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    pa = pytest.importorskip("pyarrow")
    X, y, group = people(120)
    columns = {
        "a": X[:, 0],
        "b": X[:, 1],
        "flag": X[:, 2] > 0,
        "city": np.where(X[:, 3] > 0, *"xy"),
    }
    frames = pd.DataFrame(columns), pl.DataFrame(columns), pa.table(columns)
    found = [assess_downstream(frame, y, group, **FAST).rows for frame in frames]
    assert found[0] == found[1] == found[2]
    # A column of truth values is one column: numbers, not two categories.
    Z = np.column_stack([X[:, :2], X[:, 2] > 0, X[:, 3] > 0, X[:, 3] <= 0])
    expected = assess_downstream(Z.astype(float), y, group, **FAST)
    assert [row["value"] for row in found[0]] == pytest.approx(
        [row["value"] for row in expected.rows]
    )


def test_a_class_that_training_rows_or_groups_lack_has_its_place():
    """Probabilities of three classes stay in their columns, and losses are defined by group."""
    X, _, group = people(300)
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-1, 2])]
    y[(group == "f") & (y == "c")] = "b"
    result = assess_downstream(X, y, group, **FAST | {"metrics": ["log_loss", "balanced_accuracy"]})
    train, test = split_of(X, np.unique(y, return_inverse=True)[1], group)
    scaler = StandardScaler().fit(X[train])
    model = LogisticRegression(max_iter=1000).fit(scaler.transform(X[train]), y[train])
    own = test[group[test] == "f"]
    shares = model.predict_proba(scaler.transform(X[own]))
    expected = log_loss(y[own], shares, labels=["a", "b", "c"])
    found = held_out(result, method="no reduction", metric="log_loss", group="f")
    assert found == pytest.approx([expected], abs=1e-6)

    y[y == "c"] = "b"
    y[test[0]] = "A"  # the first class, which the training rows of some splits lack
    rare = assess_downstream(X, y, group, **FAST | {"metrics": ["log_loss"], "n_splits": 4})
    # With probabilities in the wrong columns, true classes would have the probability 0.
    assert max(held_out(rare, metric="log_loss", group=None)) < 3


def test_too_rare_classes_are_refused_by_name_of_the_step():
    X, _, group = people(60)
    y = np.arange(60) == 7
    with pytest.raises(ValueError, match="split: they have no row of some class"):
        assess_downstream(X, y, group, **FAST | {"n_splits": 8})


def test_a_group_of_one_row_neither_stops_the_work_nor_the_stratification():
    X, y, group = people(80)
    group = group.astype(object)
    group[5] = "x"
    with pytest.warns(UserWarning, match="is left out|fewer than 10 rows"):
        result = assess_downstream(X, y, group, n_components=2, n_splits=6, metrics=["accuracy"])
    assert set(result.left_out) == {"ConvexFairPCA with 2 components"}
    task = Task(X, y, group.astype(str), group, None, [], None, [], [], 2, 0.25, 0)
    for _, test in task.parts(np.arange(80), 10, 0):
        for label in "fm":
            # A quarter of the rows of each group, up to the rounding of its two classes.
            assert abs((group[test] == label).sum() - (group == label).sum() / 4) <= 1.5


def test_one_group_among_held_out_rows_is_no_equality():
    X, y, group = people(80)
    metrics = ["accuracy", "demographic_parity_difference"]
    result = assess_downstream(X, y, group, **FAST | {"metrics": metrics, "test_size": 0.01})
    apart = held_out(result, metric="accuracy_difference")
    apart += held_out(result, metric="demographic_parity_difference")
    assert apart
    assert np.isnan(apart).all()


def test_labels_that_read_alike_are_groups_of_their_own():
    X, y, _ = people(80)
    labels = np.array([1, "1"] * 40, dtype=object)
    result = assess_downstream(X, y, labels, **FAST)
    assert set(result.group_labels) == {"1", "'1'"}


def test_references_name_groups_as_they_were_given():
    X, y, group = people()
    methods = {"own": RobustFairPCA(reference={0: 1.0, 1: 2.0}, disparity="largest")}
    result = assess_downstream(X, y, (group == "f").astype(int), **FAST | {"methods": methods})
    assert "own" in {row["method"] for row in result.rows}


def test_fairlearn_metrics_are_given_weights_and_scores():
    X, y, group = people()
    train, test = split_of(X, y, group)
    weight = 1.0 + np.arange(len(X)) % 3
    metrics = ["accuracy_score_difference", "roc_auc_score_group_min"]
    result = assess_downstream(X, y, group, **FAST | {"metrics": metrics, "sample_weight": weight})
    scaler = StandardScaler().fit(X[train], sample_weight=weight[train])
    model = LogisticRegression(max_iter=1000)
    model.fit(scaler.transform(X[train]), y[train], sample_weight=weight[train])
    Z, sides = scaler.transform(X[test]), [group[test] == label for label in ("f", "m")]
    right = [
        np.average(model.predict(Z[own]) == y[test][own], weights=weight[test][own])
        for own in sides
    ]
    areas = [
        roc_auc_score(
            y[test][own], model.predict_proba(Z[own])[:, 1], sample_weight=weight[test][own]
        )
        for own in sides
    ]
    for metric, value in zip(metrics, (abs(right[0] - right[1]), min(areas)), strict=True):
        assert held_out(result, method="no reduction", metric=metric) == pytest.approx([value])


@pytest.mark.parametrize(
    "metric", ["r2", "max_error", "mean_squared_error_group_max", r2_score, "mean_prediction"]
)
def test_metrics_of_numbers_are_refused_for_classes(metric):
    X, _, group = people(90)
    three = np.arange(90) % 3
    with pytest.raises(ValueError, match="compares numbers, but the target has 3 classes"):
        assess_downstream(X, three, group, **FAST | {"metrics": [metric]})
    assert measures({"mine": metric}, 0), "numbers may be compared"


@pytest.mark.parametrize(
    "metric", ["accuracy", "roc_auc", "selection_rate", "accuracy_score_difference", f1_score]
)
def test_metrics_of_classes_are_refused_for_numbers(metric):
    X, y, group = people(90)
    with pytest.raises(ValueError, match="compares classes, but the model predicts numbers"):
        assess_downstream(X, y + X[:, 0], group, **FAST | {"metrics": [metric]})
    assert measures({"mine": metric}, 2), "classes may be compared"


def test_what_has_a_meaning_for_classes_and_numbers_is_computed():
    def own(truth, predicted):
        return float((truth == predicted).mean())

    for n_classes, some in ((0, ["mean_prediction", "count", own]), (2, ["mean_prediction", own])):
        assert len(measures(some, n_classes)) == len(some)
    assert len(measures(["count", own], 3)) == 2


def test_functions_get_scores_if_they_ask_for_them():
    X, y, group = people(80)
    seen = {}

    def of_scores(y_true, y_score):
        seen["scores"] = set(np.unique(y_score))
        return 0.0

    assess_downstream(X, y, group, **FAST | {"metrics": [of_scores]})
    assert len(seen["scores"]) > 2


def test_supervised_projections_are_given_the_target_of_training_rows():
    X, y, group = people()
    methods = {"lda": LinearDiscriminantAnalysis()}
    result = assess_downstream(X, y, group, **FAST | {"methods": methods, "n_components": 1})
    assert held_out(result, method="lda", metric="accuracy", group=None)[0] > 0.7


def test_an_edited_metric_is_computed_anew(tmp_path):
    X, y, group = people(60)
    for value in (1.0, 2.0):
        given = FAST | {"metrics": {"mine": lambda t, p, value=value: value}}
        result = assess_downstream(X, y, group, **given, checkpoint=tmp_path)
        assert result.summary("mine")[0]["mean"] == value
    given = FAST | {"metrics": {"mine": lambda t, p, value=2.0: value + 1}}
    assert assess_downstream(X, y, group, **given, checkpoint=tmp_path).rows[0]["value"] == 3


def test_the_best_of_a_score_named_after_a_loss_is_the_highest():
    assert not less_is_better("d2_log_loss")
    assert less_is_better("d2_log_loss_difference")
    assert less_is_better("false_positive_rate")
