"""Nodes of the branch and bound: which subspaces are meant, and the relaxation over them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from fairspan.certificate.arcs import Arc
from fairspan.certificate.box import Box
from fairspan.certificate.fantope import Program, Relaxed, maximise, on_sums
from fairspan.certificate.pieces import Centre, Columns
from fairspan.certificate.work import Work
from fairspan.ground.types import UNIT, FloatArray
from fairspan.objectives.mixture import Mixture
from fairspan.objectives.robust import RobustFairObjective
from fairspan.problem.subspace import SubspaceProblem

_START = 0.02
"""The barrier of a first node, as a share of the size of values."""
_AGAIN = 1e3
"""A later node starts at this multiple of the barrier at which the node above it ended."""
_LEAST = 1e-3
"""Weights of pieces start no lower."""


_PARTS = ("above", "below", "constant")


class Wall(NamedTuple):
    """Subspaces near a centre, Γ <= cut, or far from it, Γ >= cut."""

    centre: Centre
    cut: float
    near: bool

    def row(self) -> tuple[FloatArray, float]:
        """Give H and h with <H, X> >= h."""
        matrix, constant = self.centre.matrix, self.centre.constant
        return (-matrix, constant - self.cut) if self.near else (matrix, self.cut - constant)


@dataclass(frozen=True, eq=False)
class Node:
    """A set of subspaces, by inequalities that hold for all of them.

    Attributes
    ----------
    box : Box
        Bounds on their errors.
    arcs : tuple of Arc
        Arcs in which they lie.
    centres : tuple of Centre
        Where tangents are taken.
    reaches : tuple of float
        Upper bounds of Γ for each centre.
    walls : tuple of Wall
        Bounds of Γ that were chosen by splits.
    bound : float
        Proved: no subspace of the set has a smaller objective.
    multipliers : dict
        Those of the node above, or of this one after it was solved, by what they belong to.
    barrier : float
        Where the node above, or this one, ended.
    is_cut : bool
        Whether the box is new, so that tightening may shrink it.
    """

    box: Box
    arcs: tuple[Arc, ...] = ()
    centres: tuple[Centre, ...] = ()
    reaches: tuple[float, ...] = ()
    walls: tuple[Wall, ...] = ()
    bound: float = -np.inf
    multipliers: dict[Any, FloatArray] = field(default_factory=dict)
    barrier: float = np.inf
    is_cut: bool = False

    def with_arc(self, place: int, arc: Arc) -> Node:
        """Replace an arc, or add one at the end."""
        return replace(self, arcs=(*self.arcs[:place], arc, *self.arcs[place + 1 :]))

    def is_smaller_than(self, other: Node) -> bool:
        """Say whether some bound has shrunk by a fifth, among those that both have."""
        widths = np.append(other.box.upper - other.box.lower, other.reaches)
        ours = np.append(self.box.upper - self.box.lower, self.reaches)
        return bool((ours < 0.8 * widths).any())


class Solved(NamedTuple):
    """A node with its bound and multipliers, the relaxed X, and the proof as a function of X.

    Every subspace of the node has an objective of at least constant - <matrix, X>. The slopes are
    the coefficients of the groups' moments in the matrix; weights those of the mixture at X.
    """

    node: Node
    X: FloatArray
    vectors: FloatArray
    constant: float
    matrix: FloatArray
    slopes: FloatArray
    weights: FloatArray
    mixture: Mixture
    chord_loss: float
    tangent_loss: float

    @property
    def loss(self) -> float:
        """What linear pieces lose at the relaxed X."""
        return self.chord_loss + self.tangent_loss


class _Block(NamedTuple):
    key: Any
    constants: FloatArray
    spread: FloatArray
    start: FloatArray
    weighs: bool


def solve_node(
    problem: SubspaceProblem,
    objective: RobustFairObjective,
    columns: Columns,
    node: Node,
    *,
    enough: float,
    work: Work,
) -> Solved:
    """Solve the relaxation of a node.

    Parameters
    ----------
    problem : SubspaceProblem
        Moments and number of components.
    objective : RobustFairObjective
        The objective.
    columns : Columns
        Weights of its pieces.
    node : Node
        The set.
    enough : float
        A bound that makes further work needless.
    work : Work
        What may be spent.

    Returns
    -------
    Solved
        What is proved of the set.
    """
    size = max(float(problem.traces.max()) * (1 + objective.fairness_weight), 1e-300)
    mu = min(_AGAIN * node.barrier, _START * size)
    blocks, matrices = _blocks(problem, objective, columns, node, mu)
    q = len(columns.sums)
    sums = [
        columns.sums
        if block.key == "pieces"
        else np.full((q, len(block.start)), float(block.weighs))
        for block in blocks
    ]
    program = Program(
        matrices,
        problem.k,
        np.concatenate([block.constants for block in blocks]),
        np.hstack([block.spread for block in blocks]),
        np.hstack(sums),
        size,
    )
    start = on_sums(program, np.concatenate([block.start for block in blocks]))
    found = maximise(program, start, mu, enough=enough, work=work)
    return _read(objective, problem, node, columns, blocks, program, found)


def _read(
    objective: RobustFairObjective,
    problem: SubspaceProblem,
    node: Node,
    columns: Columns,
    blocks: list[_Block],
    program: Program,
    found: Relaxed,
) -> Solved:
    ends = np.cumsum([len(block.start) for block in blocks])[:-1]
    last = dict(zip((b.key for b in blocks), np.split(found.multipliers, ends), strict=True))
    bound = max(node.bound, found.bound)
    solved = replace(node, bound=bound, multipliers=last, barrier=found.barrier)
    constant = float(program.constants @ found.best)
    matrix = program.combination(found.best)
    constant -= program.rounding(found.best, float(np.linalg.norm(matrix)))
    slopes = (program.spread @ found.best)[: problem.n_groups]
    X = found.matrix
    errors = np.maximum(problem.traces - np.einsum("ade,de->a", problem.moments, X), 0.0)
    model = program.constants - np.einsum("jde,de->j", program.matrices, X) @ program.spread
    weighed = dict(zip(last, np.split(model * found.multipliers, ends), strict=True))
    z = on_sums(program, found.multipliers)
    summed = dict(zip(last, np.split(z, ends), strict=True))
    chords = columns.mixture(objective, summed["pieces"])
    parts = [chords]
    for centre in node.centres:
        weights = summed["tangent", centre]
        every = (np.array([getattr(m, name) for m in centre.mixtures]) for name in _PARTS)
        parts.append(Mixture(objective, *(weights @ of for of in every)))
    # Weights whose sums are not quite 1 make a mixture that may exceed the objective by so much.
    excess = (program.missed(z) + len(z) * UNIT) * _largest_piece(objective, problem.traces)
    above, below, constants = (sum(getattr(m, name) for m in parts) for name in _PARTS)
    whole = Mixture(objective, above, below, constants - excess)
    lost = chords.value(errors) - float(weighed["pieces"].sum())
    tangents = sum(float(weighed["tangent", centre].sum()) for centre in node.centres)
    bent = sum(m.value(errors) for m in parts[1:]) - tangents
    weights = whole.slopes(np.maximum(errors, 1e-12 * problem.traces.max()))
    return Solved(solved, X, found.vectors, constant, matrix, slopes, weights, whole, lost, bent)


def _largest_piece(objective: RobustFairObjective, upper: FloatArray) -> float:
    """Bound every piece, whatever it counts up and down, for errors up to some."""
    c, root, edge = objective.counting, np.sqrt(upper), np.sqrt(objective.radii)
    counted = (objective.shares + c.up + c.down_best) @ (root + edge) ** 2
    return float(counted + np.abs(c.up_constant).max() + np.abs(c.down_constant).max())


def _blocks(
    problem: SubspaceProblem,
    objective: RobustFairObjective,
    columns: Columns,
    node: Node,
    mu: float,
) -> tuple[list[_Block], FloatArray]:
    """All multipliers of a node: of pieces, tangents, the box, arcs and walls; and the matrices."""
    G, T = problem.n_groups, problem.traces
    rows = [arc.rows() for arc in node.arcs]
    walls = [wall.row() for wall in node.walls]
    stacked = [problem.moments, *(c.matrix[None] for c in node.centres), *(H for H, _ in rows)]
    matrices = np.concatenate([*stacked, *(H[None] for H, _ in walls)])
    n = len(matrices)

    def on_errors(slopes: FloatArray) -> FloatArray:
        return np.vstack([slopes, np.zeros((n - G, slopes.shape[1]))])

    def start(key: Any, floor: FloatArray) -> FloatArray:
        known = node.multipliers.get(key)
        return floor if known is None else np.maximum(known, floor)

    intercepts, slopes = columns.chords(objective, node.box)
    even = np.full(slopes.shape[1], 1.0)
    pieces = node.multipliers.get("pieces")
    first = even if pieces is None or len(pieces) != len(even) else np.maximum(pieces, 1e-9)
    blocks = [_Block("pieces", intercepts + T @ slopes, on_errors(slopes), first, True)]
    for place, (centre, reach) in enumerate(zip(node.centres, node.reaches, strict=True)):
        losses = centre.losses(node.box.lower, reach)
        spread = on_errors(centre.slopes)
        spread[G + place] = losses
        constants = centre.values + T @ centre.slopes - losses * centre.constant
        key = "tangent", centre
        weights = start(key, np.full(len(losses), _LEAST))
        blocks.append(_Block(key, constants, spread, weights, True))
    if objective.radii.any():
        lower, upper, eye = *node.box, np.eye(G)
        box = start("box", np.full(2 * G, 0.01))
        constants = np.concatenate([lower - T, T - upper])
        blocks.append(_Block("box", constants, on_errors(np.hstack([-eye, eye])), box, False))
    place = G + len(node.centres)
    limits = [
        ("arc", i, h, 2 * mu / arc.slack())
        for i, (arc, (_, h)) in enumerate(zip(node.arcs, rows, strict=True))
    ]
    limits += [("wall", i, np.array([h]), np.array([2 * mu])) for i, (_, h) in enumerate(walls)]
    for kind, i, h, floor in limits:
        spread = np.zeros((n, len(h)))
        spread[place : place + len(h)] = np.eye(len(h))
        place += len(h)
        blocks.append(_Block((kind, i), h, spread, start((kind, i), floor), False))
    return blocks, matrices
