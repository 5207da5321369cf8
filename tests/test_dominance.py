"""A projection that serves every group better: attained as reported, its bound never too low."""

from __future__ import annotations

import re

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from fairspan import GroupMoments, RobustFairPCA, certify, dominating_projection, fairness_frontier
from fairspan.judging import improvement
from fairspan.objectives.robust import RobustFairObjective
from fairspan.problem.subspace import SubspaceProblem
from fairspan.solvers import Boundary, SolverOptions, solve
from tests.certificate.problems import own_bases


def rows(n_groups: int, seed: int, d: int = 6) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(n_groups), rng.integers(40, 120, n_groups))
    mixing = rng.normal(size=(n_groups, d, d)) * np.geomspace(1, 0.2, d)
    X = np.einsum("nij,nj->ni", mixing[groups], rng.normal(size=(len(groups), d)))
    return X, groups


def errors_of(X: np.ndarray, groups: np.ndarray, components: np.ndarray) -> np.ndarray:
    centred = X - X.mean(axis=0)
    lost = ((centred - centred @ components.T @ components) ** 2).sum(axis=1)
    return np.array([lost[groups == a].mean() for a in np.unique(groups)])


def best_gain(X: np.ndarray, groups: np.ndarray, given: np.ndarray, k: int) -> float:
    """Climb from many reweighted PCAs by random turns that shrink."""
    rng = np.random.default_rng(0)
    centred = X - X.mean(axis=0)
    second = np.array(
        [centred[groups == a].T @ centred[groups == a] / (groups == a).sum() for a in set(groups)]
    )
    traces = np.einsum("aii->a", second)

    def gain(V: np.ndarray) -> float:
        return float(np.min(given - traces + np.einsum("dk,ade,ek->a", V, second, V)))

    best = -np.inf
    for weights in rng.dirichlet(np.full(len(second), 0.7), 25):
        V = np.linalg.eigh(np.tensordot(weights, second, 1))[1][:, -k:]
        value, size = gain(V), 0.3
        for _ in range(250):
            other = np.linalg.qr(V + size * rng.normal(size=V.shape))[0]
            tried = gain(other)
            V, value, size = (other, tried, size) if tried > value else (V, value, 0.96 * size)
        best = max(best, value)
    return best


@pytest.mark.parametrize("n_groups", [2, 3, 5])
@pytest.mark.parametrize("seed", range(4))
def test_gain_is_attained_and_bounded(n_groups, seed):
    X, groups = rows(n_groups, seed)
    k, rng = 2, np.random.default_rng(seed)
    components = np.linalg.qr(rng.normal(size=(X.shape[1], k)))[0].T
    given = errors_of(X, groups, components)
    found = dominating_projection(components, X, sensitive_features=groups)
    reached = errors_of(X, groups, found.components)
    np.testing.assert_allclose(reached, found.group_errors, rtol=1e-10)
    np.testing.assert_allclose(found.components @ found.components.T, np.eye(k), atol=1e-12)
    assert found.gain == pytest.approx(np.min(given - reached), rel=1e-8)
    assert found.dominates
    assert found.relative_gain == pytest.approx(np.min(1 - reached / given), rel=1e-8)
    assert found.gain > 0
    assert found.gain <= found.bound
    assert best_gain(X, groups, given, k) <= found.bound
    if n_groups == 2:
        assert found.bound - found.gain < 1e-8 * given.max()
    by_errors = dominating_projection(
        dict(enumerate(given)), X, sensitive_features=groups, n_components=k
    )
    assert by_errors.gain == pytest.approx(found.gain, rel=1e-6)


@pytest.mark.parametrize("n_groups", [2, 4])
def test_group_weights_give_the_projection(n_groups):
    X, groups = rows(n_groups, 8)
    moments = GroupMoments.from_arrays(X, groups)
    fair = RobustFairPCA(2, fairness_weight=0.9, max_time=5).fit_moments(moments)
    found = dominating_projection(fair.components_, moments)
    assert found.group_weights.sum() == pytest.approx(1)
    assert found.group_weights.min() >= 0
    pooled = np.tensordot(found.group_weights, moments.second_moments, 1)
    least = np.linalg.eigvalsh(pooled)[:-2].sum()
    # The weights prove the bound, and where it meets the gain they give the projection.
    assert found.group_weights @ fair.group_errors_ - least == pytest.approx(found.bound, rel=1e-6)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_weights_are_named_as_pca_where_pca_with_them_serves_every_group_better():
    told = set()
    for X, groups in [rows(n_groups, seed) for n_groups in (3, 4) for seed in range(4)]:
        moments = GroupMoments.from_arrays(X, groups)
        fair = RobustFairPCA(1, fairness_weight=2.0, effort=0.1).fit_moments(moments)
        found = dominating_projection(fair, moments)
        sentence = found.finding.sentence
        if not found.finding.matters:
            assert not found.is_pca
            continue
        named = re.search(r"group weights (\(?)(.*?)(?:\) does|\.$)", sentence)
        weights = np.array([float(part.split()[1]) for part in named[2].split(", ")])
        pooled = np.tensordot(weights, moments.second_moments, 1)
        chosen = np.linalg.eigh(pooled)[1][:, -1:].T
        gained = np.min(1 - errors_of(X, groups, chosen) / found.given_errors)
        assert (gained >= 0.9 * found.relative_gain) == found.is_pca
        assert ("It is PCA with" in sentence) == found.is_pca == (named[1] == "")
        assert sentence.endswith("does.") == (not found.is_pca)
        told.add(found.is_pca)
    assert told == {True, False}


