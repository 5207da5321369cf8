"""Plots with matplotlib, which is imported when one is drawn (extra ``plot``).

Each function takes ``ax``, where to draw, and returns it; without one it makes a new figure.
"""

from fairspan.plotting.convergence import plot_convergence
from fairspan.plotting.downstream import plot_downstream
from fairspan.plotting.frontier import plot_frontier
from fairspan.plotting.groups import plot_errors_by_components, plot_group_errors
from fairspan.plotting.models import plot_history, plot_loadings, plot_projection
from fairspan.plotting.scree import plot_scree

__all__ = [
    "plot_convergence",
    "plot_downstream",
    "plot_errors_by_components",
    "plot_frontier",
    "plot_group_errors",
    "plot_history",
    "plot_loadings",
    "plot_projection",
    "plot_scree",
]
__dir__ = __all__.copy
