"""Every picture shows the numbers it was given, on the axes it was given."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from fairspan import GroupMoments, RobustFairPCA, fairness_frontier, load_model, plotting

figure = pytest.importorskip("matplotlib.figure")


@pytest.fixture(scope="module")
def cancer():
    data = load_breast_cancer(as_frame=True)
    return data.data, data.target_names[data.target]


@pytest.fixture(scope="module")
def models(cancer):
    X, groups = cancer
    plain = RobustFairPCA(3, fairness_weight=0, radius=0, standardize=True)
    fair = RobustFairPCA(3, standardize=True)
    return {
        name: model.fit(X, sensitive_features=groups)
        for name, model in (("PCA", plain), ("RobustFairPCA", fair))
    }


@pytest.fixture
def axes():
    return figure.Figure().subplots()


def test_bars_are_group_errors_and_whiskers_hold_them(models, cancer, axes):
    X, groups = cancer
    assert plotting.plot_group_errors(models, X, groups, n_bootstrap=50, ax=axes) is axes
    heights = [bar.get_height() for bar in axes.patches]
    expected = [error for model in models.values() for error in model.group_errors_]
    np.testing.assert_allclose(heights, expected, rtol=1e-7)
    whiskers = [line for lines in axes.collections for line in lines.get_segments()]
    assert len(whiskers) == 4
    for (low, high), height in zip((line[:, 1] for line in whiskers), heights, strict=True):
        assert low < height < high


def test_moments_have_bars_without_whiskers(models, cancer, axes):
    moments = GroupMoments.from_arrays(*cancer)
    plotting.plot_group_errors(models["PCA"], moments, ax=axes)
    assert len(axes.patches) == 2
    assert not axes.collections


def test_errors_fall_with_the_number_of_components(cancer, axes):
    X, groups = cancer
    drawn = plotting.plot_errors_by_components(
        X, groups, n_components=[1, 2, 4], standardize=True, ax=axes
    )
    assert drawn is axes
    for line in axes.lines:
        assert line.get_xdata().tolist() == [1, 2, 4]
        assert (np.diff(line.get_ydata()) < 0).all()
    fair = RobustFairPCA(2, standardize=True).fit(X, sensitive_features=groups)
    assert axes.lines[2].get_ydata()[1] == pytest.approx(fair.group_errors_.max())


def test_loadings_are_those_of_both_methods(models, axes):
    assert plotting.plot_loadings(models["RobustFairPCA"], component=1, ax=axes) is axes
    theirs, ours = (line.get_xdata() for line in axes.lines[:2])
    names = [label.get_text() for label in axes.get_yticklabels()]
    places = [list(models["PCA"].feature_names_in_).index(name) for name in names]
    np.testing.assert_allclose(ours, models["RobustFairPCA"].components_[1, places])
    np.testing.assert_allclose(np.abs(theirs), np.abs(models["PCA"].components_[1, places]))


def test_projected_rows_are_the_transform(models, cancer, axes):
    X, groups = cancer
    plotting.plot_projection(models["PCA"], X, groups, components=(0, 2), ax=axes)
    drawn = np.vstack([points.get_offsets() for points in axes.collections])
    projected = models["PCA"].transform(X)[:, [0, 2]]
    expected = np.vstack([projected[groups == label] for label in ("benign", "malignant")])
    np.testing.assert_allclose(drawn, expected)


def test_the_history_ends_where_value_and_bound_meet(models, axes):
    plotting.plot_history(models["RobustFairPCA"], ax=axes)
    value, bound = (line.get_ydata()[-1] for line in axes.lines)
    assert value == models["RobustFairPCA"].objective_
    assert bound == pytest.approx(value, rel=1e-7)
    plotting.plot_history(models["PCA"].result_, ax=figure.Figure().subplots())


def test_a_frontier_and_its_method_draw_the_same(cancer):
    X, groups = cancer
    frontier = fairness_frontier(X, 2, sensitive_features=groups, standardize=True)
    first, second = (figure.Figure().subplots() for _ in range(2))
    plotting.plot_frontier(frontier, first)
    frontier.plot(second)
    for one, other in zip(first.lines, second.lines, strict=True):
        np.testing.assert_array_equal(one.get_xydata(), other.get_xydata())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m, X, g: plotting.plot_loadings(m, component=3), "component=3 is too large"),
        (lambda m, X, g: plotting.plot_projection(m, X, g, components=(0, 3)), "components="),
        (lambda m, X, g: plotting.plot_group_errors({}, X, g), "models is empty"),
        (
            lambda m, X, g: plotting.plot_errors_by_components(GroupMoments.from_arrays(X, g), g),
            "GroupMoments already contain groups",
        ),
    ],
)
def test_bad_input_is_named(call, message, models, cancer):
    with pytest.raises(ValueError, match=message):
        call(models["PCA"], *cancer)


def test_loadings_of_a_model_saved_without_moments_are_refused(models, tmp_path):
    models["RobustFairPCA"].save(tmp_path / "model", moments=False)
    with pytest.raises(ValueError, match="saved with moments=False"):
        plotting.plot_loadings(load_model(tmp_path / "model"))


def test_a_history_needs_a_result():
    with pytest.raises(TypeError, match="model is a str"):
        plotting.plot_history("model")


def test_without_matplotlib_the_extra_is_named(models, monkeypatch):
    for name in ("matplotlib", "matplotlib.pyplot"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r"fairspan\[plot\]"):
        plotting.plot_history(models["RobustFairPCA"])
