"""RobustFairPCACV by products: the scores of the search by moments."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import StratifiedKFold

from fairspan import RobustFairPCACV
from fairspan.estimators import wide
from fairspan.ground import rows
from fairspan.products import route as rules
from fairspan.products import solve
from tests.products.test_solve import steep

GRID = {"fairness_weights": (0, 0.5, 2.0), "radii": (0, 1.0)}


def both(X, groups, weight=None, kind=np.asarray, **setting):
    given = {"sensitive_features": groups, "sample_weight": weight}
    by_moments = RobustFairPCACV(**setting, route="moments").fit(X, **given)
    return by_moments, RobustFairPCACV(**setting, route="products").fit(kind(X), **given)


@pytest.mark.parametrize(
    "setting",
    [
        {"n_components": 3, "random_state": 0, **GRID},
        {"n_components": (1, 3), "standardize": True, "gap_centering": "group", **GRID},
        {"n_components": 2, "rescale_folds": True, "disparity": "largest", "radii": (0,)},
        {
            "n_components": 2,
            "cv": StratifiedKFold(4),
            "scoring": lambda errors: -max(errors.by_group.values()),
            "reference": {"a": 1.0, "b": 3.0},
            **GRID,
        },
    ],
)
def test_scores_are_those_of_moments(setting):
    X, codes = steep(0, n=300, d=120)
    X += 0.3
    groups = np.array(["b", "a"])[codes]
    weight = np.random.default_rng(1).integers(0, 4, len(X))
    known, found = both(X, groups, weight, sparse.csr_array, **setting)
    assert (known.route_, found.route_) == ("moments", "products")
    assert (known.proof_, found.proof_) == ("deterministic", "with probability 1 - 1e-10")
    for name, expected in known.cv_results_.items():
        if name.startswith(("split", "mean", "std")):
            unit = np.abs(known.cv_results_["mean_test_total_error"]).max()
            np.testing.assert_allclose(found.cv_results_[name], expected, atol=1e-7 * unit)
    np.testing.assert_array_equal(
        found.cv_results_["rank_test_score"], known.cv_results_["rank_test_score"]
    )
    assert found.cv_results_["optimality_gap"].max() < 1e-7
    assert found.best_params_ == known.best_params_
    assert found.best_estimator_.route_ == "products"
    assert not hasattr(found, "moments_")
    assert found.best_estimator_.objective_ == pytest.approx(
        known.best_estimator_.objective_, rel=3e-8
    )
    assert found.transform(sparse.csr_array(X)).shape == (300, found.components_.shape[0])


def test_auto_follows_the_rule_of_fits(monkeypatch):
    X, groups = steep(1, n=150, d=60)
    search = RobustFairPCACV(2, fairness_weights=(0, 1), radii=(0,))
    assert search.fit(X, sensitive_features=groups).route_ == "moments"
    monkeypatch.setattr(rows, "MANY_FEATURES", 50)
    monkeypatch.setattr(rules, "available_memory", lambda: 1e5)
    monkeypatch.setattr(wide, "check_room", lambda *given: None)
    assert search.fit(X, sensitive_features=groups).route_ == "products"
    search.set_params(refit=False).fit(X, sensitive_features=groups)
    assert not hasattr(search, "best_estimator_")
    kept = RobustFairPCACV(2, fairness_weights=(0, 1), radii=(0,), reference="own")
    assert kept.fit(X, sensitive_features=groups).route_ == "moments"


def test_what_a_search_cannot_do_by_products_is_said(tmp_path):
    X, groups = steep(2, n=60, d=20)
    search = RobustFairPCACV(2, route="products")
    with pytest.raises(ValueError, match="not possible with order='greedy'"):
        RobustFairPCACV(2, route="products", order="greedy").fit(X, sensitive_features=groups)
    with pytest.raises(ValueError, match="has no rows of group False in its training part"):
        search.set_params(cv=2).fit(X, sensitive_features=np.arange(60) >= 30)
    np.save(tmp_path / "rows.npy", X)
    np.save(tmp_path / "groups.npy", groups)
    from fairspan.sources import rows_from_files

    with pytest.raises(ValueError, match="splits rows in memory"):
        search.fit(rows_from_files(tmp_path / "rows.npy", tmp_path / "groups.npy"))


def test_failures_are_divided_among_splits_and_candidates(monkeypatch):
    X, groups = steep(3, n=200, d=150)
    seen = []

    class Watched(solve.Tail):
        def __init__(self, basis, weights, failure, rng):
            seen.append(failure)
            super().__init__(basis, weights, failure, rng)

    monkeypatch.setattr(solve, "Tail", Watched)
    search = RobustFairPCACV(
        2, **GRID, cv=4, route="products", failure_probability=1e-6, refit=False
    )
    search.fit(X, sensitive_features=groups)
    assert seen
    assert max(seen) <= 1e-6 / (4 * 6) / 2
    assert search.proof_ == "with probability 1 - 1e-06"
