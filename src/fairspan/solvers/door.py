"""The one door to all solvers of functions of the group errors.

A solver names the promises that its proof rests on; an objective that does not make them is refused
by name, see :mod:`fairspan.objectives.objective`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from fairspan.ground.parameters import check_choice
from fairspan.objectives.objective import Objective
from fairspan.objectives.robust import RobustFairObjective
from fairspan.problem.subspace import SubspaceProblem
from fairspan.solvers.cutting_planes.search import solve_cutting_planes
from fairspan.solvers.descent import solve_subgradient
from fairspan.solvers.many_groups.lumped import solve_any_number
from fairspan.solvers.minimax.minimax import solve_least_loss, solve_multiplicative_weights
from fairspan.solvers.options import ITERATES, RETRACTIONS, SolverOptions
from fairspan.solvers.result import SolverResult, hidden_value, is_closed, safe_bound, settled
from fairspan.solvers.two_groups.angle import solve_boundary
from fairspan.solvers.two_groups.exact_fairness import solve_exactly_fair
from fairspan.solvers.two_groups.lines import Boundary


def solve(
    problem: SubspaceProblem,
    objective: Objective,
    options: SolverOptions | None = None,
    *,
    boundary: Boundary | None = None,
) -> SolverResult:
    """Minimise a function of the group errors over subspaces.

    Parameters
    ----------
    problem : SubspaceProblem
        Moments and number of components.
    objective : Objective
        What to minimise, and what it promises.
    options : SolverOptions, optional
        Which solver, and how.
    boundary : Boundary, optional
        Two groups: supporting lines that are known already; a solver that works with lines takes
        them and adds its own.

    Returns
    -------
    SolverResult
        The subspace found, with its bound; what rounding hides is not claimed.

    Raises
    ------
    TypeError
        If the objective does not promise, or does not have, what the solver needs.
    """
    options = options or SolverOptions()
    check_choice("retraction", options.retraction, RETRACTIONS)
    check_choice("iterate", options.iterate, ITERATES)
    name = _choose(options.solver, objective, problem.n_groups)
    if problem.k == problem.d or not problem.traces.any():
        result = _nothing_lost(problem, objective)
    else:
        given = {**vars(options), "boundary": boundary}
        settings = {setting: given[setting] for setting in _SOLVERS[name].settings}
        result = _SOLVERS[name].run(problem, objective, **settings)
    if getattr(objective, "references", None) is not None:
        size = objective.unreferenced(result.group_errors)  # type: ignore[attr-defined]
        result = replace(result, lowest=objective.lowest, size=size)
    unsure = hidden_value(objective, problem, result.group_errors)
    return settled(result, problem, getattr(objective, "fairness_weight", 0.0), unsure)


def _nothing_lost(problem: SubspaceProblem, objective: Objective) -> SolverResult:
    """All of the space is kept, or nothing varies: any subspace will do, without any error."""
    errors = np.zeros(problem.n_groups)
    value = objective.value(errors)
    return SolverResult(
        components=np.eye(problem.d)[: problem.k],
        group_errors=errors,
        objective=value,
        lower_bound=value,
        status="optimal",
        scale=problem.scale,
        solver="rotation",
        lowest=objective.lowest,
    )


def _pca(problem: SubspaceProblem, objective: RobustFairObjective, *, tol: float) -> SolverResult:
    """Solve where the objective grows with the total error alone, by one eigen-solve."""
    solves_before = problem.n_eigensolves
    found = problem.best_subspace(objective.shares)
    value = objective.value(found.errors)
    if objective.n_groups == 1:
        bound = objective.value(np.array([max(found.sigma, 0.0)]))
    else:
        bound = found.sigma
    size = objective.unreferenced(found.errors)
    bound = safe_bound(bound, value, problem.scale, size)
    proved = is_closed(problem, value, bound, tol, objective.fairness_weight, size=size)
    return SolverResult(
        components=found.subspace.T,
        group_errors=found.errors,
        objective=value,
        lower_bound=bound,
        status="optimal" if proved else "feasible",
        scale=problem.scale,
        solver="pca",
        n_eigensolves=problem.n_eigensolves - solves_before,
        history=np.array([[value, bound]]),
    )


class _Solver(NamedTuple):
    """A solver: the promises its proof rests on, what it asks of an objective, and its settings."""

    run: Callable[..., SolverResult]
    promises: tuple[str, ...]
    asks: tuple[str, ...]
    settings: tuple[str, ...]
    n_groups: int | None = None


_PIECES = ("shares", "fairness_weight", "radii", "parts", "split", "counting", "size")
_SOLVERS = {
    "pca": _Solver(_pca, ("total error alone",), ("shares", "fairness_weight"), ("tol",)),
    # For two groups the walk needs half the eigen-solves of the Newton method.
    "boundary": _Solver(
        solve_boundary,
        ("concave pieces",),
        _PIECES,
        ("tol", "max_iter", "boundary", "slope"),
        n_groups=2,
    ),
    "newton": _Solver(
        solve_any_number,
        ("concave pieces",),
        _PIECES,
        ("tol", "max_iter", "effort", "max_time", "start", "pieces", "slope", "rng"),
    ),
    "subgradient": _Solver(
        solve_subgradient,
        ("concave pieces",),
        _PIECES,
        ("tol", "max_iter", "n_init", "retraction", "start_at_pca", "iterate", "rng"),
    ),
    "exact": _Solver(solve_least_loss, ("largest loss",), ("offsets",), ("tol", "max_iter")),
    "multiplicative_weights": _Solver(
        solve_multiplicative_weights,
        ("largest loss",),
        ("offsets",),
        ("tol", "max_iter", "learning_rate", "iterate"),
    ),
    "exact_fairness": _Solver(
        solve_exactly_fair,
        ("total error within a gap",),
        ("shares", "max_gap"),
        ("tol", "boundary"),
        n_groups=2,
    ),
    "cutting_planes": _Solver(
        solve_cutting_planes, ("convex", "increasing"), ("gradient",), ("tol", "max_iter")
    ),
}
"""All solvers; "auto" takes the first one that the objective's promises suffice for."""

