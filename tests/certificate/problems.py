"""Problems that are hard to prove: few rows a group, radii as large as the errors."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np

from fairspan.objectives.mixture import Mixture
from fairspan.objectives.robust import RobustFairObjective
from fairspan.problem.subspace import SubspaceProblem
from fairspan.solvers.many_groups.newton import descend
from tests import reference


def tiny_groups(seed: int) -> tuple[SubspaceProblem, RobustFairObjective, np.random.Generator]:
    """A strongly concave problem: 2 to 6 groups of few rows, radii comparable to the errors."""
    rng = np.random.default_rng(seed)
    n_groups, d = int(rng.integers(2, 7)), int(rng.integers(4, 9))
    k = int(rng.integers(1, d))
    sizes = rng.integers(2, 7, n_groups)
    spread = rng.standard_normal((d, d)) * np.exp(rng.normal(0, 0.7, d))
    X = rng.standard_normal((sizes.sum(), d)) @ spread
    moments, shares = reference.group_second_moments(X, np.repeat(np.arange(n_groups), sizes))
    pca = np.linalg.eigh(np.tensordot(shares, moments, 1))[1][:, d - k :]
    typical = reference.group_errors(moments, pca).mean()
    radii = typical * rng.exponential(1.0, n_groups) * rng.choice([0.1, 1.0, 3.0])
    weight = float(rng.choice([0.1, 0.5, 2.0]))
    return SubspaceProblem(moments, shares, k), RobustFairObjective(shares, weight, radii), rng


def any_ranks(seed: int) -> tuple[SubspaceProblem, RobustFairObjective, np.random.Generator]:
    """3 to 8 groups of any rank, any number of components, weights up to 1e4, radii or none."""
    rng = np.random.default_rng(seed)
    n_groups, d = int(rng.integers(3, 9)), int(rng.integers(3, 13))
    k = int(rng.choice([1, d - 1, rng.integers(1, d)]))
    moments = []
    for _ in range(n_groups):
        basis = reference.random_subspace(rng, d, int(rng.integers(1, d + 1)))
        moments.append((basis * rng.exponential(1.0, basis.shape[1])) @ basis.T)
    shares = rng.dirichlet(np.full(n_groups, rng.choice([0.3, 5.0])))
    radii = rng.choice([0.0, 0.0, 1e-3, 0.1, 1.0]) * rng.exponential(1.0, n_groups)
    radii *= rng.random(n_groups) < rng.choice([0.5, 1.0])
    weight = float(rng.choice([0.1, 1.0, 5.0, 50.0, 1e4]))
    return (
        SubspaceProblem(np.array(moments), shares, k),
        RobustFairObjective(shares, weight, radii),
        rng,
    )


def shared_eigenvectors(seed: int) -> tuple[SubspaceProblem, RobustFairObjective, np.ndarray]:
    """Diagonal moments, and the errors of all subspaces spanned by coordinate axes."""
    rng = np.random.default_rng(seed)
    n_groups, d = int(rng.integers(2, 7)), int(rng.integers(3, 7))
    k = int(rng.integers(1, d))
    diagonals = np.round(4 * rng.exponential(1.0, (n_groups, d))) / 4 + 0.25
    lost = [sorted(set(range(d)) - set(kept)) for kept in itertools.combinations(range(d), k)]
    errors = np.array([diagonals[:, rest].sum(axis=1) for rest in lost])
    shares = rng.dirichlet(np.ones(n_groups))
    radii = rng.choice([0.0, 0.05, 1.0, 20.0]) * rng.exponential(1.0, n_groups)
    objective = RobustFairObjective(shares, float(rng.choice([0.2, 1.0, 5.0])), radii)
    return SubspaceProblem(np.array([np.diag(x) for x in diagonals]), shares, k), objective, errors


def near_ties(seed: int) -> tuple[SubspaceProblem, RobustFairObjective, np.random.Generator]:
    """Diagonal moments and small radii: many stationary points, a few percent apart."""
    rng = np.random.default_rng(seed)
    n_groups, d = int(rng.integers(3, 7)), int(rng.integers(3, 7))
    k = int(rng.integers(1, d))
    moments = np.array([np.diag(rng.exponential(1.0, d)) for _ in range(n_groups)])
    shares, weight = rng.dirichlet(np.ones(n_groups)), float(rng.choice([0.5, 1.0, 2.0]))
    objective = RobustFairObjective(shares, weight, 0.01 * rng.exponential(1.0, n_groups))
    return SubspaceProblem(moments, shares, k), objective, rng


def value(problem: SubspaceProblem, objective: RobustFairObjective, subspace: np.ndarray) -> float:
    """The objective of a subspace, by code that the package does not share."""
    errors = reference.group_errors(problem.moments, subspace)
    o = objective
    if o.disparity == "gap" and o.references is None:
        return reference.objective(errors, o.shares, o.fairness_weight, o.radii, o.in_gap)
    given = (o.in_gap, o.disparity, o.references)
    return reference.compared_objective(errors, o.shares, o.fairness_weight, o.radii, *given)


def attained(problem, objective, rng, n_starts: int = 25) -> list[tuple[float, np.ndarray]]:
    """Values and subspaces of random starts and of where descents from them end, best first."""
    subspaces = []
    for _ in range(n_starts):
        start = reference.random_subspace(rng, problem.d, problem.k)
        subspaces += [start, descend(problem, objective, start, max_iter=8).subspace]
    subspaces.sort(key=lambda V: value(problem, objective, V))
    subspaces += [descend(problem, objective, V).subspace for V in subspaces[:3]]
    return sorted(((value(problem, objective, V), V) for V in subspaces), key=lambda x: x[0])


def random_mixture(rng, objective) -> Mixture:
    """Random weights on all pairs of groups, most of them small."""
    pairs = list(itertools.permutations(range(objective.n_groups), 2))
    if not objective.counts_down:
        pairs = [(a, a) for a in range(objective.n_groups)]
    return Mixture.of_pairs(objective, pairs, rng.dirichlet(np.full(len(pairs), 0.3)))


def compared(
    problem: SubspaceProblem, objective: RobustFairObjective, seed: int
) -> RobustFairObjective:
    """The objective as it is; or, by seed, with references or of the largest error."""
    references = problem.traces * np.random.default_rng(seed).exponential(1.0, problem.n_groups)
    disparity = ("gap", "largest", "gap")[seed % 3]
    return replace(objective, disparity=disparity, references=references if seed % 3 else None)


def rounding(
    problem: SubspaceProblem, objective: RobustFairObjective, V: np.ndarray, least: float = 0.0
) -> float:
    """How well the value of a subspace is known: rounding of an error shows by its root."""
    m = reference.group_errors(problem.moments, V)
    unit = np.maximum(16 * problem.d * 2**-53 * problem.traces, least)
    roots = np.sqrt(m + unit) - np.sqrt(np.maximum(m - unit, 0.0))
    change = unit + 2 * np.sqrt(objective.radii) * roots
    beyond = 0.0 if objective.references is None else np.abs(objective.references).max()
    weight = objective.fairness_weight
    return float((1 + 2 * weight) * change.sum() + 2**-50 * weight * beyond)


def own_bases(seed):
    """Groups with eigenvectors of their own: some proofs branch, some optima are dominated."""
    rng = np.random.default_rng(seed)
    moments = []
    for _ in range(int(rng.integers(3, 6))):
        basis = reference.random_subspace(rng, 6, 6)
        moments.append((basis * rng.exponential(1.0, 6)) @ basis.T)
    return SubspaceProblem(np.array(moments), rng.dirichlet(np.full(len(moments), 5.0)), 2)
