"""Solvers: ``solve`` is the one door; what comes out is a point with evidence."""

from fairspan.solvers.door import solve
from fairspan.solvers.options import SolverOptions
from fairspan.solvers.result import Relaxed, SolverResult
from fairspan.solvers.two_groups.lines import Boundary

__all__ = ["Boundary", "Relaxed", "SolverOptions", "SolverResult", "solve"]
__dir__ = __all__.copy
