"""Hundreds of groups and more: few decide, and the others are as good as one.

With a set S of groups, pieces of pairs inside S are never above the objective, and in these pieces
all other groups count by their share alone: they are one group, whose moment is the weighted sum of
theirs. Where a group has a radius, its worst error is concave in its error, and never below its
chord between the least and the largest error that the group can have:

    F(m) >= F_S(m) + constant,   an objective of the groups of S and one more.

What is proved of the right side is proved of the left. Groups that decide at its optimum and are
not in S are taken in, until there are none: then, without radii, both sides are equal there.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from fairspan.certificate.box import Box
from fairspan.certificate.closed_form import closed_form_bound
from fairspan.ground.types import UNIT, FloatArray, IntArray
from fairspan.moments.second_moments import joined
from fairspan.objectives.mixture import Mixture
from fairspan.objectives.robust import RobustFairObjective
from fairspan.problem.subspace import SubspaceProblem
from fairspan.solvers.many_groups.certified_newton import find, solve_newton
from fairspan.solvers.result import SolverResult, is_closed, safe_bound

_FEW, _FEW_LARGE = 48, 12
"""Up to this many groups all of them are looked at; fewer where there are many features."""
_NEW, _NEW_LARGE = 8, 3
"""Groups taken in at a time, on either side of the gap."""
_BENT = 2_000_000
"""Numbers in all moments up to which all groups are tried at once; beyond it is seldom of use."""
_ROUNDS = 25
_PROOFS = 4


class _Part(NamedTuple):
    """A problem of some groups and one more, and what to add to its values."""

    problem: SubspaceProblem
    objective: RobustFairObjective
    constant: float
    rounding: float


class _Best(NamedTuple):
    subspace: FloatArray
    errors: FloatArray
    value: float


def solve_any_number(
    problem: SubspaceProblem, objective: RobustFairObjective, **settings: Any
) -> SolverResult:
    """Minimise the objective of any number of groups.

    Parameters
    ----------
    problem : SubspaceProblem
        Moments and number of components.
    objective : RobustFairObjective
        What to minimise.
    **settings
        Those of :func:`fairspan.solvers.many_groups.certified_newton.solve_newton`.

    Returns
    -------
    SolverResult
        The best subspace found and the best bound proved.
    """
    few = _FEW_LARGE if problem.is_large else _FEW
    if problem.n_groups <= few or objective.fairness_weight == 0:
        return solve_newton(problem, objective, **settings)
    return _Search(problem, objective, settings).run()


class _Search:
    """The best subspace, the best bound, and the groups that have decided so far."""

    def __init__(
        self, problem: SubspaceProblem, objective: RobustFairObjective, settings: dict[str, Any]
    ) -> None:
        self.problem, self.objective, self.settings = problem, objective, settings
        self.solves = problem.n_eigensolves
        start = settings.get("start")
        if start is None:
            start = problem.best_subspace(objective.shares).subspace
        self.best = self._at(start)
        self.history, self.bound, self.effort = [self.best.value], -np.inf, 0.0
        self.was_cut = False
        self.chosen = self._deciding(self.best.errors, np.array([], dtype=int))

    def run(self) -> SolverResult:
        """Descend and prove in turns, until the groups that decide are all known."""
        least = self._least_errors()
        for _ in range(_PROOFS):
            self._settle(least)
            if self._is_closed():
                break
            part = self._part(least, self.problem.traces)
            left = self.settings.get("effort", 1.0) - self.effort
            # Pieces are of all groups, and those of a part have other places.
            options = self.settings | {"start": self.best.subspace, "pieces": ()}
            options["effort"] = max(left, 1e-9)
            found = solve_newton(part.problem, part.objective, **options)
            if part.problem is not self.problem:
                self.problem.n_eigensolves += found.n_eigensolves
            self.effort += found.effort
            self.was_cut |= found.was_cut
            self.bound = max(self.bound, found.lower_bound + part.constant - part.rounding)
            before = len(self.chosen)
            self._offer(found.components.T)
            if len(self.chosen) == before or self.was_cut:
                break
        return self._result()

    def _at(self, subspace: FloatArray) -> _Best:
        errors = self.problem.errors(subspace)
        return _Best(subspace, errors, self.objective.value(errors))

    def _offer(self, subspace: FloatArray) -> bool:
        """Keep a subspace if it is better, and the groups that decide there in any case."""
        other = self._at(subspace)
        self.chosen = self._deciding(other.errors, self.chosen)
        better = other.value < self.best.value - 1e-12 * self.objective.size(self.best.errors)
        if better:
            self.best = other
        self.history.append(self.best.value)
        return better

    def _settle(self, least: FloatArray) -> None:
        """Descend with the chosen groups, and take in others, until neither is of use.

        Where all groups bend, a tangent for all of them may prove what chords do not.
        """
        for _ in range(_ROUNDS):
            before = len(self.chosen)
            part = self._part(self.best.errors, self.best.errors)
            found = find(
                part.problem,
                part.objective,
                self.settings.get("max_iter", 1000),
                self.best.subspace,
            )
            if part.problem is not self.problem:
                self.problem.n_eigensolves += part.problem.n_eigensolves
            chosen = self.chosen
            if not self._offer(found.subspace) and len(self.chosen) == before:
                break
        few = self.problem.is_large or self.problem.moments.size <= _BENT
        if self.objective.radii.any() and few:
            above, below = self.objective.shares.copy(), np.zeros(self.problem.n_groups)
            n, mixed = len(chosen), found.mixture
            above[chosen], below[chosen] = mixed.above[:n], mixed.below[:n]
            mixture = Mixture(self.objective, above, below, mixed.constant)
            box = Box(least, self.problem.traces)
            bound = closed_form_bound(self.problem, mixture, self.best.errors, box)
            self.bound = max(self.bound, bound)

    def _deciding(self, errors: FloatArray, known: IntArray) -> IntArray:
        """Add the groups with the largest and least parts, unless the extreme ones are known."""
        _, up, down = self.objective.parts(errors)
        found = known
        sides = [(np.argsort(-up), up), (np.argsort(down), down)]
        for order, values in sides if self.objective.counts_down else sides[:1]:
            if order[0] not in known:
                new = order[: _NEW_LARGE if self.problem.is_large else _NEW]
                found = np.union1d(found, new[np.isfinite(values[new])])
        return found

    def _least_errors(self) -> FloatArray:
        """Lower bounds of the errors, where radii make them worth finding."""
        none = np.zeros(self.problem.n_groups)
        if not self.objective.radii.any():
            return none
        return np.maximum([self.problem.least_error(a) for a in range(len(none))], none)

    def _part(self, lower: FloatArray, upper: FloatArray) -> _Part:
        """Lump all groups but the chosen, by chords between two errors or tangents at one."""
        problem, o, chosen = self.problem, self.objective, self.chosen
        rest = np.setdiff1d(np.arange(problem.n_groups), chosen)
        if not len(rest):
            return _Part(problem, o, 0.0, 0.0)
        edge, width = np.sqrt(o.radii), np.sqrt(lower) + np.sqrt(upper)
        # φ = m + 2 sqrt(ε m) + ε, and the chord of a root has the slope 1 / (sqrt l + sqrt u).
        slopes = 1 + np.where(o.radii > 0, 2 * edge / np.maximum(width, 1e-300), 0.0)
        slopes = np.minimum(slopes, 1e8)
        starts = o.radii + 2 * edge * np.sqrt(lower) - (slopes - 1) * lower
        weights = np.zeros(problem.n_groups)
        weights[rest] = o.shares[rest] * slopes[rest]
        share = float(o.shares[rest].sum())
        shares = np.append(o.shares[chosen], share)
        part = SubspaceProblem(
            joined(problem.moments, chosen, problem.combination(weights / share)),
            shares,
            problem.k,
            traces=np.append(problem.traces[chosen], float(weights @ problem.traces) / share),
            has_hidden_features=problem.has_hidden_features,
        )
        in_gap = np.arange(len(shares)) < len(chosen)
        radii = np.append(o.radii[chosen], 0.0)
        beyond = None if o.references is None else np.append(o.references[chosen], 0.0)
        objective = replace(o, shares=shares, radii=radii, in_gap=in_gap, references=beyond)
        constant = float(o.shares[rest] @ starts[rest])
        sizes = float(weights @ problem.traces) + abs(constant)
        return _Part(part, objective, constant, (problem.n_groups + 8) * UNIT * sizes)

    def _is_closed(self) -> bool:
        weight, tol = self.objective.fairness_weight, self.settings.get("tol", 1e-8)
        size = self.objective.unreferenced(self.best.errors)
        return is_closed(self.problem, self.best.value, self.bound, tol, weight, size=size)

    def _result(self) -> SolverResult:
        problem, best = self.problem, self.best
        size = self.objective.unreferenced(best.errors)
        bound = safe_bound(self.bound, best.value, problem.scale, size)
        return SolverResult(
            components=best.subspace.T,
            group_errors=best.errors,
            objective=best.value,
            lower_bound=bound,
            status="optimal" if self._is_closed() else "feasible",
            scale=problem.scale,
            solver="newton",
            n_eigensolves=problem.n_eigensolves - self.solves,
            history=np.array([(value, bound) for value in self.history]),
            effort=self.effort,
            was_cut=self.was_cut,
        )
