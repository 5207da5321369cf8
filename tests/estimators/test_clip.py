"""clip cuts extreme values off at limits that are learned with the projection and kept with it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from fairspan import (
    ConvexFairPCA,
    ExactlyFairPCA,
    FairPCA,
    GroupMoments,
    NullSpaceFairPCA,
    RobustFairPCA,
    load_model,
    metrics,
)

CLASSES = [RobustFairPCA, FairPCA, ExactlyFairPCA, ConvexFairPCA, NullSpaceFairPCA]


def data():
    rng = np.random.default_rng(0)
    X, groups = rng.standard_t(2, (150, 5)) + 3, np.arange(150) % 2
    return X * (1 + groups[:, None] * rng.random(5)), groups


@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("standardize", [False, True])
def test_a_model_that_clips_is_one_of_clipped_rows(kind, standardize, tmp_path):
    X, groups = data()
    low, high = X.mean(axis=0) - 2 * X.std(axis=0), X.mean(axis=0) + 2 * X.std(axis=0)
    inside = np.clip(X, low, high)
    assert (inside != X).any(axis=0).all()
    room = {"max_gap": 99.0} if kind is ExactlyFairPCA else {}
    settings = {"n_components": 2, "standardize": standardize, **room}
    model = kind(**settings, clip=2.0).fit(X, sensitive_features=groups)
    plain = kind(**settings).fit(inside, sensitive_features=groups)
    assert model.clip_limits_ == pytest.approx(np.array([low, high]))
    assert model.components_ == pytest.approx(plain.components_, abs=1e-6)
    new = 10 * X
    held = np.clip(new, low, high)
    assert model.transform(new) == pytest.approx(plain.transform(held), abs=1e-5)
    errors = plain.reconstruction_errors(held)
    assert model.reconstruction_errors(new) == pytest.approx(errors, rel=1e-4)
    assert not hasattr(plain, "clip_limits_")
    model.save(tmp_path / "model.npz")
    loaded = load_model(tmp_path / "model.npz")
    assert np.array_equal(loaded.transform(new), model.transform(new))
    again = model.set_params(clip=None).fit(X, sensitive_features=groups)
    assert again.transform(new).max() > loaded.transform(new).max()


def test_weights_are_repeated_rows_and_a_radius_sees_clipped_rows():
    X, groups = data()
    weight = np.arange(150) % 3 + 1
    given = RobustFairPCA(2, clip=1.5).fit(X, sensitive_features=groups, sample_weight=weight)
    rows = np.repeat(np.arange(150), weight)
    copied = RobustFairPCA(2, clip=1.5).fit(X[rows], sensitive_features=groups[rows])
    assert given.clip_limits_ == pytest.approx(copied.clip_limits_)
    settings = {"radius": "bootstrap", "n_bootstrap": 20, "random_state": 0}
    model = RobustFairPCA(2, clip=1.5, **settings).fit(X, sensitive_features=groups)
    inside = np.clip(X, *model.clip_limits_)
    same = RobustFairPCA(2, **settings).fit(inside, sensitive_features=groups)
    assert model.group_radii_ == pytest.approx(same.group_radii_)


def test_what_does_not_see_all_rows_does_not_clip():
    X, groups = data()
    model = RobustFairPCA(2, clip=2.0)
    with pytest.raises(ValueError, match=r"clip=2.0 needs all rows .* fit_moments does not see"):
        model.fit_moments(GroupMoments.from_arrays(X, groups))
    with pytest.raises(ValueError, match="partial_fit does not see"):
        model.partial_fit(X, sensitive_features=groups)
    with pytest.raises(ValueError, match="needs dense rows"):
        model.fit(sparse.csr_array(X), sensitive_features=groups)
    with pytest.raises(ValueError, match=r"clip=-1 must be finite and greater than 0"):
        RobustFairPCA(2, clip=-1).fit(X, sensitive_features=groups)
    model.fit(X, sensitive_features=groups)
    with pytest.raises(ValueError, match="needs dense rows"):
        model.transform(sparse.csr_array(X))
    with pytest.raises(ValueError, match="PCA does not clip features"):
        model.to_sklearn()
    with pytest.raises(ValueError, match="model clips features"):
        metrics.group_errors(model, X, groups)
    dask = pytest.importorskip("dask.array")
    with pytest.raises(ValueError, match="fit on a Dask collection does not see"):
        model.fit(dask.from_array(X, chunks=50), sensitive_features=groups)
    model = RobustFairPCA(2, clip=2.0).fit(X, sensitive_features=groups)
    lazy = model.transform(dask.from_array(X, chunks=50)).compute()
    assert lazy == pytest.approx(model.transform(X))
