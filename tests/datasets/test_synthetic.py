"""The toy of Figure 1, and data with a known optimum, against brute force."""

from __future__ import annotations

import numpy as np
import pytest

from fairspan import RobustFairPCA, datasets
from tests import reference


def objectives(data, directions):
    """The objective of each of many unit vectors, kept as the only component."""
    moments, shares = reference.group_second_moments(data.X, data.sensitive_features)
    traces = np.trace(moments, axis1=1, axis2=2)
    errors = traces - np.einsum("ni,gij,nj->ng", directions, moments, directions)
    return errors @ shares + data.fairness_weight * np.ptp(errors, axis=1)


def test_the_toy_has_the_papers_covariances_and_sizes():
    toy = datasets.make_figure1_toy(random_state=0)
    assert toy.X.shape == (700, 2)
    assert np.bincount(toy.sensitive_features).tolist() == [500, 200]
    many = datasets.make_figure1_toy(200_000, 100_000, random_state=1)
    for group, covariance in enumerate(([[4, 0], [0, 0.2]], [[0.2, 0.4], [0.4, 3]])):
        rows = many.X[many.sensitive_features == group]
        np.testing.assert_allclose(rows.T @ rows / len(rows), covariance, atol=0.05)
        np.testing.assert_allclose(rows.mean(axis=0), 0, atol=0.02)


def test_the_toy_is_the_same_for_the_same_seed_only():
    first, again, other = (datasets.make_figure1_toy(random_state=seed).X for seed in (3, 3, 4))
    np.testing.assert_array_equal(first, again)
    assert (first != other).all()


@pytest.mark.parametrize("weight", [0.0, 0.1, 1 / 3, 0.5, 3.0])
def test_no_direction_of_the_plane_beats_the_known_optimum_of_two_groups(weight):
    known = datasets.make_known_optimum((40, 20), n_noise=0, fairness_weight=weight, random_state=0)
    angles = np.linspace(0, np.pi, 20001)
    values = objectives(known, np.column_stack([np.cos(angles), np.sin(angles)]))
    # The objective bends by less than 10 in an angle, and the grid is pi / 20000 wide.
    assert values.min() >= known.objective - 1e-12
    assert values.min() <= known.objective + 10 * np.pi / 20000
    np.testing.assert_allclose(objectives(known, known.components), known.objective, rtol=1e-12)


@pytest.mark.parametrize(("weight", "served"), [(0.0, 1), (0.05, 2), (0.1, 2), (0.2, 3), (2.0, 3)])
def test_no_direction_of_space_beats_the_known_optimum_of_three_groups(weight, served):
    known = datasets.make_known_optimum(
        (30, 28, 12), n_noise=0, fairness_weight=weight, random_state=1
    )
    polar, around = np.meshgrid(np.linspace(0, np.pi / 2, 301), np.linspace(0, 2 * np.pi, 1201))
    sphere = [np.cos(polar), np.sin(polar) * np.cos(around), np.sin(polar) * np.sin(around)]
    values = objectives(known, np.stack(sphere, axis=-1).reshape(-1, 3))
    assert known.objective - 1e-12 <= values.min() <= known.objective + 0.05
    equal = np.isclose(known.group_errors, known.group_errors.min(), rtol=1e-12)
    assert equal.sum() == served


@pytest.mark.parametrize("sizes", [(25,), (30, 20), (20, 31, 25), (21, 22, 23, 40, 50)])
@pytest.mark.parametrize("weight", [0.0, 0.07, 0.3, 5.0])
def test_moments_are_as_designed_and_the_solver_meets_the_known_value(sizes, weight):
    known = datasets.make_known_optimum(
        sizes, n_components=3, n_noise=4, fairness_weight=weight, random_state=2
    )
    V = known.components
    np.testing.assert_allclose(V @ V.T, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(known.X.mean(axis=0), 0, atol=1e-13)
    moments, shares = reference.group_second_moments(known.X, known.sensitive_features)
    assert np.bincount(known.sensitive_features).tolist() == list(sizes)
    errors = reference.group_errors(moments, V.T)
    np.testing.assert_allclose(errors, known.group_errors, rtol=1e-12)
    value = errors @ shares + weight * np.ptp(errors)
    np.testing.assert_allclose(known.objective, value, rtol=1e-12)
    for first in moments:
        for second in moments:
            np.testing.assert_allclose(first @ second, second @ first, atol=1e-12)
    if len(sizes) > 1:
        model = RobustFairPCA(3, fairness_weight=weight, radius=0.0)
        model.fit(known.X, sensitive_features=known.sensitive_features)
        np.testing.assert_allclose(model.objective_, known.objective, rtol=2e-8)


def test_random_subspaces_never_beat_the_known_optimum():
    known = datasets.make_known_optimum(
        (20, 25, 30), n_components=2, n_noise=1, fairness_weight=0.4, random_state=3
    )
    moments, shares = reference.group_second_moments(known.X, known.sensitive_features)
    rng = np.random.default_rng(0)
    for spread in (0.01, 0.1, 1.0, 100.0):
        for _ in range(300):
            start = known.components.T + spread * rng.standard_normal(known.components.T.shape)
            errors = reference.group_errors(moments, np.linalg.qr(start)[0])
            assert errors @ shares + 0.4 * np.ptp(errors) >= known.objective - 1e-12


def test_generators_say_what_they_cannot_make():
    with pytest.raises(ValueError, match=r"n_minority=0 must be 1 or more"):
        datasets.make_figure1_toy(n_minority=0)
    with pytest.raises(ValueError, match=r"group_sizes=\(9, 5\) .* = 5\."):
        datasets.make_known_optimum((9, 5), n_components=2)
    with pytest.raises(ValueError, match=r"group_sizes=\(\)"):
        datasets.make_known_optimum(())
    with pytest.raises(ValueError, match="fairness_weight=-1"):
        datasets.make_known_optimum(fairness_weight=-1)
