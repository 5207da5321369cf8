"""Performance and disparity of predictions, overall and by group."""

from __future__ import annotations

import inspect
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import sklearn.metrics
from sklearn.exceptions import UndefinedMetricWarning

from fairspan.ground.parameters import is_listing
from fairspan.ground.types import FloatArray

CLASSIFICATION = (
    "accuracy",
    "roc_auc",
    "selection_rate",
    "demographic_parity_difference",
    "equalized_odds_difference",
)
MANY_CLASSES = ("accuracy", "balanced_accuracy")
REGRESSION = ("r2", "root_mean_squared_error", "mean_prediction")
_SCORED = ("roc_auc", "average_precision", "log_loss", "brier_score", "d2_log_loss", "d2_brier")
_SCORES = {"y_score", "y_prob", "y_proba"}
"""Names of metrics of scores, and of parameters that take them; others take predictions."""
_SELECTING = ("selection_rate", "demographic_parity", "equalized_odds", "equal_opportunity")
"""Metrics that need a positive class, and so two classes."""
_OF_NUMBERS = ("sklearn.metrics._regression",)
_OF_CLASSES = (
    "sklearn.metrics._classification",
    "sklearn.metrics._ranking",
    "sklearn.metrics.cluster",
    "fairlearn.metrics",
)
"""Modules whose functions compare numbers, or classes; what is written elsewhere may do both."""
_OF_BOTH = ("mean_prediction", "count")
"""Metrics of fairlearn that have a meaning for numbers, and for two classes, which are 0 and 1."""
_LOW = ("difference", "error", "loss", "deviance", "false_", "miss_rate")
"""Words in the names of metrics of which less is better."""
_SHARES = ("accuracy", "auc", "f1", "odds", "opportunity", "parity", "precision", "rate", "recall")
"""Words in the names of metrics that are at most 1."""


@dataclass(frozen=True)
class Measure:
    """A metric, by name.

    Attributes
    ----------
    name : str
        Its name.
    function : callable
        Of true values, predictions and keywords.
    scored : bool
        Whether it takes scores, not predictions.
    compares : bool
        Whether it compares groups by itself; the others are computed for each group too.
    weighted : bool
        Whether it takes ``sample_weight``.
    n_classes : int
        Classes of the target; 0 for a regression.
    labelled : bool
        Whether it takes the classes as ``labels``, with a score for each.
    """

    name: str
    function: Callable[..., Any]
    scored: bool
    compares: bool
    weighted: bool
    n_classes: int
    labelled: bool

    def rows(self, held_out: Predictions) -> list[dict[str, Any]]:
        """Return the value overall, for each group, and last what compares the groups."""
        groups = held_out.labels
        # With one group among the held-out rows there is nothing to compare; 0 would look fair.
        comparable = len(groups) > 1
        if self.compares:
            whole = self._value(held_out, sensitive_features=held_out.groups)
            return [{"metric": self.name, "group": None, "value": whole if comparable else np.nan}]
        rows = [{"metric": self.name, "group": None, "value": self._value(held_out)}]
        by_group = {label: self._value(held_out.of_group(label)) for label in groups}
        rows += [
            {"metric": self.name, "group": label, "value": value}
            for label, value in by_group.items()
        ]
        apart = float(np.ptp(list(by_group.values()))) if comparable else np.nan
        return [*rows, {"metric": f"{self.name}_difference", "group": None, "value": apart}]

    def _value(self, held_out: Predictions, **given: Any) -> float:
        if held_out.weight is not None:
            if not self.weighted:
                raise ValueError(
                    f"metrics: {self.name} takes no sample_weight, so it cannot measure weighted "
                    "rows; leave it out, or leave the weights out."
                )
            given["sample_weight"] = held_out.weight
        if self.labelled:
            given["labels"] = np.arange(self.n_classes)
        predicted = held_out.scores if self.scored else held_out.predicted
        with warnings.catch_warnings():
            # Where a class is absent, as in a small group, some metrics are not defined: nan.
            warnings.simplefilter("ignore", UndefinedMetricWarning)
            warnings.filterwarnings("ignore", "y_pred contains classes not in y_true", UserWarning)
            try:
                value = self.function(held_out.truth, predicted, **given)
            except (ValueError, TypeError) as error:
                absent = len(np.unique(held_out.truth)) < max(self.n_classes, 2)
                if isinstance(error, ValueError) and absent:
                    return float("nan")
                raise ValueError(
                    f"metrics: {self.name} cannot be computed here ({error}). Choose metrics that "
                    "suit the target: classes or numbers."
                ) from error
        if isinstance(value, str) or np.ndim(value) or not hasattr(value, "__float__"):
            raise ValueError(
                f"metrics: {self.name} cannot be used here: it gives {type(value).__name__}, not "
                "one number."
            )
        return float(value)


@dataclass(frozen=True)
class Predictions:
    """Held-out rows: what is true, what a model says, and whom it is about."""

    truth: Any
    predicted: Any
    scores: Any
    groups: Any
    weight: FloatArray | None

    @property
    def labels(self) -> list[str]:
        """The groups."""
        return [str(label) for label in np.unique(self.groups)]

    def of_group(self, label: str) -> Predictions:
        """Return the rows of one group."""
        rows = self.groups == label
        weight = None if self.weight is None else self.weight[rows]
        return Predictions(
            self.truth[rows], self.predicted[rows], self.scores[rows], self.groups[rows], weight
        )


