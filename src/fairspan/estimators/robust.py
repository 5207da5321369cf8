"""RobustFairPCA: the paper's method, solved to a proved optimum."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from fairspan._types import FloatArray
from fairspan._validation import check_choice, check_integer, check_number
from fairspan.ambiguity import radii_of, worst_case_rows
from fairspan.estimators.base import BaseFairPCA
from fairspan.exceptions import NoGroupsWarning
from fairspan.groups import Groups, encode_groups
from fairspan.moments import GroupMoments
from fairspan.objectives import RobustFairObjective
from fairspan.problem import SubspaceProblem
from fairspan.solvers.front import RETRACTIONS, SOLVERS, SolverOptions, solve
from fairspan.solvers.result import SolverResult

logger = logging.getLogger("fairspan")


class RobustFairPCA(BaseFairPCA):
    """Principal components that balance the reconstruction errors of groups, robustly.

    Minimises over all k-dimensional subspaces::

        total error + fairness_weight * (largest group error - smallest group error)

    in the worst case over all distributions whose group moments lie within a radius of the data's,
    and proves how close to the global minimum the result is. The objective balances
    reconstruction error between the groups you name, on the data you give; it is not a guarantee
    of fairness downstream.

    Parameters
    ----------
    n_components : int, default=2
        Number of components k, from 1 to n_features.
    fairness_weight : float, default=1.0
        How much the gap between groups counts against the total error, 0 or more. It is the
        paper's lambda, and is never lowered.
    radius : float or mapping, default=0.1
        Size of the ambiguity set. A number is the paper's alpha: group a gets
        ``radius / sqrt(n_a)``. A mapping {label: radius} sets each group's own. It is in squared
        units of the data, so standardised data makes it comparable; 0 trusts the data as it is.
    standardize : bool, default=False
        Divide features by their standard deviation over all rows; constant features stay.
    solver : {"auto", "newton", "boundary", "subgradient"}, default="auto"
        "newton" serves any number of groups, "boundary" two; both prove their result.
        "subgradient" is the paper's algorithm. "auto" takes "boundary" for two groups and
        "newton" for more.
    tol : float, default=1e-8
        The relative gap between value and proved bound at which the search ends.
    max_iter : int, default=1000
        Most eigen-solves ("boundary"), Newton iterations of each start ("newton"), or steps of
        each restart ("subgradient").
    max_time : float, default=5.0
        Seconds after which "newton" gives up proving and returns the gap proved so far. With many
        groups a few problems cannot be proved to ``tol``; most take milliseconds.
    n_init : int, default=20
        Random starts of "subgradient", besides one from PCA.
    retraction : {"qr", "polar"}, default="qr"
        How a step of "subgradient" returns to the manifold.
    random_state : int, RandomState instance or None, default=None
        Seed of the random starts.
    verbose : int, default=0
        If positive, the result is logged at level INFO of the logger "fairspan".

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal rows. Inside the subspace the basis is PCA's: most variance first, the largest
        loading of each row positive.
    mean_, scale_ : ndarray of shape (n_features,)
        What is subtracted from and divided out of rows; ``scale_`` is None without ``standardize``.
    explained_variance_, explained_variance_ratio_ : ndarray of shape (n_components,)
        Variance of all rows along each component (ddof 1), and its share of the total.
    group_labels_ : list
        The groups, sorted; attributes of groups follow this order.
    group_counts_, group_weights_ : ndarray of shape (n_groups,)
        Rows and sums of weights.
    group_errors_ : ndarray of shape (n_groups,)
        Mean squared reconstruction error of each group.
    total_error_, error_gap_ : float
        Mean error of all rows; largest minus smallest group error.
    group_radii_ : ndarray of shape (n_groups,)
        The radius of each group's ambiguity set.
    objective_, lower_bound_ : float
        Value of the objective, and a bound proved for every subspace.
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
    sklearn.decomposition.PCA : Equal to this with fairness weight 0 and radius 0.

    References
    ----------
    .. [1] "Distributionally Robust Fair Principal Components via Geodesic Descents", ICLR 2022.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fairspan import RobustFairPCA
    >>> data = load_breast_cancer()
    >>> groups = data.target_names[data.target]
    >>> pca = RobustFairPCA(3, standardize=True).fit(data.data, sensitive_features=groups)
    >>> pca.group_labels_, pca.group_errors_.round(2)
    (['benign', 'malignant'], array([8.5 , 8.58]))
    >>> pca.result_.status
    'optimal'
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        fairness_weight: float = 1.0,
        radius: float | Mapping[Any, float] = 0.1,
        standardize: bool = False,
        solver: str = "auto",
        tol: float = 1e-8,
        max_iter: int = 1000,
        max_time: float = 5.0,
        n_init: int = 20,
        retraction: str = "qr",
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.fairness_weight = fairness_weight
        self.radius = radius
        self.standardize = standardize
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.n_init = n_init
        self.retraction = retraction
        self.random_state = random_state
        self.verbose = verbose

    def worst_case(self, X: Any, *, sensitive_features: Any = None) -> FloatArray:
        """Move rows to the worst distribution within the radius, for the fitted projection.

        It shows whom the robustness protects against: the error of the group that fares worse
        grows, that of the group that fares better shrinks (or grows less), each by as
        much as its radius allows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, usually those the estimator was fitted on.
        sensitive_features : array-like, frame or dict, optional
            The group of each row, among those seen in fit.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            The moved rows, in the units of X.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        groups = (
            Groups.single(len(X))
            if sensitive_features is None
            else encode_groups(sensitive_features, len(X))
        )
        if sensitive_features is None and len(self.group_labels_) > 1:
            raise ValueError(
                "sensitive_features is missing; the worst case differs between the groups "
                f"{self.group_labels_[:5]}."
            )
        unknown = [label for label in groups.labels if label not in self.group_labels_]
        if unknown:
            raise ValueError(
                f"sensitive_features has groups that fit did not see: {unknown[:5]}; it saw "
                f"{self.group_labels_[:5]}."
            )
        objective = self._fitted_objective
        coefficients = objective.coefficients(objective.active_pair(self.group_errors_))
        moved = self._centred(X)
        for code, label in enumerate(groups.labels):
            a, rows = self.group_labels_.index(label), groups.codes == code
            moved[rows] = worst_case_rows(
                moved[rows],
                self.components_,
                self.group_errors_[a],
                self.group_radii_[a],
                coefficients[a],
            )
        return np.asarray((moved if self.scale_ is None else moved * self.scale_) + self.mean_)

    def _check_parameters(self) -> None:
        check_number("fairness_weight", self.fairness_weight)
        check_number("tol", self.tol, above=0.0)
        check_choice("solver", self.solver, SOLVERS)
        check_choice("retraction", self.retraction, RETRACTIONS)
        check_integer("max_iter", self.max_iter, 1)
        check_number("max_time", self.max_time, above=0.0)
        check_integer("n_init", self.n_init, 0)
        if isinstance(self.radius, Mapping):
            for label, value in self.radius.items():
                check_number(f"radius[{label!r}]", value)
        else:
            check_number("radius", self.radius)

    def _solve(self, problem: SubspaceProblem, moments: GroupMoments) -> SolverResult:
        if problem.n_groups == 1 and self.fairness_weight > 0:
            warnings.warn(
                f"There is only one group, so fairness_weight={self.fairness_weight} has no effect "
                "and the result is PCA. Pass sensitive_features=..., or set fairness_weight=0.",
                NoGroupsWarning,
                stacklevel=4,
            )
        objective = self._objective(moments)
        result = solve(problem, objective, self._options())
        self._fitted_objective, self.group_radii_ = objective, objective.radii
        logger.log(
            logging.INFO if self.verbose else logging.DEBUG,
            "%s: objective %.10g, bound %.10g, gap %.2g, %d eigen-solves",
            result.solver,
            result.objective,
            result.lower_bound,
            result.optimality_gap,
            result.n_eigensolves,
        )
        if result.status != "optimal":
            warnings.warn(
                f"Solver {result.solver!r} ended with status {result.status!r}: the objective "
                f"{result.objective:.6g} is proved optimal to a relative gap of "
                f"{result.optimality_gap:.2g}, not to tol={self.tol}.",
                ConvergenceWarning,
                stacklevel=4,
            )
        return result

    def _options(self) -> SolverOptions:
        random_state = check_random_state(self.random_state)
        return SolverOptions(
            solver=self.solver,
            tol=self.tol,
            max_iter=self.max_iter,
            max_time=self.max_time,
            n_init=self.n_init,
            retraction=self.retraction,
            rng=np.random.default_rng(random_state.randint(2**31)),
        )

    def _objective(self, moments: GroupMoments) -> RobustFairObjective:
        weight = float(self.fairness_weight)
        return RobustFairObjective(moments.shares, weight, radii_of(self.radius, moments))
