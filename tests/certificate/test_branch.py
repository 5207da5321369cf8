"""Boxes, relaxations and branches: what they cut off is worse, and what they leave open is said."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from fairspan import RobustFairPCA
from fairspan.certificate import tree
from fairspan.certificate.box import Box, root_box, tighten
from fairspan.certificate.branch import Prover
from fairspan.certificate.node import Node, solve_node
from fairspan.certificate.pieces import columns, compared_groups
from fairspan.certificate.tree import Tree
from fairspan.certificate.work import Work
from fairspan.objectives.robust import RobustFairObjective
from fairspan.problem.subspace import SubspaceProblem
from fairspan.solvers import SolverOptions, solve
from fairspan.solvers.many_groups.certified_newton import solve_newton
from fairspan.solvers.many_groups.newton import descend
from tests import reference
from tests.certificate.problems import (
    attained,
    compared,
    near_ties,
    own_bases,
    random_mixture,
    rounding,
    tiny_groups,
    value,
)


def inside(box, errors, slack):
    return (errors >= box.lower - slack).all() and (errors <= box.upper + slack).all()


@pytest.mark.parametrize("seed", range(20))
def test_rounding_cuts_nothing_off_the_root_box(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 30))
    k = int(rng.integers(1, d))
    diagonals = np.sort(rng.exponential(1.0, (3, d)) ** 3, axis=1)
    problem = SubspaceProblem(np.array([np.diag(x) for x in diagonals]), np.full(3, 1 / 3), k)
    box = root_box(problem)
    for b, x in enumerate(diagonals.tolist()):
        assert Fraction(box.lower[b]) <= sum(map(Fraction, x[:-k]))
        assert Fraction(box.upper[b]) >= sum(map(Fraction, x[k:]))


@pytest.mark.parametrize("seed", range(20))
def test_the_root_box_holds_the_errors_of_every_subspace_and_touches_them(seed):
    problem, _, rng = tiny_groups(seed)
    box = root_box(problem)
    for _ in range(200):
        V = reference.random_subspace(rng, problem.d, problem.k)
        assert inside(box, reference.group_errors(problem.moments, V), 1e-13 * problem.traces)
    for b, moment in enumerate(problem.moments):
        eigenvalues = np.linalg.eigvalsh(moment)
        least, most = eigenvalues[: -problem.k].sum(), eigenvalues[problem.k :].sum()
        near = 1e-12 * problem.traces[b]
        assert box.lower[b] == pytest.approx(least, abs=near)
        assert box.upper[b] == pytest.approx(most, abs=near)


@pytest.mark.parametrize("seed", range(30))
def test_tightening_never_cuts_off_a_better_subspace_and_does_cut(seed):
    problem, objective, rng = tiny_groups(seed)
    objective = compared(problem, objective, seed)
    root, known = root_box(problem), attained(problem, objective, rng, 10)
    stationary = descend(problem, objective, known[0][1]).mixture
    for mixture in (stationary, random_mixture(rng, objective)):
        for place in (1, len(known) // 2, len(known) - 1):
            best = known[place][0]
            box = tighten(problem, mixture, root, best, Work(np.inf))
            assert (box.lower >= root.lower).all()
            assert (box.upper <= root.upper).all()
            for worth, V in known:
                if worth < best - 1e-11 * abs(best) - rounding(problem, objective, V):
                    errors = reference.group_errors(problem.moments, V)
                    assert inside(box, errors, 1e-12 * problem.traces)
    if objective.references is not None:
        return
    # No subspace is better than nothing at all: all of the box goes, or most of it.
    gone = tighten(problem, stationary, root, 0.0, Work(np.inf))
    assert gone.is_empty or (gone.upper - gone.lower < root.upper - root.lower).all()


@pytest.mark.parametrize("seed", range(30))
def test_the_relaxation_on_a_box_bounds_every_subspace_in_it(seed):
    problem, objective, rng = tiny_groups(seed)
    objective = compared(problem, objective, seed)
    known = attained(problem, objective, rng, 10)
    root = root_box(problem)
    for _ in range(3):
        centre = reference.group_errors(problem.moments, known[int(rng.integers(len(known)))][1])
        width = rng.choice([0.05, 0.5]) * (root.upper - root.lower)
        box = Box(np.maximum(root.lower, centre - width), np.minimum(root.upper, centre + width))
        groups = compared_groups(objective)
        weights = columns(objective, groups, groups)
        work = Work(float(rng.choice([2.0, 1e9])))
        found = solve_node(problem, objective, weights, Node(box), enough=np.inf, work=work).node
        assert np.isfinite(found.bound)
        for worth, V in known:
            if inside(box, reference.group_errors(problem.moments, V), 0.0):
                slack = 1e-10 * abs(worth) + rounding(problem, objective, V)
                assert found.bound <= worth + slack


@pytest.mark.parametrize("seed", [*range(12), 69, 103, 133, 169, 254])
@pytest.mark.parametrize("tol", [1e-8, 0.1])
def test_a_prover_that_starts_at_a_poor_point_still_proves_only_what_is_true(seed, tol):
    problem, objective, rng = near_ties(seed)
    at = descend(problem, objective, reference.random_subspace(rng, problem.d, problem.k))
    prover = Prover(problem, objective, at, tol, Work(20.0), partial(descend, problem, objective))
    lowest = min(at.value, attained(problem, objective, rng, 8)[0][0])
    assert prover.quick() <= lowest * (1 + 1e-11)
    assert prover.thorough() <= lowest * (1 + 1e-11)


@pytest.mark.parametrize("radius", [0.0, 0.2])
def test_with_many_features_no_more_is_proved_than_is_true(radius):
    """Of so many features nothing is split: what the relaxation leaves open stays open."""
    rng = np.random.default_rng(0)
    factors = rng.standard_normal((3, 4, 125))
    moments = np.einsum("afi,afj->aij", factors, factors) + 0.1 * np.eye(125)
    problem = SubspaceProblem(moments, np.full(3, 1 / 3), 2)
    objective = RobustFairObjective(np.full(3, 1 / 3), 1.0, np.full(3, radius))
    poor = descend(problem, objective, reference.random_subspace(rng, 125, 2), max_iter=1)
    best = solve_newton(problem, objective)
    assert poor.value > 1.01 * best.objective
    again = partial(descend, problem, objective)
    prover = Prover(problem, objective, poor, 1e-8, Work(20.0), again)
    assert prover.thorough() <= best.objective * (1 + 1e-10)


def three_circles(radius=0.0):
    """Three groups in the plane whose ellipses point 60 degrees apart.

    Their errors under a line at angle t are 1 - r cos(2 (t - t_b)): never all equal, while the
    mean of all lines, which is no line, makes them so.
    """
    turns = np.radians([0.0, 60.0, 120.0])
    axes = [np.array([[np.cos(t), -np.sin(t)], [np.sin(t), np.cos(t)]]) for t in turns]
    moments = np.array([Q @ np.diag([1.6, 0.4]) @ Q.T for Q in axes])
    shares = np.full(3, 1 / 3)
    objective = RobustFairObjective(shares, 2.0, np.full(3, radius))
    return SubspaceProblem(moments, shares, 1), objective


@pytest.mark.parametrize("radius", [0.0, 0.05, 1.0])
def test_what_the_relaxation_cannot_close_the_arcs_do(radius):
    problem, objective = three_circles(radius)
    angles = np.linspace(0, np.pi, 2001)
    lines = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    errors = 2.0 - np.einsum("ni,bij,nj->nb", lines, problem.moments, lines)
    scanned = min(reference.objective(m, objective.shares, 2.0, objective.radii) for m in errors)
    # At the mean of all lines every error is 1, and so is every piece without a radius.
    relaxed = reference.objective(np.ones(3), objective.shares, 2.0, objective.radii)
    assert relaxed < 0.95 * scanned
    result = solve_newton(problem, objective)
    assert result.status == "optimal"
    assert result.objective == pytest.approx(scanned, rel=1e-3)
    assert result.lower_bound <= scanned
    poor = solve_newton(problem, objective, effort=1e-6)
    assert poor.status == "feasible"
    assert poor.lower_bound <= relaxed * (1 + 1e-9)


@pytest.mark.parametrize("weight", [1.0, 50.0, 1e6])
@pytest.mark.parametrize("n_groups", [3, 7, 30])
def test_in_the_plane_every_number_of_groups_is_proved(n_groups, weight):
    rng = np.random.default_rng(n_groups)
    moments, shares = reference.random_moments(rng, n_groups, 2), rng.dirichlet(np.ones(n_groups))
    objective = RobustFairObjective(shares, weight, np.zeros(n_groups))
    result = solve_newton(SubspaceProblem(moments, shares, 1), objective)
    angles = np.linspace(0, np.pi, 4001)
    lines = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    traces = np.trace(moments, axis1=1, axis2=2)
    errors = traces - np.einsum("ni,bij,nj->nb", lines, moments, lines)
    scanned = (errors @ shares + weight * np.ptp(errors, axis=1)).min()
    assert result.lower_bound <= scanned
    assert result.objective <= scanned * (1 + 1e-9)
    assert result.optimality_gap <= 1e-8


def test_the_estimator_warns_once_and_states_the_gap():
    problem, _ = three_circles()
    halves = np.linalg.cholesky(problem.moments)  # Rows ± sqrt(2) L e_i have the moment L L'.
    X = np.concatenate([np.tile(np.vstack([L.T, -L.T]) * np.sqrt(2), (5, 1)) for L in halves])
    groups = np.repeat(["a", "b", "c"], 20)
    model = RobustFairPCA(1, fairness_weight=2.0, radius=0.0, max_time=1e-9)
    with pytest.warns(ConvergenceWarning, match="relative gap of") as caught:
        model.fit(X, sensitive_features=groups)
    assert len(caught) == 1
    stated = float(re.search(r"relative gap of ([\d.e+-]+)", str(caught[0].message)).group(1)[:-1])
    assert stated == pytest.approx(model.optimality_gap_, rel=0.1)
    assert stated > model.tol
    assert "max_time cut the work short" in str(caught[0].message)
    assert model.result_.status == "feasible"


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("limits", [{"effort": 1e-6}, {"effort": 0.01}, {"max_time": 1e-9}])
def test_a_proof_cut_short_gives_a_bound_that_is_true_and_no_worse_than_pcas(seed, limits):
    problem, objective, rng = tiny_groups(seed)
    result = solve_newton(problem, objective, **limits)
    assert np.isfinite(result.optimality_gap)
    V = reference.random_subspace(rng, problem.d, problem.k)
    assert result.lower_bound <= value(problem, objective, V)
    pooled = np.linalg.eigvalsh(np.tensordot(problem.shares, problem.moments, 1))
    assert result.lower_bound >= pooled[: -problem.k].sum() - 1e-12 * problem.scale
    assert (result.status == "optimal") == (result.optimality_gap <= 1e-8)


@pytest.mark.parametrize("seed", [0, 2])
def test_the_parts_of_a_split_hold_every_subspace_of_the_whole(seed):
    rng = np.random.default_rng(seed)
    bases = [reference.random_subspace(rng, 6, 3) for _ in range(6)]
    moments = np.array([(basis * rng.exponential(1.0, 3)) @ basis.T for basis in bases])
    shares = rng.dirichlet(np.full(6, 5.0))
    problem = SubspaceProblem(moments, shares, 2)
    objective = RobustFairObjective(shares, 5.0, np.zeros(6))
    again = partial(descend, problem, objective)
    at = again(reference.random_subspace(rng, 6, 2))
    tree = Tree(problem, objective, at, lambda known: np.inf, again, Work(30.0), root_box(problem))
    tree.run()
    spaces = [reference.random_subspace(rng, 6, 2) for _ in range(300)]
    cut_again = held = 0
    for _, _, solved in tree._heap:
        children = tree._children(solved)
        cut_again += any(len(child.arcs) == len(solved.node.arcs) for child in children)
        for X in (V @ V.T for V in spaces):
            if children and all(arc.holds(X) for arc in solved.node.arcs):
                held += 1
                assert any(all(arc.holds(X) for arc in child.arcs) for child in children)
    assert cut_again
    assert held > 100


@pytest.mark.parametrize(("seed", "weight", "grows"), [(2, 1.0, True), (3, 1.0, False)])
def test_a_tree_knows_whether_all_its_proofs_grow_with_every_error(
    monkeypatch, seed, weight, grows
):
    problem, slopes, trees = own_bases(seed), [], []
    solve_node, run = tree.solve_node, tree.Tree.run

    def recorded(*given, **options):
        solved = solve_node(*given, **options)
        slopes.append(solved.slopes)
        return solved

    def followed(self, **options):
        trees.append(self)
        return run(self, **options)

    monkeypatch.setattr(tree, "solve_node", recorded)
    monkeypatch.setattr(tree.Tree, "run", followed)
    objective = RobustFairObjective(problem.shares, weight, np.zeros(problem.n_groups))
    assert solve(problem, objective, SolverOptions(effort=0.2)).status == "optimal"
    assert (np.min(slopes) >= 0) == grows
    assert all(one.grows for one in trees) == grows
