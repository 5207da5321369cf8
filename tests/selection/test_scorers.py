"""Scorers receive the groups of their fold, or raise; searches and pipelines work around them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import check_scoring
from sklearn.model_selection import GridSearchCV, KFold, cross_validate
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from fairspan import NoGroupsWarning, RobustFairPCA, RobustFairPCACV, scorers

FOLDS = KFold(3, shuffle=True, random_state=0)


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    groups = rng.choice(["a", "b"], 150, p=[0.7, 0.3])
    X = rng.standard_normal((150, 5)) @ rng.standard_normal((5, 5)) + 3
    X[groups == "b"] *= [1, 3, 0.5, 1, 2]
    return X, groups


def errors_of(model, X):
    return ((X - model.inverse_transform(model.transform(X))) ** 2).sum(axis=1)


def expected_scores(X, groups, measure):
    scores = []
    for train, test in FOLDS.split(X):
        model = RobustFairPCA(2).fit(X[train], sensitive_features=groups[train])
        errors = errors_of(model, X[test])
        total = errors.mean()
        gap = abs(np.subtract(*(errors[groups[test] == g].mean() for g in "ab")))
        scores.append(-{"total": total, "gap": gap, "sum": total + gap}[measure])
    return scores


MEASURES = {
    "total": scorers.total_error,
    "gap": scorers.error_gap,
    "sum": scorers.total_plus_gap,
}


@pytest.mark.parametrize(
    ("measure", "n_jobs", "kind"),
    [*((name, None, "array") for name in MEASURES), ("sum", 2, "array"), ("sum", None, "frame")],
)
def test_a_scorer_receives_the_labels_of_its_fold(table, measure, n_jobs, kind):
    X, groups = table
    given = groups
    if kind == "frame":
        given = pytest.importorskip("pandas").DataFrame({"sex": groups})
    with config_context(enable_metadata_routing=True):
        found = cross_validate(
            RobustFairPCA(2),
            X,
            cv=FOLDS,
            params={"sensitive_features": given},
            scoring={"fair": MEASURES[measure]},
            n_jobs=n_jobs,
            error_score="raise",
        )
    assert found["test_fair"] == pytest.approx(expected_scores(X, groups, measure))


def test_a_dict_that_scikit_learn_cannot_cut_into_folds_raises(table):
    X, groups = table
    search = GridSearchCV(RobustFairPCA(2), {"radius": [0.1]}, cv=FOLDS, error_score="raise")
    with (
        config_context(enable_metadata_routing=True),
        pytest.raises(ValueError, match="150 rows but X has 100"),
    ):
        search.fit(X, sensitive_features={"sex": groups})
    ours = RobustFairPCACV(2, cv=FOLDS).fit(X, sensitive_features={"sex": groups})
    assert ours.group_labels_ == ["a", "b"]


def test_a_search_by_a_scorer_equals_cross_validation_on_moments(table):
    X, groups = table
    weights = [0.0, 0.5, 2.0]
    with config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            RobustFairPCA(2, radius=0.1),
            {"fairness_weight": weights},
            scoring=scorers.total_plus_gap,
            cv=FOLDS,
            error_score="raise",
        ).fit(X, sensitive_features=groups)
    ours = RobustFairPCACV(2, fairness_weights=weights, radii=[0.1], cv=FOLDS)
    ours.fit(X, sensitive_features=groups)
    assert search.cv_results_["mean_test_score"] == pytest.approx(
        ours.cv_results_["mean_test_score"], abs=1e-9
    )
    assert search.best_index_ == ours.best_index_


def test_a_scorer_without_groups_raises(table):
    X, groups = table
    model = RobustFairPCA(2).fit(X, sensitive_features=groups)
    with pytest.raises(ValueError, match="received no sensitive_features"):
        scorers.error_gap(model, X)
    search = GridSearchCV(
        RobustFairPCA(2), {"radius": [0.1]}, scoring=scorers.error_gap, error_score="raise"
    )
    with pytest.raises(ValueError, match="enable_metadata_routing"):
        search.fit(X, sensitive_features=groups)
    with (
        config_context(enable_metadata_routing=True),
        pytest.warns(NoGroupsWarning),
        pytest.raises(ValueError, match="received no sensitive_features"),
    ):
        search.fit(X)


def test_groups_may_come_by_another_name_and_weights_count(table):
    X, groups = table
    weight = np.random.default_rng(0).uniform(0.5, 2, len(X))
    asked = scorers.total_plus_gap.set_score_request(sensitive_features="sex", sample_weight=True)
    with config_context(enable_metadata_routing=True):
        model = RobustFairPCA(2).set_fit_request(sensitive_features="sex", sample_weight=True)
        found = cross_validate(
            model,
            X,
            cv=FOLDS,
            params={"sex": groups, "sample_weight": weight},
            scoring=asked,
            error_score="raise",
        )
    expected = []
    for train, test in FOLDS.split(X):
        fitted = RobustFairPCA(2).fit(
            X[train], sensitive_features=groups[train], sample_weight=weight[train]
        )
        given = {"sensitive_features": groups[test], "sample_weight": weight[test]}
        expected.append(fitted.score(X[test], **given))
    assert found["test_score"] == pytest.approx(expected)
    with pytest.raises(TypeError, match="'y' is not known"):
        asked.set_score_request(y=True)


def test_pipelines_and_plain_pca_are_scored_and_others_refused(table):
    X, groups = table
    with config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(StandardScaler(), RobustFairPCA(2))
        pipeline.fit(X, sensitive_features=groups)
    plain = make_pipeline(StandardScaler(), make_pipeline(PCA(2))).fit(X)
    standardised = StandardScaler().fit_transform(X)
    # Errors of a pipeline are those of its last step, in the units that step works in.
    for model, last, given in [
        (pipeline, pipeline[-1], standardised),
        (plain, plain[-1], standardised),
        (PCA(2).fit(X), PCA(2).fit(X), X),
    ]:
        errors = errors_of(last, given)
        gap = abs(errors[groups == "a"].mean() - errors[groups == "b"].mean())
        assert scorers.error_gap(model, X, sensitive_features=groups) == pytest.approx(-gap)
    with pytest.raises(TypeError, match="LogisticRegression cannot be scored"):
        scorers.error_gap(LogisticRegression(), X, sensitive_features=groups)


def test_in_a_pipeline_the_scorer_and_the_default_score_agree(table):
    X, groups = table
    with config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(StandardScaler(), RobustFairPCA(2))
        found = cross_validate(
            pipeline,
            X,
            cv=FOLDS,
            params={"sensitive_features": groups},
            scoring={"ours": scorers.total_plus_gap, "default": check_scoring(pipeline)},
            error_score="raise",
        )
    assert found["test_ours"] == pytest.approx(found["test_default"])


def test_a_search_whose_scores_see_no_groups_is_warned_of(table):
    X, groups = table
    pipeline = make_pipeline(StandardScaler(), RobustFairPCA(2))
    grid = {"robustfairpca__fairness_weight": [0.0, 1.0]}
    with pytest.warns(NoGroupsWarning, match="score received no sensitive_features"):
        GridSearchCV(pipeline, grid).fit(X, robustfairpca__sensitive_features=groups)
    with pytest.warns(NoGroupsWarning, match="score received no sensitive_features"):
        RobustFairPCACV(2).fit(X, sensitive_features=groups).score(X)
    with config_context(enable_metadata_routing=True):
        GridSearchCV(pipeline, grid).fit(X, sensitive_features=groups)
    RobustFairPCA(2, fairness_weight=0).fit(X).score(X)


@pytest.mark.parametrize("routing", [True, False])
@pytest.mark.parametrize("estimator", [RobustFairPCA(2), RobustFairPCACV(2)])
def test_unions_and_column_transformers_pass_groups_on(table, routing, estimator):
    X, groups = table
    direct = clone(estimator).fit(X, sensitive_features=groups).transform(X)
    union = FeatureUnion([("fair", clone(estimator)), ("plain", PCA(1))])
    columns = ColumnTransformer([("fair", clone(estimator), [0, 1, 2, 3, 4])])
    with config_context(enable_metadata_routing=routing):
        if routing:
            assert union.fit(X, sensitive_features=groups).transform(X)[:, :2] == pytest.approx(
                direct
            )
            assert columns.fit(X, sensitive_features=groups).transform(X) == pytest.approx(direct)
        else:
            with pytest.warns(NoGroupsWarning):
                union.fit(X)
            with pytest.warns(NoGroupsWarning):
                columns.fit(X)


@pytest.mark.parametrize("routing", [True, False])
def test_the_cross_validated_estimator_works_in_a_pipeline_and_gives_frames(table, routing):
    pd = pytest.importorskip("pandas")
    X, groups = table
    frame = pd.DataFrame(X, columns=list("vwxyz"))
    with config_context(enable_metadata_routing=routing):
        pipeline = Pipeline([("scale", StandardScaler()), ("fair", RobustFairPCACV(2))])
        pipeline.set_output(transform="pandas")
        name = "sensitive_features" if routing else "fair__sensitive_features"
        found = pipeline.fit(frame, **{name: groups}).transform(frame)
    assert list(found.columns) == ["robustfairpcacv0", "robustfairpcacv1"]
    assert pipeline["fair"].group_labels_ == ["a", "b"]


def test_requests_are_added_to_those_made_before():
    scorer = scorers.total_error.set_score_request(sample_weight=True)
    scorer = scorer.set_score_request(sensitive_features="sex")
    asked = scorer.get_metadata_routing().score.requests
    assert asked == {"sensitive_features": "sex", "sample_weight": True}
    assert scorers.total_error.get_metadata_routing().score.requests["sample_weight"] is None
