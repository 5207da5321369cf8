"""RobustFairPCA: the paper's method, solved to a proved optimum."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import validate_data

from fairspan.estimators.prefixes import PrefixMixin
from fairspan.estimators.routes import RouteMixin
from fairspan.estimators.worst_case import WorstCaseMixin
from fairspan.exceptions import NoGroupsWarning
from fairspan.fitting import ask_for_groups
from fairspan.ground import defaults
from fairspan.ground.parameters import (
    check_choice,
    check_integer,
    check_level,
    check_max_time,
    check_number,
    check_replicates,
    generator_from,
)
from fairspan.ground.rows import check_weights, is_dask, is_wide
from fairspan.ground.types import FloatArray
from fairspan.ground.warn import warn
from fairspan.moments.from_rows import pooled_scale
from fairspan.moments.group_moments import GroupMoments
from fairspan.moments.groups import Groups
from fairspan.moments.resampling import resampled_moments
from fairspan.moments.small_groups import (
    groups_as_fitted,
    treated,
)
from fairspan.moments.summary import GroupSummary
from fairspan.objectives.ambiguity import bootstrap_radii
from fairspan.objectives.counting import Counting, radii_of
from fairspan.objectives.robust import RobustFairObjective
from fairspan.problem.subspace import SubspaceProblem
from fairspan.products import RowParts
from fairspan.products.route import ROUTES
from fairspan.solvers import SolverOptions, SolverResult, solve
from fairspan.solvers.options import RETRACTIONS, SOLVERS, STARTS
from fairspan.solvers.ordering import ORDERS, nested_basis, of_size, solve_greedy

logger = logging.getLogger("fairspan")


@dataclass(eq=False, repr=False)
class RobustFairPCA(PrefixMixin, WorstCaseMixin, RouteMixin):
    """Principal components that balance the reconstruction errors of groups.

    Minimises over all k-dimensional subspaces::

        total error + fairness_weight * (largest group error - smallest group error)

    in the worst case over all distributions whose group moments lie within a radius of the data's,
    and proves how close to the global minimum the result is. ``disparity="largest"`` puts the
    largest group error alone in place of the difference: no group is made worse to look more
    equal. The objective balances reconstruction error between the groups you name, on the data you
    give; it is not a guarantee of fairness downstream.

    Parameters
    ----------
    n_components : int, default=2
        Number of components k, from 1 to n_features.
    fairness_weight : float, default=1.0
        How much the gap between groups counts against the total error, from 0 to 1e20. It is the
        paper's lambda, and is never lowered. With ``disparity="gap"``, a weight above the share of
        the better-served group counts that group's error as good: a fit that leaves a gap is then
        dominated, which means that another projection serves every group better.
    disparity : {"gap", "largest"}, default="gap"
        What the fairness weight counts. "gap" is the paper's: largest minus smallest group error.
        "largest" is the largest group error; no projection serves every group at least as well as
        its fit and one of them better, and at radius 0 without references the worst-served group
        is never worse off than under PCA with the same ``group_weights``. Both hold for the
        minimum, and so not with ``order="greedy"``, whose subspace is another one.
    reference : {"none", "own"} or mapping, default="none"
        What each group's error is compared with; it is subtracted before errors are compared.
        "own" is the error of the group's own best k components (with a radius, its worst case), so
        that a group counts by what the common projection costs it. {label: number} sets each
        group's own, in the units of the fit. With ``disparity="largest"``, heavy fairness weights
        and radius 0, "own" is the objective of :class:`fairspan.FairPCA`, apart from centring: all
        errors here are about the mean of all rows, those of ``FairPCA`` about each group's mean.
    radius : float, mapping or "bootstrap", default=0.0
        Size of the ambiguity set. A number is the paper's alpha: group a gets
        ``radius / sqrt(n_a)``. A mapping {label: radius} sets each group's own. It is in squared
        units of the data, so standardised data makes it comparable; 0 trusts the data as it is.
        "bootstrap" takes it from the data, see ``radius_level``; it needs rows, so only ``fit``
        accepts it, and at least 2 of them in each group.
    radius_level : float, default=0.95
        With ``radius="bootstrap"``, the probability that the moments of a resampled group stay
        within its radius. The radius is this quantile of the squared Gelbrich divergence between
        bootstrap (Poisson weights) and empirical moments. It shrinks like 1 / n_a and depends on
        the spread of the group; the paper's alpha / sqrt(n_a) depends on its size alone.
    n_bootstrap : int, default=200
        Replicates for ``radius="bootstrap"``.
    group_weights : {"share", "equal"} or mapping, default="share"
        How groups count in the total error that is minimised: by their share of the rows (the
        paper's p_a, so that it is the mean error of all rows), all alike, or as a mapping
        {label: weight} says, up to a common factor. ``total_weights_`` holds what came of it.
    missing_groups : {"raise", "own_group", "total_only"}, default="raise"
        What to do with rows without a label (None, NaN, NaT). "own_group" makes them a
        group labelled "missing". "total_only" counts them in the total error, with a radius of
        their own like any group, but not in the gap; they keep their share of the total with
        ``group_weights="equal"``.
    small_groups : {"keep", "pool", "total_only"}, default="keep"
        What to do with groups with fewer than ``min_rows`` rows. "pool" makes them one group,
        labelled "small groups". "total_only" counts them in the total error, with one radius for
        all of them, but not in the gap. A warning says what was done. Both need all rows or their
        moments, so ``partial_fit`` refuses them; in ``score``, rows of groups that the fit does not
        know are among the small ones.
    min_rows : int, default=5
        The fewest rows of a group that is not small.
    standardize : bool, default=False
        Divide features by their standard deviation over all rows; constant features stay.
    clip : float, optional
        Clip features at this number of standard deviations from their mean, in ``fit`` and of the
        rows of every method after it; ``clip_limits_`` holds the limits. For columns in which a
        few extreme rows decide, see :func:`fairspan.inference.support`. It needs rows in memory.
    order : {"variance", "nested", "greedy"}, default="variance"
        Which basis of the subspace is returned, and so what the first j components are good for.
        "variance" is PCA's, most variance first. "nested" drops the direction that costs least
        from the subspace of k, then from what is left, and so on: the subspace of all k is the
        same, and its first j components are nearly the best j (with more than two groups the
        direction to drop is found by a search, not proved). "greedy" finds components one by
        one, each the best given those before: another subspace, whose bound is that of the
        best one. See ``prefixes``.
    solver : {"auto", "newton", "boundary", "subgradient"}, default="auto"
        "newton" serves any number of groups, "boundary" two; both prove their result.
        "subgradient" is the paper's algorithm. "auto" takes "boundary" for two groups and
        "newton" for more.
    tol : float, default=1e-8
        The relative gap between value and proved bound at which the search ends.
    max_iter : int, default=1000
        Most eigen-solves ("boundary"), Newton iterations of each start ("newton"), or steps of
        each restart ("subgradient").
    effort : float, default=1.0
        Multiplies the work that "newton" may spend on the proof. Work is counted, not timed: the
        same call gives the same answer on any machine. With three groups or more a few problems
        cannot be proved to ``tol``; most take milliseconds.
    max_time : float, default=None
        Seconds after which "newton" gives up proving, a safety net. If it was needed,
        ``result_.was_cut`` is True.
    n_init : int, default=20
        Random starts of "subgradient".
    start : {"both", "random", "pca"}, default="both"
        Where "subgradient" starts: at random, at PCA, or both. The paper's algorithm as printed is
        ``start="random", n_init=1, iterate="last"``.
    iterate : {"best", "last"}, default="best"
        Which iterate of "subgradient" is the result: the best of all, or the best of the last
        iterates of each start, as in the paper.
    retraction : {"qr", "polar"}, default="qr"
        How a step of "subgradient" returns to the manifold.
    route : {"auto", "moments", "products"}, default="auto"
        "moments" computes one matrix of features by features for each group. "products" only
        multiplies thin blocks with the rows, dense or sparse, for data with too many features for
        that; there is no ``moments_`` then. It takes one or two groups, or any number with
        radius 0 and no reference. "auto" takes products only from 4,096 features on, where
        they cost less or moments do not fit in memory.
    failure_probability : float, default=1e-10
        Probability that the bound of "products" is wrong. It rests on random blocks, unless the
        data allows a deterministic proof; ``result_.proof`` says which.
    random_state : int, RandomState instance, Generator or None, default=None
        Seed of the random starts and of the bootstrap; of the latter None is a fixed one.
    verbose : int, default=0
        If positive, the result is logged at level INFO of the logger "fairspan".

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal rows, the largest loading of each positive. Inside the subspace the basis is
        PCA's, most variance first, unless ``order`` says otherwise.
    mean_, scale_ : ndarray of shape (n_features,)
        What is subtracted from and divided out of rows; ``scale_`` is None without ``standardize``.
    explained_variance_, explained_variance_ratio_ : ndarray of shape (n_components,)
        Variance of all rows along each component (ddof 1), and its share of the total.
    group_labels_ : list
        The groups, sorted; attributes of groups follow this order.
    group_counts_, group_weights_ : ndarray of shape (n_groups,)
        Rows and sums of sample weights.
    total_weights_ : ndarray of shape (n_groups,)
        How much each group counts in the total error of the objective; they sum to 1.
    group_errors_ : ndarray of shape (n_groups,)
        Mean squared reconstruction error of each group.
    total_error_, error_gap_ : float
        Mean error of all rows; largest minus smallest error of the groups that the gap is about.
    group_radii_ : ndarray of shape (n_groups,)
        The radius of each group's ambiguity set.
    group_references_ : ndarray of shape (n_groups,)
        What each group's error is compared with; 0 without references.
    objective_, lower_bound_ : float
        Value of the objective, and a bound proved for every subspace.
    optimality_gap_ : float
        Their relative distance.
    n_eigensolves_ : int
        Eigen-solves that were needed, the proof included.
    n_iter_ : int
        Iterations of the solver; steps of each start for "subgradient".
    moments_ : GroupMoments
        The moments of the data; absent if the model was fitted by products.
    route_ : str
        How the model was fitted, "moments" or "products".
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
    (['benign', 'malignant'], array([8.58, 8.58]))
    >>> pca.result_.status
    'optimal'
    """

    n_components: int = defaults.N_COMPONENTS
    _: KW_ONLY
    fairness_weight: float = defaults.FAIRNESS_WEIGHT
    disparity: str = "gap"
    reference: str | Mapping[Any, float] = "none"
    radius: float | Mapping[Any, float] | str = defaults.RADIUS
    radius_level: float = defaults.LEVEL
    n_bootstrap: int = defaults.RADIUS_REPLICATES
    group_weights: str | Mapping[Any, float] = "share"
    missing_groups: str = "raise"
    small_groups: str = "keep"
    min_rows: int = defaults.MIN_ROWS
    standardize: bool = False
    clip: float | None = None
    order: str = "variance"
    solver: str = "auto"
    tol: float = defaults.TOL
    max_iter: int = defaults.MAX_ITER
    effort: float = defaults.EFFORT
    max_time: float | None = None
    n_init: int = defaults.N_INIT
    start: str = "both"
    iterate: str = "best"
    retraction: str = "qr"
    route: str = "auto"
    failure_probability: float = defaults.FAILURE_PROBABILITY
    random_state: Any = None
    verbose: int = 0

    def _check_parameters(self) -> None:
        check_number("fairness_weight", self.fairness_weight)
        check_number("tol", self.tol, positive=True)
        check_choice("solver", self.solver, SOLVERS)
        check_choice("order", self.order, ORDERS)
        check_choice("retraction", self.retraction, RETRACTIONS)
        check_choice("route", self.route, ROUTES)
        check_level("failure_probability", self.failure_probability)
        check_integer("max_iter", self.max_iter, 1)
        check_number("effort", self.effort, positive=True)
        check_max_time(self.max_time)
        check_choice("start", self.start, STARTS)
        check_integer("n_init", self.n_init, 1 if self.start == "random" else 0)
        check_choice("iterate", self.iterate, ("best", "last"))
        verbose: Any = self.verbose
        if not isinstance(verbose, Integral | np.bool_):
            raise TypeError(
                f"verbose={verbose!r} is not an integer; 0 is silent, 1 logs the result."
            )
        self._counting().checked()
        check_integer("min_rows", self.min_rows, 1)
        if isinstance(self.radius, Mapping):
            for label, value in self.radius.items():
                check_number(f"radius[{label!r}]", value)
        elif isinstance(self.radius, str):
            check_choice("radius", self.radius, ("bootstrap",))
            check_level("radius_level", self.radius_level)
            check_replicates(self.n_bootstrap)
        else:
            check_number("radius", self.radius)

    def _moments(
        self, X: Any, sensitive_features: Any, sample_weight: Any, *, reset: bool, whole: bool
    ) -> GroupMoments:
        resample = whole and isinstance(self.radius, str)
        if resample and (is_dask(X) or issparse(X)):
            raise ValueError(
                "radius='bootstrap' resamples rows in memory, but X is "
                f"{'sparse' if issparse(X) else 'a Dask collection'}; give a number or "
                "{label: radius} instead."
            )
        moments = super()._moments(X, sensitive_features, sample_weight, reset=reset, whole=whole)
        self._resampled = None
        if not whole and self.small_groups != "keep":
            raise ValueError(
                f"small_groups={self.small_groups!r} needs all rows to count them, which "
                "partial_fit does not see; use fit, or small_groups='keep'."
            )
        moments = self._treated(moments) if whole else moments
        if resample:
            X = self._clipped(validate_data(self, X, dtype=np.float64, reset=False))
            groups = Groups.of(sensitive_features, len(X), self.missing_groups)
            groups = groups_as_fitted(groups, moments.labels, self.small_groups)
            weight = None if sample_weight is None else check_weights(sample_weight, len(X))
            rng = generator_from(0 if self.random_state is None else self.random_state)
            replicates = resampled_moments(X, groups, self.n_bootstrap, rng, weight)
            scale = pooled_scale(moments) if self.standardize else None
            radii = bootstrap_radii(moments, replicates, self.radius_level, scale)
            self._resampled = (moments.weights, radii)
        return moments

    def _may_skip_moments(self, X: Any) -> bool:
        may = self.route == "auto" and is_wide(X)
        return self.route == "products" or isinstance(X, RowParts) or may

    def _treated(self, moments: GroupMoments) -> GroupMoments:
        if self.small_groups == "keep":
            return moments
        return treated(moments, self.small_groups, self.min_rows)

    def _solve(self, problem: SubspaceProblem, moments: GroupMoments) -> SolverResult:
        if self.route == "products":
            raise ValueError(
                "route='products' goes over the rows many times, which only fit can; with moments "
                "or partial_fit, use route='auto'."
            )
        self._warn_of_nothing_to_compare(self._counting(), moments)
        self.route_ = "moments"
        self.group_radii_ = self._radii(moments)
        objective = self._objective(problem, moments)
        result = self._solved(problem, objective, moments)
        self._set_objective(objective)
        logger.log(
            logging.INFO if self.verbose else logging.DEBUG,
            "%s: objective %.10g, bound %.10g, gap %.2g, %d eigen-solves",
            result.solver,
            result.objective,
            result.lower_bound,
            result.optimality_gap,
            result.n_eigensolves,
        )
        return result

    def _set_objective(self, objective: RobustFairObjective) -> None:
        none = np.zeros(objective.n_groups)
        self._fitted_objective = objective
        self.total_weights_ = objective.shares
        self.group_references_ = none if objective.references is None else objective.references

    def _warn_of_nothing_to_compare(self, counting: Counting, moments: GroupSummary) -> None:
        if not counting.compares(moments) and self.fairness_weight > 0:
            warn(
                "There are fewer than two groups to compare, so "
                f"fairness_weight={self.fairness_weight} has no effect; set it to 0 for plain PCA. "
                f"{ask_for_groups(self._y_given, moments.labels)}",
                NoGroupsWarning,
            )

    def _solved(
        self, problem: SubspaceProblem, objective: RobustFairObjective, moments: GroupMoments
    ) -> SolverResult:
        """Find the subspace, and its basis in the order that is asked for."""

        def objective_of(size: int) -> RobustFairObjective:
            if self.reference != "own":
                return objective
            return self._objective(of_size(problem, size), moments)

        if self.order == "greedy":
            return solve_greedy(problem, objective_of, self._options())
        result = solve(problem, objective, self._options())
        if self.order == "variance":
            return result
        basis = nested_basis(problem, result.components.T, objective_of)
        return replace(result, components=basis.T)

    def _objective(self, problem: SubspaceProblem, moments: GroupMoments) -> RobustFairObjective:
        """Return the objective for the problem's number of components."""
        radii = self.group_radii_
        return self._counting().objective_of(moments, self.fairness_weight, radii, problem)

    def _keeps_order(self) -> bool:
        return self.order != "variance"

    def _counting(self) -> Counting:
        given = (self.group_weights, self.missing_groups, self.disparity, self.reference)
        return Counting(*given, small_groups=self.small_groups)

    def _options(self) -> SolverOptions:
        fixed = self.random_state is None and self.solver != "subgradient"
        return SolverOptions(
            solver=self.solver,
            tol=self.tol,
            max_iter=self.max_iter,
            effort=self.effort,
            max_time=self.max_time,
            n_init=0 if self.start == "pca" else self.n_init,
            start_at_pca=self.start != "random",
            iterate=self.iterate,
            retraction=self.retraction,
            slope=getattr(self, "_slope", None),
            # Without a seed the starts of a proof are always the same, and so is the answer.
            rng=None if fixed else generator_from(self.random_state),
        )

    def _radii(self, moments: GroupSummary) -> FloatArray:
        if not isinstance(self.radius, str):
            return radii_of(self.radius, moments)
        resampled = getattr(self, "_resampled", None)
        self._resampled = None
        if resampled is None or not np.array_equal(resampled[0], moments.weights):
            raise ValueError(
                "radius='bootstrap' resamples rows, which only fit has; with moments or "
                "partial_fit, give a number, or the radii of an earlier fit as {label: radius}."
            )
        return np.asarray(resampled[1])


def pca_of(model: Any) -> RobustFairPCA:
    """Fit plain PCA to the moments of a fitted model, in its units."""
    k, scaled = len(model.components_), model.scale_ is not None
    plain = RobustFairPCA(k, fairness_weight=0.0, radius=0.0, standardize=scaled)
    # Moments of a fit have their small groups merged; these are not compared here either.
    plain.set_params(small_groups=getattr(model, "small_groups", "keep"), min_rows=1)
    return plain.fit_moments(model.moments_)
