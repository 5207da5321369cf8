"""compare: the same data, the same judge, the same units for every method."""

from __future__ import annotations

import builtins

import numpy as np
import pytest
from sklearn.decomposition import PCA

from fairspan import RobustFairPCA, metrics
from fairspan.estimators.convex import ConvexFairPCA
from fairspan.estimators.exact import ExactlyFairPCA
from fairspan.estimators.samadi import FairPCA
from fairspan.judging.compare import OWN_PCA, compare
from tests.estimators.test_samadi import random_groups

pytest.importorskip("pandas")

METHODS = {
    "PCA": PCA(2),
    "robust": RobustFairPCA(2, radius=0.0),
    "Samadi": FairPCA(2),
    "convex": ConvexFairPCA(2),
}


@pytest.fixture(scope="module")
def data():
    X, groups = random_groups(0, n=500)
    return X[:200], groups[:200], X[200:], groups[200:]


def test_every_method_is_judged_by_the_same_function(data):
    X, groups, X_test, groups_test = data
    frame = compare(
        METHODS, X, groups, X_test=X_test, sensitive_features_test=groups_test, centering="group"
    )
    assert frame["method"].unique().tolist() == [*METHODS, OWN_PCA]
    rows = frame.set_index(["method", "sample"])
    model = FairPCA(2).fit(X, sensitive_features=groups)
    found = rows.loc[("Samadi", "test")]
    gap = metrics.error_gap(model, X_test, groups_test, centering="group")
    assert found["error_gap"] == pytest.approx(gap)
    assert found["total_error"] == pytest.approx(metrics.total_error(model, X_test))
    train = frame[frame["sample"] == "train"].set_index("method")
    assert train.loc["PCA", "total_error"] == train.drop(OWN_PCA)["total_error"].min()


def test_the_own_pca_of_each_group_is_the_reference(data):
    X, groups, _, _ = data
    frame = compare(METHODS, X, groups, by="group", centering="group")
    own = frame[frame["method"] == OWN_PCA]
    assert own["excess_over_own"].abs().max() < 1e-10
    others = frame[frame["method"] != OWN_PCA]
    assert (others["excess_over_own"] >= -1e-10).all()
    samadi = others[others["method"] == "Samadi"]["excess_over_own"].tolist()
    assert samadi[0] == pytest.approx(samadi[1], rel=1e-6)
    assert max(samadi) <= others.groupby("method")["excess_over_own"].max().min() + 1e-8


def test_standardising_is_done_once_for_all(data):
    X, groups, X_test, groups_test = data
    test = {"X_test": X_test, "sensitive_features_test": groups_test}
    scaled = compare([FairPCA(2), FairPCA(3)], X, groups, standardize=True, **test)
    by_hand = compare(
        [FairPCA(2), FairPCA(3)],
        X / X.std(axis=0),
        groups,
        X_test=X_test / X.std(axis=0),
        sensitive_features_test=groups_test,
    )
    assert scaled["method"].unique().tolist() == ["FairPCA", "FairPCA 2", OWN_PCA]
    assert scaled["total_error"].to_numpy() == pytest.approx(by_hand["total_error"].to_numpy())
    limits = X.mean(axis=0) + 1.5 * X.std(axis=0) * np.array([[-1.0], [1.0]])
    clipped = compare([FairPCA(2)], X, groups, clip=1.5, **test)
    given = {"X_test": np.clip(X_test, *limits), "sensitive_features_test": groups_test}
    by_hand = compare([FairPCA(2)], np.clip(X, *limits), groups, **given)
    assert clipped["total_error"].to_numpy() == pytest.approx(by_hand["total_error"].to_numpy())
    with pytest.raises(ValueError, match="standardises by itself"):
        compare([FairPCA(2, standardize=True)], X, groups)


def test_without_pandas_rows_are_dicts(data, monkeypatch):
    X, groups, _, _ = data
    genuine = builtins.__import__

    def without(name, *rest):
        if name == "pandas":
            raise ImportError(name)
        return genuine(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    rows = compare({"Samadi": FairPCA(2)}, X, groups)
    assert [row["method"] for row in rows] == ["Samadi", OWN_PCA]
    assert np.isfinite(rows[0]["error_gap"])


def test_a_method_without_a_solution_is_left_out_with_its_reason(data):
    X, groups, _, _ = data
    three = np.where(np.arange(len(X)) % 3, groups, 7)
    with pytest.warns(UserWarning, match=r"exact is left out\. ExactlyFairPCA needs 2 groups"):
        frame = compare({"PCA": PCA(2), "exact": ExactlyFairPCA(2)}, X, three)
    assert frame["method"].tolist() == ["PCA", OWN_PCA]
    with pytest.raises(ValueError, match="needs 2 groups"):
        compare([ExactlyFairPCA(2)], X, three)
