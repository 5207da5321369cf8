"""What judges a fitted model groups rows and compares groups as its fit did."""

from contextlib import nullcontext

import numpy as np
import pytest
import sklearn
from sklearn.model_selection import GridSearchCV

from fairspan import RobustFairPCA, certify, dominating_projection, metrics, scorers
from fairspan.exceptions import SmallGroupWarning
from fairspan.moments.group_moments import GroupMoments
from fairspan.words import who_pays

SIZES = (300, 120, 60, 9, 4, 1)
SETTINGS = [("pool", "raise"), ("total_only", "raise"), ("keep", "total_only")]


def rows_of(missing):
    """Rows whose last groups are small and far worse served; some without a label."""
    rng = np.random.default_rng(0)
    names = np.repeat(list("abcxyz"), SIZES).astype(object)
    if missing:
        names[names > "c"] = None
    X = rng.normal(size=(sum(SIZES), 6)) * np.repeat([1, 1.2, 1.5, 3, 4, 9], SIZES)[:, None]
    return X, names


@pytest.fixture(params=SETTINGS, ids="-".join)
def judged(request):
    """A fitted model, its rows, and its own groups and the errors of these by plain numpy."""
    small, missing = request.param
    X, names = rows_of(missing == "total_only")
    settings = {"small_groups": small, "missing_groups": missing, "min_rows": 20}
    model = RobustFairPCA(2, standardize=True, **settings)
    with pytest.warns(SmallGroupWarning) if small != "keep" else nullcontext():
        model.fit(X, sensitive_features=names)
    own = np.array([name if name in ("a", "b", "c") else "rest" for name in names])
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    lost = ((Z - Z @ model.components_.T @ model.components_) ** 2).sum(axis=1)
    errors = {name: lost[own == name].mean() for name in ("a", "b", "c", "rest")}
    in_gap = [errors[name] for name in errors if name != "rest" or small == "pool"]
    return model, X, names, errors, lost.mean(), max(in_gap) - min(in_gap)


GAPS = {
    "score": lambda m, X, g: -m.score(X, sensitive_features=g) - metrics.total_error(m, X, g),
    "scorer": lambda m, X, g: -scorers.error_gap(m, X, sensitive_features=g),
    "metric": metrics.error_gap,
    "moments": lambda m, X, g: metrics.error_gap(m, own_moments(m, X, g)),
    "interval": lambda m, X, g: np.clip(
        m.error_gap_, *metrics.bootstrap_intervals(m, X, g, random_state=0).gap
    ),
}


def own_moments(model, X, names):
    """Moments with all labels, as a program that knows nothing of the model makes them."""
    return GroupMoments.from_arrays(X, names, missing_groups=model.missing_groups)


@pytest.mark.parametrize("route", GAPS)
def test_the_gap_is_that_of_the_groups_which_the_fit_compared(judged, route):
    model, X, names, _, total, gap = judged
    assert model.error_gap_ == pytest.approx(gap, rel=1e-9)
    assert GAPS[route](model, X, names) == pytest.approx(gap, rel=1e-9, abs=1e-12 * total)


ERRORS = {
    "by_group": lambda m, X, g: [row["error"] for row in metrics.group_rows(m, X, g)],
    "dominating": lambda m, X, g: dominating_projection(m, X, sensitive_features=g).given_errors,
    "certify": lambda m, X, g: (
        certify(m, X, sensitive_features=g, fairness_weight=1, radius=0).group_errors
    ),
}


@pytest.mark.parametrize("route", ERRORS)
def test_the_groups_are_those_of_the_fit(judged, route):
    model, X, names, errors, _, _ = judged
    assert ERRORS[route](model, X, names) == pytest.approx(list(errors.values()), rel=1e-9)


def test_certify_and_dominating_projection_take_a_model_as_it_was_fitted(judged):
    model, X, names, *_ = judged
    found = certify(model, X, sensitive_features=names, fairness_weight=1, radius=0)
    better = dominating_projection(model, X, sensitive_features=names)
    assert found.objective == pytest.approx(model.objective_, rel=1e-9)
    assert found.status == "optimal"
    assert found.dominating.gain == pytest.approx(better.gain, rel=1e-6, abs=1e-9)
    assert found.dominating.group_labels == better.group_labels == tuple(model.group_labels_)


def test_components_by_themselves_keep_all_groups():
    X, names = rows_of(missing=False)
    found = metrics.group_errors(np.eye(6)[:2], X, names)
    assert found.labels == tuple("abcxyz")
    assert found.difference == np.ptp(found.values)


def test_rows_that_the_user_left_out_do_not_decide_a_search():
    X, names = rows_of(missing=False)
    order = np.random.default_rng(1).permutation(len(X))
    X, names = X[order], names[order]
    model = RobustFairPCA(2, small_groups="total_only", min_rows=20, fairness_weight=0)
    with sklearn.config_context(enable_metadata_routing=True):
        grid = {"n_components": [1, 2]}
        model.set_score_request(sensitive_features=True)
        found = []
        for scoring in (None, scorers.total_plus_gap):
            search = GridSearchCV(model, grid, scoring=scoring, cv=3)
            with pytest.warns(SmallGroupWarning):
                search.fit(X, sensitive_features=names)
            found.append(search.cv_results_["mean_test_score"])
    assert found[0] == pytest.approx(found[1], rel=1e-12)


def test_a_radius_by_resampling_is_the_same_in_every_fit():
    X, names = rows_of(missing=False)
    rows = np.isin(names, ["a", "b"])
    model = RobustFairPCA(2, radius="bootstrap")
    first, again = (
        model.fit(X[rows], sensitive_features=names[rows]).group_radii_.tolist() for _ in "12"
    )
    assert first == again


def test_the_worst_served_group_is_one_that_is_compared():
    errors = ([1.0, 2.0, 9.0], [1.5, 1.6, 9.0])
    told = who_pays(["a", "b", "few"], *errors, "the method", compared=["a", "b"])
    assert "worst-served group is b: error 2.000 with PCA and 1.600" in told
    assert "few 0 %" in told or "few +0.0 %" in told
