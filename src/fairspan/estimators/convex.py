"""ConvexFairPCA: group means, and covariances, that a projection cannot tell apart."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from fairspan.estimators.base import BaseFairPCA
from fairspan.fitting import warn_of_one_group
from fairspan.ground import defaults
from fairspan.ground.listed import listed
from fairspan.ground.parameters import check_choice, check_integer, check_number
from fairspan.ground.types import FloatArray
from fairspan.moments.group_moments import GroupMoments
from fairspan.problem.spectrum import top_space
from fairspan.problem.subspace import SubspaceProblem
from fairspan.solvers.convex.conic import solve_conic
from fairspan.solvers.convex.isometric_admm import (
    RelaxedSolution,
    isometric_factors,
    solve_isometric_admm,
)
from fairspan.solvers.convex.restricted import SAME, check_room, complement, restricted_pca
from fairspan.solvers.result import SolverResult, relative_gap

CONSTRAINTS = ("mean", "mean+covariance")
SOLVERS = ("auto", "conic")
_FAILED = 1e-6
"""A conic solve with a larger relative gap has failed, and raises."""


@dataclass(eq=False, repr=False)
class ConvexFairPCA(BaseFairPCA):
    """Principal components along which two groups have the same mean, and similar covariances.

    Solves the convex program of Olfat and Aswani [1]_ over the Fantope {0 <= X <= I, tr X = k},
    with S the pooled covariance, f the difference of the group means, G that of the group
    covariances and nu = sqrt(n_samples * n_features)::

        constraint="mean":             maximise <S, X>  subject to  nu^2 |f| |X f| <= delta^2
        constraint="mean+covariance":  minimise mu max(|M+^(1/2) X|^2, |M-^(1/2) X|^2) - <S, X> / nu
                                       subject to the same, with M+- = (|G| + 1/2) I +- G

    and keeps the k leading eigenvectors of X. At ``delta=0`` the mean alone has a closed form and
    both are solved by a splitting method with a duality-gap certificate. The program asks for
    groups that look alike after the projection, not for equal reconstruction errors.

    Parameters
    ----------
    n_components : int, default=2
        Number of components k, from 1 to n_features - 1 (to n_features with equal group means).
    constraint : {"mean", "mean+covariance"}, default="mean"
        What the projected groups share.
    delta : float, default=0.0
        How far the means may differ. A positive value needs ``pip install "fairspan[sdp]"``.
    mu : float, default=1.0
        How much the covariances count, positive; it matters with "mean+covariance" only.
    standardize : bool, default=False
        Divide features by their standard deviation over all rows; constant features stay.
    clip : float, optional
        Clip features at this number of standard deviations from their mean, in ``fit`` and of the
        rows of every method after it; ``clip_limits_`` holds the limits. For columns in which a
        few extreme rows decide, see :func:`fairspan.inference.support`. It needs rows in memory.
    solver : {"auto", "conic"}, default="auto"
        "conic" uses Clarabel (extra ``sdp``) wherever there is no closed form; "auto" only where
        nothing else can.
    tol : float, default=1e-8
        The relative duality gap at which the search ends.
    max_iter : int, default=10000
        Most steps of the splitting method.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal rows that span the k leading eigenvectors of ``relaxation_``, in PCA's basis.
    relaxation_ : ndarray of shape (n_features, n_features)
        The optimal X of the program. It is not a projection in general; then ``components_`` is a
        rounding that may miss the constraints.
    objective_, lower_bound_ : float
        The program's value at ``relaxation_``, to be minimised, and the bound that is proved for
        every X: for "mean" the total error tr(S) - <S, X>.
    mean_difference_ : float
        Distance between the group means after the projection on ``components_``.
    mean_, scale_, explained_variance_, explained_variance_ratio_, group_labels_, group_counts_, \
