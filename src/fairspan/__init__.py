"""Principal components that treat groups even-handedly: robust, certified, at the cost of PCA."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fairspan import datasets, inference, metrics, plotting, report, scorers, sources
    from fairspan.estimators.convex import ConvexFairPCA
    from fairspan.estimators.exact import ExactlyFairPCA
    from fairspan.estimators.nullspace import NullSpaceFairPCA
    from fairspan.estimators.robust import RobustFairPCA
    from fairspan.estimators.samadi import FairPCA
    from fairspan.exceptions import HiddenFeatureWarning, NoGroupsWarning, SmallGroupWarning
    from fairspan.frontier.advice import advise
    from fairspan.frontier.frontier import Frontier, fairness_frontier
    from fairspan.judging.certify import certify
    from fairspan.judging.compare import compare
    from fairspan.moments.group_moments import GroupMoments
    from fairspan.objectives.ambiguity import gelbrich_divergence
    from fairspan.selection.robust_cv import RobustFairPCACV
    from fairspan.storage.model_file import load_model

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
    "inference",
    "load_model",
    "metrics",
    "plotting",
    "report",
    "scorers",
    "sources",
]

_HOMES = {
    "ConvexFairPCA": "estimators.convex",
    "ExactlyFairPCA": "estimators.exact",
    "FairPCA": "estimators.samadi",
    "Frontier": "frontier.frontier",
    "GroupMoments": "moments.group_moments",
    "HiddenFeatureWarning": "exceptions",
    "NoGroupsWarning": "exceptions",
    "NullSpaceFairPCA": "estimators.nullspace",
    "RobustFairPCA": "estimators.robust",
    "RobustFairPCACV": "selection.robust_cv",
    "SmallGroupWarning": "exceptions",
    "advise": "frontier.advice",
    "certify": "judging.certify",
    "compare": "judging.compare",
    "fairness_frontier": "frontier.frontier",
    "gelbrich_divergence": "objectives.ambiguity",
    "load_model": "storage.model_file",
}
"""Where names are defined. All is imported when it is first used, so that commands start at
once; no module may have a public function's name, which it would hide."""


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        found = getattr(import_module(f"fairspan.{_HOMES[name]}"), name)
    elif name in __all__:
        found = import_module(f"fairspan.{name}")
    else:
        raise AttributeError(f"module 'fairspan' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
