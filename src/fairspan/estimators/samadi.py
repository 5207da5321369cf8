"""FairPCA: minimise the largest loss of a group relative to its own PCA."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace

from fairspan.estimators.base import BaseFairPCA
from fairspan.fitting import least_largest_loss, warn_of_one_group
from fairspan.ground import defaults
from fairspan.ground.parameters import check_choice, check_integer, check_number
from fairspan.moments.group_moments import GroupMoments
from fairspan.problem.subspace import SubspaceProblem
from fairspan.solvers import Relaxed, SolverOptions, SolverResult
from fairspan.solvers.options import ITERATES

SOLVERS = ("exact", "multiplicative_weights")


@dataclass(eq=False, repr=False)
class FairPCA(BaseFairPCA):
    """Principal components that minimise the largest loss over the groups.

    Minimises over all k-dimensional subspaces::

        max over groups a of  error_a - (error of group a in its own best subspace)

    where each group is centred by its own mean (Samadi et al. [1]_; any number of groups as in
    [2]_). For two groups the semidefinite relaxation is exact and so is the solver here; for more,
    the relaxed optimum may be better than any projection, and both values are reported.

    On rows that are centred by group it is the limit of ``RobustFairPCA(disparity="largest",
    reference="own")`` for heavy fairness weights at radius 0; that estimator measures errors about
    the mean of all rows, this one about each group's own mean.

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
    tol : float, default=1e-8
        The relative gap between value and proved bound at which the search ends; of a loss that
        is negligible compared with the total variance, relative to a ten-thousandth of that.
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

    n_components: int = defaults.N_COMPONENTS
    _: KW_ONLY
    solver: str = "exact"
    standardize: bool = False
    clip: float | None = None
    tol: float = defaults.TOL
    max_iter: int = defaults.MAX_ITER
    learning_rate: float = 1.0
    iterate: str = "best"

    def _check_parameters(self) -> None:
        check_number("tol", self.tol, positive=True)
        check_choice("solver", self.solver, SOLVERS)
        check_choice("iterate", self.iterate, ITERATES)
        check_integer("max_iter", self.max_iter, 1)
        check_number("learning_rate", self.learning_rate, positive=True)

    def _solve(self, problem: SubspaceProblem, moments: GroupMoments) -> SolverResult:
        if moments.n_groups == 1:
            warn_of_one_group(self._y_given)
        options = SolverOptions(
            self.solver,
            tol=self.tol,
            max_iter=self.max_iter,
            learning_rate=float(self.learning_rate),
            iterate=self.iterate,
        )
        result, own_best = least_largest_loss(problem, moments, options)
        V = result.components
        relaxed = result.relaxed or Relaxed(V.T @ V, result.group_errors)
        self.group_losses_ = result.group_errors - own_best
        self.relaxation_, self.relaxed_losses_ = relaxed.matrix, relaxed.errors - own_best
        self.relaxed_objective_ = float(self.relaxed_losses_.max())
        return replace(result, group_errors=problem.errors(V.T), relaxed=None)
