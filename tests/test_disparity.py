"""The largest error instead of the gap, and references: laws of the family of objectives.

References for these laws come from eigenvalues by numpy and searches by scipy: for weights w >= 0
that sum to 1 every projection has max_a (m_a - r_a) >= σ(w) - w . r, where σ(w) is the sum of the
smallest eigenvalues of sum_a w_a M_a.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar
from sklearn.decomposition import PCA

from fairspan import (
    FairPCA,
    GroupMoments,
    RobustFairPCA,
    RobustFairPCACV,
    certify,
    fairness_frontier,
)
from fairspan.objectives import RobustFairObjective
from fairspan.objectives.counting import Counting
from fairspan.problem.subspace import SubspaceProblem
from fairspan.solvers import SolverOptions, solve
from fairspan.solvers.many_groups.bounds import plain_bound
from tests import hunt, reference
from tests.conftest import needs_paper_data, paper_table, standardised
from tests.test_laws import table


def fit(X, groups, k=2, *, weight=1.0, disparity="largest", tol=1e-9, **parameters):
    pca = RobustFairPCA(k, fairness_weight=weight, disparity=disparity, tol=tol, **parameters)
    return pca.fit(X, sensitive_features=groups)


def least(moments, k, weights):
    """The smallest weighted sum of errors that k components leave, and the errors there."""
    values, vectors = np.linalg.eigh(np.tensordot(weights, moments, 1))
    lost = vectors[:, : len(values) - k]
    return values[: len(values) - k].sum(), np.einsum("dj,ade,ej->a", lost, moments, lost)


def least_largest(moments, k, offsets):
    """The largest σ(w) - w . offsets over weights: a bound of every projection's largest loss."""

    def negative(w):
        return -(least(moments, k, w)[0] - w @ offsets)

    if len(moments) == 2:
        found = minimize_scalar(
            lambda t: negative(np.array([t, 1 - t])),
            bounds=(0, 1),
            method="bounded",
            options={"xatol": 1e-12},
        )
        return -float(found.fun)

    def soft(z):
        w = np.exp(z - z.max())
        return negative(w / w.sum())

    rng = np.random.default_rng(0)
    starts = rng.normal(size=(4, len(moments)))
    options = {"xatol": 1e-9, "fatol": 1e-13, "maxiter": 4000}
    return -min(minimize(soft, z, method="Nelder-Mead", options=options).fun for z in starts)


# What the objective is.


@pytest.mark.parametrize("disparity", ["gap", "largest"])
@pytest.mark.parametrize("n_groups", [1, 2, 4])
def test_values_pieces_and_slopes_are_those_of_the_formula(disparity, n_groups):
    rng = np.random.default_rng(n_groups)
    for seed in range(20):
        shares, m = rng.dirichlet(np.ones(n_groups)), rng.exponential(1.0, n_groups)
        radii = rng.choice([0.0, 0.5]) * rng.exponential(1.0, n_groups)
        in_gap = None if seed % 2 or n_groups < 3 else np.arange(n_groups) > 0
        references = None if seed % 3 == 0 else rng.normal(0, 2, n_groups)
        weight = float(rng.choice([0.0, 0.2, 3.0]))
        o = RobustFairObjective(shares, weight, radii, in_gap, disparity, references)
        given = (shares, weight, radii, in_gap, disparity, references)
        expected = reference.compared_objective(m, *given)
        assert o.value(m) == pytest.approx(expected, abs=1e-12)
        pair = o.active_pair(m)
        assert o.piece(m, pair) == pytest.approx(expected, abs=1e-12)
        without = reference.compared_objective(m, *given[:-1], None)
        assert o.size(m) == pytest.approx(without, abs=1e-12)
        step = 1e-6 * rng.standard_normal(n_groups)
        change = o.piece(m + step, pair) - o.piece(m - step, pair)
        assert 2 * o.slopes(m, pair) @ step == pytest.approx(change, abs=1e-9)
        assert o.active_slopes(m[None])[0] == pytest.approx(o.slopes(m, pair))


