"""Principal components that treat groups even-handedly: robust, certified, at the cost of PCA."""

from fairspan.ambiguity import gelbrich_divergence
from fairspan.certify import certify
from fairspan.estimators.robust import RobustFairPCA
from fairspan.exceptions import NoGroupsWarning, SmallGroupWarning
from fairspan.moments import GroupMoments

__version__ = "0.1.0"

__all__ = [
    "GroupMoments",
    "NoGroupsWarning",
    "RobustFairPCA",
    "SmallGroupWarning",
    "certify",
    "gelbrich_divergence",
]
