"""The fit by products: grow a basis, solve inside it, prove for the whole space.

The basis grows by the residuals of the leading vectors at the weights that matter: those of the
supporting line at the answer inside the basis. When residuals are small enough, what the basis
leaves out is bounded, and the lines that are proved inside are lifted.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from fairspan.ground.types import FloatArray
from fairspan.objectives.robust import RobustFairObjective
from fairspan.problem.spectrum import top_space
from fairspan.problem.subspace import SubspaceProblem
from fairspan.products.basis import Basis
from fairspan.products.lifted import LEVEL, LiftedProblem, Rests, rounding_of
from fairspan.products.lines import answer_weights, lifted_bound
from fairspan.products.operator import SecondMoments
from fairspan.products.tail import Tail
from fairspan.solvers import SolverResult, solve
from fairspan.solvers.result import is_closed, settled

logger = logging.getLogger("fairspan")

_MORE = 2
"""Leading vectors beyond k whose residuals are looked at."""
_SHARE = 0.85
"""What the basis leaves out is expected to be below this share of the k-th eigenvalue."""
_STEPS = 12
"""Most steps of one bound on what the basis leaves out."""
_ATTEMPTS = 12
"""Most attempts at a proof."""
_CLOSE = 0.3
"""The share of the tolerance that lifting may cost before a proof is tried."""


@dataclass
class ProductsFit:
    """One fit: the settings, and the basis that grows.

    Attributes
    ----------
    operator : SecondMoments
        The second moments.
    objective : RobustFairObjective
        What to minimise.
    k : int
        Number of components.
    tol : float
        The relative gap to reach.
    failure_probability : float
        How probably a bound may be wrong, over all attempts together.
    rng : numpy.random.Generator
        Source of random blocks.
    max_passes : int
        Passes over the rows after which the search ends.
    has_hidden_features : bool
        Whether rounding hides some features.
    shared : Basis or None
        A basis that has grown for other objectives on the same operator, and grows on here.
    """

    operator: SecondMoments
    objective: RobustFairObjective
    k: int
    tol: float
    failure_probability: float
    rng: np.random.Generator
    max_passes: int = 400
    has_hidden_features: bool = False
    shared: Basis | None = None
    attempts: int = 0
    history: list[tuple[float, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.width = self.operator.width
        room = 6 * (self.k + self.width)
        self.basis = Basis(self.operator, room) if self.shared is None else self.shared
        self._last_pass = self.operator.passes + self.max_passes
        self.weights = np.asarray(self.objective.shares / np.linalg.norm(self.objective.shares))
        self.share = _SHARE
        self.best: SolverResult | None = None
        self.loosest: FloatArray | None = None
        self.is_stuck = False

    def run(self) -> SolverResult:
        """Search and prove, until the gap is closed or no pass is left."""
        self.start()
        if self.k == self.operator.n_features or not self.operator.traces.any():
            # All of the space is kept, or nothing varies: that needs no proof.
            inside = solve(self._small_problem(), self.objective)
            self.best = self._in_whole_space(inside)
            return self._finished(inside)
        while True:
            inside = self._solve_inside()
            look = self.look = self._look_outside()
            logger.debug(
                "pass %d: basis %d, objective %.10g",
                self.operator.passes,
                self.basis.size,
                inside.objective,
            )
            allowed = _CLOSE * self.tol * self._size(inside)
            ended = self.operator.passes >= self._last_pass or self.basis.is_whole
            missing = np.empty((self.operator.n_features, 0))
            if ended or look.cost <= allowed * self._apart(look.lowest):
                missing = self._prove(inside, look)
                if ended or self.is_stuck or self._is_proved:
                    return self._finished(inside)
            if not self._grow(missing, look.residual):
                self._prove(inside, look)
                return self._finished(inside)

    def refine(self, accuracy: float) -> None:
        """Grow the basis until the residuals at the answer are small, relative to what is kept."""
        while self.operator.passes < self._last_pass:
            look = self.look
            small = look.cost <= (accuracy * look.lowest) ** 2
            if small or not self._grow(np.empty((len(look.residual), 0)), look.residual):
                return
            self._solve_inside()
            self.look = self._look_outside()

    @property
    def _is_proved(self) -> bool:
        return self.best is not None and self.best.status == "optimal"

    def _apart(self, lowest: float) -> float:
        """How far lifting can separate the basis from the rest, as far as that is expected."""
        return LEVEL * (1 - self.share) * max(lowest, 0.0)

    def start(self) -> None:
        """Grow a first basis from random columns, by the images of the total."""
        d = self.operator.n_features
        block = self.rng.standard_normal((d, self.width))
        enough = min(2 * self.k + _MORE, d)
        while self.basis.size < enough and self.basis.grow(block):
            last = np.eye(self.basis.size)[:, -self.width :]
            block = self.basis.residual(self.weights, last)
        if self.basis.size < enough:
            # Rows of low rank: any further directions complete the room for components.
            self.basis.grow(self.rng.standard_normal((d, enough - self.basis.size)))

    def _small_problem(self) -> SubspaceProblem:
        problem = SubspaceProblem(
            self.basis.small,
            self.objective.shares,
            self.k,
            traces=self.operator.traces,
            has_hidden_features=self.has_hidden_features,
        )
        problem.rounding = rounding_of(self.basis, self.k)
        return problem

    def _solve_inside(self) -> SolverResult:
        problem = self._small_problem()
        found, self.weights = answer_weights(problem, self.objective, self.tol, self.weights)
        return found

    def _size(self, found: SolverResult) -> float:
        return max(self.objective.size(found.group_errors), 1e-13 * found.scale)

    def _look_outside(self) -> _Look:
        """Look at the residuals of the leading vectors, and at the directions they miss most."""
        some = min(max(self.k + _MORE, self.width), self.basis.size)
        found = top_space(self.basis.combination(self.weights), some)
        residual = self.basis.residual(self.weights, found.vectors)
        gram = residual.T @ residual
        cost = float(np.trace(gram[: self.k, : self.k]))
        _, turned = np.linalg.eigh(gram)
        missed = residual @ turned[:, : -self.width - 1 : -1]
        return _Look(float(found.values[self.k - 1]), cost, missed)

    def _grow(self, missing: FloatArray, candidates: FloatArray) -> bool:
        rounding = float(np.abs(self.weights) @ self.operator.image_error(1))
        if missing.shape[1] and self.basis.grow(missing):
            return True
        return self.basis.grow(candidates, rounding) > 0

    def _prove(self, inside: SolverResult, look: _Look) -> FloatArray:
        """Bound the objective in the whole space; give the directions in which it falls short."""
        nothing = np.empty((self.operator.n_features, 0))
        lifted = self._lifted()
        rests = lifted.rests
        # Below this, lifting costs little enough.
        needed = look.lowest - look.cost / (2 * _CLOSE * LEVEL * self.tol * self._size(inside))
        if self.basis.is_whole or lifted.separates(self.weights, needed):
            self._judge_by_what_is_known(inside, lifted)
            if self._is_proved or self.basis.is_whole:
                return nothing
        for tails in self._tails():
            for tail in tails:
                rests.learn(tail.weights, tail.lowest)
            rest, ritz = rests.of(self.weights), tails[0].ritz()
            enough = lifted.separates(self.weights, needed)
            if enough or tails[0].steps == _STEPS:
                self._judge(inside, lifted, self.failure_probability)
                if enough:
                    # What is left of the gap is rounding, or the cost of lines elsewhere.
                    self.is_stuck = self.loosest is None or self.attempts >= _ATTEMPTS
                    return self._toward(self.loosest)
            if ritz > needed:
                break
        expected = min(rest, 1.1 * ritz) / max(look.lowest, np.finfo(float).tiny)
        self.share = min(max(self.share, expected), 0.97)
        self.is_stuck = self.attempts >= _ATTEMPTS
        # If the basis lacks directions that matter, they are in the random block by now.
        return tails[0].leading() if ritz > 0.9 * look.lowest else nothing

    def _toward(self, weights: FloatArray | None) -> FloatArray:
        """Give the directions that other weights need."""
        if weights is None:
            return np.empty((self.operator.n_features, 0))
        found = top_space(self.basis.combination(weights), self.k)
        return self.basis.residual(weights, found.vectors)

    def _tails(self) -> Iterator[list[Tail]]:
        """Run block Lanczos for all matrices that the proof needs, one pass a step."""
        matrices = [self.weights]
        if self.objective.radii.any() and (self.weights <= 0).any():
            # A polygon needs bounds at other weights too, and no multiple of the combination covers
            # a group that counts negatively in it.
            matrices += list(np.eye(self.operator.n_groups))
        self.attempts += 1
        failure = self.failure_probability / len(matrices) / 2**self.attempts
        tails = [Tail(self.basis, one, failure, self.rng) for one in matrices]
        for _ in range(_STEPS):
            images = self.operator.images(np.hstack([tail.block for tail in tails]))
            first = 0
            for tail in tails:
                tail.step(images[:, :, first : first + tail.width])
                first += tail.width
            yield tails

    def _lifted(self) -> LiftedProblem:
        """Give the problem that proves what holds in the whole space."""
        residuals = self.basis.residuals()
        return LiftedProblem(
            self.basis,
            self.objective.shares,
            self.k,
            Rests(self.basis, residuals),
            residuals,
            has_hidden_features=self.has_hidden_features,
        )

    def _judge_by_what_is_known(self, inside: SolverResult, lifted: LiftedProblem) -> None:
        """Take the bound that needs no more passes."""
        by_chance = self.basis.learned and not self.basis.is_whole
        self._judge(inside, lifted, self.failure_probability if by_chance else 0.0)

    def _judge(self, inside: SolverResult, lifted: LiftedProblem, failure: float) -> None:
        """Take the bound that lifting proves, if it is the best so far."""
        bound, self.loosest = lifted_bound(inside, lifted, self.objective, self.weights, self.tol)
        if bound <= self.objective.lowest:
            # No error is negative, whatever was drawn.
            bound, failure = self.objective.lowest, 0.0
        weight = self.objective.fairness_weight
        size = self.objective.unreferenced(inside.group_errors)
        closed = is_closed(lifted, inside.objective, bound, self.tol, weight, size=size)
        found = replace(
            self._in_whole_space(inside),
            lower_bound=bound,
            status="optimal" if closed else "feasible",
            failure_probability=failure,
            lowest=self.objective.lowest,
            size=size,
        )
        self.history.append((found.objective, bound))
        if self.best is None or found.optimality_gap <= self.best.optimality_gap:
            self.best = settled(found, lifted, weight)

    def _in_whole_space(self, inside: SolverResult) -> SolverResult:
        return replace(inside, components=(self.basis.columns @ inside.components.T).T)

    def _finished(self, inside: SolverResult) -> SolverResult:
        if self.best is None:
            # No attempt came as far as a bound, as where rows span fewer than k directions.
            self._judge_by_what_is_known(inside, self._lifted())
        assert self.best is not None
        return replace(
            self.best,
            n_eigensolves=0,
            solver="products",
            n_passes=self.operator.passes,
            history=np.array(self.history).reshape(-1, 2),
        )


class _Look(NamedTuple):
    """The k-th eigenvalue inside, squared residuals of the first k, and directions to add."""

    lowest: float
    cost: float
    residual: FloatArray
