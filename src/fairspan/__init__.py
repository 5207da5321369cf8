"""Principal components that treat groups even-handedly: robust, certified, at the cost of PCA."""

from fairspan import datasets, metrics, plotting, report, scorers, sources
from fairspan.advice import advise
from fairspan.ambiguity import gelbrich_divergence
from fairspan.certify import certify
from fairspan.compare import compare
from fairspan.estimators.convex import ConvexFairPCA
from fairspan.estimators.exact import ExactlyFairPCA
from fairspan.estimators.nullspace import NullSpaceFairPCA
from fairspan.estimators.robust import RobustFairPCA
from fairspan.estimators.robust_cv import RobustFairPCACV
from fairspan.estimators.samadi import FairPCA
from fairspan.exceptions import HiddenFeatureWarning, NoGroupsWarning, SmallGroupWarning
from fairspan.frontier import Frontier, fairness_frontier
from fairspan.model_file import load_model
from fairspan.moments import GroupMoments

__version__ = "0.1.0"

__all__ = [
    "ConvexFairPCA",
    "ExactlyFairPCA",
    "FairPCA",
    "Frontier",
    "GroupMoments",
    "HiddenFeatureWarning",
    "NoGroupsWarning",
    "NullSpaceFairPCA",
    "RobustFairPCA",
    "RobustFairPCACV",
    "SmallGroupWarning",
    "advise",
    "certify",
    "compare",
    "datasets",
    "fairness_frontier",
    "gelbrich_divergence",
    "load_model",
    "metrics",
    "plotting",
    "report",
    "scorers",
    "sources",
]
