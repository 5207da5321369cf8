"""Fair principal component analysis: proved optimal for two groups, proved or bounded for more."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fairspan import datasets as datasets
    from fairspan import downstream as downstream
    from fairspan import inference as inference
    from fairspan import metrics as metrics
    from fairspan import plotting as plotting
    from fairspan import preprocessing as preprocessing
    from fairspan import report as report
    from fairspan import scorers as scorers
    from fairspan import sources as sources
    from fairspan.downstream.assess import assess_downstream as assess_downstream
    from fairspan.estimators.convex import ConvexFairPCA as ConvexFairPCA
    from fairspan.estimators.exact import ExactlyFairPCA as ExactlyFairPCA
    from fairspan.estimators.nullspace import NullSpaceFairPCA as NullSpaceFairPCA
    from fairspan.estimators.robust import RobustFairPCA as RobustFairPCA
    from fairspan.estimators.samadi import FairPCA as FairPCA
    from fairspan.exceptions import CollapsedRuleWarning as CollapsedRuleWarning
    from fairspan.exceptions import HiddenFeatureWarning as HiddenFeatureWarning
    from fairspan.exceptions import NoGroupsWarning as NoGroupsWarning
    from fairspan.exceptions import SmallGroupWarning as SmallGroupWarning
    from fairspan.frontier.advise import advise as advise
    from fairspan.frontier.frontier import fairness_frontier as fairness_frontier
    from fairspan.frontier.result import Frontier as Frontier
    from fairspan.judging.certify import certify as certify
    from fairspan.judging.compare import compare as compare
    from fairspan.judging.dominance import dominating_projection as dominating_projection
    from fairspan.moments.group_moments import GroupMoments as GroupMoments
    from fairspan.objectives.ambiguity import gelbrich_divergence as gelbrich_divergence
    from fairspan.selection.robust_cv import RobustFairPCACV as RobustFairPCACV
    from fairspan.storage.model_file import load_model as load_model

__version__ = "0.1.0"

_HOMES = {
    "assess_downstream": "downstream.assess",
    "ConvexFairPCA": "estimators.convex",
    "ExactlyFairPCA": "estimators.exact",
    "NullSpaceFairPCA": "estimators.nullspace",
    "RobustFairPCA": "estimators.robust",
    "FairPCA": "estimators.samadi",
    "CollapsedRuleWarning": "exceptions",
    "HiddenFeatureWarning": "exceptions",
    "NoGroupsWarning": "exceptions",
    "SmallGroupWarning": "exceptions",
    "advise": "frontier.advise",
    "fairness_frontier": "frontier.frontier",
    "Frontier": "frontier.result",
    "certify": "judging.certify",
    "compare": "judging.compare",
    "dominating_projection": "judging.dominance",
    "GroupMoments": "moments.group_moments",
    "gelbrich_divergence": "objectives.ambiguity",
    "RobustFairPCACV": "selection.robust_cv",
    "load_model": "storage.model_file",
}
"""Where names are defined. All is imported when it is first used, so that commands start at
once; no module may have a public function's name, which it would hide."""
_MODULES = (
    "convergence",
    "datasets",
    "downstream",
    "inference",
    "metrics",
    "plotting",
    "preprocessing",
    "report",
    "scorers",
    "sources",
)

__all__ = sorted([*_HOMES, *_MODULES])


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        found = getattr(import_module(f"fairspan.{_HOMES[name]}"), name)
    elif name in _MODULES:
        found = import_module(f"fairspan.{name}")
    else:
        raise AttributeError(f"module 'fairspan' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
