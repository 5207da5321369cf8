"""Two groups: the least total error among all subspaces whose group errors (almost) agree.

A subspace is fair if m_0 - m_1 lies within +-max_gap. Every fair subspace has a total error of at
least the concave dual function of a multiplier μ (M the pooled moment, S = M_0 - M_1),

    g(μ) = sum of the d-k smallest eigenvalues of M + μ S - max_gap |μ|.

Its terms are the supporting lines of the attainable errors. The difference m_0 - m_1 at the point
where a line touches falls as μ grows, from PCA (μ = 0) to the leading eigenspace of S alone (μ
infinite), and on the way it passes the allowed one, if any subspace is fair. Lines are found by
their angle, which makes that range finite. Between the lines on both sides of the root, the path
from one subspace to the other contains one with exactly the allowed difference; where the
difference jumps, that is the only way to find it.

|μ| at the root is a fairness weight: from there on a heavier weight (at radius 0) changes nothing.
"""

from __future__ import annotations

import math

import numpy as np

from fairspan.ground.types import FloatArray
from fairspan.objectives.within_gap import TotalErrorWithinGap
from fairspan.problem.geodesic import Geodesic
from fairspan.problem.reduced import LARGEST_DIFFERENCE, LEAST_DIFFERENCE
from fairspan.problem.spectrum import top_space
from fairspan.problem.subspace import SubspaceProblem
from fairspan.solvers.result import SolverResult, is_closed, relative_gap, safe_bound
from fairspan.solvers.two_groups.lines import (
    HEAVIEST,
    THIN,
    Boundary,
    Line,
    Point,
    attainable_differences,
    chord_angle,
    corner,
    line_at,
    normal_angle,
    pca_line,
    penalty_bound,
    penalty_slack,
    penalty_weight,
    root_between,
)

_DIFFERENCE = np.array([1.0, -1.0])
_INVARIANT = 1e-9
"""A subspace that a moment leaves by less than this share of its norm is kept by it."""
_FURTHER = 1e-3
"""The weight has half the digits of the certificate, so the search goes on beyond its tolerance."""
_SOLVES = 100
"""The largest number of eigen-solves of the search."""


def solve_exactly_fair(
    problem: SubspaceProblem,
    objective: TotalErrorWithinGap,
    *,
    tol: float = 1e-8,
    boundary: Boundary | None = None,
) -> SolverResult:
    """Minimise the total error of two groups among subspaces within a gap.

    Parameters
    ----------
    problem : SubspaceProblem
        Moments of two groups and the number of components.
    objective : TotalErrorWithinGap
        The gap that is allowed; groups count in the total error as in the problem.
    tol : float
        The relative gap between the total error and its bound to reach.
    boundary : Boundary, optional
        Lines already known; new ones are added to it.

    Returns
    -------
    SolverResult
        The subspace; its objective is the total error, its bound holds for every fair subspace. Its
        threshold is the least |μ| that maximises the dual function: subspaces that minimise the
        total error plus a weight times the gap are fair from this weight on.

    Raises
    ------
    ValueError
        If no subspace is fair; the message says which differences are attainable.
    """
    if not np.array_equal(objective.shares, problem.shares):
        raise ValueError(
            f"The objective counts groups by the shares {objective.shares.tolist()}, the problem "
            f"by {problem.shares.tolist()}; they must agree."
        )
    solves_before = problem.n_eigensolves
    search = _Search(boundary or Boundary(problem), objective.max_gap)
    threshold = search.run(_FURTHER * tol)
    proved = is_closed(problem, search.total, search.bound, tol)
    return SolverResult(
        components=search.subspace.T,
        group_errors=problem.errors(search.subspace),
        objective=search.total,
        lower_bound=safe_bound(search.bound, search.total, problem.scale),
        status="optimal" if proved else "feasible",
        scale=problem.scale,
        solver="exact_fairness",
        n_eigensolves=problem.n_eigensolves - solves_before,
        history=np.array(search.history),
        threshold=threshold,
    )


