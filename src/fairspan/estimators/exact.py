"""ExactlyFairPCA: two groups get the same error, at the least cost in total error."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from fairspan.estimators.base import BaseFairPCA
from fairspan.fitting import warn_of_one_group
from fairspan.ground import defaults
from fairspan.ground.parameters import check_number
from fairspan.moments.group_moments import GroupMoments
from fairspan.objectives import RobustFairObjective, TotalErrorWithinGap
from fairspan.problem.subspace import SubspaceProblem
from fairspan.solvers import SolverOptions, SolverResult, solve


@dataclass(eq=False, repr=False)
class ExactlyFairPCA(BaseFairPCA):
    """Principal components that give two groups the same reconstruction error, or nearly the same.

    Minimises over all k-dimensional subspaces::

        total error   subject to   |error of group 0 - error of group 1| <= max_gap

    and proves the global minimum by its dual problem, with about nine eigen-solves. Not every
    table has such a subspace: one exists if and only if the sum of the d - k smallest eigenvalues
    of the difference of both groups' second moments is at most max_gap, and the sum of the d - k
    largest at least -max_gap. Where none exists, ``fit`` says which differences are attainable.

    Parameters
    ----------
    n_components : int, default=2
        Number of components k, from 1 to n_features.
    max_gap : float, default=0.0
        The largest gap between the group errors that is allowed, in squared units of the data
        (of the standardised data, if ``standardize``).
    standardize : bool, default=False
        Divide features by their standard deviation over all rows; constant features stay.
    clip : float, optional
        Clip features at this number of standard deviations from their mean, in ``fit`` and of the
        rows of every method after it; ``clip_limits_`` holds the limits. For columns in which a
        few extreme rows decide, see :func:`fairspan.inference.support`. It needs rows in memory.
    tol : float, default=1e-8
        The relative distance between total error and proved bound to reach.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal rows. Inside the subspace the basis is PCA's: most variance first, the largest
        loading of each row positive.
    mean_, scale_ : ndarray of shape (n_features,)
        What is subtracted from and divided out of rows; ``scale_`` is None without ``standardize``.
    explained_variance_, explained_variance_ratio_ : ndarray of shape (n_components,)
        Variance of all rows along each component (ddof 1), and its share of the total.
    fairness_weight_threshold_ : float
        The fairness weight from which on :class:`~fairspan.RobustFairPCA` with radius 0 keeps the
        gap within ``max_gap``; for ``max_gap=0`` heavier weights change nothing any more. 0 if PCA
        itself is fair, infinite if only the limit of heavy weights is.
    group_labels_ : list
        The groups, sorted; attributes of groups follow this order.
    group_counts_, group_weights_ : ndarray of shape (n_groups,)
        Rows and sums of weights.
    group_errors_ : ndarray of shape (n_groups,)
        Mean squared reconstruction error of each group.
    total_error_, error_gap_ : float
        Mean error of all rows; largest minus smallest group error.
    objective_, lower_bound_ : float
        The total error, and a bound proved for every subspace within ``max_gap``.
    optimality_gap_ : float
        Their relative distance.
    n_eigensolves_ : int
        Eigen-solves that were needed, the proof included.
    n_iter_ : int
        Iterations of the solver.
    moments_ : GroupMoments
        The moments of the data.
    result_ : SolverResult
        What the solver returned.
    n_features_in_, feature_names_in_, n_components_, n_samples_
        As in scikit-learn's PCA.

    See Also
    --------
    RobustFairPCA : Weighs the gap against the total error, robustly and for any number of groups.
    fairness_frontier : Every trade-off between PCA and this.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fairspan import ExactlyFairPCA
    >>> data = load_breast_cancer()
    >>> groups = data.target_names[data.target]
    >>> pca = ExactlyFairPCA(3, standardize=True).fit(data.data, sensitive_features=groups)
    >>> pca.group_errors_.round(6)
    array([8.579553, 8.579553])
    >>> round(pca.fairness_weight_threshold_, 4)
    0.6306
    """

    n_components: int = defaults.N_COMPONENTS
    _: KW_ONLY
    max_gap: float = 0.0
    standardize: bool = False
    clip: float | None = None
    tol: float = defaults.TOL

    def _check_parameters(self) -> None:
        check_number("max_gap", self.max_gap)
        check_number("tol", self.tol, positive=True)

    def _solve(self, problem: SubspaceProblem, moments: GroupMoments) -> SolverResult:
        if problem.n_groups == 1:
            warn_of_one_group(self._y_given)
            self.fairness_weight_threshold_ = 0.0
            total = RobustFairObjective(problem.shares, 0.0, 0.0 * problem.shares)
            return solve(problem, total, SolverOptions(tol=self.tol))
        if problem.n_groups != 2:
            raise ValueError(
                f"ExactlyFairPCA needs 2 groups, but there are {problem.n_groups}: more than two "
                "errors can seldom be equal. Use RobustFairPCA with a large fairness_weight."
            )
        within = TotalErrorWithinGap(problem.shares, float(self.max_gap))
        try:
            result = solve(problem, within, SolverOptions(tol=self.tol))
        except ValueError as error:
            first, second = moments.labels
            raise ValueError(f"{error} The groups are {first!r} and {second!r}.") from None
        self.fairness_weight_threshold_ = result.threshold
        return result
