"""What the first j components of a model are good for, and what keeping only them costs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fairspan.fitting import prepare
from fairspan.ground.extras import as_frame
from fairspan.ground.types import FloatArray, Label
from fairspan.moments.group_moments import GroupMoments
from fairspan.objectives.counting import Counting
from fairspan.objectives.robust import RobustFairObjective
from fairspan.problem.subspace import SubspaceProblem
from fairspan.solvers import SolverOptions, solve
from fairspan.words import group_name


@dataclass(frozen=True)
class Prefixes:
    """The first 1, 2, ... components of a model, and what each number of them leaves.

    Attributes
    ----------
    group_labels : tuple
        The groups.
    n_components : ndarray of shape (k,)
        1 to k.
    group_errors : ndarray of shape (k, n_groups)
        Errors of the groups with the first j components.
    total_error, gap : ndarray of shape (k,)
        Mean error of all rows, and largest minus smallest error of the groups that are compared.
    objective : ndarray of shape (k,)
        Value of the model's objective.
    optimum : ndarray of shape (k,) or None
        Value of the best subspace of that dimension, where it was asked for.
    lower_bound : ndarray of shape (k,) or None
        Proved: no subspace of that dimension has a smaller objective.
    status : tuple of str or None
        "optimal" where the optimum is proved.
    excess : ndarray of shape (k,) or None
        The price of keeping the first j components: by which share their objective exceeds the
        optimum, of its value without references. It is a price against the best subspace found,
        proved where ``status`` says so; that no other order has a lower one is not proved, and
        with more than two groups "nested" and its steps are searched for.
    """

    group_labels: tuple[Label, ...]
    n_components: Any
    group_errors: FloatArray
    total_error: FloatArray
    gap: FloatArray
    objective: FloatArray
    optimum: FloatArray | None = None
    lower_bound: FloatArray | None = None
    status: tuple[str, ...] | None = None
    excess: FloatArray | None = None

    def to_frame(self) -> Any:
        """Return the numbers as a table.

        Returns
        -------
        pandas.DataFrame or list of dict
            A row for each number of components; the errors of group a are in "error_a".
        """
        names = [f"error_{group_name(label)}" for label in self.group_labels]
        columns = {"n_components": self.n_components}
        columns |= dict(zip(names, self.group_errors.T, strict=True))
        for name in ("total_error", "gap", "objective", "optimum", "lower_bound", "excess"):
            if getattr(self, name) is not None:
                columns[name] = getattr(self, name)
        if self.status is not None:
            columns["status"] = np.array(self.status, dtype=object)
        rows = zip(*(column.tolist() for column in columns.values()), strict=True)
        return as_frame([dict(zip(columns, row, strict=True)) for row in rows])


class PrefixMixin:
    """A method of estimators that judges their first components."""

    moments_: GroupMoments
    components_: FloatArray
    standardize: Any
    _counting: Callable[[], Counting]
    _options: Callable[[], SolverOptions]
    _objective: Callable[[SubspaceProblem, GroupMoments], RobustFairObjective]

    def prefixes(self, *, optima: bool = False) -> Prefixes:
        """Judge the first 1, 2, ..., k components as projections of their own.

        Parameters
        ----------
        optima : bool, default=False
            Whether to find the best subspace of each dimension too, which costs a fit for each:
            ``excess`` then is the price of keeping the first j components instead.

        Returns
        -------
        Prefixes
            Errors and objective of each, and what was asked for.

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> from fairspan import RobustFairPCA
        >>> data = load_wine()
        >>> pca = RobustFairPCA(4, standardize=True, order="nested")
        >>> prefixes = pca.fit(data.data, sensitive_features=data.target == 0).prefixes(optima=True)
        >>> prefixes.status, bool(prefixes.excess.max() < 0.01)
        (('optimal', 'optimal', 'optimal', 'optimal'), True)
        """
        check_is_fitted(self)
        if not hasattr(self, "moments_"):
            raise ValueError(
                "The model has no moments, so its first components cannot be judged: it was saved "
                "with moments=False, or fitted by products."
            )
        counting, k = self._counting(), len(self.components_)
        prepared = prepare(self.moments_, self.standardize, room=k, warn=False)
        rows = self.components_
        rows = rows if prepared.basis is None else rows @ prepared.basis.T
        problems = [prepared.problem(size, counting) for size in range(1, k + 1)]
        objectives = [self._objective(problem, prepared.inner) for problem in problems]
        kept = np.einsum("adk,kd->ka", problems[0].moments @ rows.T, rows)
        errors = problems[0].lost(np.cumsum(kept, axis=0))
        pairs = zip(objectives, errors, strict=True)
        found = Prefixes(
            group_labels=self.moments_.labels,
            n_components=np.arange(1, k + 1),
            group_errors=errors,
            total_error=errors @ self.moments_.shares,
            gap=counting.gap(errors, self.moments_),
            objective=np.array([objective.value(m) for objective, m in pairs]),
        )
        if not optima:
            return found
        options = self._options()
        pairs_to_solve = zip(problems, objectives, strict=True)
        best = [solve(problem, objective, options) for problem, objective in pairs_to_solve]
        optimum = np.array([result.objective for result in best])
        sizes = [o.size(b.group_errors) for o, b in zip(objectives, best, strict=True)]
        above = np.maximum(found.objective - optimum, 0.0)
        return replace(
            found,
            optimum=optimum,
            excess=above / np.maximum(sizes, np.finfo(float).tiny),
            lower_bound=np.array([result.lower_bound for result in best]),
            status=tuple(result.status for result in best),
        )