class _Search:
    """The lines on both sides of the root, the best fair subspace, and the best bound.

    One line, ``near``, is on PCA's side and not fair; the other, ``far``, has the heavier weight.
    """

    def __init__(self, boundary: Boundary, max_gap: float) -> None:
        self.boundary, self.problem = boundary, boundary.problem
        # No errors differ by more than the largest variance; beyond it only rounding would grow.
        self.max_gap = min(max_gap, float(self.problem.traces.max()))
        self.rounding = float(self.problem.rounding.sum())
        self.near = self.far = pca_line(boundary)
        self.sign = 1.0 if self.near.point[0] >= self.near.point[1] else -1.0
        self.subspace = self.near.subspace
        self.total, self.bound = math.inf, -math.inf
        self.history: list[tuple[float, float]] = []

    def run(self, goal: float) -> float:
        """Find the best fair subspace, its bound and its threshold, which is returned."""
        self._raise_bound(self.near)
        if self._excess(self.near.point) <= self.rounding:
            self._offer(self.near.subspace)
            return 0.0
        self.far = self._heaviest()
        if self._excess(self.far.point) >= -self.rounding:
            self._take_limit()
            return self._threshold(0.0, math.inf)
        self._close_in(goal)
        shares = self.problem.shares
        return self._threshold(penalty_weight(self.near, shares), penalty_weight(self.far, shares))

    def _excess(self, point: Point | FloatArray) -> float:
        """How much the difference exceeds the allowed one, on PCA's side."""
        return self.sign * float(point[0] - point[1]) - self.max_gap

    def _threshold(self, low: float, high: float) -> float:
        return least_weight(self.problem, self.subspace, self.sign, low, high)

    def _raise_bound(self, line: Line) -> None:
        weight = penalty_weight(line, self.problem.shares)
        if math.isfinite(weight):
            self.bound = max(self.bound, penalty_bound(line) - self.max_gap * weight)

    def _offer(self, subspace: FloatArray) -> None:
        """Keep a fair subspace if it is the best."""
        total = float(self.problem.shares @ self.problem.errors(subspace))
        if total < self.total:
            self.total, self.subspace = total, subspace
        self.history.append((self.total, min(self.bound, self.total)))

    def _heaviest(self) -> Line:
        """The line of infinite weight: it decides whether any subspace is fair."""
        ends = {1.0: LEAST_DIFFERENCE, -1.0: LARGEST_DIFFERENCE}
        line = line_at(self.boundary, ends[self.sign])
        if self._excess(line.point) > self.rounding:
            low, high = attainable_differences(self.boundary)
            raise ValueError(
                f"No subspace of n_components={self.problem.k} has a gap of at most "
                f"max_gap={self.max_gap:.6g}: the error of the first group minus that of the "
                f"second stays within [{low:.5g}, {high:.5g}]. Set max_gap above "
                f"{min(abs(low), abs(high)):.5g}, or keep more components."
            )
        return line

    def _take_limit(self) -> None:
        """Only leading eigenspaces of S are fair; where its eigenvalues tie, PCA decides.

        Their least total error is the limit of the dual function for infinite weights. Within
        rounding of this case the bound is good to about the square root of rounding only.
        """
        problem, k = self.problem, self.problem.k
        problem.n_eigensolves += 1
        whole = top_space(problem.combination(self.sign * _DIFFERENCE), problem.d)
        above, tie = whole.values - whole.values[k - 1], 4 * self.rounding
        kept, tied = whole.vectors[:, above > tie], whole.vectors[:, np.abs(above) <= tie]
        inner = tied.T @ problem.combination(problem.shares) @ tied
        best = top_space(inner, k - kept.shape[1])
        self._offer(np.hstack([kept, tied @ best.vectors]))
        self.bound = max(self.bound, self.total - self.rounding)

    def _close_in(self, goal: float) -> None:
        """Move the lines towards the root until value and bound meet, as far as rounding lets."""
        self._start()
        slow = 0
        for _ in range(_SOLVES):
            self._slide()
            rounding = penalty_slack(self.near) + penalty_slack(self.far)
            gap = relative_gap(self.total, self.bound + rounding, self.problem.scale)
            angle = self._proposal(slow)
            if gap <= goal or angle is None:
                break
            width = self._width()
            line = self.boundary.add(angle)
            self._raise_bound(line)
            if self._excess(line.point) > self.rounding:
                self.near = line
            else:
                self.far = line
            slow = slow + 1 if self._width() > 0.5 * width else 0

    def _start(self) -> None:
        """Take the lines next to the root among those already known."""
        low, high = sorted((self.near.angle, self.far.angle))
        known = [line for line in self.boundary.lines if low <= line.angle <= high]
        known.sort(key=lambda line: penalty_weight(line, self.problem.shares))
        for line in known:
            self._raise_bound(line)
        fair = [self._excess(line.point) <= self.rounding for line in known]
        first = fair.index(True)
        self.near, self.far = known[first - 1], known[first]

    def _width(self) -> float:
        return self._excess(self.near.point) - self._excess(self.far.point)

    def _slide(self) -> None:
        """Find the allowed difference on the path between the subspaces of both lines."""
        if self._excess(self.far.point) >= -self.rounding:
            # At a corner the path starts flat: a root sought within rounding would leave it.
            self._offer(self.far.subspace)
            return
        path = Geodesic(self.problem, self.far.subspace, self.near.subspace)
        self._offer(path.subspace(root_between(lambda s: self._excess(path.errors(s)))))

    def _proposal(self, slow: int) -> float | None:
        """The next angle: that of a curve's root, and where this is slow the chord's or a half."""
        left, right = sorted((self.near, self.far), key=lambda line: line.angle)
        middle = 0.5 * (left.angle + right.angle)
        angles = [self._curve_angle(left, right), chord_angle(left, right), middle]
        for angle in angles[slow % 3 :]:
            if left.angle + THIN < angle < right.angle - THIN:
                return angle
        return None

    def _curve_angle(self, left: Line, right: Line) -> float:
        """Angle where the curve that joins two lines smoothly (a parabola) has the difference."""
        a, c = left.point, right.point
        b = corner(a, left.angle, c, right.angle)
        first, middle, last = self._excess(a), self._excess(b), self._excess(c)
        s = root_between(lambda s: (1 - s) ** 2 * first + 2 * s * (1 - s) * middle + s**2 * last)
        x, y = ((1 - s) * (q - p) + s * (r - q) for p, q, r in zip(a, b, c, strict=True))
        return normal_angle((x, y))


