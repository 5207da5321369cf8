"""Whatever is given to an estimator, it answers with a projection or with a sentence."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairspan import (
    ConvexFairPCA,
    ExactlyFairPCA,
    FairPCA,
    GroupMoments,
    NullSpaceFairPCA,
    RobustFairPCA,
    RobustFairPCACV,
    load_model,
)
from tests import reference
from tests.hardening import inputs
from tests.hardening.law import REFUSED, outcome, searched

pytestmark = pytest.mark.fuzz

METHODS = (RobustFairPCA, ExactlyFairPCA, FairPCA, ConvexFairPCA, NullSpaceFairPCA)
ALL = (*METHODS, RobustFairPCACV)
QUICK = {RobustFairPCA: {"effort": 0.02}, RobustFairPCACV: {"cv": 2, "effort": 0.02}}
STEPS = ("transform", "inverse_transform", "reconstruction_errors")


def make(method: type, **parameters: Any) -> Any:
    return method(**(QUICK.get(method, {}) | parameters))


def fitted(method: type) -> Any:
    X, groups = inputs.good()
    return make(method).fit(X, sensitive_features=groups)


def assert_sound(model: Any) -> None:
    """Orthonormal, finite, nothing negative, and no bound above its value or a random one."""
    V = model.components_
    assert V.shape == (model.n_components_, model.n_features_in_)
    assert np.abs(V @ V.T - np.eye(len(V))).max() < 1e-8
    assert np.isfinite(model.group_errors_).all()
    assert (model.group_errors_ >= 0).all()
    assert np.isfinite([model.objective_, model.lower_bound_, model.error_gap_]).all()
    assert model.lower_bound_ <= model.objective_
    assert (model.explained_variance_ >= 0).all()
    if isinstance(model, RobustFairPCA):
        assert_no_random_subspace_is_below(model)


def assert_no_random_subspace_is_below(model: RobustFairPCA, tries: int = 5) -> None:
    moments = model.moments_ if model.scale_ is None else model.moments_.scaled(model.scale_)
    rng = np.random.default_rng(0)
    weight = float(model.fairness_weight) if len(model.group_labels_) > 1 else 0.0
    for _ in range(tries):
        V = reference.random_subspace(rng, moments.n_features, model.n_components_)
        errors = reference.group_errors(moments.second_moments, V)
        value = reference.objective(errors, model.total_weights_, weight, model.group_radii_)
        size = np.abs(moments.second_moments).max() + model.group_radii_.max()
        assert model.lower_bound_ <= value + 1e-12 * size * (1 + 2 * weight)


@pytest.mark.parametrize("method", ALL)
@pytest.mark.parametrize("name", inputs.TABLES)
def test_a_table_of_any_kind_is_fitted_or_refused(method, name):
    X = inputs.table(name)
    groups = inputs.labels("array of texts", inputs.n_rows(X))
    model = make(method)
    if outcome(model.fit, X, sensitive_features=groups) is not REFUSED:
        assert_sound(model.best_estimator_ if method is RobustFairPCACV else model)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("name", inputs.TABLES)
def test_a_table_of_any_kind_is_projected_or_refused(step, name):
    model = fitted(NullSpaceFairPCA)
    X = inputs.table(name)
    found = outcome(getattr(model, step), X)
    if found is not REFUSED:
        width = {"transform": (2,), "inverse_transform": (4,), "reconstruction_errors": ()}[step]
        assert found.shape == (inputs.n_rows(X), *width)


@pytest.mark.parametrize("name", inputs.LABELS)
def test_labels_of_any_kind_are_groups_or_refused(name, tmp_path):
    X, _ = inputs.good()
    for missing in ("raise", "own_group", "total_only"):
        groups = inputs.labels(name)
        model = RobustFairPCA(2, effort=0.02, missing_groups=missing)
        if outcome(model.fit, X, sensitive_features=groups) is REFUSED:
            continue
        assert_sound(model)
        assert len(set(model.group_labels_)) == len(model.group_labels_) > 0
        assert model.group_counts_.sum() == len(X)
        file = tmp_path / "model.npz"
        if outcome(model.save, file) is not REFUSED:
            assert load_model(file).group_labels_ == model.group_labels_
        if name not in ("iterator",):
            outcome(model.score, X, sensitive_features=groups)
            outcome(model.worst_case, X, sensitive_features=groups)


@pytest.mark.parametrize("method", ALL)
@pytest.mark.parametrize("name", inputs.WEIGHTS)
def test_weights_of_any_kind_are_counted_or_refused(method, name):
    X, groups = inputs.good()
    model, weight = make(method), inputs.WEIGHTS[name](len(X))
    found = outcome(model.fit, X, sensitive_features=groups, sample_weight=weight)
    if found is not REFUSED and method is not RobustFairPCACV:
        assert_sound(model)
        outcome(model.score, X, sensitive_features=groups, sample_weight=weight)


def parameters_of(method: type) -> list[str]:
    # What a function given as scoring does is its own affair.
    return [name for name in inspect.signature(method).parameters if name != "scoring"]


@pytest.mark.parametrize(
    ("method", "name"), [(method, name) for method in ALL for name in parameters_of(method)]
)
def test_a_parameter_of_any_kind_is_used_or_refused(method, name):
    X, groups = inputs.good()
    moments = GroupMoments.from_arrays(X, groups)
    data = [moments, moments] if method is RobustFairPCACV else moments
    for value in inputs.ODD:
        model = make(method, **{name: value})
        if name in ("cv", "random_state", "radius", "radius_level", "n_bootstrap"):
            found = outcome(model.fit, X, sensitive_features=groups)
        else:
            found = outcome(model.fit_moments, data)
        if found is not REFUSED and method is not RobustFairPCACV:
            assert_sound(model)


any_parameters = st.fixed_dictionaries(
    {"n_components": st.integers(1, 4)},
    optional={
        "fairness_weight": st.one_of(st.floats(0, 10), inputs.odd),
        "radius": st.one_of(st.floats(0, 10), inputs.odd),
        "group_weights": st.sampled_from(["share", "equal"]),
        "standardize": st.booleans(),
        "solver": st.sampled_from(["auto", "newton", "subgradient", "boundary"]),
        "tol": st.sampled_from([1e-12, 1e-8, 0.1, 1e300]),
        "max_iter": st.integers(1, 20),
        "n_init": st.integers(0, 2),
        "random_state": st.integers(0, 3),
    },
)


@searched(60)
@given(inputs.tables, inputs.any_labels, inputs.any_weights, any_parameters)
def test_any_mixture_of_inputs_is_fitted_or_refused(X, groups, weight, parameters):
    model = make(RobustFairPCA, **parameters)
    found = outcome(model.fit, X, sensitive_features=groups, sample_weight=weight)
    if found is not REFUSED:
        assert_sound(model)


@searched(60)
@given(
    st.sampled_from(METHODS),
    inputs.good_tables,
    st.integers(1, 4),
    st.integers(1, 6),
    st.booleans(),
    st.sampled_from(["none", "uneven", "integers"]),
)
def test_any_real_table_gives_a_sound_projection(method, X, n_groups, k, standardize, weights):
    n, d = X.shape
    groups = np.arange(n) % n_groups
    model = make(method, n_components=min(k, d), standardize=standardize)
    weight = inputs.WEIGHTS[weights](n)
    found = outcome(model.fit, X, sensitive_features=groups, sample_weight=weight)
    # Only methods that shrink the space may find too little room for the components.
    if method in (RobustFairPCA, FairPCA):
        assert found is not REFUSED
    if found is not REFUSED:
        assert_sound(model)
        Z = model.transform(X)
        assert Z.shape == (n, min(k, d))
        back = model.inverse_transform(Z)
        assert np.abs(model.transform(back) - Z).max() <= 1e-8 * (1 + np.abs(Z).max())


@searched(40)
@given(inputs.good_tables, st.lists(st.integers(0, 40), max_size=4), st.sampled_from(METHODS))
def test_batches_of_any_size_are_added_up_or_refused(X, cuts, method):
    groups = np.arange(len(X)) % 2
    model = make(method, n_components=1)
    seen = 0
    for part in np.split(np.arange(len(X)), sorted(cut for cut in cuts if cut < len(X))):
        # A batch that is refused leaves the model as it was.
        if outcome(model.partial_fit, X[part], sensitive_features=groups[part]) is not REFUSED:
            seen += len(part)
        assert seen == (model.moments_.counts.sum() if hasattr(model, "moments_") else 0)
    if hasattr(model, "components_"):
        assert_sound(model)
    if method in (RobustFairPCA, FairPCA):
        assert seen == len(X)


@pytest.mark.parametrize("method", METHODS)
def test_one_first_row_is_kept_until_more_come(method):
    X, groups = inputs.good()
    model = make(method)
    assert outcome(model.partial_fit, X[:1], sensitive_features=groups[:1]) is model
    for step in STEPS:
        assert outcome(getattr(model, step), X) is REFUSED
    model.partial_fit(X[1:], sensitive_features=groups[1:])
    whole = make(method).fit(X, sensitive_features=groups)
    assert model.objective_ == pytest.approx(whole.objective_, rel=1e-6)


@pytest.mark.parametrize("method", ALL)
def test_an_unfitted_model_says_so(method, tmp_path):
    X, groups = inputs.good()
    model = make(method)
    for step in STEPS:
        if hasattr(model, step):
            assert outcome(getattr(model, step), X) is REFUSED
    for step in ("worst_case", "score"):
        if hasattr(model, step):
            assert outcome(getattr(model, step), X, sensitive_features=groups) is REFUSED
    for step, file in (("save", [tmp_path / "model"]), ("to_onnx", []), ("to_sklearn", [])):
        if hasattr(model, step):
            assert outcome(getattr(model, step), *file) is REFUSED
    assert not list(tmp_path.iterdir())
