"""RobustFairPCA among scikit-learn's tools: frames, dtypes, scores, pipelines, searches."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_validate
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from fairspan import NoGroupsWarning, RobustFairPCA

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

NAMES = ["north", "east", "south", "west"]


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    groups = rng.choice(["a", "b"], 120, p=[0.7, 0.3])
    X = rng.standard_normal((120, 4)) @ rng.standard_normal((4, 4)) + 3
    X[groups == "b"] *= [1, 3, 0.5, 1]
    return X, groups


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("output", ["pandas", "polars"])
def test_frames_go_in_and_come_out(table, frame, output):
    X, groups = table
    data = frame(dict(zip(NAMES, X.T, strict=True)))
    model = RobustFairPCA(2).set_output(transform=output)
    found = model.fit_transform(data, sensitive_features=groups)
    assert isinstance(found, {"pandas": pd.DataFrame, "polars": pl.DataFrame}[output])
    assert list(found.columns) == ["robustfairpca0", "robustfairpca1"]
    assert list(model.feature_names_in_) == NAMES
    assert list(model.get_feature_names_out()) == ["robustfairpca0", "robustfairpca1"]
    plain = RobustFairPCA(2).fit(X, sensitive_features=groups).transform(X)
    assert found.to_numpy() == pytest.approx(plain)
    with pytest.raises(ValueError, match="feature names"):
        model.transform(data[NAMES[::-1]])


def test_feature_names_travel_through_moments(table):
    X, groups = table
    data = pd.DataFrame(X, columns=NAMES)
    fitted = RobustFairPCA(2).fit(data, sensitive_features=groups)
    assert fitted.moments_.feature_names == tuple(NAMES)
    model = RobustFairPCA(2).fit_moments(fitted.moments_)
    assert list(model.feature_names_in_) == NAMES
    assert model.transform(data) == pytest.approx(fitted.transform(data))


@pytest.mark.parametrize("standardize", [False, True])
def test_float32_stays_float32_and_has_float64_accuracy_inside(table, standardize):
    X, groups = table
    single = X.astype(np.float32)
    model = RobustFairPCA(2, standardize=standardize).fit(single, sensitive_features=groups)
    exact = RobustFairPCA(2, standardize=standardize)
    exact.fit(single.astype(np.float64), sensitive_features=groups)
    projected = model.transform(single)
    assert projected.dtype == np.float32
    assert model.inverse_transform(projected).dtype == np.float32
    assert model.transform(X).dtype == np.float64
    assert model.transform((10 * X).astype(int)).dtype == np.float64
    assert model.objective_ == pytest.approx(exact.objective_, rel=1e-10)
    assert model.components_ == pytest.approx(exact.components_, abs=1e-6)
    assert projected == pytest.approx(exact.transform(single.astype(float)), rel=1e-4, abs=1e-4)


def test_all_components_are_a_rotation_without_error(table):
    X, groups = table
    model = RobustFairPCA(4, radius=0.0).fit(X, sensitive_features=groups)
    assert model.components_ @ model.components_.T == pytest.approx(np.eye(4), abs=1e-12)
    assert model.inverse_transform(model.transform(X)) == pytest.approx(X)
    assert model.group_errors_.tolist() == [0.0, 0.0]
    assert model.objective_ == model.lower_bound_ == 0.0
    assert model.explained_variance_ratio_.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_score_is_minus_the_total_error_and_the_gap_whatever_the_parameters(table, weighted):
    X, groups = table
    weight = np.random.default_rng(1).uniform(0.5, 2, 120) if weighted else np.ones(120)
    given = {"sample_weight": weight} if weighted else {}
    for fairness_weight, radius in [(0.5, 0.0), (3.0, 5.0)]:
        model = RobustFairPCA(2, fairness_weight=fairness_weight, radius=radius)
        model.fit(X, sensitive_features=groups)
        errors = np.sum((X - model.inverse_transform(model.transform(X))) ** 2, axis=1)
        total = np.sum(weight * errors) / weight.sum()
        means = [
            np.sum((weight * errors)[groups == g]) / weight[groups == g].sum() for g in ("a", "b")
        ]
        with pytest.warns(NoGroupsWarning, match="minus the total error, without the gap"):
            assert model.score(X, **given) == pytest.approx(-total)
        score = model.score(X, sensitive_features=groups, **given)
        assert score == pytest.approx(-total - abs(means[0] - means[1]))


def test_a_pipeline_takes_groups_by_step_name_with_routing_off(table):
    X, groups = table
    pipeline = Pipeline([("scale", StandardScaler()), ("fair", RobustFairPCA(2))])
    pipeline.fit(X, fair__sensitive_features=groups)
    direct = RobustFairPCA(2, standardize=True).fit(X, sensitive_features=groups)
    assert pipeline["fair"].objective_ == pytest.approx(direct.objective_)
    assert pipeline.transform(X) == pytest.approx(direct.transform(X), abs=1e-6)


def test_a_pipeline_that_does_not_pass_the_groups_on_warns(table):
    X, _ = table
    with pytest.warns(NoGroupsWarning):
        make_pipeline(StandardScaler(), RobustFairPCA(2)).fit(X)


@pytest.mark.parametrize("last", ["nothing", "classifier"])
def test_a_pipeline_passes_groups_on_with_routing_on(table, last):
    X, groups = table
    y = (X[:, 0] > 3).astype(int)
    with config_context(enable_metadata_routing=True):
        steps = [StandardScaler(), RobustFairPCA(2)]
        steps += [LogisticRegression()] if last == "classifier" else []
        pipeline = make_pipeline(*steps).fit(X, y, sensitive_features=groups)
        assert pipeline["robustfairpca"].group_labels_ == ["a", "b"]
        direct = RobustFairPCA(2, standardize=True).fit(X, sensitive_features=groups)
        assert pipeline["robustfairpca"].objective_ == pytest.approx(direct.objective_)


@pytest.mark.parametrize("inside", [False, True], ids=["alone", "in a pipeline"])
def test_a_search_fits_and_scores_each_fold_with_its_own_groups(table, inside):
    X, groups = table
    folds = KFold(3, shuffle=True, random_state=0)
    weights = [0.0, 0.5, 2.0]
    expected = []
    for fairness_weight in weights:
        scores = []
        for train, test in folds.split(X):
            model = RobustFairPCA(2, fairness_weight=fairness_weight)
            model.fit(X[train], sensitive_features=groups[train])
            scores.append(model.score(X[test], sensitive_features=groups[test]))
        expected.append(np.mean(scores))
    with config_context(enable_metadata_routing=True):
        estimator = make_pipeline(RobustFairPCA(2)) if inside else RobustFairPCA(2)
        prefix = "robustfairpca__" if inside else ""
        search = GridSearchCV(
            estimator, {f"{prefix}fairness_weight": weights}, cv=folds, error_score="raise"
        )
        search.fit(X, sensitive_features=groups)
    assert search.cv_results_["mean_test_score"] == pytest.approx(expected)
    assert search.best_params_ == {f"{prefix}fairness_weight": weights[int(np.argmax(expected))]}


def test_cross_validation_passes_groups_on(table):
    X, groups = table
    with config_context(enable_metadata_routing=True):
        found = cross_validate(
            RobustFairPCA(2), X, params={"sensitive_features": groups}, cv=3, error_score="raise"
        )
    assert found["test_score"].shape == (3,)


def test_a_search_with_routing_off_passes_groups_to_fit(table):
    X, groups = table
    search = GridSearchCV(RobustFairPCA(2), {"radius": [0.0, 1.0]}, cv=3, error_score="raise")
    # They reach fit only: scores are total errors, of which score warns.
    with pytest.warns(NoGroupsWarning, match="score received no sensitive_features"):
        search.fit(X, sensitive_features=groups)
    assert search.best_estimator_.group_labels_ == ["a", "b"]


def test_sample_weight_is_routed_when_it_is_requested(table):
    X, groups = table
    weight = np.random.default_rng(0).integers(1, 4, 120)
    with config_context(enable_metadata_routing=True):
        estimator = RobustFairPCA(2).set_fit_request(sample_weight=True)
        pipeline = make_pipeline(estimator).fit(X, sensitive_features=groups, sample_weight=weight)
    direct = RobustFairPCA(2).fit(X, sensitive_features=groups, sample_weight=weight)
    assert pipeline[-1].objective_ == pytest.approx(direct.objective_)


def test_a_clone_has_the_same_parameters():
    model = RobustFairPCA(3, fairness_weight=2.0, radius={"a": 0.1, "b": 0.2}, solver="boundary")
    assert clone(model).get_params() == model.get_params()
