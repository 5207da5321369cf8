"""NullSpaceFairPCA: remove the differences between groups, then PCA; closed form."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np

from fairspan.estimators.base import BaseFairPCA
from fairspan.fitting import warn_of_one_group
from fairspan.ground import defaults
from fairspan.ground.parameters import check_integer
from fairspan.ground.types import FloatArray
from fairspan.moments.group_moments import GroupMoments
from fairspan.problem.subspace import SubspaceProblem
from fairspan.solvers.convex.restricted import check_room, complement, restricted_pca
from fairspan.solvers.result import SolverResult


@dataclass(eq=False, repr=False)
class NullSpaceFairPCA(BaseFairPCA):
    """Principal components in the null space of the differences between groups.

    Removes the directions along which the group means differ, so that no linear function of the
    projection predicts a group on average, and keeps the most variance of what is left
    (Kleindessner et al. [1]_). It can also remove the directions along which the group covariances
    differ most: those with the largest eigenvalues of the weighted sum of (C_a - C)^2, C_a the
    covariance of group a and C their weighted mean. For two groups these are the largest absolute
    eigenvalues of the difference of the covariances, as in [1]_.

    Parameters
    ----------
    n_components : int, default=2
        Number of components, at most the number of directions that are left.
    n_covariance_directions : int, default=0
        How many directions of different covariance are removed as well.
    standardize : bool, default=False
        Divide features by their standard deviation over all rows; constant features stay.

    clip : float, optional
        Clip features at this number of standard deviations from their mean, in ``fit`` and of the
        rows of every method after it; ``clip_limits_`` holds the limits. For columns in which a
        few extreme rows decide, see :func:`fairspan.inference.support`. It needs rows in memory.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal rows, in PCA's basis.
    n_removed_ : int
        Number of directions removed.
    objective_, lower_bound_ : float
        Total error, and the bound proved for every projection that avoids those directions.
    mean_, scale_, explained_variance_, explained_variance_ratio_, group_labels_, group_counts_, \
group_weights_, group_errors_, total_error_, error_gap_, optimality_gap_, n_eigensolves_, n_iter_, \
moments_, result_
        As in :class:`fairspan.RobustFairPCA`; group errors are about the mean of all rows.

    References
    ----------
    .. [1] M. Kleindessner, M. Donini, C. Russell and M. B. Zafar, "Efficient fair PCA for fair
       representation learning", AISTATS 2023.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fairspan import NullSpaceFairPCA
    >>> data = load_iris()
    >>> pca = NullSpaceFairPCA(2).fit(data.data, sensitive_features=data.target)
    >>> pca.n_removed_
    2
    """

    # Directions in which no row varies are as good as any other once the rest is removed.
    _works_in_any_basis = False

    n_components: int = defaults.N_COMPONENTS
    _: KW_ONLY
    n_covariance_directions: int = 0
    standardize: bool = False
    clip: float | None = None

    def _check_parameters(self) -> None:
        check_integer("n_covariance_directions", self.n_covariance_directions, 0)

    def _solve(self, problem: SubspaceProblem, moments: GroupMoments) -> SolverResult:
        if moments.n_groups == 1:
            warn_of_one_group(self._y_given)
        basis = complement(moments.offsets[1:] - moments.offsets[:1], problem.scale)
        left = basis.shape[1] - int(self.n_covariance_directions)
        given = f"n_covariance_directions={self.n_covariance_directions}"
        check_room(
            problem.k,
            left,
            problem.d,
            "because of group means" + f" and {given}" * bool(self.n_covariance_directions),
        )
        if self.n_covariance_directions:
            spread = _spread(basis.T @ moments.covariances @ basis, moments.shares)
            _, vectors = np.linalg.eigh(spread)
            basis = basis @ vectors[:, :left]
        self.n_removed_ = problem.d - basis.shape[1]
        return restricted_pca(problem, basis, "null space")


def _spread(matrices: FloatArray, shares: FloatArray) -> FloatArray:
    """Weighted sum of (C_a - C)^2."""
    apart = matrices - np.einsum("a,aij->ij", shares, matrices)
    return np.asarray(np.einsum("a,aik,ajk->ij", shares, apart, apart))
