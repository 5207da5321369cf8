"""Whatever is given to a function, it answers with finite numbers or with a sentence."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fairspan
from fairspan import GroupMoments, RobustFairPCA, RobustFairPCACV, metrics, scorers
from fairspan.moments.groups import encode_groups
from tests.hardening import inputs
from tests.hardening.law import REFUSED, outcome, searched

pytestmark = pytest.mark.fuzz

X, GROUPS = inputs.good()
MOMENTS = GroupMoments.from_arrays(X, GROUPS)
MODEL = RobustFairPCA(2).fit(X, sensitive_features=GROUPS)
V = MODEL.components_
ROWS = {"X": X, "sensitive_features": GROUPS}
OPTIONS = {
    "centering": "group",
    "mean": None,
    "scale": None,
    "training": None,
    "sample_weight": None,
}
CASES: dict[str, tuple[Any, dict[str, Any]]] = {
    "from_arrays": (
        GroupMoments.from_arrays,
        {**ROWS, "sample_weight": None, "missing_groups": "raise"},
    ),
    "scaled": (MOMENTS.scaled, {"scale": np.ones(4)}),
    "fit_moments": (RobustFairPCA(2).fit_moments, {"moments": MOMENTS}),
    "fit_moments of folds": (RobustFairPCACV(2).fit_moments, {"folds": [MOMENTS, MOMENTS]}),
    "fairness_frontier": (
        fairspan.fairness_frontier,
        {
            "X_or_moments": X,
            "n_components": 2,
            "sensitive_features": GROUPS,
            "fairness_weights": [0.0, 1.0],
            "radius": 0.1,
            "standardize": False,
        },
    ),
    "certify": (
        fairspan.certify,
        {
            "components": V,
            "moments": MOMENTS,
            "fairness_weight": 1.0,
            "radius": 0.1,
            "tol": 1e-8,
            "effort": 0.05,
        },
    ),
    "compare": (
        fairspan.compare,
        {
            "methods": [RobustFairPCA(2)],
            **ROWS,
            "X_test": X,
            "sensitive_features_test": GROUPS,
            "centering": "global",
            "standardize": False,
            "by": "method",
        },
    ),
    "advise": (
        fairspan.advise,
        {
            **ROWS,
            "n_components": 2,
            "target_gap": None,
            "standardize": True,
            "random_state": 0,
        },
    ),
    "verdict": (
        fairspan.inference.verdict,
        {
            "estimator": RobustFairPCA(1),
            **ROWS,
            "sample_weight": None,
            "clusters": None,
            "random_state": 0,
        },
    ),
    "gelbrich_divergence": (
        fairspan.gelbrich_divergence,
        {
            "mean": MOMENTS.means[0],
            "covariance": MOMENTS.scatters[0],
            "other_mean": MOMENTS.means[1],
            "other_covariance": MOMENTS.scatters[1],
        },
    ),
    "group_errors": (metrics.group_errors, {"model": MODEL, **ROWS, **OPTIONS}),
    "total_error": (metrics.total_error, {"model": V, **ROWS, **OPTIONS}),
    "error_gap": (metrics.error_gap, {"model": V, **ROWS}),
    "excess_error": (metrics.excess_error, {"model": V, **ROWS, "reference": "group"}),
    "explained_variance": (metrics.explained_variance, {"model": V, **ROWS, "ratio": True}),
    "by_group": (metrics.by_group, {"model": V, **ROWS}),
    "group_rows": (metrics.group_rows, {"model": MODEL, **ROWS}),
    "bootstrap_intervals": (
        metrics.bootstrap_intervals,
        {"model": V, **ROWS, **OPTIONS, "n_bootstrap": 20, "level": 0.9, "random_state": 0},
    ),
    "linear_leakage": (
        metrics.linear_leakage,
        {
            "model": V,
            **ROWS,
            "rule": "balanced",
            "held_out": False,
            "costs": [1.0],
            "n_folds": 2,
            "random_state": 0,
        },
    ),
    "a scorer": (scorers.total_plus_gap, {"estimator": MODEL, **ROWS, "sample_weight": None}),
    "GroupErrorScorer": (
        scorers.GroupErrorScorer,
        {"measure": "total", "missing_groups": "raise"},
    ),
    "make_figure1_toy": (
        fairspan.datasets.make_figure1_toy,
        {"n_majority": 20, "n_minority": 10, "random_state": 0},
    ),
}
SLOW = ("fairness_frontier", "advise", "compare")
"""With more than two groups these search for seconds, as they say."""
TABLES = ("X", "X_or_moments", "X_test", "components", "model", "estimator")
PARAMETERS = [(case, name) for case, (_, given_) in CASES.items() for name in given_]


@cache
def more_than_two(name: str) -> bool:
    try:
        return len(encode_groups(inputs.labels(name)).labels) > 2
    except (ValueError, TypeError):
        return False


def odd_for(name: str) -> list[Any]:
    """Odd values; numpy itself fails on integers beyond a float as data, and on such sizes."""
    numbers = ("fairness_weight", "radius", "tol", "effort", "max_time", "level", "target_gap")
    least = float("inf") if name in numbers or name.startswith("n_components") else 2**62
    return [value for value in inputs.ODD if not isinstance(value, int) or abs(value) < least]


def values_for(case: str, name: str) -> dict[str, Any]:
    """Odd values, and all that stands for a table, labels or weights where these are due."""
    made = {repr(value)[:40]: (lambda value=value: value) for value in odd_for(name)}
    if name in TABLES:
        made |= {key: (lambda key=key: inputs.table(key)) for key in inputs.TABLES}
    if name.startswith("sensitive_features"):
        keys = [key for key in inputs.LABELS if case not in SLOW or not more_than_two(key)]
        # A pandas frame cannot hold it.
        keys.remove("lone surrogate")
        made |= {key: (lambda key=key: inputs.labels(key)) for key in keys}
    if name == "sample_weight":
        made |= {key: (lambda key=key: inputs.WEIGHTS[key](len(X))) for key in inputs.WEIGHTS}
    return made


def numbers_in(found: Any) -> np.ndarray:
    """All numbers of a result that must be finite."""
    if isinstance(found, fairspan.Frontier):
        assert (found.lower_bound <= found.objective).all()
        return np.concatenate([found.group_errors.ravel(), found.objective, found.lower_bound])
    if isinstance(found, metrics.GroupValues):
        return found.values
    if isinstance(found, metrics.ErrorIntervals):
        return np.concatenate([found.errors.ravel(), found.total, found.gap])
    if isinstance(found, GroupMoments):
        return np.concatenate([found.weights, found.offsets.ravel(), found.scatters.ravel()])
    return np.array([found]) if isinstance(found, float) else np.zeros(1)


@pytest.mark.parametrize("case", CASES)
def test_the_plain_call_succeeds(case):
    function, usual = CASES[case]
    found = outcome(function, **usual)
    assert found is not REFUSED
    assert np.isfinite(numbers_in(found)).all()


@pytest.mark.parametrize(("case", "name"), PARAMETERS)
def test_a_value_of_any_kind_is_used_or_refused(case, name):
    function, usual = CASES[case]
    for make in values_for(case, name).values():
        found = outcome(function, **(usual | {name: make()}))
        if found is not REFUSED:
            numbers = numbers_in(found)
            # Groups of fewer than five rows have no interval.
            unknown = np.isnan(numbers) if case == "bootstrap_intervals" else False
            assert (np.isfinite(numbers) | unknown).all()


@pytest.mark.parametrize("case", ["group_errors", "linear_leakage", "bootstrap_intervals"])
def test_metrics_of_an_unfitted_model_say_so(case):
    function, usual = CASES[case]
    assert outcome(function, **(usual | {"model": RobustFairPCA(2)})) is REFUSED


@searched(40)
@given(st.sampled_from(sorted(CASES)), st.data())
def test_any_two_odd_values_at_once_are_used_or_refused(case, data):
    function, usual = CASES[case]
    names = data.draw(st.lists(st.sampled_from(sorted(usual)), min_size=2, max_size=3))
    changed = {}
    for name in names:
        choices = values_for(case, name)
        changed[name] = choices[data.draw(st.sampled_from(sorted(choices)))]()
    found = outcome(function, **(usual | changed))
    if found is not REFUSED:
        assert np.isfinite(numbers_in(found)).all()


def test_only_moments_are_added_to_moments():
    for other in (None, 1, "x", X, 0.0, [MOMENTS], np.float64(0)):
        with pytest.raises(TypeError):
            MOMENTS + other


@pytest.mark.parametrize("name", inputs.LABELS)
def test_moments_with_labels_of_any_kind_come_back_from_their_file_or_are_not_written(
    name, tmp_path
):
    file = tmp_path / "moments.npz"
    moments = outcome(GroupMoments.from_arrays, X, inputs.labels(name))
    if moments is REFUSED:
        return
    if outcome(moments.save, file) is REFUSED:
        assert not list(tmp_path.iterdir())
        return
    loaded = GroupMoments.load(file)
    assert loaded.labels == moments.labels
    assert [type(label) for label in loaded.labels] == [type(label) for label in moments.labels]
    assert np.array_equal(loaded.scatters, moments.scatters)
