"""Performance and disparity of predictions, overall and by group."""

from __future__ import annotations

import inspect
import warnings
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
_SCORED = ("roc_auc", "average_precision", "log_loss", "brier_score", "d2_log_loss")
"""Metrics of scores, where the others are of predictions."""
_LOW = ("difference", "error", "loss", "deviance")
"""Words in the names of metrics of which less is better."""


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
    """

    name: str
    function: Callable[..., Any]
    scored: bool
    compares: bool
    weighted: bool

    def rows(self, told: Predictions) -> list[dict[str, Any]]:
        """Return the value overall, for each group, and the largest difference of groups."""
        if self.compares:
            whole = self._value(told, sensitive_features=told.groups)
            return [{"metric": self.name, "group": None, "value": whole}]
        rows = [{"metric": self.name, "group": None, "value": self._value(told)}]
        by_group = {label: self._value(told.of_group(label)) for label in told.labels}
        rows += [
            {"metric": self.name, "group": label, "value": value}
            for label, value in by_group.items()
        ]
        apart = float(np.ptp(list(by_group.values())))
        return [*rows, {"metric": f"{self.name}_difference", "group": None, "value": apart}]

    def _value(self, told: Predictions, **given: Any) -> float:
        if self.weighted and told.weight is not None:
            given["sample_weight"] = told.weight
        elif told.weight is not None and not self.weighted:
            raise ValueError(
                f"metrics: {self.name} takes no sample_weight, so it cannot measure weighted rows; "
                "leave it out, or leave the weights out."
            )
        predicted = told.scores if self.scored else told.predicted
        with warnings.catch_warnings():
            # Of a group with one class only, some metrics are not defined: that is nan.
            warnings.simplefilter("ignore", UndefinedMetricWarning)
            try:
                return float(self.function(told.truth, predicted, **given))
            except (ValueError, TypeError) as error:
                if isinstance(error, ValueError) and len(np.unique(told.truth)) == 1:
                    return float("nan")
                raise ValueError(
                    f"metrics: {self.name} cannot be computed here ({error}). Choose metrics that "
                    "give one number and suit the target: classes or numbers."
                ) from error


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
        return [_measure(name, function) for name, function in metrics.items()]
    if not is_listing(metrics):
        raise TypeError(f"metrics={metrics!r} must be a list of names or a mapping to functions.")
    return [_measure(*_found(metric)) for metric in metrics]


def names_of(measures: Iterable[Measure]) -> list[str]:
    """Name all that is measured, the differences between groups included."""
    return [
        name
        for one in measures
        for name in ([one.name] if one.compares else [one.name, f"{one.name}_difference"])
    ]


def less_is_better(name: str) -> bool:
    """Whether a metric of that name is to be small."""
    return any(word in name for word in _LOW)


def _found(metric: Any) -> tuple[str, Callable[..., Any]]:
    if callable(metric):
        return metric.__name__, metric
    for ending in ("", "_score"):
        function = getattr(sklearn.metrics, f"{metric}{ending}", None)
        if callable(function):
            return str(metric), function
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
    return str(metric), function


def _measure(name: str, metric: Any) -> Measure:
    function = metric if callable(metric) else _found(metric)[1]
    known = inspect.signature(function).parameters
    return Measure(
        name=name,
        function=function,
        scored=name in _SCORED or getattr(function, "__name__", "").startswith(_SCORED),
        compares="sensitive_features" in known,
        weighted="sample_weight" in known or "sample_params" in known,
    )
