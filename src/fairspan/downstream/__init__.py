"""From projection to decision: what a model trained on a projection does to the groups.

Equal reconstruction errors do not make decisions fair. These functions train a model on each
projection and measure its performance and its disparities on rows that nothing was fitted on.
"""

from fairspan.downstream.assess import assess_downstream
from fairspan.downstream.result import Choice, DownstreamResult

__all__ = ["Choice", "DownstreamResult", "assess_downstream"]
__dir__ = __all__.copy
