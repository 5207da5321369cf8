"""Bad input: every row of the table is a clear error that names the parameter, or a result."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.exceptions import NotFittedError

from fairspan import GroupMoments, RobustFairPCA, SmallGroupWarning

pd = pytest.importorskip("pandas")

RNG = np.random.default_rng(0)
X = RNG.standard_normal((20, 4))
GROUPS = np.array(["a", "b"] * 10)


def spoiled(value):
    bad = X.copy()
    bad[7, 2] = value
    return bad


def parameters(**given):
    return {"n_components": 2} | given


BAD_PARAMETERS = {
    "too many components": (
        {"n_components": 5},
        ValueError,
        "n_components=5 must be at most the number of features, n_features=4",
    ),
    "no component": ({"n_components": 0}, ValueError, "n_components=0 must be between 1"),
    "negative components": ({"n_components": -1}, ValueError, "n_components=-1 must be between 1"),
    "share of variance": ({"n_components": 0.9}, TypeError, "n_components=0.9 is not an integer"),
    "whole float": ({"n_components": 2.0}, TypeError, "n_components=2.0 is not an integer"),
    "auto components": ({"n_components": "auto"}, TypeError, "n_components='auto' is not an int"),
    "mle components": ({"n_components": "mle"}, TypeError, "n_components='mle' is not an integer"),
    "None components": ({"n_components": None}, TypeError, "n_components=None is not an integer"),
    "true components": ({"n_components": True}, TypeError, "n_components=True is not an integer"),
    "negative weight": ({"fairness_weight": -0.1}, ValueError, "fairness_weight=-0.1 must be"),
    "nan weight": ({"fairness_weight": np.nan}, ValueError, "fairness_weight=nan must be finite"),
    "infinite weight": ({"fairness_weight": np.inf}, ValueError, "fairness_weight=inf must be"),
    "huge weight": ({"fairness_weight": 1e300}, ValueError, r"1e\+300 must be at most 1e\+20"),
    "text weight": ({"fairness_weight": "1"}, TypeError, "fairness_weight='1' is not a number"),
    "no weight": ({"fairness_weight": None}, TypeError, "fairness_weight=None is not a number"),
    "negative radius": ({"radius": -1.0}, ValueError, "radius=-1.0 must be finite and 0 or more"),
    "nan radius": ({"radius": np.nan}, ValueError, "radius=nan must be finite"),
    "infinite radius": ({"radius": np.inf}, ValueError, "radius=inf must be finite"),
    "text radius": ({"radius": "auto"}, ValueError, "radius='auto' is not known"),
    "list of radii": ({"radius": [0.1, 0.2]}, TypeError, r"radius=\[0.1, 0.2\] is not a number"),
    "negative group radius": (
        {"radius": {"a": 0.1, "b": -0.2}},
        ValueError,
        r"radius\['b'\]=-0.2 must be finite and 0 or more",
    ),
    "group without radius": (
        {"radius": {"a": 0.1}},
        ValueError,
        r"radius must give one number for each group; missing groups: 'b'",
    ),
    "radius without group": (
        {"radius": {"a": 0.1, "b": 0.1, "c": 0.1}},
        ValueError,
        r"unknown groups: 'c'",
    ),
    "zero tolerance": ({"tol": 0}, ValueError, "tol=0 must be finite and greater than 0"),
    "negative tolerance": ({"tol": -1e-3}, ValueError, "tol=-0.001 must be finite and greater"),
    "unknown solver": (
        {"solver": "magic"},
        ValueError,
        "solver='magic' is not known; use one of 'auto'",
    ),
    "unknown retraction": (
        {"retraction": "exp"},
        ValueError,
        "retraction='exp' is not known; use one of 'qr', 'polar'",
    ),
    "no iteration": ({"max_iter": 0}, ValueError, "max_iter=0 must be 1 or more"),
    "half an iteration": ({"max_iter": 2.5}, TypeError, "max_iter=2.5 is not an integer"),
    "negative starts": ({"n_init": -1}, ValueError, "n_init=-1 must be 0 or more"),
    "text as a flag": (
        {"standardize": "yes"},
        TypeError,
        "standardize='yes' must be True or False",
    ),
    "bad seed": ({"random_state": "seed"}, ValueError, "random_state='seed' is not a seed"),
}

BAD_DATA = {
    "NaN": (spoiled(np.nan), {}, ValueError, "X contains NaN"),
    "infinity": (spoiled(np.inf), {}, ValueError, "X contains infinity"),
    "minus infinity": (spoiled(-np.inf), {}, ValueError, "X contains infinity"),
    "float32 NaN": (spoiled(np.nan).astype("f"), {}, ValueError, "X contains NaN"),
    "too large to square": (spoiled(1e200), {}, ValueError, "X holds values too large to square"),
    "no rows": (X[:0], {"sensitive_features": []}, ValueError, "0 sample"),
    "no features": (X[:, :0], {}, ValueError, "0 feature"),
    "one dimension": (X[:, 0], {}, ValueError, "Expected 2D array, got 1D array"),
    "three dimensions": (X[None], {}, ValueError, "dim"),
    "text features": (X.astype(str).astype(object) + "x", {}, ValueError, "could not convert"),
    "a text column": (
        pd.DataFrame({"x": X[:, 0], "name": GROUPS}),
        {},
        ValueError,
        r"X has columns that are not numeric: 'name' \(String\)",
    ),
    "complex": (X + 1j, {}, ValueError, "Complex data not supported"),
    "sparse NaN": (csr_array(spoiled(np.nan)), {}, ValueError, "X contains NaN"),
    "sparse infinity": (csr_array(spoiled(np.inf)), {}, ValueError, "X contains infinity"),
    "short groups": (
        X,
        {"sensitive_features": GROUPS[:-1]},
        ValueError,
        "sensitive_features has 19 rows but X has 20",
    ),
    "long groups": (
        X,
        {"sensitive_features": {"sex": [*GROUPS, "a"]}},
        ValueError,
        r"sensitive_features\['sex'\] has 21 rows but X has 20",
    ),
    "missing label": (
        X,
        {"sensitive_features": [None, *GROUPS[1:]]},
        ValueError,
        r"sensitive_features has 1 missing values \(first at row 0\)",
    ),
    "NaN label": (
        X,
        {"sensitive_features": [*np.ones(19), np.nan]},
        ValueError,
        r"sensitive_features has 1 missing values \(first at row 19\)",
    ),
    "one label for all": (X, {"sensitive_features": "a"}, TypeError, "sensitive_features is a str"),
    "short weights": (
        X,
        {"sample_weight": np.ones(19)},
        ValueError,
        r"sample_weight has shape \(19,\) but X has 20 rows",
    ),
    "table of weights": (
        X,
        {"sample_weight": np.ones((20, 1))},
        ValueError,
        r"sample_weight has shape \(20, 1\)",
    ),
    "negative sample weight": (
        X,
        {"sample_weight": -np.ones(20)},
        ValueError,
        "sample_weight has a negative value",
    ),
    "NaN sample weight": (
        X,
        {"sample_weight": [np.nan] * 20},
        ValueError,
        "sample_weight contains NaN",
    ),
    "zero sample weight": (
        X,
        {"sample_weight": np.zeros(20)},
        ValueError,
        "sample_weight is zero for every row",
    ),
    "group without weight": (
        X,
        {"sample_weight": GROUPS == "a"},
        ValueError,
        "sample_weight is zero for every row of group 'b'",
    ),
    "weights that sum to one": (
        X,
        {"sample_weight": np.full(20, 0.05)},
        ValueError,
        "sample_weight sums to 1",
    ),
}


@pytest.mark.parametrize("method", ["fit", "partial_fit", "fit_moments"])
@pytest.mark.parametrize(("given", "error", "text"), BAD_PARAMETERS.values(), ids=BAD_PARAMETERS)
def test_a_bad_parameter_raises_an_error_that_names_it(given, error, text, method):
    model = RobustFairPCA(**parameters(**given))
    data = {"X": X, "sensitive_features": GROUPS}
    if method == "fit_moments":
        data = {"moments": GroupMoments.from_arrays(**data)}
    with pytest.raises(error, match=text):
        getattr(model, method)(**data)


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize(("data", "given", "error", "text"), BAD_DATA.values(), ids=BAD_DATA)
def test_bad_data_raises_an_error_that_names_it(data, given, error, text, method):
    given = {"sensitive_features": GROUPS} | given
    with pytest.raises(error, match=text):
        getattr(RobustFairPCA(2), method)(data, **given)


def test_one_row_is_too_few():
    with pytest.raises(ValueError, match="n_samples=1"):
        RobustFairPCA(2).fit(X[:1], sensitive_features=["a"])


@pytest.mark.parametrize("name", ["NaN", "infinity", "short groups", "short weights"])
def test_moments_refuse_bad_data_too(name):
    data, given, error, text = BAD_DATA[name]
    given = {"sensitive_features": GROUPS} | given
    with pytest.raises(error, match=text):
        GroupMoments.from_arrays(data, **given)


def test_constant_data_has_no_error_to_balance():
    for standardize in (False, True):
        model = RobustFairPCA(2, radius=0.0, standardize=standardize)
        model.fit(np.full((20, 4), 3.5), sensitive_features=GROUPS)
        assert model.objective_ == model.lower_bound_ == model.optimality_gap_ == 0.0
        assert model.group_errors_.tolist() == [0.0, 0.0]
        assert model.components_ @ model.components_.T == pytest.approx(np.eye(2), abs=1e-12)
        assert model.explained_variance_.tolist() == [0.0, 0.0]
        assert model.explained_variance_ratio_.tolist() == [0.0, 0.0]
        assert model.transform(np.full((2, 4), 3.5)) == pytest.approx(np.zeros((2, 2)))


@pytest.mark.parametrize("solver", ["auto", "boundary", "subgradient"])
def test_constant_data_with_a_radius_has_only_the_radius_as_its_objective(solver):
    model = RobustFairPCA(2, fairness_weight=0.25, radius=0.4, solver=solver, max_iter=5)
    with warnings.catch_warnings():
        # The bound of the subgradient method is that of PCA, which leaves a gap here.
        warnings.simplefilter("default" if solver == "subgradient" else "error")
        model.fit(np.full((20, 4), 3.5), sensitive_features=GROUPS)
    # Both groups count positively: (0.75 + 0.25) times 0.4 / sqrt(10).
    assert model.objective_ == pytest.approx(0.4 / 10**0.5)
    assert model.lower_bound_ <= model.objective_


def test_two_rows_of_two_groups_are_enough():
    with pytest.warns(SmallGroupWarning, match="'a': 1, 'b': 1"):
        model = RobustFairPCA(1).fit(X[:2], sensitive_features=["a", "b"])
    assert model.optimality_gap_ <= 1e-8
    assert model.group_errors_ == pytest.approx([0.0, 0.0], abs=1e-12)


def test_fewer_rows_than_features_are_enough():
    wide = RNG.standard_normal((20, 40))
    model = RobustFairPCA(3).fit(wide, sensitive_features=[0, 1] * 10)
    assert model.optimality_gap_ <= 1e-8


def test_a_label_without_rows_is_not_a_group():
    groups = pd.Categorical(GROUPS, categories=["a", "b", "never seen"])
    assert RobustFairPCA(2).fit(X, sensitive_features=groups).group_labels_ == ["a", "b"]


def test_numbers_of_numpy_are_numbers():
    model = RobustFairPCA(
        np.int64(2), fairness_weight=np.float32(0.5), radius=np.int32(1), max_iter=np.int16(99)
    )
    assert model.fit(X, sensitive_features=GROUPS).n_components_ == 2


def test_a_model_that_is_not_fitted_says_so():
    for call in ("transform", "inverse_transform", "score", "reconstruction_errors", "worst_case"):
        with pytest.raises(NotFittedError):
            getattr(RobustFairPCA(2), call)(X)


def test_a_fitted_model_refuses_rows_of_another_shape():
    model = RobustFairPCA(2).fit(X, sensitive_features=GROUPS)
    score = partial(model.score, sensitive_features=GROUPS)
    for call in (model.transform, score, model.reconstruction_errors, model.worst_case):
        with pytest.raises(ValueError, match="X has 3 features, but RobustFairPCA is expecting 4"):
            call(X[:, :3])
        with pytest.raises(ValueError, match="X contains NaN"):
            call(spoiled(np.nan))
    with pytest.raises(ValueError, match="n_components=2"):
        model.inverse_transform(X)
    with pytest.raises(ValueError, match="X has 3 features, but RobustFairPCA is expecting 4"):
        model.partial_fit(X[:, :3], sensitive_features=GROUPS)
    with pytest.raises(ValueError, match="sensitive_features has 19 rows but X has 20"):
        model.score(X, sensitive_features=GROUPS[:-1])


def test_a_batch_that_raises_leaves_the_model_as_it_was():
    model = RobustFairPCA(2).partial_fit(X, sensitive_features=GROUPS)
    before = model.components_.copy()
    with pytest.raises(ValueError, match="X contains NaN"):
        model.partial_fit(spoiled(np.nan), sensitive_features=GROUPS)
    assert model.n_samples_ == 20
    assert np.array_equal(model.components_, before)
    model.partial_fit(X, sensitive_features=GROUPS)
    assert model.n_samples_ == 40


def test_batches_with_and_without_groups_do_not_mix():
    model = RobustFairPCA(2).partial_fit(X, sensitive_features=GROUPS)
    with pytest.raises(ValueError, match="sensitive_features must be given in every call"):
        model.partial_fit(X)


def test_moments_must_be_moments():
    with pytest.raises(TypeError, match="moments is a ndarray; make a GroupMoments"):
        RobustFairPCA(2).fit_moments(X)


def test_the_boundary_solver_refuses_three_groups():
    with pytest.raises(ValueError, match="solver='boundary' needs exactly 2 groups"):
        RobustFairPCA(2, solver="boundary").fit(
            np.vstack([X, X])[:30], sensitive_features=[0, 1, 2] * 10
        )


def test_what_a_mask_hides_is_not_taken_for_data():
    masked = np.ma.masked_array(X, mask=X > 1)
    with pytest.raises(ValueError, match=r"X is a masked array with \d+ masked values"):
        RobustFairPCA(2).fit(masked, sensitive_features=GROUPS)
    with pytest.raises(ValueError, match="masked values"):
        RobustFairPCA(2).fit(X, sensitive_features=GROUPS).transform(masked)
    whole = np.ma.masked_array(X, mask=np.zeros(X.shape, bool))
    assert RobustFairPCA(2).fit(whole, sensitive_features=GROUPS).n_samples_ == 20


@pytest.mark.parametrize("dtype", ["datetime64[s]", "timedelta64[s]"])
def test_dates_are_not_taken_for_numbers(dtype):
    with pytest.raises(ValueError, match="dates and durations"):
        RobustFairPCA(2).fit(np.zeros((20, 4), dtype), sensitive_features=GROUPS)


def test_three_groups_of_constant_rows_lose_nothing():
    model = RobustFairPCA(2, radius=0.0)
    model.fit(np.ones((30, 4)), sensitive_features=["a", "b", "c"] * 10)
    assert model.objective_ == model.lower_bound_ == 0.0
    assert model.components_.shape == (2, 4)


def test_weights_too_extreme_to_square_are_refused():
    with pytest.raises(ValueError, match="The largest sample_weight is"):
        RobustFairPCA(2).fit(X, sensitive_features=GROUPS, sample_weight=np.full(20, 1e200))
