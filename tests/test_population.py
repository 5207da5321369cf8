"""certify(population=...) bounds what any projection does to the population of the rows."""

from __future__ import annotations

import numpy as np
import pytest

from fairspan import GroupMoments, RobustFairPCA, certify
from tests.inference.test_crossfit import data

SETTINGS = {"fairness_weight": 1.0, "radius": 0.0, "population": 0.95}


def bounds(components, X, groups, **settings):
    given = {**SETTINGS, **settings}
    return certify(components, X, sensitive_features=groups, **given).population


def slow_slack(X, groups, k, standardize, weight=1.0, number=1500):
    """Quantiles of Ky Fan sums over Poisson replicates, row by row."""
    rng, n = np.random.default_rng(5), len(X)
    x = (X - X.mean(axis=0)) / (X.std(axis=0) if standardize else 1.0)
    found = []
    for _ in range(number):
        times = rng.poisson(1.0, n)
        centre = times @ x / times.sum()
        spread = np.sqrt(times @ (x - centre) ** 2 / times.sum())
        z = (x - centre) / (spread if standardize else 1.0)

        def change(rows, z=z, times=times):
            share = times[rows] / times[rows].sum()
            return (z[rows].T @ z[rows]) / rows.sum() - (z[rows].T * share) @ z[rows]

        whole = change(np.ones(n, dtype=bool))
        parts = [change(groups == a) for a in np.unique(groups)]
        top = [
            np.linalg.eigvalsh(matrix)[k:].sum()
            for a in parts
            for b in parts
            if a is not b
            for matrix in (a - b, whole + weight * (a - b))
        ]
        total = np.linalg.eigvalsh(whole)[k:].sum()
        found.append((total, max(top[::2]), max(top[1::2])))
    return np.quantile(found, 0.95, axis=0)


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("n_groups", [2, 3])
def test_bounds_are_those_of_a_slow_bootstrap(standardize, n_groups):
    X, groups = data(90, 4, n_groups)
    model = RobustFairPCA(2, fairness_weight=0.0, radius=0.0, standardize=standardize)
    model.fit(X, sensitive_features=groups)
    found = bounds(model.components_, X, groups, standardize=standardize, n_bootstrap=1500, tol=1.0)
    slack = slow_slack(X, groups, 2, standardize)
    total, gap = model.total_error_, model.error_gap_
    over = [found.total - total, found.gap - gap, found.objective - total - gap]
    assert over == pytest.approx(slack, rel=0.12)


def test_they_hold_for_gaussian_rows_and_any_projection():
    rng, hits = np.random.default_rng(0), []
    spread = np.array([[3.0, 2, 1, 1], [1.0, 2, 3, 1]])
    for _ in range(40):
        groups = np.arange(60) % 2
        X = rng.standard_normal((60, 4)) * spread[groups]
        model = RobustFairPCA(1, radius=0.0).fit(X, sensitive_features=groups)
        # The worst of several, chosen with the truth in hand.
        chosen = [
            model.components_,
            *np.linalg.qr(rng.standard_normal((5, 4, 1)))[0].swapaxes(1, 2),
        ]
        true = [(spread**2).sum(axis=1) - (v**2 @ spread.T**2)[0] for v in chosen]
        given = [bounds(v, X, groups, n_bootstrap=100) for v in chosen]
        pairs = zip(given, true, strict=True)
        hits.append(
            [
                (
                    b.total >= t.mean(),
                    b.gap >= abs(t[0] - t[1]),
                    b.objective >= t.mean() + abs(t[0] - t[1]),
                )
                for b, t in pairs
            ]
        )
    held = np.all(hits, axis=1).mean(axis=0)
    assert (held >= 0.85).all()


def test_units_and_names_do_not_matter_and_a_full_basis_loses_nothing():
    X, groups = data(90, 4)
    model = RobustFairPCA(2, radius=0.0, standardize=True).fit(X, sensitive_features=groups)
    found = bounds(model.components_, X, groups, standardize=True)
    other = bounds(model.components_, X * [1, 1e3, 1e-3, 7] + 5, groups, standardize=True)
    assert other.total == pytest.approx(found.total)
    assert other.gap == pytest.approx(found.gap)
    whole = bounds(np.eye(4), X, groups)
    assert (whole.total, whole.gap, whole.objective) == pytest.approx((0, 0, 0), abs=1e-9)
    assert bounds(model.components_, X, groups, standardize=True) == found
    assert found.low_support == {}


def test_groups_count_as_the_objective_says():
    X, groups = data(120, 4)
    X, groups = X[40:], np.where(np.arange(80) < 20, 1, 0)
    moments = GroupMoments.from_arrays(X, groups)
    share = bounds(np.eye(4)[:1], X, groups, group_weights={0: 0.75, 1: 0.25})
    equal = bounds(np.eye(4)[:1], X, groups, group_weights="equal")
    assert share.total == equal.total
    errors = np.einsum("aii->a", moments.second_moments) - moments.second_moments[:, 0, 0]
    mean = errors.mean() - moments.shares @ errors
    assert equal.objective - share.objective == pytest.approx(mean, abs=0.15 * errors.mean())
    assert equal.objective != pytest.approx(share.objective, rel=1e-6)


def test_it_needs_rows_and_enough_of_them():
    X, groups = data(60, 4)
    moments = GroupMoments.from_arrays(X, groups)
    with pytest.raises(TypeError, match="resamples rows, which moments do not hold"):
        certify(np.eye(4)[:1], moments, **SETTINGS)
    with pytest.raises(ValueError, match="group True, which has 4 rows"):
        bounds(np.eye(4)[:1], X, np.arange(60) >= 56, n_bootstrap=20)
    with pytest.raises(ValueError, match="population=95"):
        bounds(np.eye(4)[:1], X, groups, population=95)
    with pytest.raises(ValueError, match="GroupMoments already"):
        certify(np.eye(4)[:1], moments, sensitive_features=groups, fairness_weight=1.0, radius=0.0)


def test_rows_are_judged_as_their_moments_are():
    X, groups = data(60, 4)
    moments = GroupMoments.from_arrays(X, groups)
    settings = {"fairness_weight": 1.0, "radius": 0.0}
    rows = certify(np.eye(4)[:2], X, sensitive_features=groups, standardize=True, **settings)
    units = certify(np.eye(4)[:2], moments.scaled(X.std(axis=0)), **settings)
    assert rows.lower_bound == pytest.approx(units.lower_bound)
    assert rows.group_errors == pytest.approx(units.group_errors)
    assert rows.population is None
