"""The error of each row under a projection that was fitted without its fold.

Moments add up over folds: all training parts come from one pass over the rows, so that a fold costs
a solve. Where rows themselves are needed (limits to clip at, a radius from the bootstrap, a
pipeline, a search) each fold is fitted from its rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from fairspan.estimators.base import BaseFairPCA
from fairspan.estimators.robust import RobustFairPCA
from fairspan.exceptions import HiddenFeatureWarning, NoGroupsWarning, SmallGroupWarning
from fairspan.ground.types import BoolArray, FloatArray, IntArray
from fairspan.inference.sample import Sample
from fairspan.judging.support import CONSTANT, deviations_and_support
from fairspan.moments.blocks import compact
from fairspan.moments.from_rows import pooled_scale
from fairspan.moments.group_moments import GroupMoments
from fairspan.moments.groups import Groups
from fairspan.moments.projection import Projection

_TOLERANCE = 1e-4
"""The projection without a fold need not be proved optimal more closely than the data can show."""
_SILENT = (SmallGroupWarning, NoGroupsWarning, HiddenFeatureWarning, ConvergenceWarning)
_MEMORY_BYTES = 2**29
"""Where the moments of all folds need more than this, each training part is a pass of its own."""


@dataclass(frozen=True)
class HeldOut:
    """Errors of rows under projections that have not seen them.

    Attributes
    ----------
    errors : ndarray of shape (n_rows,)
        The error of each row under the recipe.
    plain : ndarray of shape (n_rows,) or None
        The same under PCA in the same units with as many components.
    constant : ndarray of shape (n_features,)
        Columns that vary, but hardly without some fold.
    missing : ndarray of shape (n_groups,)
        In how many folds each group was absent from the fit.
    """

    errors: FloatArray
    plain: FloatArray | None
    constant: BoolArray
    missing: IntArray


def held_out(estimator: Any, sample: Sample, folds: IntArray, *, plain: bool = False) -> HeldOut:
    """Fit a recipe without each fold, and measure the rows of the fold.

    Parameters
    ----------
    estimator : estimator
        A fair PCA of this package, a search, a pipeline that ends with one of these, or any
        estimator that has ``components_`` and ``mean_`` once it is fitted.
    sample : Sample
        The rows.
    folds : ndarray of shape (n_rows,)
        The fold of each row.
    plain : bool
        Whether plain PCA is measured too.

    Returns
    -------
    HeldOut
        The errors.
    """
    number, n_groups = int(folds.max()) + 1, len(sample.labels)
    cells = np.bincount(folds * n_groups + sample.groups.codes, minlength=number * n_groups)
    counts = cells.reshape(number, n_groups)
    errors = np.empty((2 if plain else 1, len(folds)))
    constant = np.zeros(sample.X.shape[1], dtype=np.bool_)
    fits = _from_moments if _is_fitted_by_moments(estimator) else _from_rows
    with warnings.catch_warnings():
        # The fit of all rows warns of these. What a fold lacks is reported by number, and its
        # projection is measured whether or not it is proved to be the best.
        for category in _SILENT:
            warnings.simplefilter("ignore", category)
        for rows, models, steady in fits(estimator, sample, folds, plain):
            errors[:, rows] = models
            constant |= steady
    return HeldOut(
        errors=errors[0],
        plain=errors[1] if plain else None,
        constant=constant,
        missing=(counts == counts.sum(axis=0)).sum(axis=0),
    )


Held = tuple[IntArray, list[FloatArray], BoolArray]
"""The rows of a fold, their errors under each model, and the columns constant without it."""


def _is_fitted_by_moments(estimator: Any) -> bool:
    by_rows = isinstance(getattr(estimator, "radius", None), str)
    return isinstance(estimator, BaseFairPCA) and not by_rows and estimator.clip is None


def plain_pca(n_components: int, standardize: bool = False, clip: float | None = None) -> Any:
    """Give the recipe of PCA, which does not see groups."""
    return RobustFairPCA(
        n_components, fairness_weight=0.0, radius=0.0, standardize=standardize, clip=clip
    )


def _copy(estimator: Any, **settings: Any) -> Any:
    """Clone a recipe; without a seed of its own it gets a fixed one."""
    if getattr(estimator, "random_state", 0) is None:
        settings["random_state"] = 0
    made = clone(estimator)
    for name, value in settings.items():
        setattr(made, name, value)
    return made


def _from_moments(
    estimator: BaseFairPCA, sample: Sample, folds: IntArray, plain: bool
) -> Iterator[Held]:
    settings: dict[str, Any] = {"standardize": False}
    if isinstance(estimator, RobustFairPCA):
        settings["tol"] = max(estimator.tol, _TOLERANCE)
        # All folds together may spend as much as one fit to prove theirs.
        settings["effort"] = estimator.effort / (int(folds.max()) + 1)
    model, pca = _copy(estimator, **settings), plain_pca(1)
    if isinstance(estimator, RobustFairPCA) and estimator.solver != "subgradient":
        # Proofs are the same without a seed, and to make a generator for each takes time.
        model.random_state = estimator.random_state
    model._check_parameters()
    pca.n_components, spread = model.n_components, sample.columns[0]
    taken = _taker(sample.X, int(np.bincount(folds).max()))
    is_pair = len(sample.labels) == 2
    for rows, train in _training_parts(sample, folds):
        steady = train.variances < CONSTANT * spread**2
        scale = None
        if estimator.standardize:
            # Unless the variance of a column is known without the fold, its unit would be rounding.
            scale = np.where(steady, spread, pooled_scale(train))
        scaled, held = train if scale is None else train.scaled(scale), taken(rows)
        errors = []
        for fitted in (model, pca) if plain else (model,):
            # Errors of rows need the subspace alone, and none of what else a fit tells.
            prepared, _, result = fitted._found(fitted._treated(scaled))
            if is_pair and result.solver == "boundary":
                # Folds differ little: the search of the next one starts from this one's answer.
                fitted._slope = result.bound_weights
            fitted.components_ = prepared.in_features(result.components)
            fitted.mean_, fitted.scale_ = train.mean, scale
            errors.append(fitted._errors_of(held))
        yield rows, errors, steady


def _taker(X: Any, most: int) -> Callable[[IntArray], Any]:
    """Take rows, always to the same place: new memory costs more than the copy."""
    if issparse(X):
        return lambda rows: X[rows]
    place = np.empty((most, X.shape[1]), X.dtype)
    return lambda rows: np.take(X, rows, axis=0, out=place[: len(rows)], mode="clip")


def _training_parts(sample: Sample, folds: IntArray) -> Iterator[tuple[IntArray, GroupMoments]]:
    """Give for each fold its rows, and the moments of all others."""
    n_rows, d = sample.X.shape
    number = int(folds.max()) + 1
    matrices = min(number * len(sample.labels), n_rows)
    weight = sample.weight if sample.is_weighted else None
    # Rows fewer than features are better summed in the space that they span.
    if n_rows > d and 8 * matrices * d * d <= _MEMORY_BYTES:
        mixed = sample.groups.codes.astype(np.intp) * number + folds
        present, codes = compact(mixed)
        parts = Groups(codes, tuple(range(len(present))))
        cells = GroupMoments.from_groups(sample.X, parts, sample_weight=weight)
        owner, place = np.divmod(present, number)
        for fold in range(number):
            train = _added(cells, owner, place != fold, sample.labels)
            yield np.flatnonzero(folds == fold), train
        return
    for fold in range(number):
        rows = np.flatnonzero(folds != fold)
        yield np.flatnonzero(folds == fold), _moments_of(sample, rows)


def _from_rows(estimator: Any, sample: Sample, folds: IntArray, plain: bool) -> Iterator[Held]:
    is_pipeline = isinstance(estimator, Pipeline)
    steps = estimator[:-1] if is_pipeline and len(estimator) > 1 else None
    last = estimator[-1] if is_pipeline else estimator
    _check_weights(sample, last, steps)
    X, spread = sample.X, sample.columns[0]
    standardize = bool(getattr(last, "standardize", False))
    if standardize and steps is None:
        # A standardising recipe does not see it, but where a column is constant without a fold,
        # its unit is the deviation over all rows.
        X = X / np.where(spread > 0, spread, 1.0)
    labels = np.fromiter((sample.labels[a] for a in sample.groups.codes), object, X.shape[0])
    for fold in range(int(folds.max()) + 1):
        train, rows = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        left = deviations_and_support(sample.X[train], sample.weight[train], None)[0]
        steady = left**2 < CONSTANT * spread**2
        seen, held = X[train], X[rows]
        if steps is not None:
            fitted = clone(steps)
            seen, held = fitted.fit_transform(seen), fitted.transform(held)
        weight = {"sample_weight": sample.weight[train]} if sample.is_weighted else {}
        groups = {"sensitive_features": labels[train]}
        known = groups if has_fit_parameter(last, "sensitive_features") else {}
        models = [_copy(last).fit(seen, **known, **weight)]
        if plain:
            k, clip = len(models[0].components_), getattr(last, "clip", None)
            models.append(plain_pca(k, standardize, clip).fit(seen, **weight))
        yield rows, [_row_errors(model, held) for model in models], steady


def _check_weights(sample: Sample, last: Any, steps: Any) -> None:
    if sample.is_weighted and (steps is not None or not has_fit_parameter(last, "sample_weight")):
        raise ValueError(
            "sample_weight cannot be given to every step of this recipe, so that its errors would "
            "be those of another population; use an estimator of fairspan, with standardize=True "
            "instead of a scaler."
        )


def _row_errors(model: Any, X: Any) -> FloatArray:
    if hasattr(model, "reconstruction_errors"):
        return np.asarray(model.reconstruction_errors(X))
    if getattr(model, "mean_", None) is None or not hasattr(model, "components_"):
        raise TypeError(
            f"{type(model).__name__} has no components_ and mean_ after fit, so the errors of rows "
            "cannot be computed."
        )
    X, projection = np.asarray(X), Projection.of(model)
    groups = Groups.single(len(X))
    return projection.row_errors(X, groups, np.asarray(model.mean_)[None])


def _moments_of(sample: Sample, rows: IntArray) -> GroupMoments:
    present, codes = compact(sample.groups.codes[rows])
    groups = Groups(codes, tuple(sample.labels[a] for a in present))
    weight = sample.weight[rows] if sample.is_weighted else None
    return GroupMoments.from_groups(sample.X[rows], groups, sample_weight=weight)


def _added(
    cells: GroupMoments, owner: IntArray, chosen: BoolArray, labels: tuple[Any, ...]
) -> GroupMoments:
    """Add the moments of chosen cells of the same group."""
    present = np.flatnonzero(np.bincount(owner[chosen]))
    # A row for each group, with ones for its cells: products with it are sums.
    belongs = ((owner == present[:, None]) & chosen).astype(np.float64)
    weighted = belongs * cells.weights
    total = weighted.sum(axis=1)
    offsets = weighted @ cells.offsets / total[:, None]
    n_cells, d = cells.offsets.shape
    scatters = (belongs @ cells.scatters.reshape(n_cells, d * d)).reshape(-1, d, d)
    for a, own in enumerate(weighted):
        apart = np.sqrt(own)[:, None] * (cells.offsets - offsets[a])
        scatters[a] += apart.T @ apart
    return GroupMoments(
        labels=tuple(labels[a] for a in present),
        counts=belongs.astype(np.intp) @ cells.counts,
        weights=total,
        squared_weights=belongs @ cells.squared_weights,
        shift=cells.shift,
        offsets=offsets,
        scatters=scatters,
    )