@pytest.mark.parametrize("first", [0, 1])
def test_all_weight_is_on_the_one_group_that_can_gain_least(first):
    X, groups = rows(2, 2)
    own = np.linalg.eigvalsh(GroupMoments.from_arrays(X, groups).second_moments[first])[:-2].sum()
    given = np.full(2, 1e3)
    given[first] = 1.1 * own
    found = dominating_projection(given, X, sensitive_features=groups, n_components=2)
    assert found.group_weights.tolist() == [1.0 - first, float(first)]
    assert found.gain == pytest.approx(found.bound) == pytest.approx(0.1 * own)


@pytest.mark.parametrize("given", [(1.5, 1.5), (1.6, 1.5)])
def test_pca_whose_eigenvalues_are_tied_is_not_named(given):
    """One group varies along x, the other along y: half and half, PCA keeps any direction."""
    X = np.array([[2.0, 0], [-2, 0], [0, 1], [0, -1], [1, 0], [-1, 0], [0, 2], [0, -2]])
    groups = np.repeat([0, 1], 4)
    found = dominating_projection(given, X, sensitive_features=groups, n_components=1)
    # The errors sum to 2.5 whatever the direction, so both can gain half of what is left.
    gain = (sum(given) - 2.5) / 2
    assert found.group_errors == pytest.approx(np.array(given) - gain)
    assert found.group_weights == pytest.approx([0.5, 0.5])
    assert found.gain == pytest.approx(found.bound) == pytest.approx(gain)
    assert found.dominates
    assert not found.is_pca
    told = "PCA with its group weights ('0' 0.5, '1' 0.5) does not give it"
    assert told in found.finding.sentence


@pytest.mark.parametrize("n_groups", [2, 3])
def test_pca_with_any_weights_cannot_be_improved(n_groups):
    X, groups = rows(n_groups, 3)
    moments = GroupMoments.from_arrays(X, groups)
    for weights in np.random.default_rng(0).dirichlet(np.ones(n_groups), 5):
        chosen = np.linalg.eigh(np.tensordot(weights, moments.second_moments, 1))[1][:, -2:].T
        found = dominating_projection(chosen, moments)
        assert not found.dominates
        assert 0 <= found.gain <= found.bound < 1e-7 * found.given_errors.max()


@pytest.mark.parametrize("seed", range(6))
def test_share_rule(seed):
    """Up to the smallest share nothing is dominated; beyond the better served group's, all is."""
    X, groups = rows(2, seed)
    X[groups == seed % 2] *= 0.7
    moments = GroupMoments.from_arrays(X, groups)
    for share in (0.5, 0.99):
        weight = share * float(moments.shares.min())
        model = RobustFairPCA(2, fairness_weight=weight).fit_moments(moments)
        assert not dominating_projection(model.components_, moments).dominates
    model = RobustFairPCA(2, fairness_weight=1.0).fit_moments(moments)
    if model.error_gap_ > 1e-6 * model.total_error_:
        assert dominating_projection(model.components_, moments).dominates


def test_certify_reports_it():
    X, groups = rows(3, 1)
    moments = GroupMoments.from_arrays(X, groups)
    result = certify(np.eye(6)[:2], moments, fairness_weight=1, radius=0)
    found = dominating_projection(np.eye(6)[:2], moments)
    assert result.dominating.gain == found.gain
    assert result.dominating.bound == found.bound


