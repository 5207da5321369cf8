"""The door to fits by products: one objective, a subspace, and what is proved of it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fairspan.ground.types import FloatArray
from fairspan.objectives.robust import RobustFairObjective
from fairspan.products.operator import SecondMoments
from fairspan.products.solve import ProductsFit
from fairspan.solvers import SolverResult


class Found(NamedTuple):
    """A result, and the second moments of all groups inside its subspace, (n_groups, k, k)."""

    result: SolverResult
    kept: FloatArray


def solve_products(
    operator: SecondMoments,
    objective: RobustFairObjective,
    n_components: int,
    *,
    tol: float,
    failure_probability: float,
    rng: np.random.Generator,
    has_hidden_features: bool = False,
) -> Found:
    """Minimise a robust fair objective from products with the rows.

    Parameters
    ----------
    operator : SecondMoments
        The second moments of the groups.
    objective : RobustFairObjective
        What to minimise.
    n_components : int
        Dimension of the subspace.
    tol : float
        The relative gap to reach.
    failure_probability : float
        How probably the bound may be wrong, where it is not deterministic.
    rng : numpy.random.Generator
        Source of random blocks.
    has_hidden_features : bool
        Whether rounding hides some features.

    Returns
    -------
    Found
        The subspace, and what is proved of it.
    """
    fit = ProductsFit(
        operator,
        objective,
        n_components,
        tol,
        failure_probability,
        rng,
        has_hidden_features=has_hidden_features,
    )
    result = fit.run()
    inside = result.components @ fit.basis.columns
    kept = inside @ fit.basis.small @ inside.T
    return Found(result, 0.5 * (kept + kept.transpose(0, 2, 1)))