# What a minimiser is.


@pytest.mark.parametrize("n_groups", [2, 3, 4])
@pytest.mark.parametrize("against", ["none", "own"])
def test_nothing_dominates_a_minimiser_of_the_largest_error(n_groups, against):
    for seed in range(4):
        X, groups = table(seed, n_groups, n_rows=40 * n_groups)
        M, _ = reference.group_second_moments(X, groups)
        radius = (0.0, 0.0, 5.0, 5.0)[seed]
        pca = fit(X, groups, weight=1.0, reference=against, radius=radius)
        assert pca.result_.status == "optimal"
        m = pca.group_errors_
        if n_groups == 2:
            # Nothing serves both better: some weights of the groups give no projection more.
            assert least_largest(M, 2, m) >= -1e-7 * m.max()
        # No projection of random weights, and none near this one, serves all better.
        rng = np.random.default_rng(seed)
        V = pca.components_.T
        for _ in range(300):
            _, other = least(M, 2, rng.dirichlet(np.full(n_groups, 0.5)))
            assert (other - m).max() >= -1e-7 * m.max()
            W = np.linalg.qr(V + 10 ** rng.uniform(-5, 0) * rng.standard_normal(V.shape))[0]
            near = reference.group_errors(M, W)
            assert (near - m).max() >= -1e-7 * m.max()


@pytest.mark.parametrize("n_groups", [1, 2, 5])
def test_the_worst_served_group_is_never_worse_off_than_under_pca(n_groups):
    for seed in range(8):
        X, groups = table(seed, n_groups, n_rows=40 * n_groups)
        plain = RobustFairPCA(2, fairness_weight=0.0).fit(X, sensitive_features=groups)
        for weight in (0.1, 1.0, 50.0):
            pca = fit(X, groups, weight=weight)
            assert pca.group_errors_.max() <= plain.group_errors_.max() * (1 + 1e-9)
            own = np.array(plain.total_weights_) @ pca.group_errors_
            assert own >= plain.total_error_ * (1 - 1e-9)


@pytest.mark.parametrize("n_groups", [2, 3])
def test_heavy_weights_lead_to_fair_pca_and_to_the_smallest_largest_error(n_groups):
    for seed in range(3):
        X, groups = table(seed, n_groups)
        for label in np.unique(groups):
            X[groups == label] -= X[groups == label].mean(axis=0)
        M, _ = reference.group_second_moments(X, groups)
        fair = FairPCA(2, tol=1e-10).fit(X, sensitive_features=groups)
        own = np.array([least(M, 2, unit)[0] for unit in np.eye(n_groups)])
        heavy = fit(X, groups, weight=1e8, reference="own", tol=1e-9)
        loss = (heavy.group_errors_ - own).max()
        assert loss == pytest.approx(fair.objective_, abs=1e-7 * heavy.total_error_)
        if n_groups == 2:
            worst = fit(X, groups, weight=1e8).group_errors_.max()
            assert worst == pytest.approx(least_largest(M, 2, np.zeros(2)), rel=1e-7)


@pytest.mark.parametrize("n_groups", [2, 3])
def test_the_largest_error_beyond_references_never_rises_with_the_weight(n_groups):
    for seed, against in enumerate(["none", "own", "numbers"]):
        X, groups = table(seed, n_groups)
        numbers = {a: 3.0 * a for a in range(n_groups)}
        given = numbers if against == "numbers" else against
        for radius in (0.0, 2.0):
            before = np.inf
            for weight in (0.05, 0.3, 1.0, 4.0, 30.0):
                pca = fit(X, groups, weight=weight, reference=given, radius=radius, tol=1e-9)
                worst = (np.sqrt(pca.group_errors_) + np.sqrt(pca.group_radii_)) ** 2
                now = float((worst - pca.group_references_).max())
                assert now <= before + 1e-6 * worst.max()
                before = now


# The share rule.


