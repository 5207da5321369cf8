"""The name of a column of X stands for its groups, wherever a frame is accepted."""

from __future__ import annotations

import inspect
import warnings
from itertools import product

import numpy as np
import pytest

import fairspan
from fairspan import (
    FairPCA,
    GroupMoments,
    RobustFairPCA,
    RobustFairPCACV,
    inference,
    metrics,
    report,
    scorers,
)

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")


def table():
    rng = np.random.default_rng(0)
    race = np.array(["a", "b", "b"])[rng.integers(0, 3, 120)]
    X = rng.normal(size=(120, 4)) * np.where(race == "a", 2.0, 1.0)[:, None] * [3, 2, 1, 1]
    columns = {name: X[:, j] for j, name in enumerate("wxyz")}
    return columns, race


COLUMNS, RACE = table()
FRAME = pd.DataFrame(COLUMNS)
WITH = FRAME.assign(race=RACE)
MODEL = RobustFairPCA(2).fit(FRAME, sensitive_features=RACE)

CALLS = {
    "fit": lambda X, a: RobustFairPCA(2).fit(X, sensitive_features=a).components_,
    "partial_fit": lambda X, a: FairPCA(2).partial_fit(X, sensitive_features=a).components_,
    "fit_transform": lambda X, a: RobustFairPCA(2).fit_transform(X, sensitive_features=a),
    "score": lambda X, a: MODEL.score(X, sensitive_features=a),
    "worst_case": lambda X, a: MODEL.worst_case(X, sensitive_features=a),
    "search": lambda X, a: RobustFairPCACV(cv=2).fit(X, sensitive_features=a).best_score_,
    "scorer": lambda X, a: scorers.total_error(MODEL, X, sensitive_features=a),
    "moments": lambda X, a: GroupMoments.from_arrays(X, a).scatters,
    "frontier": lambda X, a: fairspan.fairness_frontier(X, 2, sensitive_features=a).gap,
    "certify": lambda X, a: str(
        fairspan.certify(
            MODEL.components_, X, sensitive_features=a, fairness_weight=1.0, radius=0.0
        )
    ),
    "compare": lambda X, a: fairspan.compare([MODEL], X, a, X_test=X, sensitive_features_test=a)[
        ["total_error", "error_gap"]
    ],
    "advise": lambda X, a: str(fairspan.advise(X, a, n_components=2)),
    "downstream": lambda X, a: str(
        fairspan.assess_downstream(X, RACE == "a", a, n_components=2, n_splits=2)
    ),
    "crossfit": lambda X, a: inference.crossfit(MODEL, X, sensitive_features=a).group_errors,
    "gap_test": lambda X, a: inference.gap_test(X, sensitive_features=a, n_components=2).pvalue,
    "reduction_test": lambda X, a: str(inference.reduction_test(MODEL, X, sensitive_features=a)),
    "verdict": lambda X, a: str(inference.verdict(MODEL, X, sensitive_features=a)),
    "error_gap": lambda X, a: metrics.error_gap(MODEL, X, a),
    "leakage": lambda X, a: metrics.linear_leakage(MODEL, X, a),
    "intervals": lambda X, a: str(
        metrics.bootstrap_intervals(MODEL, X, a, n_bootstrap=50, random_state=0)
    ),
    "report": lambda X, a: report.build(
        X, sensitive_features=a, n_components=1, max_components=1
    ).to_json(),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_name_means_its_column_which_is_then_not_a_feature(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        named, given = CALLS[name](WITH, "race"), CALLS[name](FRAME, RACE)
    if isinstance(named, str):
        assert named == given
    else:
        np.testing.assert_array_equal(named, given)


def test_polars_works_too_and_the_frame_is_left_alone():
    frame = pl.DataFrame({**COLUMNS, "race": RACE})
    fitted = RobustFairPCA(2).fit(frame, sensitive_features="race")
    np.testing.assert_array_equal(fitted.components_, MODEL.components_)
    assert frame.columns == [*COLUMNS, "race"]
    assert fitted.feature_names_in_.tolist() == [*COLUMNS]


METHODS = {
    "transform": lambda model, X: model.transform(X),
    "reconstruction_errors": lambda model, X: model.reconstruction_errors(X),
    "score": lambda model, X: model.score(X, sensitive_features=RACE),
    "worst_case": lambda model, X: model.worst_case(X, sensitive_features=RACE),
}


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("frame", [WITH, pl.DataFrame({**COLUMNS, "race": RACE})], ids=["pd", "pl"])
def test_methods_take_the_frame_of_the_fit(name, frame):
    fitted = RobustFairPCA(2).fit(frame, sensitive_features="race")
    np.testing.assert_array_equal(METHODS[name](fitted, frame), METHODS[name](MODEL, FRAME))
    np.testing.assert_array_equal(METHODS[name](fitted, FRAME), METHODS[name](MODEL, FRAME))


def test_a_search_and_a_model_file_take_the_frame_of_the_fit_too(tmp_path):
    search = RobustFairPCACV(cv=2).fit(WITH, sensitive_features="race")
    np.testing.assert_array_equal(search.transform(WITH), search.transform(FRAME))
    RobustFairPCA(2).fit(WITH, sensitive_features="race").save(tmp_path / "model.npz")
    loaded = fairspan.load_model(tmp_path / "model.npz")
    np.testing.assert_array_equal(loaded.transform(WITH), MODEL.transform(FRAME))


def test_only_the_column_of_the_last_fit_is_left_out():
    fitted = RobustFairPCA(2).fit(WITH, sensitive_features="race")
    with pytest.raises(ValueError, match="not numeric: 'town'"):
        fitted.transform(WITH.assign(town="york"))
    fitted.fit(FRAME, sensitive_features=RACE)
    with pytest.raises(ValueError, match="not numeric: 'race'"):
        fitted.transform(WITH)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_several_names_mean_intersections(make):
    sex = np.where(np.arange(len(RACE)) % 3, "f", "m")
    frame = make({**COLUMNS, "race": RACE, "sex": sex})
    named = RobustFairPCA(2).fit(frame, sensitive_features=["race", "sex"])
    given = RobustFairPCA(2).fit(FRAME, sensitive_features={"race": RACE, "sex": sex})
    assert named.group_labels_ == given.group_labels_ == [*product("ab", "fm")]
    np.testing.assert_array_equal(named.transform(frame), given.transform(FRAME))
    with pytest.raises(ValueError, match="'age' in sensitive_features is not a column of X"):
        named.fit(frame, sensitive_features=["race", "age"])
    with pytest.raises(ValueError, match="names the column 'race' twice"):
        named.fit(frame, sensitive_features=["race", "race"])


def test_a_list_of_labels_stays_one_and_what_could_be_both_is_refused():
    labelled = RobustFairPCA(2).fit(WITH[["w", "x", "y"]], sensitive_features=RACE.tolist())
    assert labelled.group_labels_ == ["a", "b"]
    two = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 5.0], "c": [0.0, 1.0]})
    with pytest.raises(ValueError, match="could be names of columns of X or a label for each"):
        RobustFairPCA(1).fit(two, sensitive_features=["a", "b"])
    assert GroupMoments.from_arrays(two, ["a", "d"]).labels == ("a", "d")