def least_weight(
    problem: SubspaceProblem, subspace: FloatArray, sign: float, low: float, high: float
) -> float:
    """Find the least weight whose penalty a subspace minimises, if it minimises any.

    Parameters
    ----------
    problem : SubspaceProblem
        A problem of two groups.
    subspace : ndarray of shape (d, k)
        Orthonormal columns.
    sign : float
        1 where the first group's error is penalised against the second's, else -1.
    low, high : float
        The weight is known to lie between them.

    Returns
    -------
    float
        The weight; infinite where no finite one will do.
    """
    images = [problem.combination(w) @ subspace for w in (problem.shares, _DIFFERENCE)]
    pooled, apart = (image - subspace @ (subspace.T @ image) for image in images)
    steep = float(np.sum(apart**2))
    if steep > (_INVARIANT * float(np.linalg.norm(images[1]))) ** 2:
        # M + μ S keeps the subspace for one μ only.
        weight = -sign * float(np.sum(pooled * apart)) / steep
        return min(max(weight, low), high)
    if np.linalg.norm(pooled) > _INVARIANT * np.linalg.norm(images[0]):
        return math.inf
    return _least_leading(problem, subspace, sign, low, high)


def _least_leading(
    problem: SubspaceProblem, subspace: FloatArray, sign: float, low: float, high: float
) -> float:
    """Both moments keep the subspace: it is the leading one for a whole range of weights."""
    k, rounding = problem.k, float(problem.rounding.sum())
    basis = np.linalg.qr(subspace, mode="complete")[0]
    rotated = basis.T @ problem.moments @ basis

    def lead(weight: float) -> float:
        mixed = np.tensordot(problem.shares + sign * weight * _DIFFERENCE, rotated, 1)
        inside, outside = np.linalg.eigvalsh(mixed[:k, :k]), np.linalg.eigvalsh(mixed[k:, k:])
        # Equal eigenvalues on both sides are no obstacle.
        return float(inside[0] - outside[-1]) + (1 + weight) * rounding

    if math.isinf(high):
        high = 1.0
        while lead(high) < 0:
            high *= 4.0
            if high > HEAVIEST:
                return math.inf
    return root_between(lead, low, high)
