"""Bootstrap intervals cover as often as they say, and replicates of moments are those of rows."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from fairspan import GroupMoments, RobustFairPCA, fairness_frontier, metrics
from fairspan.moments.groups import encode_groups
from fairspan.moments.resampling import resampled_moments


class FixedWeights:
    """Stands for a generator whose Poisson weights are known beforehand."""

    def __init__(self, weights):
        self.weights = list(weights)

    def poisson(self, _, shape):
        return self.weights.pop(0).reshape(shape)


def test_a_replicate_is_the_moments_of_weighted_rows():
    rng = np.random.default_rng(0)
    X, labels = rng.standard_normal((60, 3)) + 100, np.repeat(["a", "b"], [25, 35])
    weight = rng.uniform(0.5, 2, 60)
    drawn = rng.poisson(1.0, (2, 60))
    fixed = FixedWeights([drawn[:, :25], drawn[:, 25:]])
    groups = encode_groups(labels)
    found = list(resampled_moments(X, groups, 2, fixed, weight))
    for replicate, times in zip(found, drawn, strict=True):
        direct = GroupMoments.from_arrays(X, labels, sample_weight=weight * times)
        assert replicate.means == pytest.approx(direct.means)
        assert replicate.weights == pytest.approx(direct.weights)
        assert replicate.squared_weights == pytest.approx(direct.squared_weights)
        assert replicate.second_moments == pytest.approx(direct.second_moments, abs=1e-9)


def test_a_tiny_group_is_drawn_again_where_it_is_empty():
    X = np.random.default_rng(0).standard_normal((42, 2))
    groups = encode_groups(["tiny"] * 2 + ["rest"] * 40)
    found = list(resampled_moments(X, groups, 300, np.random.default_rng(0)))
    assert min(replicate.weights.min() for replicate in found) >= 1


def test_intervals_cover_nineteen_times_in_twenty():
    V, trials = np.eye(1, 3), 500
    spread = np.array([[1.0, 1.0, 1.0], [1.0, 1.0, 1.5]])
    truth = (spread[:, 1:] ** 2).sum(axis=1)
    groups = np.repeat([0, 1], [300, 200])
    covered = {"first": 0, "second": 0, "gap": 0}
    for seed in range(trials):
        X = np.random.default_rng(seed).standard_normal((500, 3)) * spread[groups]
        found = metrics.bootstrap_intervals(
            V, X, groups, mean=np.zeros(3), n_bootstrap=300, random_state=seed
        )
        for name, interval, value in [
            ("first", found.by_group[0], truth[0]),
            ("second", found.by_group[1], truth[1]),
            ("gap", found.gap, np.ptp(truth)),
        ]:
            covered[name] += interval[0] <= value <= interval[1]
    for name, count in covered.items():
        assert 0.90 <= count / trials <= 0.98, (name, count)


def test_radii_of_a_trade_off_may_be_given_by_group():
    pytest.importorskip("matplotlib")
    rng = np.random.default_rng(0)
    groups = rng.choice(["a", "b"], 200)
    X = rng.standard_normal((200, 4)) * np.where(groups == "a", 1, 2)[:, None]
    radius = {"a": 0.3, "b": 0.02}
    found = fairness_frontier(
        X, 2, sensitive_features=groups, fairness_weights=[0.5, 1.0], radius=[radius, 0.1]
    )
    model = RobustFairPCA(2, fairness_weight=1.0, radius=radius).fit(X, sensitive_features=groups)
    assert np.isnan(found.radius).tolist() == [True, True, False, False]
    assert found.objective[1] == pytest.approx(model.objective_)
    labels = [text.get_text() for text in found.plot().get_legend().get_texts()]
    assert [text for text in labels if "radius" in text] == ["radius 0.1", "radius by group"]
    assert len(set(labels)) == len(labels)


def test_what_cannot_be_judged_is_said():
    X, groups = np.random.default_rng(0).standard_normal((30, 3)), ["a", "b"] * 15
    with pytest.raises(NotFittedError, match="not fitted"):
        metrics.group_errors(RobustFairPCA(), X, groups)
    with pytest.raises(TypeError, match=r"pipeline\[-1\]"):
        metrics.group_errors(make_pipeline(PCA(2)).fit(X), X, groups)
    for function in (metrics.linear_leakage, metrics.bootstrap_intervals):
        with pytest.raises(ValueError, match="X has 2 features but the components have 3"):
            function(np.eye(1, 3), X[:, :2], groups)
    for function in (
        lambda seed: RobustFairPCA(random_state=seed).fit(X, sensitive_features=groups),
        lambda seed: metrics.bootstrap_intervals(np.eye(1, 3), X, groups, random_state=seed),
    ):
        with pytest.raises(ValueError, match="random_state='x' is not a seed"):
            function("x")
