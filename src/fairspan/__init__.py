"""Principal components that treat groups even-handedly: robust, certified, at the cost of PCA."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from fairspan import metrics
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

if TYPE_CHECKING:
    from fairspan import datasets, plotting, report, scorers, sources

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

_LATER = ("datasets", "plotting", "report", "scorers", "sources")
"""Modules that are imported when they are first used, so that fairspan itself starts quickly."""


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return import_module(f"fairspan.{name}")
    raise AttributeError(f"module 'fairspan' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
