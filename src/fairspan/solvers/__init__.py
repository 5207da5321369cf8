"""Solvers: ``solve`` is the one door; what comes out is a point with evidence."""

from fairspan.solvers.door import solve
from fairspan.solvers.options import RETRACTIONS, SOLVERS, Patience, SolverOptions
from fairspan.solvers.result import Relaxed, SolverResult
from fairspan.solvers.two_groups.lines import Boundary
from fairspan.solvers.two_groups.trace import TradeOff

__all__ = [
    "RETRACTIONS",
    "SOLVERS",
    "Boundary",
    "Patience",
    "Relaxed",
    "SolverOptions",
    "SolverResult",
    "TradeOff",
    "solve",
]
__dir__ = __all__.copy