def measures(metrics: Mapping[str, Any] | Iterable[Any] | None, n_classes: int) -> list[Measure]:
    """Find metrics by name in scikit-learn and fairlearn, or take functions as they are."""
    if metrics is None:
        metrics = {0: REGRESSION, 2: CLASSIFICATION}.get(n_classes, MANY_CLASSES)
    if isinstance(metrics, Mapping):
        named = list(metrics.items())
    elif is_listing(metrics):
        named = [(_name_of(metric), metric) for metric in metrics]
    else:
        raise TypeError(f"metrics={metrics!r} must be a list of names or a mapping to functions.")
    if not named:
        raise ValueError("metrics is empty; give at least one, or leave it out for the default.")
    found = [_measure(name, metric, n_classes) for name, metric in named]
    counts = Counter(names_of(found))
    twice = [name for name, count in counts.items() if count > 1]
    if twice:
        raise ValueError(
            f"metrics: {', '.join(map(repr, twice))} would be measured twice (a metric that does "
            "not compare groups also gives its name with '_difference'); leave one out, or use a "
            "mapping with other names."
        )
    return found


def names_of(measures: Iterable[Measure]) -> list[str]:
    """Name all that is measured, the differences between groups included."""
    return [
        name
        for one in measures
        for name in ([one.name] if one.compares else [one.name, f"{one.name}_difference"])
    ]


def less_is_better(name: str) -> bool:
    """Whether a metric of that name is to be small."""
    # A d2 score is a share that is explained, also if it is named after a loss.
    return name.endswith("_difference") or (
        any(word in name for word in _LOW) and not name.startswith("d2_")
    )


def limits(name: str, values: FloatArray) -> tuple[float, float]:
    """Return what a metric cannot leave, by its name, unless the values say otherwise."""
    share = any(word in name for word in _SHARES)
    low, high = 0.0 if share or name.endswith("_difference") else -np.inf, 1.0 if share else np.inf
    inside = (values >= low).all() and (values <= high).all()
    return (low, high) if inside else (-np.inf, np.inf)


def _name_of(metric: Any) -> str:
    name = getattr(metric, "__name__", "<lambda>") if callable(metric) else str(metric)
    if name == "<lambda>":
        raise ValueError(
            f"metrics: {metric!r} has no name; use a mapping such as {{'my_metric': function}}."
        )
    return name


def _found(metric: Any) -> Callable[..., Any]:
    """Look a metric up by its name."""
    for ending in ("", "_score"):
        function = getattr(sklearn.metrics, f"{metric}{ending}", None)
        if callable(function):
            return function  # type: ignore[no-any-return]
    try:
        import fairlearn.metrics  # type: ignore[import-untyped, unused-ignore]
    except ImportError as error:
        raise ImportError(
            f"metrics: {metric!r} is not one of scikit-learn's; those of fairlearn need it: "
            'pip install "fairspan[downstream]".'
        ) from error
    function = getattr(fairlearn.metrics, str(metric), None)
    if not callable(function):
        raise ValueError(
            f"metrics: {metric!r} is known neither to scikit-learn nor to fairlearn; use a name "
            "such as 'accuracy' or 'equalized_odds_difference', or a function."
        )
    return function  # type: ignore[no-any-return]


def _check_suits(name: str, function: Any, n_classes: int) -> None:
    """Refuse metrics of numbers for classes, which would be computed on their places."""
    # What fairlearn derives from another metric is of the same kind.
    function = getattr(function, "_metric_fn", function)
    module, own_name = str(function.__module__), getattr(function, "__name__", "")
    of_both = module.startswith("fairlearn.") and own_name in _OF_BOTH
    needs_numbers = module.startswith(_OF_NUMBERS) or (own_name == "mean_prediction" and of_both)
    if n_classes and needs_numbers and not (of_both and n_classes == 2):
        raise ValueError(
            f"metrics: {name} compares numbers, but the target has {n_classes} classes. Use for "
            "instance 'accuracy', or a regressor as the model if the classes are numbers."
        )
    if not n_classes and module.startswith(_OF_CLASSES) and not of_both:
        raise ValueError(
            f"metrics: {name} compares classes, but the model predicts numbers. Use for instance "
            "'r2', or a classifier as the model if the target has few values."
        )


def _measure(name: str, metric: Any, n_classes: int) -> Measure:
    function = metric if callable(metric) else _found(metric)
    known = inspect.signature(function).parameters
    own_name = str(getattr(metric, "__name__", "") if callable(metric) else metric)
    _check_suits(name, function, n_classes)
    if n_classes > 2 and own_name.startswith(_SELECTING):
        raise ValueError(
            f"metrics: {name} needs two classes, of which one is positive, but the target has "
            f"{n_classes}. Use for instance 'accuracy', or a target with two classes."
        )
    scored = own_name.startswith(_SCORED) or not _SCORES.isdisjoint(known)
    # What fairlearn derives from another metric hands sample weights on to it.
    derived = type(function).__module__.startswith("fairlearn.")
    return Measure(
        name=name,
        function=function,
        scored=scored,
        compares="sensitive_features" in known,
        weighted=derived or "sample_weight" in known,
        n_classes=n_classes,
        labelled=scored and n_classes > 0 and "labels" in known,
    )
