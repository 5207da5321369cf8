"""How groups count: weights in the total, rows without a label, radii from the data."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from sklearn.base import clone

from fairspan import (
    GroupMoments,
    NoGroupsWarning,
    RobustFairPCA,
    SmallGroupWarning,
    gelbrich_divergence,
)
from fairspan.moments.groups import encode_groups
from fairspan.objectives.robust import RobustFairObjective, worst_error
from fairspan.problem.subspace import SubspaceProblem
from fairspan.solvers.descent import random_subspaces
from fairspan.solvers.many_groups.certified_newton import solve_newton


def table(n_groups=3, n=300, d=5, seed=0):
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, n_groups, n)
    X = rng.standard_normal((n, d)) @ rng.standard_normal((d, d)) + 1
    X *= rng.uniform(0.6, 1.6, (n_groups, d))[groups]
    return X, np.array(["a", "b", "c"])[groups]


def with_missing(groups):
    return np.where(groups == "c", None, groups.astype(object))


def row_errors(X, V, centre):
    lost = (X - centre) - (X - centre) @ V.T @ V
    return (lost**2).sum(axis=1)


def test_equal_weights_count_small_groups_as_much_as_large_ones():
    X, groups = table(2)
    X, groups = (
        np.vstack([X] * 4 + [X[groups == "a"]]),
        np.r_[np.tile(groups, 4), ["a"] * 0, groups[groups == "a"]],
    )
    model = RobustFairPCA(2, fairness_weight=0.0, radius=0.0, group_weights="equal")
    model.fit(X, sensitive_features=groups)
    second = [
        np.einsum("ni,nj->ij", *[X[groups == g] - X.mean(axis=0)] * 2) / np.sum(groups == g)
        for g in "ab"
    ]
    leading = np.linalg.eigh(0.5 * (second[0] + second[1]))[1][:, -2:]
    assert model.components_.T @ model.components_ == pytest.approx(leading @ leading.T, abs=1e-8)
    assert model.total_weights_ == pytest.approx([0.5, 0.5])
    assert model.group_weights_ == pytest.approx([np.sum(groups == g) for g in "ab"])


def test_given_weights_are_used_up_to_a_factor_and_share_is_the_default():
    X, groups = table()
    given = {"a": 1.0, "b": 2.0, "c": 5.0}
    model = RobustFairPCA(1, group_weights=given).fit(X, sensitive_features=groups)
    twice = RobustFairPCA(1, group_weights={a: 2 * w for a, w in given.items()})
    twice.fit(X, sensitive_features=groups)
    assert model.total_weights_ == pytest.approx([0.125, 0.25, 0.625])
    assert model.objective_ == pytest.approx(twice.objective_)
    shares = {a: float(np.mean(groups == a)) for a in "abc"}
    default = RobustFairPCA(1).fit(X, sensitive_features=groups)
    same = RobustFairPCA(1, group_weights=shares).fit(X, sensitive_features=groups)
    assert default.objective_ == pytest.approx(same.objective_)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ("size", "group_weights='size'"),
        ({"a": 1.0}, "missing groups"),
        ({"a": 1.0, "b": 0.0, "c": 1.0}, r"group_weights\['b'\]=0.0"),
    ],
)
def test_weights_that_make_no_sense_are_refused(weights, message):
    X, groups = table()
    with pytest.raises(ValueError, match=message):
        RobustFairPCA(1, group_weights=weights).fit(X, sensitive_features=groups)


def test_rows_without_a_label_raise_unless_told_otherwise():
    X, groups = table()
    with pytest.raises(ValueError, match="missing_groups"):
        RobustFairPCA(1).fit(X, sensitive_features=with_missing(groups))
    with pytest.raises(ValueError, match="missing_groups='drop'"):
        RobustFairPCA(1, missing_groups="drop").fit(X, sensitive_features=groups)


def test_an_own_group_of_rows_without_a_label_is_a_group_like_any_other():
    X, groups = table()
    named = np.where(groups == "c", "missing", groups.astype(object))
    direct = RobustFairPCA(1).fit(X, sensitive_features=named)
    model = RobustFairPCA(1, missing_groups="own_group")
    model.fit(X, sensitive_features=with_missing(groups))
    assert model.group_labels_ == ["a", "b", "missing"]
    assert model.objective_ == pytest.approx(direct.objective_)


def test_total_only_rows_count_in_the_total_and_not_in_the_gap():
    X, groups = table()
    model = RobustFairPCA(1, fairness_weight=3.0, radius=0.0, missing_groups="total_only")
    model.fit(X, sensitive_features=with_missing(groups))
    V, centre = model.components_, X.mean(axis=0)
    errors = row_errors(X, V, centre)
    gap = abs(errors[groups == "a"].mean() - errors[groups == "b"].mean())
    assert model.error_gap_ == pytest.approx(gap)
    assert model.total_error_ == pytest.approx(errors.mean())
    assert model.objective_ == pytest.approx(errors.mean() + 3 * gap)
    assert model.score(X, sensitive_features=with_missing(groups)) == pytest.approx(
        -errors.mean() - gap
    )
    assert model.optimality_gap_ <= 1e-8
    rng = np.random.default_rng(0)
    for W in random_subspaces(rng, 3000, 5, 1):
        other = row_errors(X, W.T, centre)
        value = other.mean() + 3 * abs(other[groups == "a"].mean() - other[groups == "b"].mean())
        assert value >= model.lower_bound_ - 1e-9


def test_equal_weights_share_what_rows_without_a_label_leave():
    X, groups = table()
    model = RobustFairPCA(1, group_weights="equal", missing_groups="total_only")
    model.fit(X, sensitive_features=with_missing(groups))
    missing = np.mean(groups == "c")
    assert model.total_weights_ == pytest.approx([(1 - missing) / 2] * 2 + [missing])


@pytest.mark.parametrize("seed", range(12))
def test_the_bound_with_a_group_outside_the_gap_holds_for_every_subspace(seed):
    rng = np.random.default_rng(seed)
    d, k = 5, int(rng.integers(1, 4))
    factors = rng.standard_normal((4, d, d)) * rng.uniform(0.3, 2, (4, 1, d))
    shares = rng.dirichlet(np.ones(4))
    weight, radii = float(rng.uniform(0, 3)), rng.uniform(0, 2, 4) * rng.integers(0, 2, 4)
    in_gap = np.array([True, False, True, seed % 2 == 0])
    objective = RobustFairObjective(shares, weight, radii, in_gap)
    problem = SubspaceProblem(factors @ factors.transpose(0, 2, 1), shares, k)
    found = solve_newton(problem, objective, max_time=2.0)
    allowed = [(a, b) for a, b in itertools.permutations(np.flatnonzero(in_gap), 2)]

    def value(m):
        values = []
        for a, b in allowed:
            u = shares.copy()
            u[a] += weight
            u[b] -= weight
            values.append(sum(map(worst_error, u, m, radii)))
        return max(values)

    assert found.objective == pytest.approx(value(found.group_errors))
    starts = random_subspaces(rng, 2000, d, k)
    values = [value(problem.errors(V)) for V in starts]
    near = np.linalg.qr(found.components.T + 0.05 * rng.standard_normal((500, d, k)))[0]
    values += [value(problem.errors(V)) for V in near]
    assert min(values) >= found.lower_bound - 1e-9
    assert objective.values(np.array([problem.errors(V) for V in starts[:50]])) == pytest.approx(
        values[:50]
    )


def test_one_named_group_beside_rows_without_a_label_is_pca_and_warned_of():
    X, groups = table(2)
    lone = np.where(groups == "b", None, groups.astype(object))
    with pytest.warns(NoGroupsWarning):
        model = RobustFairPCA(2, radius=0.0, missing_groups="total_only").fit(
            X, sensitive_features=lone
        )
    plain = RobustFairPCA(2, fairness_weight=0.0, radius=0.0).fit(X, sensitive_features=groups)
    assert model.components_ == pytest.approx(plain.components_, abs=1e-9)
    assert model.error_gap_ == 0.0


def test_moments_keep_rows_without_a_label_apart():
    X, groups = table()
    missing = with_missing(groups)
    parts = [
        GroupMoments.from_arrays(X[rows], missing[rows], missing_groups="total_only")
        for rows in np.array_split(range(len(X)), 4)
    ]
    model = RobustFairPCA(1, radius=0.1, missing_groups="total_only")
    direct = clone(model).fit(X, sensitive_features=missing)
    assert model.fit_moments(sum(parts)).objective_ == pytest.approx(direct.objective_)
    assert model.error_gap_ == pytest.approx(direct.error_gap_)


def test_missing_values_of_every_kind_and_in_several_columns_are_found():
    pd = pytest.importorskip("pandas")
    for column in (
        [1.0, np.nan, 2.0],
        ["x", None, "y"],
        pd.Series(["x", pd.NA, "y"], dtype="string"),
        np.array(["2020-01-01", "NaT", "2021-01-01"], dtype="datetime64[D]"),
    ):
        groups = encode_groups(column, missing_groups="own_group")
        assert groups.labels[groups.codes[1]] == "missing"
        assert len(groups.labels) == 3
    frame = {"sex": ["f", None, "m", "f"], "race": ["x", "x", None, "y"]}
    own = encode_groups(frame, missing_groups="own_group")
    assert set(own.labels) == {("f", "x"), ("f", "y"), ("missing", "x"), ("m", "missing")}
    total = encode_groups(frame, missing_groups="total_only")
    assert set(total.labels) == {("f", "x"), ("f", "y"), "missing"}
    with pytest.raises(ValueError, match="rename those labels"):
        encode_groups(["missing", None], missing_groups="own_group")


def test_the_bootstrap_radius_is_a_quantile_of_divergences():
    X, groups = table(2, n=400)
    options = {"radius": "bootstrap", "n_bootstrap": 400, "random_state": 0}
    model = RobustFairPCA(1, **options).fit(X, sensitive_features=groups)
    rng = np.random.default_rng(1)
    for a, label in enumerate("ab"):
        rows = X[groups == label]
        found = []
        for _ in range(400):
            again = rows[rng.integers(0, len(rows), len(rows))]
            moments = [(part.mean(axis=0), np.cov(part.T, bias=True)) for part in (rows, again)]
            found.append(gelbrich_divergence(*moments[0], *moments[1]))
        assert model.group_radii_[a] == pytest.approx(np.quantile(found, 0.95), rel=0.15)
    again = RobustFairPCA(1, **options).fit(X, sensitive_features=groups)
    assert np.array_equal(again.group_radii_, model.group_radii_)
    lower = RobustFairPCA(1, **options, radius_level=0.5).fit(X, sensitive_features=groups)
    assert (lower.group_radii_ < model.group_radii_).all()
    same = RobustFairPCA(1, radius=dict(zip("ab", model.group_radii_, strict=True)))
    assert same.fit_moments(model.moments_).objective_ == pytest.approx(model.objective_)


def test_the_bootstrap_radius_does_not_depend_on_units_once_standardised():
    X, groups = table(2)
    options = {"radius": "bootstrap", "random_state": 0, "standardize": True}
    model = RobustFairPCA(1, **options).fit(X, sensitive_features=groups)
    other = RobustFairPCA(1, **options).fit(X * [1, 10, 100, 0.1, 1], sensitive_features=groups)
    assert other.group_radii_ == pytest.approx(model.group_radii_)


def test_only_a_fit_on_rows_knows_the_bootstrap_radius():
    X, groups = table(2)
    model = RobustFairPCA(1, radius="bootstrap", random_state=0).fit(X, sensitive_features=groups)
    with pytest.raises(ValueError, match="only fit has"):
        model.fit_moments(model.moments_)
    with pytest.raises(ValueError, match="only fit has"):
        RobustFairPCA(1, radius="bootstrap").partial_fit(X, sensitive_features=groups)
    for given, message in [
        ({"radius": "auto"}, "radius='auto'"),
        ({"radius": "bootstrap", "radius_level": 1.0}, "radius_level=1.0"),
        ({"radius": "bootstrap", "n_bootstrap": 1}, "n_bootstrap=1"),
    ]:
        with pytest.raises(ValueError, match=message):
            RobustFairPCA(1, **given).fit(X, sensitive_features=groups)


def test_resampling_a_single_row_gives_no_radius():
    X, _ = table(2)
    for count in (1, 2):
        groups = ["rest"] * (len(X) - count) + ["few"] * count
        model = RobustFairPCA(1, radius="bootstrap", random_state=0)
        if count == 1:
            with pytest.raises(
                ValueError, match=r"groups with one row: \['few'\].*{label: radius}"
            ):
                model.fit(X, sensitive_features=groups)
        else:
            with pytest.warns(SmallGroupWarning, match="'few': 2"):
                model.fit(X, sensitive_features=groups)
            assert model.group_radii_[0] > model.group_radii_[1]