def test_below_the_share_of_the_better_served_group_the_gap_is_a_largest_error():
    tried = 0
    for seed in range(12):
        X, groups = table(seed)
        shares = np.bincount(groups) / len(groups)
        gap = fit(X, groups, weight=0.6 * shares.min(), disparity="gap")
        if gap.error_gap_ < 1e-6 * gap.total_error_:
            continue
        better = int(np.argmin(gap.group_errors_))
        weight = gap.fairness_weight
        same = fit(X, groups, weight=weight / (shares[better] - weight))
        assert same.group_errors_ == pytest.approx(gap.group_errors_, rel=1e-6)
        tried += 1
    assert tried >= 6


def test_above_it_every_fit_that_leaves_a_gap_is_dominated_and_below_all_shares_none_is():
    tried = 0
    for seed in range(12):
        X, groups = table(seed)
        # One group varies so much more that the gap cannot be closed.
        X[groups == 0] *= 5
        M, shares = reference.group_second_moments(X, groups)
        light = fit(X, groups, weight=0.9 * shares.min(), disparity="gap")
        size = light.group_errors_.max()
        assert least_largest(M, 2, light.group_errors_) >= -1e-7 * size
        pca = fit(X, groups, weight=1.0, disparity="gap")
        if pca.error_gap_ > 1e-3 * pca.total_error_:
            assert least_largest(M, 2, pca.group_errors_) < -1e-5 * pca.group_errors_.max()
            tried += 1
    assert tried >= 5


# Symmetries.


@pytest.mark.parametrize("against", ["none", "own"])
def test_rotations_repetitions_and_the_merging_of_equal_groups_change_nothing(against):
    for seed in range(3):
        X, groups = table(seed, 3)
        pca = fit(X, groups, reference=against)
        Q = np.linalg.qr(np.random.default_rng(seed).normal(size=(5, 5)))[0]
        turned = fit(X @ Q, groups, reference=against)
        assert turned.objective_ == pytest.approx(pca.objective_, rel=1e-8)
        times = np.random.default_rng(seed).integers(1, 4, len(X))
        repeated = fit(np.repeat(X, times, axis=0), np.repeat(groups, times), reference=against)
        weighted = RobustFairPCA(2, disparity="largest", reference=against, tol=1e-10)
        weighted.fit(X, sensitive_features=groups, sample_weight=times)
        assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-8)
        twice, halves = np.vstack([X, X]), np.concatenate([groups, groups + 3])
        split = fit(twice, halves, reference=against)
        assert split.objective_ == pytest.approx(pca.objective_, rel=1e-7)


@pytest.mark.parametrize("n_groups", [2, 3])
def test_a_constant_added_to_all_references_moves_the_value_alone(n_groups):
    X, groups = table(5, n_groups)
    numbers = np.array([2.0, -1.0, 0.5])[:n_groups]
    for disparity, moves in (("largest", 1.0), ("gap", 0.0)):
        found = [
            fit(X, groups, disparity=disparity, weight=2.0, reference=dict(enumerate(r.tolist())))
            for r in (numbers, numbers + 40.0)
        ]
        first, second = found
        assert second.objective_ == pytest.approx(first.objective_ - 80.0 * moves, abs=1e-6)
        assert second.group_errors_ == pytest.approx(first.group_errors_, rel=1e-6)
        assert second.objective_ < 0 or not moves
        assert all(pca.result_.status == "optimal" for pca in found)
        # The gap is measured against the value without references, and is not cut at 0.
        assert all(pca.optimality_gap_ <= 1e-10 for pca in found)
        far = certify(
            np.eye(5)[:2],
            first.moments_,
            fairness_weight=2.0,
            radius=0.0,
            disparity=disparity,
            reference=second.reference,
        )
        size = reference.compared_objective(
            far.group_errors, first.total_weights_, 2.0, np.zeros(n_groups), None, disparity
        )
        expected = (far.objective - far.lower_bound) / size
        assert far.optimality_gap == pytest.approx(expected, rel=1e-9)
        assert far.status == "feasible"


# Proofs.


