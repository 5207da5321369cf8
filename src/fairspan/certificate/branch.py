"""Branch and bound over boxes of group errors, for the few problems the closed form leaves open."""

from __future__ import annotations

import heapq
import itertools
import time
from dataclasses import dataclass

import numpy as np

from fairspan.certificate.box import Box, root_box, tighten
from fairspan.certificate.closed_form import closed_form_bound
from fairspan.certificate.relaxation import Relaxation, relax
from fairspan.ground.types import FloatArray
from fairspan.objectives.mixture import Mixture
from fairspan.objectives.robust import RobustFairObjective
from fairspan.problem.subspace import SubspaceProblem

_ROUNDS = 5
_PATIENCE = 8


@dataclass
class Prover:
    """Raises a lower bound of an objective until it meets the best value known.

    Parameters
    ----------
    problem : SubspaceProblem
        Moments and number of components.
    objective : RobustFairObjective
        The objective.
    errors : ndarray of shape (n_groups,)
        Errors of the best subspace known.
    value : float
        Its objective.
    mixture : Mixture
        A mixture of pieces that is stationary there.
    tol : float
        Relative gap to reach.
    deadline : float
        When to stop, in seconds of time.monotonic().
    max_nodes : int
        Most boxes to look at.
    """

    problem: SubspaceProblem
    objective: RobustFairObjective
    errors: FloatArray
    value: float
    mixture: Mixture
    tol: float
    deadline: float = np.inf
    max_nodes: int = 60

    @property
    def enough(self) -> float:
        """The bound that closes the gap, with room for rounding."""
        rounding = 0.5 * self.problem.resolution(self.objective.fairness_weight)
        return self.value - max(0.5 * self.tol * abs(self.value), rounding)

    def quick(self) -> float:
        """The closed form on a box that costs nothing, then on the root box."""
        bound, curved = -np.inf, bool(self.objective.radii.any())
        # With many features the root box costs less than a second closed form.
        if not (curved and self.problem.is_large):
            free = Box(np.zeros(len(self.errors)), self.problem.traces)
            bound = closed_form_bound(self.problem, self.mixture, self.errors, free)
        if bound >= self.enough or not curved:
            return bound
        self._root = root_box(self.problem)
        return max(bound, closed_form_bound(self.problem, self.mixture, self.errors, self._root))

    def thorough(self) -> float:
        """Shrink the box, relax what is left, and branch where that is not enough."""
        box = getattr(self, "_root", None) or root_box(self.problem)
        curved = bool(self.objective.radii.any())
        if curved:
            closed, box = self._shrink(box, self.mixture)
            if closed >= self.enough:
                return closed
        points = [self.errors]
        loose = self._relax(box, points)
        if not curved:
            return loose.bound
        # What the box has lost is no better than enough, and no more is proved of it.
        if loose.bound >= self.enough:
            return self.enough
        closed, box = self._shrink(box, loose.mixture)
        if closed >= self.enough:
            return closed
        return max(min(loose.bound, self.enough), self._branch(box, points))

    def _relax(self, box: Box, points: list[FloatArray]) -> Relaxation:
        tol = 0.1 * self.tol * abs(self.value)
        return relax(
            self.problem,
            self.objective,
            box,
            points=points,
            enough=self.enough,
            tol=tol,
            deadline=self.deadline,
        )

    def _shrink(self, box: Box, mixture: Mixture) -> tuple[float, Box]:
        """Tighten a box as long as it pays; the bound holds for all that was in the box."""
        for _ in range(_ROUNDS):
            smaller = tighten(self.problem, mixture, box, self.enough, self.deadline)
            if smaller.is_empty:
                return self.enough, smaller
            bound = self._closed_form(smaller)
            if bound >= self.enough:
                return self.enough, smaller
            shrunk = float(
                np.max((smaller.upper - smaller.lower) / (box.upper - box.lower + 1e-300))
            )
            box = smaller
            if shrunk > 0.9 or time.monotonic() > self.deadline:
                break
        return -np.inf, box

    def _closed_form(self, box: Box) -> float:
        if (self.errors < box.lower).any() or (self.errors > box.upper).any():
            return -np.inf
        return closed_form_bound(self.problem, self.mixture, self.errors, box)

    def _branch(self, box: Box, points: list[FloatArray]) -> float:
        """Split boxes, the lowest bound first, until all are settled or time is up."""
        order = itertools.count()
        heap: list[tuple[float, int, Box, FloatArray]] = []
        settled = self.enough

        def look(node: Box) -> None:
            nonlocal settled
            found = self._relax(node, points)
            if found.bound >= self.enough or self._closed_form(node) >= self.enough:
                return
            closed, node = self._shrink(node, found.mixture)
            if closed >= self.enough:
                return
            axis = self._axis(node, found.errors, found.mixture)
            if axis is None:
                settled = min(settled, found.bound)
            else:
                heapq.heappush(
                    heap, (found.bound, next(order), node, np.append(found.errors, axis))
                )

        look(box)
        progress: list[float] = []
        for _ in range(self.max_nodes):
            if not heap or heap[0][0] >= settled or time.monotonic() > self.deadline:
                break
            progress.append(heap[0][0])
            if self._has_stalled(progress):
                break
            _, _, node, where = heapq.heappop(heap)
            axis = int(where[-1])
            low, high = node.lower[axis], node.upper[axis]
            cut = float(np.clip(where[axis], low + 0.2 * (high - low), high - 0.2 * (high - low)))
            for lower, upper in ((low, cut), (cut, high)):
                child = Box(node.lower.copy(), node.upper.copy())
                child.lower[axis], child.upper[axis] = lower, upper
                look(child)
        return min([settled, *(node[0] for node in heap[:1])])

    def _has_stalled(self, progress: list[float]) -> bool:
        """Whether splitting no longer raises the bound: the relaxation itself is not tight."""
        if len(progress) <= _PATIENCE:
            return False
        before = progress[-1 - _PATIENCE]
        return progress[-1] - before < 0.1 * (self.enough - before)

    def _axis(self, box: Box, errors: FloatArray, mixture: Mixture) -> int | None:
        """The error in which the chords lose most; None where they lose nothing."""
        m = np.clip(errors, box.lower, box.upper)
        intercepts, slopes = mixture.chords(box.lower, box.upper)
        loss = mixture.terms(m) - intercepts - slopes * m
        axis = int(np.argmax(loss))
        return axis if loss[axis] > 1e-12 * abs(self.value) else None
