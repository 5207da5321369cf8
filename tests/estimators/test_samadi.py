"""FairPCA: the largest loss over the groups is least, and proved to be."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from fairspan import GroupMoments, NoGroupsWarning
from fairspan.estimators.samadi import FairPCA
from fairspan.solvers.many_groups.simplex import simplex_quadratic
from tests.conftest import needs_paper_data, paper_table, standardised


def random_groups(seed: int, n_groups: int = 2, d: int = 7, n: int = 300):
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, n_groups, n)
    mixing = rng.standard_normal((n_groups, d, d))
    X = np.einsum("ni,nij->nj", rng.standard_normal((n, d)), mixing[groups])
    return X + 3 * rng.standard_normal((n_groups, d))[groups], groups


def diagonal_groups(*diagonals):
    """Rows whose group covariances are exactly these diagonal matrices."""
    blocks = [np.diag(np.sqrt(len(v) * np.asarray(v, float))) for v in diagonals]
    X = np.concatenate([np.tile(np.concatenate([block, -block]), (4, 1)) for block in blocks])
    return X, np.repeat(np.arange(len(blocks)), 8 * len(diagonals[0]))


def losses(V, X, groups):
    """Row by row: the error of each group in V less that in its own best subspace."""
    found = []
    for label in np.unique(groups):
        A = X[groups == label] - X[groups == label].mean(axis=0)
        own = np.linalg.svd(A)[2][: len(V)]
        kept = [np.sum((A @ W.T) ** 2) / len(A) for W in (own, V)]
        found.append(kept[0] - kept[1])
    return np.array(found)


@pytest.mark.parametrize("k", [1, 3, 6])
@pytest.mark.parametrize("seed", range(5))
def test_two_groups_lose_equally_and_no_subspace_loses_less(seed, k):
    X, groups = random_groups(seed)
    model = FairPCA(k).fit(X, sensitive_features=groups)
    assert model.result_.status == "optimal"
    assert model.optimality_gap_ <= 1e-9
    assert model.group_losses_ == pytest.approx(losses(model.components_, X, groups), abs=1e-10)
    assert model.group_losses_[0] == pytest.approx(model.group_losses_[1], rel=1e-6)
    rng = np.random.default_rng(seed)
    for _ in range(300):
        V = np.linalg.qr(rng.standard_normal((7, k)))[0].T
        assert losses(V, X, groups).max() >= model.lower_bound_


def test_a_closed_eigengap_is_bridged():
    # Both groups share their eigenvectors: only mixtures of two of them balance the losses.
    X, groups = diagonal_groups([5, 1, 0.5], [1, 5, 0.2])
    model = FairPCA(1).fit(X, sensitive_features=groups)
    assert model.optimality_gap_ <= 1e-9
    assert model.group_losses_ == pytest.approx([2, 2], abs=1e-8)
    assert np.abs(model.components_[0, :2]) == pytest.approx(np.sqrt([0.5, 0.5]), abs=1e-6)


@pytest.mark.parametrize("seed", range(20))
def test_random_commuting_groups_are_solved_to_the_tolerance(seed):
    rng = np.random.default_rng(seed)
    X, groups = diagonal_groups(*rng.exponential(1.0, (2, 9)))
    for tol in (1e-8, 1e-11):
        assert FairPCA(3, tol=tol).fit(X, sensitive_features=groups).optimality_gap_ <= tol


def test_equal_groups_lose_nothing():
    X, _ = random_groups(0)
    model = FairPCA(2).fit(np.concatenate([X, X + 5]), sensitive_features=np.repeat([0, 1], 300))
    assert model.objective_ == pytest.approx(0, abs=1e-9)
    assert model.result_.status == "optimal"


def test_the_location_of_a_group_does_not_matter():
    X, groups = random_groups(1)
    moved = X + 10.0 * groups[:, None]
    first, second = (FairPCA(2).fit(rows, sensitive_features=groups) for rows in (X, moved))
    assert first.objective_ == pytest.approx(second.objective_, rel=1e-9)


def test_all_components_lose_nothing_and_one_group_is_pca():
    X, groups = random_groups(2)
    assert FairPCA(7).fit(X, sensitive_features=groups).objective_ == pytest.approx(0, abs=1e-12)
    with pytest.warns(NoGroupsWarning):
        assert FairPCA(2).fit(X).objective_ == 0


def test_moments_are_enough():
    X, groups = random_groups(3)
    rows = FairPCA(2, standardize=True).fit(X, sensitive_features=groups)
    moments = FairPCA(2, standardize=True).fit_moments(GroupMoments.from_arrays(X, groups))
    assert np.array_equal(rows.components_, moments.components_)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("k", [1, 2, 4])
@pytest.mark.parametrize("n_groups", [3, 5])
def test_many_groups_report_value_relaxation_and_bound_in_order(n_groups, k):
    X, groups = random_groups(n_groups, n_groups)
    model = FairPCA(k).fit(X, sensitive_features=groups)
    assert model.lower_bound_ <= model.relaxed_objective_ + 1e-9
    assert model.relaxed_objective_ <= model.objective_
    assert model.relaxed_objective_ == pytest.approx(model.lower_bound_, rel=1e-8)
    assert model.objective_ == pytest.approx(losses(model.components_, X, groups).max(), rel=1e-9)
    values = np.linalg.eigvalsh(model.relaxation_)
    assert np.trace(model.relaxation_) == pytest.approx(k)
    assert values.min() >= -1e-9
    assert values.max() <= 1 + 1e-9


def test_one_direction_may_serve_three_groups_that_share_none():
    X, groups = diagonal_groups([1, 0, 0], [0, 1, 0], [0, 0, 1])
    model = FairPCA(1).fit(X, sensitive_features=groups)
    assert model.objective_ == pytest.approx(2 / 3, abs=1e-9)
    assert model.lower_bound_ == pytest.approx(2 / 3, abs=1e-8)


def test_a_relaxation_of_higher_rank_is_told():
    # Four directions of the plane, one for each group: a mixture serves all by half, while every
    # line is at least 67.5 degrees away from one of them.
    angles = np.pi / 4 * np.arange(4)
    lines = np.column_stack([np.cos(angles), np.sin(angles)])
    with pytest.warns(ConvergenceWarning, match="relative gap"):
        model = FairPCA(1).fit(np.vstack([lines, -lines] * 5), sensitive_features=[0, 1, 2, 3] * 10)
    assert model.relaxed_objective_ == pytest.approx(1 / 2)
    assert model.objective_ == pytest.approx(np.sin(np.radians(67.5)) ** 2, abs=1e-9)


@pytest.mark.parametrize("iterate", ["best", "average", "last"])
def test_multiplicative_weights_find_the_exact_optimum_where_they_are_stable(iterate):
    X, groups = random_groups(4)
    exact = FairPCA(3).fit(X, sensitive_features=groups)
    model = FairPCA(
        3, solver="multiplicative_weights", iterate=iterate, learning_rate=0.01, tol=1e-3
    ).fit(X, sensitive_features=groups)
    accuracy = 1e-3 if iterate == "average" else 1e-9
    assert model.relaxed_objective_ == pytest.approx(exact.objective_, rel=accuracy)
    assert model.lower_bound_ == pytest.approx(exact.objective_, rel=1e-9)


def test_the_best_iterate_is_the_better_of_the_two():
    X, groups = random_groups(5)
    found = {}
    for iterate in ("best", "average", "last"):
        model = FairPCA(2, solver="multiplicative_weights", iterate=iterate, max_iter=30)
        with pytest.warns(ConvergenceWarning):
            found[iterate] = model.fit(X, sensitive_features=groups).relaxed_objective_
    assert found["best"] == min(found["average"], found["last"])


@needs_paper_data
@pytest.mark.parametrize("name", ["energy", "wine_quality", "biodeg", "german_credit", "letter"])
def test_multiplicative_weights_agree_with_the_exact_solver(name):
    X, groups, _ = paper_table(name)
    moments = GroupMoments.from_arrays(standardised(X), groups)
    exact = FairPCA(3).fit_moments(moments)
    rates = (0.1, 0.25, 1.0, 4.0)
    values = []
    for rate in rates:
        model = FairPCA(3, solver="multiplicative_weights", learning_rate=rate, tol=1.0)
        values.append(model.fit_moments(moments).relaxed_objective_)
    assert min(values) == pytest.approx(exact.objective_, rel=1e-3)
    assert min(values) >= exact.lower_bound_ * (1 - 1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_the_quadratic_program_over_the_simplex(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    factor = rng.standard_normal((n, int(rng.integers(1, n + 1))))
    Q, c = factor @ factor.T, rng.standard_normal(n)
    w = simplex_quadratic(c, Q)
    gradient = c - Q @ w
    assert w.min() >= 0
    assert w.sum() == pytest.approx(1)
    # No weight could gain by moving to another group.
    assert gradient.max() <= gradient @ w + 1e-8


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"solver": "magic"}, "solver"),
        ({"iterate": "first"}, "iterate"),
        ({"learning_rate": 0.0}, "learning_rate"),
        ({"tol": 0.0}, "tol"),
    ],
)
def test_parameters_are_checked(parameters, message):
    X, groups = random_groups(0)
    with pytest.raises(ValueError, match=message):
        FairPCA(2, **parameters).fit(X, sensitive_features=groups)
