"""Many objectives on the same rows: one basis serves them all, and grows where one needs more.

Each objective has a proof of its own. Random blocks bound what is orthogonal to the basis of their
time, and so what is orthogonal to every larger one: a bound that one proof paid for serves all
later ones. All of them hold together with the probability that is stated, by the union bound.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from fairspan.ground.types import FloatArray
from fairspan.objectives.robust import RobustFairObjective
from fairspan.problem.subspace import SubspaceProblem
from fairspan.products.basis import Basis
from fairspan.products.lifted import rounding_of
from fairspan.products.operator import SecondMoments
from fairspan.products.solve import ProductsFit
from fairspan.solvers import SolverResult

_COLUMNS = 64
"""Columns whose images are held at a time."""


@dataclass
class SharedBasis:
    """Fits of several objectives to the same rows, with the same number of components.

    Attributes
    ----------
    operator : SecondMoments
        The second moments of the groups.
    k : int
        Number of components.
    n_proofs : int
        The most objectives that are solved; the failure probability is divided among them.
    tol : float
        The relative gap to reach.
    failure_probability : float
        How probably any of the bounds may be wrong.
    rng : numpy.random.Generator
        Source of random blocks.
    has_hidden_features : bool
        Whether rounding hides some features.
    """

    operator: SecondMoments
    k: int
    n_proofs: int
    tol: float
    failure_probability: float
    rng: np.random.Generator
    has_hidden_features: bool = False
    n_solved: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.basis = Basis(self.operator, room=6 * self.k + 48)

    def solve(
        self, objective: RobustFairObjective, *, accuracy: float | None = None
    ) -> SolverResult:
        """Minimise an objective, and prove how close the result is.

        Parameters
        ----------
        objective : RobustFairObjective
            One of as many as were announced.
        accuracy : float, optional
            How far, relatively, residuals may be from 0: with it, the basis also contains the
            subspace to about this accuracy, where a proof would be content with its square root.

        Returns
        -------
        SolverResult
            The result, with the failure probability of all of them together.
        """
        self.n_solved += 1
        if self.n_solved > self.n_proofs:
            raise RuntimeError(
                f"The failure probability was divided among {self.n_proofs} proofs, but this is "
                f"number {self.n_solved}. This is a defect of fairspan: please report it."
            )
        fit = ProductsFit(
            self.operator,
            objective,
            self.k,
            self.tol,
            self.failure_probability / self.n_proofs,
            self.rng,
            has_hidden_features=self.has_hidden_features,
            shared=self.basis,
        )
        found = fit.run()
        if accuracy is not None:
            fit.refine(accuracy)
        # Bounds of other proofs may have served this one.
        stated = self.failure_probability if found.failure_probability > 0 else 0.0
        return replace(found, failure_probability=stated)

    def start(self) -> None:
        """Make sure that the basis has room for components, whatever it is used for first."""
        shares = self.operator.shares
        objective = RobustFairObjective(shares, 0.0, np.zeros(len(shares)))
        ProductsFit(
            self.operator, objective, self.k, self.tol, 1.0, self.rng, shared=self.basis
        ).start()

    def errors(self, subspace: FloatArray) -> FloatArray:
        """Compute the group errors of a subspace, orthonormal columns: one pass."""
        image = self.operator.images(subspace)
        kept = np.einsum("adk,dk->a", image, subspace)
        return self.problem(self.operator.shares).lost(kept)

    def problem(self, shares: FloatArray) -> SubspaceProblem:
        """Give the problem inside the basis, whose subspaces are attained and which proves nothing.

        Parameters
        ----------
        shares : ndarray of shape (n_groups,)
            How much each group counts in the total error.

        Returns
        -------
        SubspaceProblem
            Of as many features as the basis has columns.
        """
        problem = SubspaceProblem(
            self.basis.small,
            shares,
            self.k,
            traces=self.operator.traces,
            has_hidden_features=self.has_hidden_features,
        )
        problem.rounding = rounding_of(self.basis, self.k)
        return problem


def small_moments(operator: SecondMoments, columns: FloatArray) -> FloatArray:
    """Compute V'M_aV for every group, some columns in each pass.

    Parameters
    ----------
    operator : SecondMoments
        The second moments.
    columns : ndarray of shape (d, any)
        V.

    Returns
    -------
    ndarray of shape (n_groups, any, any)
        Symmetric matrices.
    """
    width = columns.shape[1]
    found = np.empty((operator.n_groups, width, width))
    for start in range(0, width, _COLUMNS):
        some = slice(start, start + _COLUMNS)
        found[:, :, some] = columns.T @ operator.images(columns[:, some])
    return np.asarray(0.5 * (found + found.transpose(0, 2, 1)))
