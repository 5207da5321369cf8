"""FairPCA: the largest loss of a group against its own PCA is as small as can be."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairspan.estimators.base import BaseFairPCA
from fairspan.fitting import warn_of_one_group
from fairspan.ground.parameters import check_choice, check_integer, check_number
from fairspan.ground.types import FloatArray
from fairspan.moments.group_moments import GroupMoments
from fairspan.problem.subspace import SubspaceProblem
from fairspan.solvers.minimax.game import Relaxed, solve_many_groups, unmixed
from fairspan.solvers.minimax.minimax import LossGame, solve_two_groups
from fairspan.solvers.minimax.multiplicative_weights import solve_multiplicative_weights
from fairspan.solvers.result import SMALLEST_LOSS, SolverResult, relative_gap, safe_bound

SOLVERS = ("exact", "multiplicative_weights")
ITERATES = ("best", "average", "last")


class FairPCA(BaseFairPCA):
    """Principal components whose largest loss over the groups is least.

    Minimises over all k-dimensional subspaces::

        max over groups a of  error_a - (error of group a in its own best subspace)

    where each group is centred by its own mean (Samadi et al. [1]_; any number of groups as in
    [2]_). For two groups the semidefinite relaxation is exact and so is the solver here; for more,
    the relaxed optimum may be better than any projection, and both values are reported.

    Parameters
    ----------
    n_components : int, default=2
        Number of components k, from 1 to n_features.
    solver : {"exact", "multiplicative_weights"}, default="exact"
        "exact" searches the weights of the groups and proves the result;
        "multiplicative_weights" is the published algorithm.
    standardize : bool, default=False
        Divide features by their standard deviation over all rows; constant features stay.
    clip : float, optional
        Clip features at this number of standard deviations from their mean, in ``fit`` and of the
        rows of every method after it; ``clip_limits_`` holds the limits. For columns in which a
        few extreme rows decide, see :func:`fairspan.inference.support`. It needs rows in memory.
    tol : float, default=1e-9
        The relative gap between value and proved bound at which the search ends; of a loss that
        vanishes beside the total variance, relative to a ten-thousandth of the latter.
    max_iter : int, default=1000
        Most eigen-solves ("exact"), or the number of steps ("multiplicative_weights").
    learning_rate : float, default=1.0
        Of "multiplicative_weights": how fast the weights of the groups react to their losses.
    iterate : {"best", "average", "last"}, default="best"
        Of "multiplicative_weights": the average of the projections, the last one, or that of the
        two with the smaller largest loss. An average is no projection: ``relaxation_`` holds it
        and ``components_`` its leading eigenvectors.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal rows, in PCA's basis.
    group_losses_ : ndarray of shape (n_groups,)
        Loss of each group for ``components_``, groups centred by their own means.
    objective_, lower_bound_ : float
        The largest of the losses, and a bound proved for every subspace.
    relaxation_ : ndarray of shape (n_features, n_features)
        The matrix 0 <= P <= I of trace k that the relaxed problem, or the published algorithm,
        arrives at; the projection on ``components_`` wherever that is as good.
    relaxed_losses_ : ndarray of shape (n_groups,)
        Losses of the groups for ``relaxation_``.
    relaxed_objective_ : float
        The largest of them.
    mean_, scale_, explained_variance_, explained_variance_ratio_, group_labels_, group_counts_, \
group_weights_, group_errors_, total_error_, error_gap_, optimality_gap_, n_eigensolves_, n_iter_, \
moments_, result_
        As in :class:`fairspan.RobustFairPCA`; group errors are about the mean of all rows.

    References
    ----------
    .. [1] S. Samadi, U. Tantipongpipat, J. Morgenstern, M. Singh and S. Vempala, "The price of
       fair PCA: one extra dimension", NeurIPS 2018.
    .. [2] U. Tantipongpipat, S. Samadi, M. Singh, J. Morgenstern and S. Vempala, "Multi-criteria
       dimensionality reduction with applications to fairness", NeurIPS 2019.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fairspan import FairPCA
    >>> data = load_breast_cancer()
    >>> groups = data.target_names[data.target]
    >>> pca = FairPCA(3, standardize=True).fit(data.data, sensitive_features=groups)
    >>> pca.group_losses_.round(4), pca.result_.status
    (array([1.3483, 1.3483]), 'optimal')
    """

    # The relaxed matrix is one of the whole space.
    _works_in_any_basis = False

    def __init__(
        self,
        n_components: int = 2,
        *,
        solver: str = "exact",
        standardize: bool = False,
        clip: float | None = None,
        tol: float = 1e-9,
        max_iter: int = 1000,
        learning_rate: float = 1.0,
        iterate: str = "best",
    ) -> None:
        self.n_components = n_components
        self.solver = solver
        self.standardize = standardize
        self.clip = clip
        self.tol = tol
        self.max_iter = max_iter
        self.learning_rate = learning_rate
        self.iterate = iterate

    def _check_parameters(self) -> None:
        check_number("tol", self.tol, positive=True)
        check_choice("solver", self.solver, SOLVERS)
        check_choice("iterate", self.iterate, ITERATES)
        check_integer("max_iter", self.max_iter, 1)
        check_number("learning_rate", self.learning_rate, positive=True)

    def _solve(self, problem: SubspaceProblem, moments: GroupMoments) -> SolverResult:
        if moments.n_groups == 1:
            warn_of_one_group()
        game = LossGame(SubspaceProblem(moments.covariances, moments.shares, problem.k))
        relaxed, subspace = self._play(game)
        losses = game.problem.errors(subspace) - game.offsets
        value = float(losses.max())
        gap = relative_gap(value, game.bound, game.problem.scale, SMALLEST_LOSS)
        result = SolverResult(
            components=subspace.T,
            group_errors=problem.errors(subspace),
            objective=value,
            lower_bound=safe_bound(game.bound, value, problem.scale),
            status="optimal" if gap <= self.tol else "feasible",
            scale=game.problem.scale,
            solver=self.solver,
            n_eigensolves=game.problem.n_eigensolves,
            history=np.array(game.history),
        )
        self.group_losses_ = losses
        self.relaxation_, self.relaxed_losses_, self.relaxed_objective_ = relaxed
        return result

    def _play(self, game: LossGame) -> tuple[Relaxed, FloatArray]:
        if self.solver == "multiplicative_weights":
            iterate: Any = self.iterate
            return solve_multiplicative_weights(
                game,
                learning_rate=float(self.learning_rate),
                max_iter=self.max_iter,
                iterate=iterate,
            )
        if game.problem.n_groups > 2:
            relaxed = solve_many_groups(game, tol=self.tol, max_iter=self.max_iter)
            return relaxed, game.subspace
        if game.problem.n_groups == 2:
            solve_two_groups(game, tol=self.tol, max_iter=self.max_iter)
        return unmixed(game), game.subspace
