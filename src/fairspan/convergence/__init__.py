"""How far the paper's descent is from a stationary point, and how far theory lets it be.

Functions of a fitted :class:`fairspan.RobustFairPCA`, whatever its solver: the constants of the
paper's convergence theorem as corrected, the Moreau envelope of the objective with its proximal
point, the stationarity gap of any subspace, and its course over a descent. See "Convergence of the
descent" in the documentation for definitions and proofs.
"""

from fairspan.convergence.history import ConvergenceHistory, convergence_history
from fairspan.convergence.of_fits import (
    ProximalPoint,
    lipschitz_constant,
    moreau_envelope,
    proximal_point,
    rate_bound,
    stationarity_gap,
    weak_convexity,
)

__all__ = [
    "ConvergenceHistory",
    "ProximalPoint",
    "convergence_history",
    "lipschitz_constant",
    "moreau_envelope",
    "proximal_point",
    "rate_bound",
    "stationarity_gap",
    "weak_convexity",
]
__dir__ = __all__.copy
