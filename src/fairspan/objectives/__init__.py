"""Functions of the short vector of group errors: what a solver minimises."""

from fairspan.objectives.robust import RobustFairObjective

__all__ = ["RobustFairObjective"]
__dir__ = __all__.copy
