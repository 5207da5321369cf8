"""RobustFairPCACV: fairness weight, radius and k by cross-validation on moments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from fairspan.estimators.base import take_features
from fairspan.estimators.robust import RobustFairPCA
from fairspan.estimators.wide import Asked, Checked, Wide, only_moments
from fairspan.exceptions import NoGroupsWarning
from fairspan.fitting import ask_for_groups, prepare, warn_of_small_groups
from fairspan.ground import defaults
from fairspan.ground.parameters import check_choice, check_flag, check_listing, renamed
from fairspan.ground.rows import check_finite, check_real, check_weights, is_dask, named_column
from fairspan.ground.types import FLOATS
from fairspan.ground.warn import warn
from fairspan.judging.case import GroupValues
from fairspan.moments.group_moments import GroupMoments
from fairspan.moments.groups import Groups, check_sizes
from fairspan.moments.projection import CENTERINGS
from fairspan.moments.small_groups import treated_groups
from fairspan.moments.sparse import SPARSE_FORMATS
from fairspan.moments.summary import GroupSummary
from fairspan.objectives.counting import Counting
from fairspan.products import RowParts
from fairspan.selection.by_products import WideFold, evaluate_by_products
from fairspan.selection.evaluate import Judge, Measured, Params, evaluate
from fairspan.selection.folds import Fold, given_folds, make_splits, split_moments
from fairspan.selection.scoring import Scoring, results_table
from fairspan.selection.winner import WinnerMixin
from fairspan.solvers.options import Patience
from fairspan.solvers.result import kind_of_proof


@renamed("gap_centring", "gap_centering")
@dataclass(eq=False, repr=False)
class RobustFairPCACV(WinnerMixin, BaseEstimator):
    """RobustFairPCA with its parameters chosen by cross-validation.

    Every candidate of the grid is fitted on the training part of every split and judged on its
    validation part, as a loop of fits would, from one pass over the data: the moments of the folds
    are added, and candidates share their eigen-solves. Validation rows are centred (and
    scaled) by the training part.

    Parameters
    ----------
    n_components : int or sequence of int, default=2
        Numbers of components to choose from. More components always lower the total error, so
        several of them ask for a budget or a scoring of your own.
    fairness_weights : sequence of float, default=(0, 0.5, 1, 1.5, 2, 2.5)
        Fairness weights to choose from; the default is the paper's.
    radii : sequence of float or mapping, default=(0, 0.05, 0.1, 0.15)
        Radii to choose from, each as in RobustFairPCA; the default is 0 and the paper's.
    cv : int, splitter or iterable, default=3
        A number of folds (KFold, shuffled if there is a ``random_state``), one of scikit-learn's
        splitters, which gets the groups as classes, or pairs of training and validation rows,
        such as ``list(GroupKFold(3).split(X, groups=ids))`` for rows that belong together.
        Every part must hold rows of every group.
    scoring : {"total_plus_gap", "gap_within_budget", "total_within_budget"} or callable, \
