"""Any convex, increasing objective, any number of groups: cuts of the objective and of the errors.

Wherever a convex F is linearised, F(m) >= F(m_i) + g_i . (m - m_i) for all m. So for weights w of
such cuts, with slope g = sum w_i g_i and σ(g) the least g . m of all subspaces (an eigen-solve),

    F(m) >= sum w_i (F(m_i) - g_i . m_i) + σ(g)   for every subspace.

The best weights give the least F over mixtures of subspaces, the convex hull of the attainable
errors (the Fantope). They are found in two ways, and each is only a proposal: what is proved
comes from the eigen-solve.

- Newton steps on the Grassmannian: F, linearised as often as needed, plus the curvature of the
  errors around a subspace. They end where a subspace is as good as any mixture, mostly.
- Kelley's method: a linear program mixes the points known so far so that the largest cut is least;
  its multipliers weigh the cuts, and the eigen-solve for them adds a point.

For two groups the attainable errors are convex (or the edge of a convex set), so that both meet;
where the optimum lies on a straight part of their boundary, on the path between its ends.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fairspan.ground.types import UNIT, FloatArray
from fairspan.objectives.objective import ConvexObjective
from fairspan.problem.geodesic import Geodesic
from fairspan.problem.subspace import SubspaceProblem, Support
from fairspan.solvers.cutting_planes.cuts import Around, Cut, Cuts, least_largest
from fairspan.solvers.many_groups.local_model import minimax_step
from fairspan.solvers.many_groups.tangent import expand, in_errors
from fairspan.solvers.result import Relaxed, SolverResult, meets, relative_gap, safe_bound
from fairspan.solvers.two_groups.lines import root_between

_STEPS = (1.0, 0.4, 0.16, 0.064)
_NEWTON_STEPS = 60
_INNER = 1e-2
"""A Newton step linearises the objective until its model is good to this share of its decrease."""
_SHARP = 0.3
"""The relaxed problem is solved to this share of the tolerance, to leave room for rounding."""
_NOISE = (0.0, 0.02, 0.05, 0.1, 0.1, 0.2, 0.2, 0.5, 0.5)
_PROGRAMS = 100
"""Most linear programs between two eigen-solves."""
_KEPT = 40
"""This many of the highest cuts, and of the latest points, are kept besides those in use: a linear
program is solved to a share of its largest number, so it must have none that is far off."""


class Mixed(NamedTuple):
    """The best mixture of known points, its errors and value, and the cuts that hold it there."""

    points: list[Support]
    shares: FloatArray
    errors: FloatArray
    value: float
    cuts: list[Cut]
    weights: FloatArray

    @property
    def matrix(self) -> FloatArray:
        """The mixture of the projections."""
        parts = zip(self.shares.tolist(), self.points, strict=True)
        return np.asarray(sum(share * (p.subspace @ p.subspace.T) for share, p in parts))


def solve_cutting_planes(
    problem: SubspaceProblem,
    objective: ConvexObjective,
    *,
    tol: float = 1e-8,
    max_iter: int = 1000,
    smallest: float | None = None,
) -> SolverResult:
    """Minimise a convex, increasing objective of any number of groups, with proof.

    Parameters
    ----------
    problem : SubspaceProblem
        Moments and number of components.
    objective : ConvexObjective
        What to minimise.
    tol : float
        The relative gap to reach.
    max_iter : int
        The largest number of eigen-solves.
    smallest : float, optional
        The share of the scale against which gaps of smaller values are measured, as in
        :func:`~fairspan.solvers.result.relative_gap`.

    Returns
    -------
    SolverResult
        The best subspace found and the best bound proved.
    """
    solves_before = problem.n_eigensolves
    search = _Search(problem, Cuts(objective, problem.traces), tol, max_iter, smallest)
    mixed, relaxed = search.run(), None
    if mixed is not None and mixed.value < search.value:
        relaxed = Relaxed(mixed.matrix, mixed.errors)
    return SolverResult(
        components=search.subspace.T,
        group_errors=search.errors,
        objective=search.value,
        lower_bound=safe_bound(search.bound, search.value, search.scale),
        status=search.status(),
        scale=search.scale,
        solver="cutting_planes",
        n_eigensolves=problem.n_eigensolves - solves_before,
        history=np.array(search.history).reshape(-1, 2),
        lowest=objective.lowest,
        relaxed=relaxed,
        bound_weights=search.slope,
    )


class _Search:
    """Cuts of the objective, points that are attained, the best of them, and what is proved."""

    def __init__(
        self,
        problem: SubspaceProblem,
        cuts: Cuts,
        tol: float,
        max_iter: int,
        smallest: float | None,
    ) -> None:
        self.problem, self.cuts, self.tol, self.smallest = problem, cuts, tol, smallest
        self.lowest = cuts.objective.lowest
        # A Newton step takes two eigen-solves.
        self.last = problem.n_eigensolves + max_iter - 1
        self.points: list[Support] = []
        self.value, self.bound = math.inf, self.lowest
        self.slope: FloatArray | None = None
        self.subspace = self.errors = np.empty((0, 0))
        self.scale = self.rounding = 0.0
        self.history: list[tuple[float, float]] = []

    def run(self) -> Mixed | None:
        """Search until value and bound meet; give the best mixture, if one was looked for."""
        self._start()
        mixed: Mixed | None = None
        while not self._is_done():
            found, before = self._mix(), self.value
            if found is None:
                break
            mixed = found
            if self.problem.n_groups == 2:
                self._slide(mixed)
            if self._is_done() or self._meet(mixed.value, self.bound, _SHARP * self.tol):
                break
            self._reply(mixed.cuts, mixed.weights)
            if self.value < before:
                self._descend(self.subspace, mixed)
        if mixed is not None:
            self._descend(self.subspace, mixed)
            self._round(mixed)
        return mixed

    def status(self) -> str:
        """What the result may claim."""
        if self._meet(self.value, self.bound, self.tol):
            return "optimal"
        return "iteration_limit" if self._is_spent() else "feasible"

    def _is_spent(self) -> bool:
        return self.problem.n_eigensolves >= self.last

    def _is_done(self) -> bool:
        return self._is_spent() or self._meet(self.value, self.bound, 0.5 * self.tol)

    def _meet(self, value: float, bound: float, tol: float) -> bool:
        if value == math.inf:
            return False
        gap = relative_gap(value, bound, self.scale, self.smallest, lowest=self.lowest)
        return meets(value - bound, gap, tol, self.rounding)

    def _start(self) -> None:
        """Descend from PCA; where the objective is infinite there, from between all groups."""
        self.points.append(self.problem.best_subspace(self.problem.shares))
        if self.cuts.value(self.points[0].errors) < math.inf:
            return self._descend(self.points[0].subspace)
        self.points += self.problem.own_best
        shares = np.full(len(self.points), 1 / len(self.points))
        errors = shares @ np.array([point.errors for point in self.points])
        cut = self.cuts.add(errors)
        if cut is not None:
            between = Mixed(self.points, shares, errors, math.inf, [cut], np.ones(1))
            self._round(between, descents=1)
        if self.value == math.inf:
            raise ValueError(
                f"{self.cuts.name} is infinite wherever it was tried, also at the mean of all "
                f"groups' best errors, {errors.tolist()}. Is there a group without variance?"
            )

    def _offer(self, subspace: FloatArray) -> tuple[float, FloatArray]:
        """Keep a subspace if it is the best so far."""
        errors = self.problem.errors(subspace)
        value = self.cuts.value(errors)
        if value < self.value:
            slope = self.cuts.slope(errors)
            self.value, self.subspace, self.errors = value, subspace, errors
            self.scale = float(slope @ self.problem.traces)
            self.rounding = 4 * float(slope @ self.problem.rounding)
            if value < self.lowest - self.rounding:
                raise ValueError(
                    f"{self.cuts.name}.value gives {value} for the errors {errors.tolist()} of a "
                    f"subspace, below {self.cuts.name}.lowest = {self.lowest}."
                )
        return value, errors

    def _reply(self, cuts: list[Cut], weights: FloatArray) -> Support:
        """Bound the objective by a mixture of cuts: one eigen-solve, and what it attains."""
        weights = weights / weights.sum()
        slope = weights @ np.array([cut.slope for cut in cuts])
        constant = float(weights @ np.array([cut.constant for cut in cuts]))
        size = float(weights @ np.array([cut.size for cut in cuts]))
        found = self.problem.best_subspace(slope)
        # Values, products and sums over groups and cuts are rounded; sigma knows its own rounding.
        rounding = 8 * (len(slope) + len(cuts)) * UNIT * size
        proved = constant + found.sigma - rounding
        if self.slope is None or proved > self.bound:
            self.slope = slope
        self.bound = max(self.bound, proved)
        self.points.append(found)
        self._offer(found.subspace)
        self.cuts.check_bound(self.bound, self.value, size)
        self.history.append((self.value, min(self.bound, self.value)))
        return found

    def _descend(self, V: FloatArray, mixed: Mixed | None = None) -> None:
        """Newton steps from a subspace, or from near a mixture, until none helps.

        They go on where the value is proved already: eight digits of it are four of the subspace.
        """
        value, m = self._offer(V)
        cut = self.cuts.add(m)
        if cut is None:
            return
        cuts, weights = [cut], np.ones(1)
        if mixed is not None:
            cuts, weights = [*mixed.cuts, cut], np.append(mixed.weights, 0.0)
        for _ in range(_NEWTON_STEPS):
            if self._is_spent():
                break
            self.problem.n_eigensolves += 1
            slope = weights @ np.array([cut.slope for cut in cuts])
            V, outside, gradients, curvature = expand(self.problem, V, slope)
            around, inverse = Around(self.cuts, m, value), in_errors(gradients, curvature)
            step = minimax_step(around, inverse, cuts, weights, accuracy=_INNER)
            reply = self._reply(step.pieces, step.weights)
            move = outside @ (-np.einsum("a,ali->li", step.slope, gradients) / curvature)
            tried = [reply.subspace, *(np.linalg.qr(V + s * move)[0] for s in _STEPS)]
            found = [self._offer(subspace) for subspace in tried]
            best = min(range(len(tried)), key=lambda i: found[i][0])
            if not found[best][0] < value - 1e-14 * abs(value):
                break
            V, (value, m) = tried[best], found[best]
            cut = self.cuts.add(m)
            assert cut is not None
            cuts, weights = [*step.pieces, cut], np.append(step.weights, 0.0)

    def _mix(self) -> Mixed | None:
        """Find the mixture of known points with the least objective; None if that fails."""
        points, mixed = np.array([point.errors for point in self.points]), None
        for _ in range(_PROGRAMS):
            found = least_largest(self.cuts.kept, points)
            if found is None:
                break
            level, shares, weights = found
            errors = shares @ points
            value = self.cuts.value(errors)
            used = [cut for cut, weight in zip(self.cuts.kept, weights, strict=True) if weight > 0]
            parts = [point for point, share in zip(self.points, shares, strict=True) if share > 0]
            mixed = Mixed(parts, shares[shares > 0], errors, value, used, weights[weights > 0])
            # Where the objective is infinite, a cut from half way to the best errors holds it off.
            while self.cuts.add(errors) is None:
                errors = 0.5 * (errors + self.errors)
            near = self._meet(value, level, 0.05 * self.tol)
            if near or value - level <= 0.1 * (value - self.bound) < math.inf:
                break
        if mixed is None or mixed.value == math.inf:
            return None
        self.cuts.forget(mixed.errors, _KEPT, mixed.cuts)
        late = len(self.points) - _KEPT
        self.points = [p for i, p in enumerate(self.points) if i >= late or shares[i] > 0]
        return mixed

    def _slide(self, mixed: Mixed) -> None:
        """Two groups: attain a mixture of two points on the path between their subspaces."""
        if len(mixed.points) != 2:
            return
        first, last = mixed.points
        chord = last.errors - first.errors
        path = Geodesic(self.problem, first.subspace, last.subspace)
        s = root_between(lambda s: float((path.errors(s) - mixed.errors) @ chord))
        self._offer(path.subspace(s))

    def _round(self, mixed: Mixed, descents: int = len(_NOISE)) -> None:
        """Look for good subspaces near a mixture.

        Where all moments share eigenvectors, those are stationary without being good: noise leaves
        them. The noise is always the same, so that the result is.
        """
        rng = np.random.default_rng(0)
        leading = np.linalg.eigh(mixed.matrix)[1][:, -self.problem.k :]
        for noise in _NOISE:
            if self._is_done() or descents == 0:
                return
            start = np.linalg.qr(leading + noise * rng.standard_normal(leading.shape))[0]
            if self._offer(start)[0] < math.inf:
                self._descend(start, mixed)
                descents -= 1
