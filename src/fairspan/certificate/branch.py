"""The proof in order of cost: closed form, smaller boxes, and branch and bound on arcs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fairspan.certificate.box import Box, root_box
from fairspan.certificate.closed_form import closed_form_bound
from fairspan.certificate.known import Known
from fairspan.certificate.relaxation import relax_large
from fairspan.certificate.shrink import shrink
from fairspan.certificate.tree import Tree
from fairspan.certificate.work import Work
from fairspan.ground.types import FloatArray
from fairspan.objectives.robust import RobustFairObjective
from fairspan.problem.subspace import SubspaceProblem

_LARGE = 120
"""From this many features on, relaxations are solved in a small basis, and nothing is split."""


@dataclass
class Prover:
    """Raises a lower bound of an objective until it meets the best value known.

    Parameters
    ----------
    problem : SubspaceProblem
        Moments and number of components.
    objective : RobustFairObjective
        The objective.
    known : Known
        The best subspace known.
    tol : float
        Relative gap to reach.
    work : Work
        What the proof may cost.
    descend : callable
        Finds a better subspace near a given one.
    """

    problem: SubspaceProblem
    objective: RobustFairObjective
    known: Known
    tol: float
    work: Work
    descend: Callable[[FloatArray], Known]
    grows: bool = True
    """Whether all mixtures that have proved anything, linear ones, grow with every error.

    If all errors of a subspace fall by δ, so do these mixtures, by δ or more, and none falls below
    the bound: no subspace lowers all errors by more than the gap of value and bound.
    """
    _root: Box | None = None
    _tree: Tree | None = None

    @property
    def enough(self) -> float:
        """The bound that closes the gap, with room for rounding."""
        return self._target(self.known)

    def _target(self, known: Known) -> float:
        rounding = 0.5 * self.problem.resolution(self.objective.fairness_weight)
        return known.value - max(0.5 * self.tol * self._size(known), rounding)

    def _size(self, known: Known) -> float:
        plain = self.objective.unreferenced(known.errors)
        return known.value if plain is None else plain

    @property
    def _curved(self) -> bool:
        return bool(self.objective.radii.any())

    def quick(self) -> float:
        """The closed form without bounds on the errors, which costs least; then on the root box."""
        bound, large = -np.inf, self._curved and self.problem.is_large
        # With many features the root box costs less than a second closed form.
        if not large:
            none = np.zeros(self.problem.n_groups)
            bound = self._closed_form(Box(none, none + np.inf))
        if bound >= self.enough or not self._curved:
            return bound
        self._root = self._root or root_box(self.problem)
        return max(bound, self._closed_form(self._root))

    def _closed_form(self, box: Box) -> float:
        known = self.known
        self.grows &= not self._curved and bool((known.mixture.above >= known.mixture.below).all())
        touch = known.errors if known.touch is None else known.touch
        return closed_form_bound(self.problem, known.mixture, touch, box, known.leading)

    def learn(self, known: Known) -> bool:
        """Take a subspace as the best one known if it is; say so."""
        better = known.value < self.known.value - 1e-12 * self._size(self.known)
        if better:
            # Frames of a poorer subspace are of little use.
            self.known, self._tree = known, None
        return better

    def thorough(self) -> float:
        """Shrink the box, relax what is left, and branch where that is not enough.

        A better subspace that is found on the way is the one known afterwards. Called again, it
        goes on where the work was spent.
        """
        if self._tree is None:
            box = self._root or root_box(self.problem)
            if self._curved:
                closed, box = shrink(
                    self.problem, self.known.mixture, box, self.known, self.enough, self.work
                )
                if closed:
                    return self.enough
            if self.problem.d >= _LARGE or not self.problem.is_whole:
                bound = relax_large(
                    self.problem,
                    self.objective,
                    self.known,
                    box,
                    enough=self.enough,
                    work=self.work,
                )
                self.grows = False
                # What the box has lost is no better than enough, and no more is proved of it.
                return min(bound, self.enough)
            self._tree = Tree(
                self.problem, self.objective, self.known, self._target, self.descend, self.work, box
            )
        bound = self._tree.run(close=0.9 * self.tol)
        self.known = self._tree.known
        self.grows &= self._tree.grows
        return bound

    def is_enough(self, bound: float) -> bool:
        """Say whether a bound closes the gap."""
        close = self.known.value - 0.95 * self.tol * self._size(self.known)
        return bound >= min(self.enough, close)