default="total_plus_gap"
        What the winner has on average over the validation parts: the least sum of total error and
        gap (the paper's), the least gap among candidates whose total error is within
        ``total_budget``, the least total error among those whose gap is within ``gap_budget``, or
        the largest value of a function. For each candidate and split the function gets the errors
        of the groups as :class:`fairspan.metrics.GroupValues` and returns a finite number, higher
        being better: ``lambda errors: -errors.overall - 2 * errors.difference``, or ``lambda
        errors: -max(errors.by_group.values())`` for the group that fares worst. The first wins
        ties.
    total_budget, gap_budget : float, optional
        Budgets, in squared units of the data (of the standardised data, if ``standardize``).
    gap_centering : {"global", "group"}, default="global"
        From where the errors in the gap are measured: the mean of the training part, or each
        group's mean in it, as in the published tables.
    standardize : bool, default=False
        Divide features by their standard deviation, over the training part of each split, and
        over all rows in the end.
    rescale_folds : bool, default=False
        For data that is standardised already: standardise the training part of each split once
        more for the fit and the total error, but measure the gap in the units given, as in the
        published tables.
    disparity : {"gap", "largest"}, default="gap"
        What the fairness weights count, as in RobustFairPCA; scores are what ``scoring`` says.
    reference : {"none", "own"} or mapping, default="none"
        What each group's error is compared with, as in RobustFairPCA; "own" is found on the
        training part of each split.
    order : {"variance", "nested", "greedy"}, default="variance"
        Which basis of the winner is returned, as in RobustFairPCA. With "greedy", whose subspace is
        another one, candidates are found greedily on the training part of each split too.
    group_weights, missing_groups, small_groups, min_rows, solver, tol, max_iter
        As in :class:`RobustFairPCA`. Fits to the splits are proved to a relative gap of 1e-3,
        usually far less: for two groups they are followed along one curve, and for more a proof
        looks no further. ``tol`` is for all others, and for the last fit.
    effort : float, default=1.0
        Multiplies the work that proofs may cost, as in RobustFairPCA; all candidates share that of
        a few fits.
    max_time : float, default=None
        Seconds that all fits of the splits together may look for better minima and proofs, and
        again the last fit, as in :class:`RobustFairPCA`.
    refit : bool, default=True
        Whether to fit the winner to all rows.
    route : {"auto", "moments", "products"}, default="auto"
        How wide rows are treated, dense or sparse, as in RobustFairPCA. By products the fits to a
        split share one basis, no rows are copied, and all proofs are to ``tol``.
    failure_probability : float, default=1e-10
        By products: how probably any gap in ``cv_results_`` may be wrong, all splits and candidates
        together, and how probably the bound of the last fit may be.
    random_state : int, RandomState instance or None, default=None
        Seed of the shuffle, of the solver's random starts, and of the random blocks of products.

    Attributes
    ----------
    best_params_ : dict
        ``n_components``, ``fairness_weight`` and ``radius`` of the winner.
    best_score_ : float
        Its mean score.
    best_index_ : int
        Its place in ``cv_results_``.
    best_estimator_ : RobustFairPCA
        The winner, fitted to all rows; its main attributes are repeated here, and
        ``best_estimator_.save(path)`` keeps it in a file.
    cv_results_ : dict of arrays
        In scikit-learn's shape: ``params``, ``param_*``, ``split*_test_score``,
        ``mean_test_score``, ``std_test_score``, ``rank_test_score``; likewise for
        ``total_error`` and ``error_gap``; ``within_budget``; and ``optimality_gap``, the largest
        relative gap to which the fits of a candidate are known to be optimal.
    n_eigensolves_ : int
        Eigen-solves of all fits together, the last one included.
    n_splits_ : int
        Number of splits.
    route_ : str
        Which way the fits went, "moments" or "products".
    proof_ : str
        What kind of proof the gaps in ``cv_results_`` have: "deterministic", or with which
        probability all of them hold.
    components_, mean_, scale_, moments_, group_labels_, group_errors_, total_error_, error_gap_, \
n_iter_
        As in :class:`RobustFairPCA`.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    RobustFairPCA : One fit.
    fairness_frontier : The whole trade-off, without held-out rows.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fairspan import RobustFairPCACV
    >>> data = load_breast_cancer()
    >>> groups = data.target_names[data.target]
    >>> search = RobustFairPCACV(3, standardize=True, random_state=0)
    >>> search.fit(data.data, sensitive_features=groups).best_params_
    {'n_components': 3, 'fairness_weight': 0.5, 'radius': 0.15}
    """

    # Requested for the whole class, as by the other estimators.
    __metadata_request__fit = {"sensitive_features": True}  # noqa: RUF012

    n_components: int | Sequence[int] = defaults.N_COMPONENTS
    _: KW_ONLY
    fairness_weights: Sequence[float] = (0, 0.5, 1, 1.5, 2, 2.5)
    radii: Sequence[float | Mapping[Any, float]] = (0, 0.05, 0.1, 0.15)
    cv: Any = 3
    scoring: str | Callable[[GroupValues], float] = "total_plus_gap"
    total_budget: float | None = None
    gap_budget: float | None = None
    gap_centering: str = "global"
    standardize: bool = False
    rescale_folds: bool = False
    disparity: str = "gap"
    reference: str | Mapping[Any, float] = "none"
    group_weights: str | Mapping[Any, float] = "share"
    missing_groups: str = "raise"
    small_groups: str = "keep"
    min_rows: int = defaults.MIN_ROWS
    order: str = "variance"
    solver: str = "auto"
    tol: float = defaults.TOL
    max_iter: int = defaults.MAX_ITER
    effort: float = defaults.EFFORT
    max_time: float | None = None
    refit: bool = True
    route: str = "auto"
    failure_probability: float = defaults.FAILURE_PROBABILITY
    random_state: Any = None
    # Whether a fit that is under way got a y, and no groups.
    _y_given = False

    @named_column
    def fit(
        self, X: Any, y: Any = None, *, sensitive_features: Any = None, sample_weight: Any = None
    ) -> Self:
        """Choose the parameters, then fit to all rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The data; scipy sparse rows too, if they have so many features that ``route`` allows
            products.
        y : None
            Ignored.
        sensitive_features : array-like, frame, dict or str, optional
            The group of each row, as in RobustFairPCA. A str names a column of X, which is then not
            a feature.
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts, in fits and in errors.

        Returns
        -------
        self
            The fitted estimator.
        """
        candidates, scoring = self._candidates(), self._check_parameters()
        self._y_given = y is not None and sensitive_features is None
        wide = self._wide(X, sensitive_features, candidates)
        if wide is not None:
            self._search_by_products(wide, sample_weight, candidates, scoring)
            return self._refitted(X, sensitive_features, sample_weight)
        check_real(X)
        X = validate_data(self, X, dtype=FLOATS, ensure_min_samples=2, ensure_all_finite=False)
        check_finite(X, getattr(self, "feature_names_in_", None))
        groups = Groups.of(sensitive_features, len(X), self.missing_groups)
        groups = treated_groups(groups, self.small_groups, self.min_rows)
        check_sizes(len(groups.labels), len(X))
        weight = None if sample_weight is None else check_weights(sample_weight, len(X))
        splits = make_splits(self.cv, groups.codes, self.random_state)
        names = getattr(self, "feature_names_in_", None)
        moments, folds = split_moments(X, groups, splits, sample_weight=weight, feature_names=names)
        return self._fit(moments, folds, candidates, scoring)

    def fit_moments(self, folds: Iterable[GroupMoments]) -> Self:
        """Choose the parameters for data known by the moments of its folds only.

        Parameters
        ----------
        folds : iterable of GroupMoments
            Moments of disjoint parts of the data, from files, partitions or sites: each is held out
            once while the sum of the others trains. ``cv`` is not used.

        Returns
        -------
        self
            The fitted estimator, as if fitted on the rows with these folds.
        """
        candidates, scoring = self._candidates(), self._check_parameters()
        if self.small_groups != "keep":
            raise ValueError(
                f"small_groups={self.small_groups!r} counts the rows of all folds together, which "
                "fit does; for moments of folds use small_groups='keep'."
            )
        moments, made = given_folds(folds)
        take_features(self, moments)
        return self._fit(moments, made, candidates, scoring)

    def _check_parameters(self) -> Scoring:
        check_choice("gap_centering", self.gap_centering, CENTERINGS)
        for name in ("standardize", "rescale_folds", "refit"):
            check_flag(name, getattr(self, name))
        if self.standardize and self.rescale_folds:
            raise ValueError(
                "rescale_folds=True is for data that is already standardised; it cannot be "
                "combined with standardize=True."
            )
        return Scoring(self.scoring, self.total_budget, self.gap_budget)

    def _candidates(self) -> list[Params]:
        """Return all candidates, checked: by k, then radius, then fairness weight."""
        given: Any = self.n_components
        numbers = [given] if isinstance(given, Integral) else _listed("n_components", given)
        candidates = [
            {"n_components": k, "fairness_weight": weight, "radius": radius}
            for k in numbers
            for radius in _listed("radii", self.radii)
            for weight in _listed("fairness_weights", self.fairness_weights)
        ]
        for params in candidates:
            if isinstance(params["radius"], str):
                raise ValueError(
                    f"radii contains {params['radius']!r}; candidates must be numbers or mappings, "
                    "because only the moments of the folds are known."
                )
        settings = self._settings()
        for params in candidates:
            RobustFairPCA(**params, **settings)._check_parameters()
        return candidates

    def _settings(self) -> Params:
        """Return the parameters that all candidates share."""
        mine, theirs = self.get_params(deep=False), RobustFairPCA().get_params(deep=False)
        return {name: mine[name] for name in mine.keys() & theirs.keys() - {"n_components"}}

    def _estimator(self, params: Params) -> RobustFairPCA:
        return RobustFairPCA(**params, **self._settings())

    def _wide(self, X: Any, sensitive_features: Any, candidates: Sequence[Params]) -> Wide | None:
        """Give rows to fit by products, or None for others."""
        if isinstance(X, RowParts) or (is_dask(X) and self.route == "products"):
            raise ValueError(
                "A search by products splits rows in memory, or mapped into it; for rows from "
                "files, Spark or Dask use fairness_frontier, or fit_moments with the moments of "
                "each fold."
            )
        asked = Asked(
            self.route,
            only_moments(
                small_groups=self.small_groups,
                reference=self.reference,
                order=self.order,
                solver=self.solver,
            ),
            max(params["n_components"] for params in candidates),
            self.missing_groups,
            self.standardize or self.rescale_folds,
        )
        return asked.rows(X, sensitive_features, self._checked)

    def _checked(self, X: Any) -> Checked:
        check_real(X)
        options = {"accept_sparse": SPARSE_FORMATS, "ensure_all_finite": False}
        X = validate_data(self, X, dtype=FLOATS, ensure_min_samples=2, **options)
        return X, getattr(self, "feature_names_in_", None)

    def _search_by_products(
        self, wide: Wide, sample_weight: Any, candidates: list[Params], scoring: Scoring
    ) -> None:
        n_rows = wide.X.shape[0]
        weight = None if sample_weight is None else check_weights(sample_weight, n_rows)
        splits = make_splits(self.cv, wide.groups.codes, self.random_state)
        judge = self._judge(scoring, candidates, len(splits))
        found, failure = [], 0.0
        for number, split in enumerate(splits):
            fold = WideFold.of(wide, weight, number, split, judge.standardize)
            if number == 0:
                self._warn_of_nothing_to_compare(judge.counting, fold.train, candidates)
            measured, chance = evaluate_by_products(
                fold,
                candidates,
                judge,
                n_proofs=len(splits) * len(candidates),
                failure_probability=self.failure_probability,
                random_state=self.random_state,
            )
            found.append(measured)
            failure = max(failure, chance)
        self._take(found, candidates, scoring)
        self.route_, self.proof_ = "products", kind_of_proof(failure)

    def _refitted(self, X: Any, sensitive_features: Any, sample_weight: Any) -> Self:
        """Fit the winner to all rows, by products."""
        if self.refit:
            winner = self._estimator(self.best_params_)
            given = {"sensitive_features": sensitive_features, "sample_weight": sample_weight}
            self._set_winner(winner.fit(X, **given))
        return self

    def _fit(
        self,
        moments: GroupMoments,
        folds: Sequence[Fold],
        candidates: list[Params],
        scoring: Scoring,
    ) -> Self:
        judge = self._judge(scoring, candidates, len(folds))
        self._warn_of_nothing_to_compare(judge.counting, moments, candidates)
        found = [evaluate(fold, candidates, judge) for fold in folds]
        self._take(found, candidates, scoring)
        self.route_, self.proof_ = "moments", kind_of_proof(0.0)
        if self.refit:
            # The winner's attributes are repeated, and its eigen-solves count.
            self._set_winner(self._estimator(self.best_params_).fit_moments(moments))
            self.n_eigensolves_ += self.best_estimator_.n_eigensolves_
        else:
            # A refit warns of these on its own.
            warn_of_small_groups(moments, self.best_params_["n_components"])
            prepare(moments, self.standardize)
        return self

    def _warn_of_nothing_to_compare(
        self, counting: Counting, moments: GroupSummary, candidates: Sequence[Params]
    ) -> None:
        weighted = any(params["fairness_weight"] > 0 for params in candidates)
        if not counting.compares(moments) and weighted:
            warn(
                "There are fewer than two groups to compare, so fairness_weights have no effect. "
                f"{ask_for_groups(self._y_given, moments.labels)}",
                NoGroupsWarning,
            )
        self.__dict__.pop("_y_given", None)

    def _judge(self, scoring: Scoring, candidates: Sequence[Params], n_splits: int) -> Judge:
        model = self._estimator(candidates[0])
        return Judge(
            scoring=scoring,
            gap_centering=self.gap_centering,
            standardize=self.standardize or self.rescale_folds,
            gap_as_given=self.rescale_folds,
            counting=model._counting(),
            is_greedy=self.order == "greedy",
            options=model._options(),
            patience=Patience(self.effort, n_splits * len(candidates), self.max_time),
        )

    def _take(self, found: Sequence[Measured], candidates: list[Params], scoring: Scoring) -> None:
        """Set what was measured, and the winner's parameters."""
        names = ("score", "total_error", "error_gap")
        measured = {name: np.array([getattr(fold, name) for fold in found]) for name in names}
        worst = np.max([fold.optimality_gap for fold in found], axis=0)
        self.cv_results_ = results_table(candidates, scoring, measured, worst)
        self.best_index_ = int(np.argmin(self.cv_results_["rank_test_score"]))
        self.best_params_ = candidates[self.best_index_]
        self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])
        self.n_splits_ = len(found)
        self.n_eigensolves_ = sum(fold.n_eigensolves for fold in found)
        self._forget_winner()


def _listed(name: str, values: Any) -> list[Any]:
    """Give the candidates of a parameter as a list, at least one."""
    return check_listing(name, values, "a sequence of candidates", "candidate")
