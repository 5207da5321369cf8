"""Solvers: each takes a problem and an objective and returns a point with evidence."""

from fairspan.solvers.door import SolverOptions, solve
from fairspan.solvers.result import SolverResult

__all__ = ["SolverOptions", "SolverResult", "solve"]
__dir__ = __all__.copy