def test_a_negative_bound_of_a_positive_value_stays_negative():
    X, groups = table(4)
    moments = GroupMoments.from_arrays(X, groups)
    options = {"fairness_weight": 1.0, "radius": 0.0, "disparity": "largest"}
    best = fit(X, groups).objective_
    far = certify(np.eye(5)[:2], moments, **options).objective
    shift = 0.5 * (best + far)
    judged = certify(np.eye(5)[:2], moments, reference={0: shift, 1: shift}, **options)
    assert judged.objective == pytest.approx(far - shift)
    assert judged.objective > 0
    assert judged.lower_bound == pytest.approx(best - shift)
    assert judged.lower_bound < 0
    # Near the optimum the value itself may vanish: what is left is measured without references.
    V = fit(X, groups).components_.T
    near = np.linalg.qr(V + 1e-3 * np.random.default_rng(0).normal(size=V.shape))[0].T
    judged = certify(near, moments, reference={0: best, 1: best}, tol=1e-3, **options)
    assert 0 < judged.objective < 1e-3 * best
    assert judged.status == "optimal"


COMPARED = [family for family in hunt.FAMILIES if family.endswith("compared")]


@pytest.mark.parametrize("family", COMPARED)
def test_no_subspace_beats_a_bound_with_random_references_and_radii(family):
    assert [fault for seed in range(4) for fault in hunt.attack(family, seed, "auto")] == []


@pytest.mark.parametrize("seed", range(12))
def test_two_groups_reach_what_a_dense_scan_of_the_boundary_finds(seed):
    rng = np.random.default_rng(seed)
    M = reference.random_moments(rng, 2, 6)
    shares, k = rng.dirichlet(np.ones(2)), int(rng.integers(1, 6))
    radii = rng.choice([0.0, 0.3]) * rng.exponential(1.0, 2)
    references = rng.normal(0, 2, 2)
    disparity, weight = str(rng.choice(["gap", "largest"])), float(rng.choice([0.3, 2.0, 50.0]))
    o = RobustFairObjective(shares, weight, radii, None, disparity, references)
    result = solve(SubspaceProblem(M, shares, k), o)
    scanned = [
        reference.compared_objective(m, shares, weight, radii, None, disparity, references)
        for m in reference.scan_boundary(*M)[:, k]
    ]
    size = o.size(result.group_errors)
    assert result.lower_bound <= min(scanned) + 1e-12 * size
    assert result.objective <= min(scanned) + 1e-12 * size
    assert result.objective >= min(scanned) - 1e-3 * size
    assert result.status == "optimal"
    assert result.objective - result.lower_bound <= 1e-8 * size


def test_the_plain_bound_holds_where_losses_are_negative():
    rng = np.random.default_rng(3)
    for seed in range(20):
        n = 2 + seed % 3
        M, shares = reference.random_moments(rng, n, 5), rng.dirichlet(np.ones(n))
        radii = rng.choice([0.0, 1.0]) * rng.exponential(1.0, n)
        references = 10 * rng.exponential(1.0, n)
        disparity = ("largest", "largest", "gap")[seed % 3]
        o = RobustFairObjective(shares, 3.0, radii, None, disparity, references)
        problem = SubspaceProblem(M, shares, 2)
        bound = plain_bound(problem, o)
        found = [
            o.value(reference.group_errors(M, reference.random_subspace(rng, 5, 2)))
            for _ in range(50)
        ]
        assert bound <= min(found)
        described = solve(problem, o, SolverOptions("subgradient", max_iter=50, n_init=3))
        assert bound - 1e-9 <= described.lower_bound <= described.objective


@needs_paper_data
@pytest.mark.parametrize("name", ["wine_quality", "steel", "e_coli"])
@pytest.mark.parametrize("against", ["none", "own"])
def test_problems_of_the_papers_tables_are_proved(name, against):
    X, groups, _ = paper_table(name)
    moments = GroupMoments.from_arrays(standardised(X), groups)
    for weight, radius in ((0.5, 0.15), (50.0, 0.0)):
        pca = RobustFairPCA(
            3, fairness_weight=weight, radius=radius, disparity="largest", reference=against
        )
        pca.fit_moments(moments)
        assert pca.optimality_gap_ <= 1e-8