_HOW = (
    "An objective of your own that is convex and increasing in the errors declares "
    "promises = ('convex', 'increasing') and lowest, and has value(errors) and gradient(errors)."
)


def _choose(wanted: str, objective: Objective, n_groups: int) -> str:
    """Give the solver's name; refuse by name what it cannot prove."""
    _check_has(objective, ("promises", "lowest", "value"), "every objective")
    promises = frozenset(objective.promises or ())
    for name, solver in _SOLVERS.items():
        suits = promises.issuperset(solver.promises) and solver.n_groups in (None, n_groups)
        if suits and wanted in ("auto", name):
            _check_has(objective, solver.asks, f"solver={name!r}")
            return name
    raise _refusal(wanted, type(objective).__name__, promises, n_groups)


def _refusal(wanted: str, kind: str, promises: frozenset[str], n_groups: int) -> Exception:
    """Say why no solver, or not the one that is wanted, can prove anything."""
    if wanted != "auto" and wanted not in _SOLVERS:
        return ValueError(f"solver={wanted!r} is not known; use one of {['auto', *_SOLVERS]}.")
    able = [name for name, solver in _SOLVERS.items() if promises.issuperset(solver.promises)]
    name = wanted if wanted != "auto" else [*able, "cutting_planes"][0]
    if name in able:
        return ValueError(
            f"solver={name!r} needs exactly {_SOLVERS[name].n_groups} groups but there are "
            f"{n_groups}; "
            + ("use solver='auto'." if wanted != "auto" else f"no other can solve {kind}.")
        )
    return TypeError(
        f"solver={wanted!r} can prove nothing about {kind}: its proof needs the promises "
        f"{list(_SOLVERS[name].promises)}, but {kind} makes {sorted(promises) or 'none'}. "
        + (f"Use solver='auto' or one of {able}." if able else _HOW)
    )


def _check_has(objective: Objective, names: tuple[str, ...], who: str) -> None:
    missing = [name for name in names if not hasattr(objective, name)]
    if missing:
        raise TypeError(
            f"{type(objective).__name__} has no attribute {', '.join(missing)}, which {who} needs. "
            + _HOW
        )
