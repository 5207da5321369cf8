"""Functions of the short vector of group errors: what a solver minimises."""

from fairspan.objectives.largest_loss import LargestLoss
from fairspan.objectives.objective import ConvexObjective, Objective
from fairspan.objectives.robust import RobustFairObjective
from fairspan.objectives.within_gap import TotalErrorWithinGap

__all__ = [
    "ConvexObjective",
    "LargestLoss",
    "Objective",
    "RobustFairObjective",
    "TotalErrorWithinGap",
]
__dir__ = __all__.copy