# Every way to it.


def test_certify_frontier_and_search_judge_by_the_same_objective():
    X, groups = table(1, 3)
    pca = fit(X, groups, reference="own", radius=1.0, tol=1e-8)
    M, _ = reference.group_second_moments(X, groups)
    best = np.array([least(M, 2, unit)[0] for unit in np.eye(3)])
    edges = np.sqrt(1.0 / np.sqrt(np.bincount(groups)))
    assert pca.group_references_ == pytest.approx((np.sqrt(best) + edges) ** 2)
    options = {"radius": 1.0, "disparity": "largest", "reference": "own"}
    proved = certify(pca.components_, pca.moments_, fairness_weight=1.0, **options)
    assert proved.objective == pytest.approx(pca.objective_)
    assert proved.status == "optimal"
    plain = PCA(2).fit(X).components_
    worse = certify(plain, pca.moments_, fairness_weight=1.0, **options)
    assert worse.objective > pca.objective_ >= worse.lower_bound
    frontier = fairness_frontier(pca.moments_, 2, fairness_weights=[0.3, 1.0], **options)
    assert frontier.objective[1] == pytest.approx(pca.objective_)
    search = RobustFairPCACV(
        2,
        fairness_weights=[1.0],
        radii=[1.0],
        disparity="largest",
        reference="own",
        cv=[(np.arange(40), np.arange(40, 60))],
    ).fit(X, sensitive_features=groups)
    # A group's own best is that of the training part.
    half = fit(X[:40], groups[:40], reference="own", radius=1.0, tol=1e-8)
    lost = X[40:] - half.inverse_transform(half.transform(X[40:]))
    expected = (lost**2).sum(axis=1).mean()
    assert search.cv_results_["mean_test_total_error"][0] == pytest.approx(expected, rel=1e-4)
    assert search.best_estimator_.objective_ == pytest.approx(pca.objective_)


def test_one_compared_group_can_have_the_largest_error():
    X, groups = table(2, 2)
    labels = np.array(["a", None], dtype=object)[groups]
    options = {"missing_groups": "total_only", "weight": 5.0}
    pca = fit(X, labels, **options)
    M, shares = reference.group_second_moments(X, groups)
    expected, _ = least(M, 2, shares + np.array([5.0, 0.0]))
    assert pca.objective_ == pytest.approx(expected)
    alone = fit(X, np.zeros(len(X)), weight=5.0)
    assert alone.objective_ == pytest.approx(6.0 * alone.total_error_)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"disparity": "lagest"}, "Did you mean 'largest'"),
        ({"reference": "mine"}, "{label: number}"),
        ({"reference": {0: 1.0}}, "missing groups: 1"),
        ({"reference": {0: 1.0, 1: np.nan}}, "must be a finite number"),
    ],
)
def test_what_is_not_known_is_refused(given, says):
    X, groups = table(0)
    with pytest.raises(ValueError, match=r"reference|disparity") as refusal:
        RobustFairPCA(2, **given).fit(X, sensitive_features=groups)
    assert says in str(refusal.value)


def test_what_cannot_be_done_is_refused_by_name():
    X, groups = table(0)
    with pytest.raises(ValueError, match=r"population.*disparity='largest'"):
        certify(
            np.eye(5)[:2],
            X,
            sensitive_features=groups,
            fairness_weight=1.0,
            radius=0.0,
            disparity="largest",
            population=0.9,
        )
    moments = GroupMoments.from_arrays(X, groups)
    with pytest.raises(ValueError, match="reference='own' needs the problem"):
        Counting(reference="own").objective(moments, 1.0, 0.0)
    o = RobustFairObjective(np.full(2, 0.5), 1.0, np.zeros(2), disparity="largest")
    with pytest.raises(ValueError, match="at least 1 groups"):
        replace(o, in_gap=np.zeros(2, dtype=bool))
