"""RobustFairPCA by products: the same model as by moments, or a refusal that says why."""

from __future__ import annotations

import logging

import numpy as np
import pytest
from scipy import sparse

from fairspan import RobustFairPCA, load_model
from fairspan.estimators import wide
from fairspan.ground import rows
from fairspan.products import route as rules
from tests.products.test_solve import steep


def both(X, groups, weight=None, **setting):
    models = [RobustFairPCA(4, **setting, route=one) for one in ("moments", "products")]
    return [m.fit(X, sensitive_features=groups, sample_weight=weight) for m in models]


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, sparse.csc_matrix])
@pytest.mark.parametrize(
    "setting",
    [
        {"fairness_weight": 0.3},
        {"fairness_weight": 0.4, "radius": 3.0, "standardize": True},
        {"fairness_weight": 2.0, "group_weights": "equal", "disparity": "largest"},
        {"fairness_weight": 1.0, "reference": {"a": 2.0, "b": 1.0}},
    ],
)
def test_both_routes_find_the_same_model(kind, setting):
    X, codes = steep(0, n=300, d=150)
    X += 0.5
    groups = np.array(["b", "a"])[codes]
    weight = np.random.default_rng(1).integers(1, 4, len(X))
    by_moments, by_products = both(kind(X), groups, weight, **setting)
    assert (by_moments.route_, by_products.route_) == ("moments", "products")
    assert by_products.result_.status == "optimal"
    assert by_products.objective_ == pytest.approx(by_moments.objective_, rel=3e-8)
    assert by_products.lower_bound_ <= by_moments.objective_ * (1 + 1e-12)
    for name in ("mean_", "scale_", "total_weights_", "group_radii_", "group_references_"):
        if getattr(by_moments, name) is None:
            assert getattr(by_products, name) is None
        else:
            np.testing.assert_allclose(getattr(by_products, name), getattr(by_moments, name))
    for name in ("explained_variance_", "explained_variance_ratio_", "group_errors_"):
        expected = getattr(by_moments, name)
        np.testing.assert_allclose(getattr(by_products, name), expected, rtol=1e-3)
    np.testing.assert_allclose(
        np.abs(np.sum(by_products.components_ * by_moments.components_, axis=1)), 1, atol=1e-3
    )
    assert by_products.group_labels_ == ["a", "b"]
    assert by_products.n_samples_ == 300
    assert not hasattr(by_products, "moments_")
    errors = by_products.reconstruction_errors(kind(X))
    found = [np.average(errors[groups == a], weights=weight[groups == a]) for a in "ab"]
    np.testing.assert_allclose(found, by_products.group_errors_, rtol=1e-9)


def test_a_model_by_products_is_saved_and_loaded(tmp_path):
    X, groups = steep(1)
    model = RobustFairPCA(3, route="products").fit(X, sensitive_features=groups)
    model.save(tmp_path / "model.npz")
    loaded = load_model(tmp_path / "model.npz")
    np.testing.assert_array_equal(loaded.transform(X), model.transform(X))
    assert loaded.route_ == "products"
    assert loaded.result_.proof == "with probability 1 - 1e-10"
    with pytest.raises(ValueError, match="fitted by products"):
        loaded.partial_fit(X, sensitive_features=groups)
    with pytest.raises(ValueError, match="fitted by products"):
        loaded.prefixes()


