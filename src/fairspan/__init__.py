"""Principal components that treat groups even-handedly: robust, certified, at the cost of PCA."""

from fairspan import metrics, sources
from fairspan.ambiguity import gelbrich_divergence
from fairspan.certify import certify
from fairspan.compare import compare
from fairspan.estimators.convex import ConvexFairPCA
from fairspan.estimators.exact import ExactlyFairPCA
from fairspan.estimators.nullspace import NullSpaceFairPCA
from fairspan.estimators.robust import RobustFairPCA
from fairspan.estimators.samadi import FairPCA
from fairspan.exceptions import NoGroupsWarning, SmallGroupWarning
from fairspan.frontier import Frontier, fairness_frontier
from fairspan.moments import GroupMoments

__version__ = "0.1.0"

__all__ = [
    "ConvexFairPCA",
    "ExactlyFairPCA",
    "FairPCA",
    "Frontier",
    "GroupMoments",
    "NoGroupsWarning",
    "NullSpaceFairPCA",
    "RobustFairPCA",
    "SmallGroupWarning",
    "certify",
    "compare",
    "fairness_frontier",
    "gelbrich_divergence",
    "metrics",
    "sources",
]