@pytest.mark.parametrize("n_groups", [2, 3])
@pytest.mark.parametrize("weights", [None, [0, 0.1, 0.2, 0.3, 0.5, 1, 3]])
def test_frontier_marks_dominated_points(n_groups, weights):
    X, groups = rows(n_groups, 5)
    X[groups == 0] *= 0.3
    moments = GroupMoments.from_arrays(X, groups)
    frontier = fairness_frontier(moments, 2, fairness_weights=weights)
    assert 0 < frontier.dominated.sum() < len(frontier.gap)
    for errors, dominated in zip(frontier.group_errors, frontier.dominated, strict=True):
        found = dominating_projection(errors, moments, n_components=2)
        assert found.dominates == dominated
    assert frontier.to_frame()["dominated"].tolist() == frontier.dominated.tolist()


@pytest.mark.parametrize("seed", range(3))
def test_supporting_lines_that_are_known_hide_no_better_projection(seed):
    moments = GroupMoments.from_arrays(*rows(2, seed))
    problem = SubspaceProblem(moments.second_moments, moments.shares, 2)
    boundary = Boundary(problem)
    middle = np.array(boundary.add(np.pi / 4).point)
    boundary.add(np.pi / 6)
    for share, expected in ((1.0, False), (1 + 1e-4, True), (1.02, True)):
        assert improvement.dominated(problem, share * middle[None], boundary).tolist() == [expected]


@pytest.mark.parametrize("seed", range(4))
def test_no_projection_gains_more_than_a_proof_allows(seed):
    """Bases of their own: some proofs branch, some answers are dominated."""
    problem, limited = own_bases(seed), 0
    for weight in (0.05, 0.2, 1.0, 5.0):
        objective = RobustFairObjective(problem.shares, weight, np.zeros(problem.n_groups))
        found = solve(problem, objective, SolverOptions(effort=0.2))
        gain = improvement.improvement(problem, (), found.group_errors).gain
        assert gain <= found.improvable + improvement.visible(problem, found.group_errors)
        limited += found.improvable < 1e-7 * problem.scale
    assert limited > 0


def test_gains_that_a_proof_rules_out_cost_nothing(monkeypatch):
    def fail(*_args, **_options):
        raise AssertionError("a game was played")

    X, groups = rows(3, 1)
    moments = GroupMoments.from_arrays(X, groups)
    problem = SubspaceProblem(moments.second_moments, moments.shares, 2)
    found = solve(problem, RobustFairObjective(moments.shares, 0.1, np.zeros(3)))
    monkeypatch.setattr(improvement, "improvement", fail)
    errors, limits = found.group_errors[None], [found.improvable]
    assert not improvement.dominated(problem, errors, limits=limits).any()
    with pytest.raises(AssertionError, match="a game"):
        improvement.dominated(problem, errors)


def test_a_group_without_error_hides_what_others_gain():
    X, groups = rows(2, 0)
    X[groups == 0, :3] = 0
    X[:, 3:] *= groups[:, None]
    X[groups == 0] = X[groups == 1].mean(axis=0)
    found = dominating_projection(np.eye(6)[:2], X, sensitive_features=groups)
    assert not found.dominates
    assert 0 <= found.gain <= found.bound < 1e-8 * found.given_errors.max()


def test_refusals():
    X, groups = rows(2, 0)
    with pytest.raises(ValueError, match="n_components"):
        dominating_projection([1.0, 2.0], X, sensitive_features=groups)
    with pytest.raises(ValueError, match="3 group errors for 2 groups"):
        dominating_projection([1.0, 2.0, 3.0], X, sensitive_features=groups, n_components=2)
    with pytest.raises(ValueError, match="n_features=6"):
        dominating_projection(np.eye(5)[:2], X, sensitive_features=groups)


@pytest.mark.parametrize("standardize", [False, True])
def test_a_fitted_model_stands_for_its_components(standardize):
    X, groups = rows(3, 0)
    model = RobustFairPCA(2, standardize=standardize).fit(X, sensitive_features=groups)
    by_model = dominating_projection(model, X, sensitive_features=groups)
    by_components = dominating_projection(
        model.components_, X, sensitive_features=groups, standardize=standardize
    )
    assert (by_model.gain, by_model.bound) == (by_components.gain, by_components.bound)


def test_a_model_is_not_taken_for_one_of_other_data():
    X, groups = rows(3, 0)
    model = RobustFairPCA(2).fit(X, sensitive_features=groups)
    with pytest.raises(ValueError, match="not standardised; leave standardize out"):
        dominating_projection(model, X, sensitive_features=groups, standardize=True)
    with pytest.raises(NotFittedError):
        dominating_projection(RobustFairPCA(2), X, sensitive_features=groups)
    with pytest.raises(TypeError, match="components, group errors or a fitted model"):
        dominating_projection("pca", X, sensitive_features=groups)
