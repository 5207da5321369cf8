"""Model files: plain arrays and JSON, no pickle; reading one runs no code."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fairspan.ground import archive, defaults
from fairspan.ground.listed import listed
from fairspan.moments import file as moments_file
from fairspan.moments.file import check_array
from fairspan.moments.group_moments import GroupMoments
from fairspan.moments.projection import ORTHONORMAL
from fairspan.objectives.robust import RobustFairObjective
from fairspan.solvers.result import SolverResult

if TYPE_CHECKING:
    from fairspan.estimators.base import BaseFairPCA

_FORM = "fairspan.model"
WITHOUT = "Leave the moments out with moments=False, or "
"""Advice for models of small groups."""
_VALUES = (GroupMoments, SolverResult, RobustFairObjective)
_CLASSES: dict[str, type] = {value.__name__: value for value in _VALUES}
"""What a fitted model may hold in addition to arrays, numbers and text."""


@dataclass(frozen=True)
class ModelFile:
    """A model, and what else its file holds."""

    model: BaseFairPCA
    columns: Any
    versions: dict[str, str]
    sha256: str


def save_model(
    model: BaseFairPCA,
    path: str | os.PathLike[str],
    *,
    moments: bool = True,
    columns: Any = None,
    min_count: int = defaults.MIN_COUNT,
) -> None:
    """Write a fitted model; ``model.save(path)`` is the public way.

    Parameters
    ----------
    model : estimator
        A fitted estimator of this package.
    path : str or path
        The file to write, under exactly this name; replaced atomically.
    moments : bool, default=True
        Whether the moments of the data are kept, which ``partial_fit`` needs to continue.
    columns : object, optional
        How the columns of a table became features.
    min_count : int, default=10
        Moments of groups of fewer rows are refused.
    """
    check_is_fitted(model)
    parameters = model.get_params(deep=False)
    attributes = {name: value for name, value in vars(model).items() if name not in parameters}
    kept = attributes.get("moments_") if moments else attributes.pop("moments_", None)
    if moments and kept is not None:
        moments_file.check_counts(kept, min_count, WITHOUT)
    if _estimators().get(type(model).__name__) is not type(model):
        raise TypeError(
            f"{type(model).__name__} is not a public class of fairspan, and only these fit a model "
            "file; use skops or pickle."
        )
    content = {
        "class": type(model).__name__,
        "parameters": parameters,
        "attributes": attributes,
        "columns": columns,
    }
    archive.write(path, _FORM, content, _CLASSES)


def load_model(path: str | os.PathLike[str]) -> BaseFairPCA:
    """Read a model written by ``model.save(path)``.

    The file is data only: reading it runs no code. Its sizes, shapes and content hash are checked,
    and a ValueError names what is wrong with a file that is damaged, edited or foreign.

    Parameters
    ----------
    path : str or path
        The file to read.

    Returns
    -------
    estimator
        The fitted estimator, equal to the one that was saved.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import load_iris
    >>> from fairspan import RobustFairPCA, load_model
    >>> data = load_iris()
    >>> pca = RobustFairPCA(2).fit(data.data, sensitive_features=data.target)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.npz")
    ...     pca.save(path)
    ...     loaded = load_model(path)
    >>> bool((loaded.transform(data.data) == pca.transform(data.data)).all())
    True
    """
    return read_model(path).model


def read_model(path: str | os.PathLike[str]) -> ModelFile:
    """Read a model with the columns, versions and hash of its file.

    Parameters
    ----------
    path : str or path
        The file to read.

    Returns
    -------
    ModelFile
        The model and the rest.
    """
    found = archive.read(path, _FORM, _CLASSES)
    with archive.refusing(path, _FORM):
        content = found.content
        model = _make(content["class"], content["parameters"])
        foreign = [name for name in content["attributes"] if not _may_hold(model, name)]
        if foreign:
            raise ValueError(f"it has attributes that no model has: {listed(foreign)}")
        model.__dict__.update(content["attributes"])
        _check(model)
        return ModelFile(model, content["columns"], found.versions, found.sha256)


def _estimators() -> dict[str, Any]:
    import fairspan
    from fairspan.estimators.base import BaseFairPCA

    public = {name: getattr(fairspan, name) for name in fairspan.__all__}
    return {
        name: value
        for name, value in public.items()
        if isinstance(value, type) and issubclass(value, BaseFairPCA)
    }


def _make(name: Any, parameters: Any) -> BaseFairPCA:
    known = _estimators()
    if name not in known:
        raise ValueError(f"its class {name!r} is not one of {sorted(known)}")
    estimator = known[name]
    allowed = set(estimator().get_params(deep=False))
    # What models do that are from before there were these parameters.
    earlier: dict[str, Any] = {
        "clip": None,
        "disparity": "gap",
        "reference": "none",
        "order": "variance",
    }
    earlier |= {"route": "moments", "failure_probability": defaults.FAILURE_PROBABILITY}
    parameters = {key: x for key, x in earlier.items() if key in allowed} | parameters
    if set(parameters) != allowed:
        raise ValueError(
            f"its parameters differ from those of {name}: {sorted(allowed ^ set(parameters))}"
        )
    model: BaseFairPCA = estimator(**parameters)
    model._check_parameters()
    return model


def _may_hold(model: BaseFairPCA, name: Any) -> bool:
    """Whether an attribute hides nothing of the class: a file adds data, never behaviour."""
    plain = isinstance(name, str) and name.isidentifier() and not name.startswith("__")
    # Names such as __array_interface__ mean something to others even where the class lacks them.
    return plain and not hasattr(model, name)


def _check(model: Any) -> None:
    """Raise ValueError or AttributeError for attributes that no fit produces."""
    k, d, n_groups = model.n_components_, model.n_features_in_, len(model.group_labels_)
    if not all(isinstance(n, int) and n > 0 for n in (k, d, n_groups)):
        raise ValueError(f"it has {k} components, {d} features and {n_groups} groups")
    check_array("components_", model.components_, (k, d))
    check_array("result_.components", model.result_.components, (k, d))
    check_array("mean_", model.mean_, (d,))
    for name in ("explained_variance_", "explained_variance_ratio_"):
        check_array(name, getattr(model, name), (k,))
    for name in ("group_errors_", "group_weights_"):
        check_array(name, getattr(model, name), (n_groups,))
    check_array("group_counts_", model.group_counts_, (n_groups,), "i")
    if model.scale_ is not None:
        check_array("scale_", model.scale_, (d,))
        if not (model.scale_ > 0).all():
            raise ValueError("its scale_ is not positive")
    if hasattr(model, "clip_limits_"):
        check_array("clip_limits_", model.clip_limits_, (2, d))
    if np.abs(model.components_ @ model.components_.T - np.eye(k)).max() > ORTHONORMAL:
        raise ValueError("its components are not orthonormal")
    if len(getattr(model, "feature_names_in_", range(d))) != d:
        raise ValueError(f"it does not have a name for each of its {d} features")
    if hasattr(model, "moments_"):
        moments_file.check(model.moments_)
        if model.moments_.n_features != d or list(model.moments_.labels) != model.group_labels_:
            raise ValueError("its moments have other features or groups than its components")