def test_what_is_not_a_column_is_refused():
    with pytest.raises(ValueError, match="'sex' is not a column of X, whose columns are 'w', 'x'"):
        RobustFairPCA(2).fit(WITH, sensitive_features="sex")
    with pytest.raises(TypeError, match="or the name of a column if X is a frame"):
        RobustFairPCA(2).fit(FRAME.to_numpy(), sensitive_features="race")


def test_the_signature_stays():
    assert "sensitive_features" in inspect.signature(RobustFairPCA.fit).parameters


@pytest.mark.parametrize(
    "call",
    [
        lambda X: RobustFairPCA(2).fit(X, sensitive_features=RACE),
        lambda X: RobustFairPCACV(cv=2).fit(X, sensitive_features=RACE),
        MODEL.transform,
        MODEL.reconstruction_errors,
        lambda X: inference.gap_test(X, sensitive_features=RACE, n_components=2),
        lambda X: inference.crossfit(MODEL, X, sensitive_features=RACE),
        lambda X: fairspan.advise(X, RACE, n_components=2),
        lambda X: fairspan.compare([MODEL], FRAME, RACE, X_test=X, sensitive_features_test=RACE),
    ],
)
def test_columns_with_missing_values_are_named(call):
    holed = FRAME.copy()
    holed.loc[3, "x"] = np.nan
    with pytest.raises(ValueError, match=r"NaN.*columns with such values: 'x'.*SimpleImputer"):
        call(holed)


def test_text_is_met_with_the_transformer_that_takes_it():
    with pytest.raises(ValueError, match=r"not numeric: 'race'.*MixedScaler"):
        RobustFairPCA(2).fit(WITH, sensitive_features=RACE)
