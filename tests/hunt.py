"""Hunt for a false proof: ``make hunt``, or ``python -m tests.hunt --minutes 5 --workers 2``.

A lower bound above a value that some subspace attains is a defect of the first order. Thousands of
random and adversarial problems are solved, and each bound is attacked by random subspaces, by
the leading spaces of random mixtures of the moments, by neighbours of the answer and by descents.
Whatever beats a bound is printed with its family and seed; values are computed by code that the
package does not share.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from fairspan.objectives.robust import RobustFairObjective
from fairspan.problem.subspace import SubspaceProblem
from fairspan.solvers import SolverOptions, solve
from fairspan.solvers.many_groups.newton import descend
from fairspan.solvers.result import SolverResult
from tests import reference
from tests.certificate import problems

_ATTACKS = 60
_BATCH = 20
_TOL, _ANGLES = 1e-8, 1e-13


class Finding(NamedTuple):
    """What is wrong with the answer to one problem."""

    family: str
    seed: int
    solver: str
    fault: str


def _moments(rng: np.random.Generator, shape: str, n_groups: int, d: int) -> np.ndarray:
    """Second moments of a certain shape."""
    factors = rng.standard_normal((n_groups, d, d)) * np.exp(rng.normal(0, 1.0, (n_groups, 1, d)))
    if shape == "low rank":
        factors[:, :, : rng.integers(1, d)] = 0.0
    if shape == "one rank":
        factors[:, :, 1:] = 0.0
    if shape == "empty group":
        factors[0] = 0.0
    if shape == "scales apart":
        factors *= 10.0 ** rng.uniform(-5, 5, (n_groups, 1, 1))
    if shape == "columns apart":
        factors *= 10.0 ** rng.uniform(-5, 5, (1, d, 1))
    if shape == "commuting":
        basis = np.linalg.qr(rng.standard_normal((d, d)))[0]
        factors = basis * rng.choice([0.0, 0.5, 1.0, 1.5, 2.0], (n_groups, 1, d))
    if shape == "nearly equal":
        factors = factors[:1] + 10.0 ** rng.uniform(-12, -2) * factors
    if shape == "equal":
        factors = np.repeat(factors[:1], n_groups, axis=0)
    if shape == "repeated columns":
        factors[:, d // 2 :] = factors[:, : d - d // 2]
    return factors @ factors.transpose(0, 2, 1)


_SHAPES = (
    "plain",
    "low rank",
    "one rank",
    "empty group",
    "scales apart",
    "columns apart",
    "commuting",
    "nearly equal",
    "equal",
    "repeated columns",
)


def _drawn(shape: str, n_groups: int | None) -> Callable[[int], tuple]:
    def draw(seed: int) -> tuple[SubspaceProblem, RobustFairObjective, np.random.Generator]:
        rng = np.random.default_rng(seed)
        groups = int(rng.integers(3, 7)) if n_groups is None else n_groups
        d = int(rng.integers(2, 11))
        k = int(rng.integers(1, d))
        moments = _moments(rng, shape, groups, d)
        shares = rng.dirichlet(np.full(groups, rng.choice([0.1, 1.0, 10.0])))
        typical = float(np.trace(moments, axis1=1, axis2=2).mean())
        radii = typical * rng.choice([0.0, 1e-6, 1e-2, 1.0, 100.0]) * rng.exponential(1.0, groups)
        weight = float(rng.choice([0.0, 0.01, 0.3, 1.0, 5.0, 1000.0]))
        objective = RobustFairObjective(shares, weight, radii)
        return SubspaceProblem(moments, shares, k), objective, rng

    return draw


def _choices(shape: str) -> Callable[[int], tuple]:
    """Groups that count otherwise than by their rows, some of them in the total only."""
    draw = _drawn(shape, None)

    def choose(seed: int) -> tuple[SubspaceProblem, RobustFairObjective, np.random.Generator]:
        problem, objective, rng = draw(seed)
        n = problem.n_groups
        in_gap = rng.permutation(n) < rng.integers(2, n + 1)
        shares = rng.dirichlet(np.full(n, rng.choice([0.1, 1.0])))
        chosen = RobustFairObjective(shares, objective.fairness_weight, objective.radii, in_gap)
        return problem, chosen, rng

    return choose


def _compared(shape: str, n_groups: int | None) -> Callable[[int], tuple]:
    """The largest error or the gap, with references that may make the value negative."""
    draw = _drawn(shape, n_groups)

    def choose(seed: int) -> tuple[SubspaceProblem, RobustFairObjective, np.random.Generator]:
        problem, objective, rng = draw(seed)
        n = problem.n_groups
        own = [np.linalg.eigvalsh(M)[: problem.d - problem.k].sum() for M in problem.moments]
        typical = rng.choice([0.01, 1.0, 100.0]) * problem.traces.mean()
        references = [None, np.maximum(own, 0.0), typical * rng.standard_normal(n)]
        disparity = str(rng.choice(["largest", "largest", "gap"]))
        in_gap = rng.permutation(n) < rng.integers(1 if disparity == "largest" else 2, n + 1)
        chosen = replace(
            objective,
            disparity=disparity,
            references=references[rng.integers(3)],
            in_gap=in_gap,
        )
        return problem, chosen, rng

    return choose


FAMILIES: dict[str, Callable[[int], tuple]] = {
    **{f"{shape}, some in the total only": _choices(shape) for shape in _SHAPES},
    **{f"{shape}, two groups": _drawn(shape, 2) for shape in _SHAPES},
    **{f"{shape}, more groups": _drawn(shape, None) for shape in _SHAPES},
    **{f"{shape}, two groups compared": _compared(shape, 2) for shape in _SHAPES},
    **{f"{shape}, more groups compared": _compared(shape, None) for shape in _SHAPES},
    "tiny groups": problems.tiny_groups,
    "near ties": problems.near_ties,
    "any ranks": problems.any_ranks,
}


def attack(family: str, seed: int, solver: str) -> list[str]:
    """Solve one problem and try to beat its bound; say what is wrong."""
    problem, objective, rng = FAMILIES[family](seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = solve(problem, objective, SolverOptions(solver=solver, effort=0.05))
    V = result.components.T
    faults = []
    value = problems.value(problem, objective, V)
    if np.abs(V.T @ V - np.eye(problem.k)).max() > 1e-10:
        faults.append("the components are not orthonormal")
    known = problems.rounding(problem, objective, V)
    if abs(value - result.objective) > 1e-9 * abs(value) + known:
        faults.append(f"the objective is {value!r}, not {result.objective!r}")
    if result.lower_bound > result.objective:
        faults.append(f"the bound {result.lower_bound!r} is above the value {result.objective!r}")
    left = result.objective - result.lower_bound
    # A bound gives way by the rounding of two lines and of their corner; and angles of lines have
    # sixteen digits, so that beside a group that varies far more an error is known to so much only.
    least = _ANGLES * float(problem.traces.max())
    told = 4 * problems.rounding(problem, objective, V, least)
    if problem.n_groups == 2 and result.optimality_gap > 10 * _TOL and left > told:
        faults.append(f"two groups, and a gap of {result.optimality_gap:.2g} is left")
    for W in _subspaces(problem, objective, V, rng):
        found = problems.value(problem, objective, W)
        room = 1e-12 * abs(found) + problems.rounding(problem, objective, W)
        if found < result.lower_bound - room:
            faults.append(_beaten(result, found))
            break
    return faults


def _beaten(result: SolverResult, found: float) -> str:
    return f"a subspace has {found!r}, below the proved bound {result.lower_bound!r}"


def _subspaces(problem, objective, V, rng):
    """Subspaces that may beat a bound, the cheap ones first."""
    d, k = V.shape
    for step in 10.0 ** rng.uniform(-7, 0, _ATTACKS // 3):
        yield np.linalg.qr(V + step * rng.standard_normal((d, k)))[0]
    for _ in range(_ATTACKS // 3):
        yield reference.random_subspace(rng, d, k)
        weights = rng.dirichlet(np.full(problem.n_groups, 0.3))
        yield np.linalg.eigh(np.tensordot(weights, problem.moments, 1))[1][:, d - k :]
    for _ in range(3):
        start = reference.random_subspace(rng, d, k)
        yield descend(problem, objective, start, max_iter=15).subspace


def _batch(first: int) -> tuple[Counter[str], list[Finding]]:
    """Attack a row of seeds, each of another family in turn."""
    tried: Counter[str] = Counter()
    findings = []
    names = list(FAMILIES)
    with threadpool_limits(1):
        for seed in range(first, first + _BATCH):
            family = names[seed % len(names)]
            # A large share of problems of two groups is also put to the other exact solver.
            solver = "newton" if seed % 3 == 0 else "auto"
            tried[family] += 1
            try:
                faults = attack(family, seed, solver)
            except Exception as error:
                faults = [f"raised {type(error).__name__}: {error}"]
            findings += [Finding(family, seed, solver, fault) for fault in faults]
    return tried, findings


def hunt(minutes: float, workers: int, seed: int) -> tuple[Counter[str], list[Finding]]:
    """Attack problems until the time is over."""
    end = time.monotonic() + 60 * minutes
    tried: Counter[str] = Counter()
    findings: list[Finding] = []
    with ProcessPoolExecutor(workers) as pool:
        running = {pool.submit(_batch, seed + _BATCH * i) for i in range(2 * workers)}
        following = seed + _BATCH * len(running)
        while running:
            done = {future for future in running if future.done()}
            running -= done
            for future in done:
                more, found = future.result()
                tried += more
                findings += found
                for finding in found:
                    print(*finding, sep=" | ", flush=True)
                if time.monotonic() < end:
                    running.add(pool.submit(_batch, following))
                    following += _BATCH
            time.sleep(0.02)
    return tried, findings


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    tried, findings = hunt(options.minutes, options.workers, options.seed)
    for family, n in sorted(tried.items()):
        print(f"{n:8d}  {family}")
    print(f"{tried.total()} problems, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
