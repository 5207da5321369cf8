"""Which group errors can a subspace attain? Moments, the number of components, eigen-solves."""

from fairspan.problem.subspace import SubspaceProblem

__all__ = ["SubspaceProblem"]
__dir__ = __all__.copy
