"""What is compared: projections of several sizes and weights, and no projection."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from fairspan.estimators.base import BaseFairPCA
from fairspan.estimators.convex import ConvexFairPCA
from fairspan.estimators.nullspace import NullSpaceFairPCA
from fairspan.estimators.robust import RobustFairPCA
from fairspan.estimators.samadi import FairPCA
from fairspan.ground.parameters import check_choice, check_integer, check_number, is_listing
from fairspan.ground.types import FloatArray
from fairspan.moments.group_moments import GroupMoments
from fairspan.words import plural

NO_REDUCTION = "no reduction"
PCA = "PCA"
METHODS: dict[str, Any] = {
    # Weighted rows count in it, which scikit-learn's PCA does not offer.
    PCA: RobustFairPCA(fairness_weight=0.0),
    "RobustFairPCA": RobustFairPCA(),
    "RobustFairPCA (largest)": RobustFairPCA(disparity="largest"),
    "FairPCA": FairPCA(),
    "NullSpaceFairPCA": NullSpaceFairPCA(),
    "ConvexFairPCA": ConvexFairPCA(),
}
"""Methods that can be asked for by name."""


@dataclass(frozen=True)
class Candidate:
    """A projection to try: its method, its size and its fairness weight.

    Attributes
    ----------
    method : str
        Name of the method.
    n_components : int or None
        Number of components; None without any reduction.
    fairness_weight : float or None
        The weight, of methods that have one.
    estimator : estimator or None
        The projection, not fitted.
    """

    method: str
    n_components: int | None
    fairness_weight: float | None
    estimator: Any = None

    @property
    def key(self) -> tuple[str, int | None, float | None]:
        """What distinguishes candidates."""
        return self.method, self.n_components, self.fairness_weight

    @property
    def name(self) -> str:
        """What to call it in a message."""
        if self.n_components is None:
            return self.method
        return f"{self.method} with {plural(self.n_components, 'component')}"

    def project(
        self, Z: FloatArray, moments: GroupMoments, weight: FloatArray | None, **known: Any
    ) -> Any:
        """Fit the projection to training rows; return the function that projects rows."""
        if self.estimator is None:
            return np.asarray
        model = clone(self.estimator)
        if isinstance(model, BaseFairPCA):
            return model.fit_moments(moments).transform
        return fitted(model, Z, weight, **known).transform


def fitted(model: Any, Z: Any, weight: FloatArray | None, **known: Any) -> Any:
    """Fit an estimator with what its fit takes of all that is known; weights are never dropped.

    Parameters
    ----------
    model : estimator
        What to fit.
    Z : array or frame of shape (n_rows, n_features)
        The rows.
    weight : ndarray of shape (n_rows,) or None
        Sample weights.
    **known
        Further arguments that the fit may take: y, sensitive_features.

    Returns
    -------
    estimator
        The model.
    """
    takes = inspect.signature(model.fit).parameters
    given = {name: value for name, value in known.items() if name in takes}
    if weight is not None:
        check_takes_weights(model)
        given["sample_weight"] = weight
    return model.fit(Z, **given)


def check_takes_weights(model: Any) -> None:
    """Refuse an estimator that would have to drop sample weights."""
    if "sample_weight" not in inspect.signature(model.fit).parameters:
        raise ValueError(
            f"{type(model).__name__} takes no sample_weight, so it cannot be fitted to weighted "
            "rows; choose another one, or leave the weights out."
        )


def candidates(methods: Any, n_components: Any, fairness_weights: Any) -> list[Candidate]:
    """List what is compared, PCA and no reduction among it.

    Parameters
    ----------
    methods : mapping of names to estimators, iterable of names, or None
        Projections, not fitted; PCA is always one of them.
    n_components : int or iterable of int
        The sizes.
    fairness_weights : float or iterable of float
        The weights of methods that have one.

    Returns
    -------
    list of Candidate
        All combinations; no reduction comes first, then PCA.
    """
    sizes = [check_integer("n_components", k, 1) for k in _several(n_components)]
    weights = [float(check_number("fairness_weights", w)) for w in _several(fairness_weights)]
    found = [Candidate(NO_REDUCTION, None, None)]
    for name, method in ({PCA: METHODS[PCA]} | _named(methods)).items():
        known = method.get_params()
        weighted = name != PCA and "fairness_weight" in known
        for k in sizes:
            for weight in weights if weighted else [None]:
                chosen: dict[str, Any] = {"n_components": k}
                chosen |= {} if weight is None else {"fairness_weight": weight}
                found.append(Candidate(name, k, weight, clone(method).set_params(**chosen)))
    return found


def _several(values: Any) -> list[Any]:
    values = list(values) if is_listing(values) else [values]
    if not values:
        raise ValueError("n_components and fairness_weights need at least one value each.")
    return list(dict.fromkeys(values))


def _named(methods: Mapping[str, Any] | Iterable[Any] | None) -> dict[str, Any]:
    if methods is None:
        return dict(METHODS)
    if isinstance(methods, Mapping):
        given = dict(methods)
    elif is_listing(methods) and all(isinstance(name, str) for name in methods):
        given = {check_choice("methods", name, METHODS): METHODS[name] for name in methods}
    else:
        raise TypeError(
            f"methods={methods!r} must be a list of names ({', '.join(METHODS)}) or a mapping of "
            "names to estimators, such as {'fair': FairPCA()}."
        )
    for name, method in given.items():
        is_estimator = hasattr(method, "get_params") and not isinstance(method, type)
        if not is_estimator or "n_components" not in method.get_params():
            raise TypeError(
                f"methods[{name!r}] is {method!r}; a projection is an estimator with n_components "
                "and transform, such as RobustFairPCA()."
            )
        if name in (NO_REDUCTION, PCA) and method is not METHODS.get(name):
            raise ValueError(f"methods: {name!r} is always compared; give the method another name.")
    return given