def test_auto_takes_products_only_where_they_are_worth_it(monkeypatch, caplog):
    X, groups = steep(2, n=200, d=60)
    setting = {"fairness_weight": 0.5, "verbose": 1}
    assert RobustFairPCA(2, **setting).fit(X, sensitive_features=groups).route_ == "moments"
    monkeypatch.setattr(rows, "MANY_FEATURES", 50)
    monkeypatch.setattr(rules, "available_memory", lambda: 1e5)
    monkeypatch.setattr(wide, "check_room", lambda *given: None)
    with caplog.at_level(logging.INFO, "fairspan"):
        model = RobustFairPCA(2, **setting).fit(X, sensitive_features=groups)
    assert model.route_ == "products"
    assert "route 'products'" in caplog.text
    assert f"proof {model.result_.proof}" in caplog.text
    # What only moments can answer stays with them.
    for other in ({"order": "nested"}, {"reference": "own"}, {"solver": "newton"}, {"clip": 3.0}):
        kept = RobustFairPCA(2, **setting, **other).fit(X, sensitive_features=groups)
        assert kept.route_ == "moments"
    three = RobustFairPCA(2, **setting, radius=1.0).fit(X, sensitive_features=np.arange(200) % 3)
    assert three.route_ == "products"


def test_costs_decide_where_both_fit():
    assert not rules.is_cheaper(np.broadcast_to(0.0, (10**6, 4000)), 2)
    n, places = 200_000, np.random.default_rng(0).integers(0, 5000, 4 * 10**6)
    tall = sparse.csr_array((np.ones(len(places)), places, np.arange(0, 20 * n + 1, 20)), (n, 5000))
    assert not rules.is_cheaper(tall, 2)
    assert rules.is_cheaper(np.broadcast_to(0.0, (5000, 20_000)), 2)
    assert rules.is_cheaper(sparse.csr_array((10**5, 50_000)), 2)
    dense_enough = sparse.random_array((4000, 5000), density=0.3, rng=0, format="csr")
    assert rules.is_cheaper(dense_enough, 2)


@pytest.mark.parametrize(
    ("setting", "why"),
    [
        ({"radius": "bootstrap"}, "radius='bootstrap'"),
        ({"reference": "own"}, "reference='own'"),
        ({"clip": 3.0}, r"clip=3\.0"),
        ({"small_groups": "pool"}, "small_groups='pool'"),
        ({"order": "greedy"}, "order='greedy'"),
        ({"solver": "subgradient"}, "solver='subgradient'"),
    ],
)
def test_what_products_cannot_do_is_refused_by_name(setting, why):
    X, groups = steep(3, n=50, d=20)
    with pytest.raises(ValueError, match=f"route='products' is not possible with {why}"):
        RobustFairPCA(2, **setting, route="products").fit(X, sensitive_features=groups)


def test_other_refusals():
    X, groups = steep(3, n=60, d=20)
    model = RobustFairPCA(2, route="products")
    with pytest.raises(ValueError, match="only fit can"):
        model.partial_fit(X, sensitive_features=groups)
    with pytest.raises(ValueError, match="failure_probability=0 must be strictly between 0 and 1"):
        RobustFairPCA(2, failure_probability=0).fit(X, sensitive_features=groups)
    with pytest.raises(
        MemoryError, match=r"n_features=10000000000 by products needs about [\d.]+ GB"
    ):
        rules.check_room(10**10, 2, 10)


def test_a_basis_that_does_not_fit_is_refused_with_its_gigabytes(monkeypatch):
    # Columns and their images for two groups, 8 (k + 8) of each, and 12 blocks of 8: 528 doubles.
    monkeypatch.setattr(rules, "available_memory", lambda: 8 * 528 * 10**6)
    rules.check_room(10**6, 2, 10)
    with pytest.raises(MemoryError, match=r"needs about 4\.3 GB, but this machine has 4\.2 GB"):
        rules.check_room(1_010_000, 2, 10)


def test_sparse_rows_are_never_filled_up():
    # As dense rows they would need 64 GB.
    rng = np.random.default_rng(0)
    n, d = 80_000, 100_000
    places = rng.integers(0, 40, (n, 3))
    values = rng.standard_normal((n, 3)) * 0.8**places
    X = sparse.csr_array((values.ravel(), places.ravel(), np.arange(0, 3 * n + 1, 3)), (n, d))
    model = RobustFairPCA(2, tol=1e-5).fit(X, sensitive_features=np.arange(n) % 2)
    assert model.route_ == "products"
    assert model.transform(X[:5]).shape == (5, 2)
