"""Branch and bound over arcs, boxes and distances, on a budget of work."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from fairspan.certificate.arcs import Arc, incumbent_frame, relaxed_frame
from fairspan.certificate.box import Box, most
from fairspan.certificate.known import Known
from fairspan.certificate.node import Node, Solved, Wall, solve_node
from fairspan.certificate.pieces import Centre, columns, compared_groups
from fairspan.certificate.shrink import shrink
from fairspan.certificate.work import Work
from fairspan.ground.types import FloatArray
from fairspan.objectives.mixture import Mixture
from fairspan.objectives.robust import Pair, RobustFairObjective
from fairspan.problem.subspace import SubspaceProblem

_ROUNDS = 6
"""How often a node's box is tightened and its relaxation solved again."""
_DESCEND = 20
"""After so many nodes a better subspace is looked for."""
_SMALL = 1e-9
"""Tangents are taken where robust errors are at least this share of the largest variance."""
_NOTHING = 1e-9
"""A relaxed X that falls short of an arc's inequality by less is a projector."""


class Tree:
    """Splits the set of all subspaces until each part is proved or the work is spent.

    Parameters
    ----------
    problem : SubspaceProblem
        Moments and number of components.
    objective : RobustFairObjective
        The objective.
    known : Known
        The best subspace known.
    target : callable
        Gives the bound that is enough for a subspace.
    descend : callable
        Improves a subspace.
    work : Work
        What may be spent.
    box : Box
        Bounds on the errors; what is outside must be known to be no better than enough.
    """

    def __init__(
        self,
        problem: SubspaceProblem,
        objective: RobustFairObjective,
        known: Known,
        target: Callable[[Known], float],
        descend: Callable[[FloatArray], Known],
        work: Work,
        box: Box,
    ) -> None:
        self.problem, self.objective, self.work = problem, objective, work
        self._target, self._descend, self._box = target, descend, box
        self._curved = bool(objective.radii.any())
        compared = compared_groups(objective)
        self._columns = columns(objective, compared, compared)
        self._heap: list[tuple[float, int, Solved]] = []
        self._order = itertools.count()
        self.n_nodes, self.grows = 0, not self._curved
        self._settled = np.inf
        self.learn(known)

    def learn(self, known: Known) -> None:
        """Take a better subspace as the one to be proved."""
        self.known, self.enough = known, self._target(known)
        self._projector = known.subspace @ known.subspace.T
        self._home = self._centre(known.subspace, known.errors, None, [known.mixture])

    def _centre(
        self,
        V: FloatArray,
        errors: FloatArray,
        slope: FloatArray | None,
        mixtures: list[Mixture],
    ) -> Centre | None:
        """Tangents at a subspace, of mixtures and of the largest pieces; None where none exist."""
        robust = self.objective.radii > 0
        # Next to 0 slopes are steep, and rounding of the errors would show in the tangents.
        if not self._curved or (errors[robust] < _SMALL * self.problem.traces.max()).any():
            return None
        for pair in _largest_pairs(self.objective, errors):
            mixtures = [*mixtures, Mixture.of_pairs(self.objective, [pair], np.ones(1))]
        if slope is None:
            slope = mixtures[0].slopes(np.where(robust, errors, 1.0))
        return Centre(self.problem, V, slope, mixtures, errors)

    def run(self, close: float = 0.0) -> float:
        """Go on until all parts are proved or the work is spent.

        Parameters
        ----------
        close : float
            How far below the value, as a share of its size, a bound of all parts ends the search.

        Returns
        -------
        float
            Proved: no subspace has a smaller objective.
        """
        if not self.n_nodes:
            self._look(Node(self._box, is_cut=True))
        while self._heap and not self.work.is_spent():
            far = close * self.objective.size(self.known.errors)
            if self._heap[0][0] >= min(self.enough, self._settled, self.known.value - far):
                break
            bound, order, solved = heapq.heappop(self._heap)
            children = self._children(solved)
            if not children:
                self._settled = min(self._settled, bound)
            for place, child in enumerate(children):
                self._look(child)
                if self.work.is_spent() and place < len(children) - 1:
                    # What was not looked at keeps the bound of the node above.
                    heapq.heappush(self._heap, (bound, order, solved))
                    break
        return min([self.enough, self._settled, *(node[0] for node in self._heap[:1])])

    def _look(self, node: Node) -> None:
        """Bound a node; keep it for splitting unless that is enough."""
        self.n_nodes += 1
        node = self._with_home(node)
        for turn in range(_ROUNDS if self._curved else 1):
            solved = solve_node(
                self.problem,
                self.objective,
                self._columns,
                node,
                enough=self.enough,
                work=self.work,
            )
            self.grows &= bool((solved.slopes >= 0).all())
            if solved.node.bound >= self.enough:
                return
            node = solved.node
            if not self._curved or turn == _ROUNDS - 1 or self.work.is_spent():
                break
            before = node
            if before.is_cut:
                closed, box = shrink(
                    self.problem, solved.mixture, before.box, self.known, self.enough, self.work
                )
                if closed:
                    return
                node = replace(node, box=box)
            node = self._tighten(solved, node)
            if not node.is_smaller_than(before):
                break
        solved = solved._replace(node=replace(node, is_cut=False))
        if self.n_nodes <= 3 or self.n_nodes % _DESCEND == 0:
            self._improve(solved.vectors[:, -self.problem.k :])
        heapq.heappush(self._heap, (node.bound, next(self._order), solved))

    def _improve(self, V: FloatArray) -> None:
        found = self._descend(V)
        # Frames and tangents of a subspace that is as good would be lost for nothing.
        if found.value < self.known.value - 0.1 * (self.known.value - self.enough):
            self.learn(found)

    def _with_home(self, node: Node) -> Node:
        """Let the best subspace known be one of the centres."""
        if self._home is None or self._home in node.centres:
            return node
        kept = slice(-2, None)
        return replace(
            node,
            centres=(self._home, *node.centres[kept]),
            reaches=(self._home.reach, *node.reaches[kept]),
        )

    def _tighten(self, solved: Solved, node: Node) -> Node:
        """Shrink distances around all that is better than enough."""
        room, reaches = self.enough - solved.constant, []
        for centre, reach in zip(node.centres, node.reaches, strict=True):
            self._count(9)
            found = most(centre.matrix, solved.matrix, room, self.problem.k, 9) + centre.constant
            reaches.append(min(reach, max(found, 0.0)))
        return replace(node, reaches=tuple(reaches))

    def _count(self, n: int) -> None:
        self.problem.n_eigensolves += n
        self.work.spend(n * Work.eigensolve(self.problem.d))

    def _children(self, solved: Solved) -> list[Node]:
        """Split a node where its relaxation loses most."""
        missing = self.enough - solved.node.bound
        if self._curved and solved.loss > 0.3 * missing:
            solved = self._another_centre(solved)
        short = self._shortfall(solved)
        if self._curved and solved.loss > 0.6 * missing:
            near = min((_apart(solved.X, c.projector) for c in solved.node.centres), default=np.inf)
            if solved.loss > 0.9 * missing or short < 0.1 * near:
                children = self._split_distance(solved)
                if solved.chord_loss > solved.tangent_loss:
                    children = self._split_box(solved) or children
                if children:
                    return children
        return self._split_arcs(solved) or (self._split_box(solved) if self._curved else [])

    def _another_centre(self, solved: Solved) -> Solved:
        """Take tangents near the relaxed X where all known centres are far from it."""
        node, problem = solved.node, self.problem
        if any(_apart(solved.X, centre.projector) <= 0.1 for centre in node.centres):
            return solved
        V = solved.vectors[:, -problem.k :]
        centre = self._centre(V, problem.errors(V), solved.weights, [])
        if centre is None:
            return solved
        node = replace(
            node,
            centres=(*node.centres[:1], *node.centres[1:][-1:], centre),
            reaches=(*node.reaches[:1], *node.reaches[1:][-1:], centre.reach),
        )
        return solved._replace(node=node)

    def _shortfall(self, solved: Solved) -> float:
        """By how much X falls short of what projectors obey, over all arcs at hand."""
        news = relaxed_frame(solved.vectors, self.problem.k).read(solved.X)[1]
        return max([news, *(self._worth(arc, solved.X) for arc in solved.node.arcs)])

    def _worth(self, arc: Arc, X: FloatArray) -> float:
        short = arc.frame.read(X)[1]
        if arc.holds(self._projector):
            short += 2 * min(arc.frame.read(self._projector)[1], 0.0)
        return short

    def _split_arcs(self, solved: Solved) -> list[Node]:
        """Cut an arc that the node has, or the circle of a new frame."""
        node, X, k = solved.node, solved.X, self.problem.k
        frame = relaxed_frame(solved.vectors, k)
        short = frame.read(X)[1]
        old = [self._worth(arc, X) for arc in node.arcs]
        best = max(old, default=-1.0)
        if all(arc.holds(self._projector) for arc in node.arcs):
            C = self.problem.combination(solved.weights)
            other, worth = incumbent_frame(self.known.subspace, C, X)
            if worth > 0.5 * short and best <= 0.3 * worth:
                frame, short = other, worth
        if max(short, best) <= _NOTHING:
            return []
        if best > 0.3 * short:
            place = int(np.argmax(old))
            return [node.with_arc(place, arc) for arc in node.arcs[place].split(X)]
        return [node.with_arc(len(node.arcs), arc) for arc in frame.arcs()]

    def _split_distance(self, solved: Solved) -> list[Node]:
        """Near a centre, and far from it."""
        node = solved.node
        if not node.centres:
            return []
        distances = [centre.distance(solved.X) for centre in node.centres]
        place = int(np.argmin(distances))
        centre, reach = node.centres[place], node.reaches[place]
        if not distances[place] < 0.5 * reach:
            return []
        cut = min(max(2 * distances[place], 0.1 * reach), 0.6 * reach)
        reaches = list(node.reaches)
        reaches[place] = cut
        return [
            replace(node, walls=_without(node, centre, True, cut), reaches=tuple(reaches)),
            replace(node, walls=_without(node, centre, False, cut)),
        ]

    def _split_box(self, solved: Solved) -> list[Node]:
        """Cut the box where chords lose most."""
        node, counted = solved.node, self.objective.counting
        errors = self.problem.traces - np.einsum("ade,de->a", self.problem.moments, solved.X)
        lower, upper = node.box
        m = np.clip(errors, lower, upper)
        above = self.objective.shares + counted.up
        every = Mixture(self.objective, above, counted.down_best)
        intercepts, slopes = every.chords(lower, upper)
        loss = every.terms(m) - intercepts - slopes * m
        axis = int(np.argmax(loss))
        if loss[axis] <= 1e-12 * self.objective.size(self.known.errors):
            return []
        low, high = lower[axis], upper[axis]
        cut = float(np.clip(m[axis], low + 0.2 * (high - low), high - 0.2 * (high - low)))
        children = []
        for start, end in ((low, cut), (cut, high)):
            box = Box(lower.copy(), upper.copy())
            box.lower[axis], box.upper[axis] = start, end
            children.append(replace(node, box=box, is_cut=True))
        return children


def _without(node: Node, centre: Centre, near: bool, cut: float) -> tuple[Wall, ...]:
    """Add a wall in place of a wider one."""
    kept = [wall for wall in node.walls if not (wall.centre is centre and wall.near == near)]
    return (*kept, Wall(centre, cut, near))


def _apart(X: FloatArray, projector: FloatArray) -> float:
    return float(((X - projector) ** 2).sum())


def _largest_pairs(objective: RobustFairObjective, m: FloatArray) -> list[Pair]:
    """The pairs whose pieces are largest, at most three a group."""
    if objective.fairness_weight == 0 or objective.n_groups == 1:
        return [(0, 0)]
    base, up, down = objective.parts(m)
    values = base.sum() + up[:, None] - down
    twice = np.eye(len(m), dtype=bool)
    values[twice if objective.counts_down else ~twice] = -np.inf
    order = np.argsort(-values, axis=None)[: 3 * len(m)]
    chosen = [divmod(int(i), len(m)) for i in order]
    least = float(values.max()) - 0.15 * objective.size(m)
    return [(a, b) for a, b in chosen if values[a, b] > least]