group_weights_, group_errors_, total_error_, error_gap_, optimality_gap_, n_eigensolves_, n_iter_, \
moments_, result_
        As in :class:`fairspan.RobustFairPCA`; group errors are about the mean of all rows.

    References
    ----------
    .. [1] M. Olfat and A. Aswani, "Convex formulations for fair principal component analysis",
       AAAI 2019.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fairspan import ConvexFairPCA
    >>> data = load_breast_cancer()
    >>> groups = data.target_names[data.target]
    >>> pca = ConvexFairPCA(3, standardize=True).fit(data.data, sensitive_features=groups)
    >>> bool(pca.mean_difference_ < 1e-12)
    True
    """

    # The program counts features, and may use directions in which no row varies.
    _works_in_any_basis = False

    n_components: int = defaults.N_COMPONENTS
    _: KW_ONLY
    constraint: str = "mean"
    delta: float = 0.0
    mu: float = 1.0
    standardize: bool = False
    clip: float | None = None
    solver: str = "auto"
    tol: float = defaults.TOL
    max_iter: int = 10_000

    def _check_parameters(self) -> None:
        check_choice("constraint", self.constraint, CONSTRAINTS)
        check_choice("solver", self.solver, SOLVERS)
        check_number("delta", self.delta)
        check_number("mu", self.mu, positive=True)
        check_number("tol", self.tol, positive=True)
        check_integer("max_iter", self.max_iter, 1)

    def _solve(self, problem: SubspaceProblem, moments: GroupMoments) -> SolverResult:
        if moments.n_groups > 2:
            raise ValueError(
                f"ConvexFairPCA compares 2 groups, but there are {moments.n_groups}: "
                f"{listed(moments.labels)}. Use NullSpaceFairPCA for more."
            )
        if moments.n_groups == 1:
            warn_of_one_group(self._y_given)
        program = _Program.of(problem, moments, float(self.delta))
        self._n_steps = 1
        closed = self.constraint == "mean" or moments.n_groups == 1
        result = self._closed_form(problem, program) if closed else None
        if result is not None:
            self.relaxation_ = result.components.T @ result.components
        else:
            result = self._relaxed(problem, program)
        self.mean_difference_ = float(np.linalg.norm(result.components @ program.direction))
        return result

    def _set_result(self, *args: Any, **kwargs: Any) -> None:
        super()._set_result(*args, **kwargs)
        # The solvers report their end only, so its history does not show the number of steps.
        self.n_iter_ = self._n_steps

    def _closed_form(self, problem: SubspaceProblem, program: _Program) -> SolverResult | None:
        """Solve by PCA in the complement of the mean difference, or plain PCA if it suffices."""
        if self.solver == "conic" and program.radius > 0:
            return None
        result = restricted_pca(problem, program.basis, "closed form")
        reached = float(
            np.linalg.norm(result.components.T @ (result.components @ program.direction))
        )
        return result if program.is_tight or reached <= program.radius else None

    def _relaxed(self, problem: SubspaceProblem, program: _Program) -> SolverResult:
        found = self._convex_program(program)
        self._n_steps = found.n_iter
        basis = program.basis
        subspace = basis @ top_space(found.matrix, problem.k).vectors
        self.relaxation_ = basis @ found.matrix @ basis.T
        # The mean alone is reported as a total error, like everywhere else.
        shift = problem.scale if self.constraint == "mean" else 0.0
        value, bound = found.objective + shift, found.lower_bound + shift
        gap = relative_gap(value, bound, problem.scale if shift else 0.0)
        return SolverResult(
            components=subspace.T,
            group_errors=problem.errors(subspace),
            objective=value,
            lower_bound=bound,
            status="optimal" if gap <= self.tol else "iteration_limit",
            scale=problem.scale if shift else 0.0,
            solver="conic" if self._needs_cone(program) else "isometric_admm",
            n_eigensolves=found.n_eigensolves + 1,
            history=np.array([[value, bound]]),
        )

    def _needs_cone(self, program: _Program) -> bool:
        return self.solver == "conic" or not program.is_tight

    def _convex_program(self, program: _Program) -> RelaxedSolution:
        basis, difference = program.basis, program.difference
        offset = float(np.linalg.norm(difference, 2)) + 0.5
        inner = basis.T @ difference @ basis
        both = self.constraint == "mean+covariance"
        pooled = basis.T @ program.pooled @ basis / (program.nu if both else 1.0)
        if not self._needs_cone(program):
            return solve_isometric_admm(
                pooled,
                inner,
                program.k,
                mu=float(self.mu),
                offset=offset,
                tol=self.tol,
                max_iter=self.max_iter,
            )
        return solve_conic(
            pooled,
            program.k,
            direction=None if program.is_tight else program.direction,
            radius=program.radius,
            factors=isometric_factors(inner, offset) if both else None,
            mu=float(self.mu),
            tol=max(self.tol, _FAILED),
        )


@dataclass(frozen=True)
class _Program:
    """The data of the program.

    The radius bounds |X f|. Where it is 0 the program is tight: X lives in the complement of f,
    whose basis is kept; else the basis is that of the whole space.
    """

    k: int
    pooled: FloatArray
    direction: FloatArray
    difference: FloatArray
    nu: float
    radius: float
    is_tight: bool
    basis: FloatArray

    @classmethod
    def of(cls, problem: SubspaceProblem, moments: GroupMoments, delta: float) -> _Program:
        d = problem.d
        first, last = moments.covariances[[0, -1]]
        direction = moments.offsets[-1] - moments.offsets[0]
        length = float(np.linalg.norm(direction))
        nu = float(np.sqrt(moments.total_weight * d))
        apart = length > SAME * np.sqrt(problem.scale)
        tight = delta == 0 or not apart
        basis = complement(direction[None], problem.scale) if tight else np.eye(d)
        check_room(problem.k, basis.shape[1], d, "because the group means differ along it")
        return cls(
            k=problem.k,
            pooled=problem.combination(problem.shares),
            direction=direction,
            difference=last - first,
            nu=nu,
            # X shortens every vector: a larger radius than this allows no more.
            radius=0.0 if tight else min((delta / nu) * (delta / (nu * length)), length),
            is_tight=tight,
            basis=basis,
        )
