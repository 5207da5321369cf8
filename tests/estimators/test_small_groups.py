"""Groups of few rows are kept, pooled or counted in the total only, and what is done is said."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from fairspan import (
    GroupMoments,
    RobustFairPCA,
    RobustFairPCACV,
    certify,
    fairness_frontier,
    load_model,
    report,
)
from fairspan.exceptions import SmallGroupWarning
from fairspan.inference import verdict

POOLED = r"fewer than 5 rows \('c': 4, 'd': 3, 'e': 3\) are pooled into one group, 'small groups'"
TOTAL = r"fewer than 5 rows \('c': 4, 'd': 3, 'e': 3\) count in the total error, and not in the gap"


def table():
    rng = np.random.default_rng(0)
    groups = np.array(["a"] * 60 + ["b"] * 50 + ["c"] * 4 + ["d"] * 3 + ["e"] * 3)
    X = rng.normal(size=(120, 4)) * rng.uniform(0.5, 2, (120, 1)) + (groups == "e")[:, None]
    return X, groups


X, GROUPS = table()
BY_HAND = np.where(np.isin(GROUPS, ["a", "b"]), GROUPS, "small groups")
SETTING = {"fairness_weight": 0.7, "radius": 0.1}


def fitted(rows, groups, **options):
    return RobustFairPCA(2, **SETTING, **options).fit(rows, sensitive_features=groups)


@pytest.fixture
def pooled():
    with pytest.warns(SmallGroupWarning, match=POOLED):
        return fitted(X, GROUPS, small_groups="pool")


@pytest.fixture
def total_only():
    with pytest.warns(SmallGroupWarning, match=TOTAL):
        return fitted(X, GROUPS, small_groups="total_only")


def test_pooling_is_relabelling_by_hand(pooled):
    expected = fitted(X, BY_HAND)
    assert pooled.group_labels_ == expected.group_labels_ == ["a", "b", "small groups"]
    np.testing.assert_allclose(pooled.group_errors_, expected.group_errors_, rtol=1e-9)
    assert pooled.objective_ == pytest.approx(expected.objective_, rel=1e-12)
    ours, theirs = pooled.moments_, expected.moments_
    np.testing.assert_allclose(ours.scatters, theirs.scatters, rtol=1e-10, atol=1e-10)
    np.testing.assert_array_equal(ours.counts, theirs.counts)


def test_in_the_total_only_they_are_rows_without_a_label(total_only):
    missing = np.where(BY_HAND == "small groups", None, GROUPS)
    expected = fitted(X, missing, missing_groups="total_only")
    assert total_only.objective_ == pytest.approx(expected.objective_, rel=1e-12)
    assert total_only.error_gap_ == pytest.approx(np.ptp(total_only.group_errors_[:2]))


def test_moments_and_scores_follow(pooled, total_only):
    moments = GroupMoments.from_arrays(X, GROUPS)
    for model, text in ((pooled, POOLED), (total_only, TOTAL)):
        with pytest.warns(SmallGroupWarning, match=text):
            again = RobustFairPCA(**model.get_params()).fit_moments(moments)
        assert again.objective_ == pytest.approx(model.objective_, rel=1e-12)
        score = model.score(X, sensitive_features=GROUPS)
        assert score == pytest.approx(-(model.total_error_ + model.error_gap_), rel=1e-9)
        assert model.worst_case(X, sensitive_features=GROUPS).shape == X.shape


@pytest.mark.filterwarnings("ignore::fairspan.SmallGroupWarning")
def test_files_proofs_frontiers_and_searches_follow(pooled, total_only, tmp_path):
    for model in (pooled, total_only):
        model.save(tmp_path / "model.npz")
        loaded = load_model(tmp_path / "model.npz")
        assert loaded.small_groups == model.small_groups
        rule = {"small_groups": model.small_groups}
        proof = certify(model.components_, X, sensitive_features=GROUPS, **SETTING, **rule)
        assert proof.objective == pytest.approx(model.objective_, rel=1e-9)
        curve = fairness_frontier(
            X, 2, sensitive_features=GROUPS, fairness_weights=[0.7], radius=0.1, **rule
        )
        assert curve.gap[0] == pytest.approx(model.error_gap_, abs=1e-6)
        search = RobustFairPCACV(2, fairness_weights=[0.7], radii=[0.1], cv=2, random_state=1)
        search.set_params(**rule).fit(X, sensitive_features=GROUPS)
        assert search.best_estimator_.objective_ == pytest.approx(model.objective_, rel=1e-9)


def test_bootstrapped_radii_know_the_merged_groups():
    model = RobustFairPCA(2, radius="bootstrap", random_state=0)
    expected = clone(model).fit(X, sensitive_features=BY_HAND)
    with pytest.warns(SmallGroupWarning, match=POOLED):
        model.set_params(small_groups="pool").fit(X, sensitive_features=GROUPS)
    np.testing.assert_allclose(model.group_radii_, expected.group_radii_, rtol=1e-9)


def test_verdicts_compare_what_the_fit_compares():
    told = {
        rule: verdict(RobustFairPCA(2, small_groups=rule), X, sensitive_features=GROUPS)
        for rule in ("keep", "pool", "total_only")
    }
    assert told["keep"].labels == ("a", "b", "c", "d", "e")
    assert [ends is None for ends in told["keep"].intervals] == [False, False, True, True, True]
    assert told["pool"].labels == ("a", "b", "small groups")
    assert "Few rows: 'small groups' (10)." in told["pool"].caveats
    assert told["total_only"].labels == ("a", "b")
    assert told["total_only"].difference is not None


@pytest.mark.filterwarnings("ignore::fairspan.SmallGroupWarning")
def test_reports_pool_and_mark_few_rows(monkeypatch):
    monkeypatch.setattr("fairspan.report._settings._COARSE_WEIGHTS", (1.0,))
    monkeypatch.setattr("fairspan.report._settings._COARSE_RADII", 1)
    options = {"n_components": 1, "max_components": 1, "small_groups": "pool"}
    made = report.build(X, sensitive_features=GROUPS, **options)
    assert [group["label"] for group in made.content["groups"]] == ["a", "b", "small groups"]
    assert r"| small groups | 10\* |" in made.model_card()
    assert r"\* Fewer than 20 rows." in made.model_card()
    with pytest.raises(ValueError, match="small_groups='total_only' is not known"):
        report.build(X, sensitive_features=GROUPS, small_groups="total_only")


def test_what_cannot_be_done_is_refused():
    with pytest.raises(ValueError, match="small_groups='drop' is not known"):
        fitted(X, GROUPS, small_groups="drop")
    with pytest.raises(ValueError, match="min_rows=0 must be 1 or more"):
        fitted(X, GROUPS, min_rows=0)
    with pytest.raises(ValueError, match="needs all rows to count them"):
        RobustFairPCA(2, small_groups="pool").partial_fit(X, sensitive_features=GROUPS)
