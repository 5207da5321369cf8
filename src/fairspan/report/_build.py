"""From data to a report: checks, analysis, verdicts, and plain numbers for the page."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.utils import check_array

from fairspan.estimators.clipping import clipped
from fairspan.estimators.robust import RobustFairPCA
from fairspan.fitting import moments_of, prepare, warn_of_small_groups
from fairspan.ground import defaults
from fairspan.ground.parameters import (
    check_choice,
    check_components,
    check_flag,
    check_integer,
    check_number,
    is_listing,
    not_used,
)
from fairspan.ground.rows import check_weights, is_wide, named_column
from fairspan.ground.types import FLOATS
from fairspan.inference.verdicts import verdict
from fairspan.moments.group_moments import GroupMoments
from fairspan.moments.groups import ask_for_more, encode_groups, relabelled
from fairspan.moments.small_groups import groups_as_fitted, treated
from fairspan.objectives.counting import Counting
from fairspan.products import RowParts
from fairspan.report._analysis import Analysis, Data, analyse, effort_each, n_solves
from fairspan.report._content import (
    Report,
    Rows,
    facts_of,
    groups_of,
    notion_of,
    page_data,
    projected_rows,
)
from fairspan.report._decisions import decisions
from fairspan.report._scree import nested_prefixes
from fairspan.report._settings import Notion, Settings
from fairspan.words import Verdict

SCOPE = (
    "It balances reconstruction error between the groups you name, on the data you give. It is not "
    "a guarantee of fairness downstream: equal errors do not make a classifier fair, and a "
    "projection that serves groups alike may still reveal who belongs to which."
)
_WIDE = (
    "With many features use RobustFairPCA, certify and fairness_frontier, which work without them; "
    "fairness_frontier(X, k, sensitive_features=...).plot() shows the trade-off."
)
_COMPONENTS_TWO, _COMPONENTS_MORE = 8, 4
"""Most components of the slider by default: for two groups, and for more."""


@named_column
def build(
    X: Any,
    *,
    sensitive_features: Any = None,
    n_components: int = defaults.N_COMPONENTS,
    fairness_weight: float = defaults.FAIRNESS_WEIGHT,
    disparity: str = "gap",
    reference: str | Mapping[Any, float] = "none",
    radius: float = defaults.RADIUS,
    standardize: bool = False,
    clip: float | None = None,
    feature_names: Sequence[str] | None = None,
    title: str | None = None,
    sample_weight: Any = None,
    target: Any = None,
    small_groups: str = "keep",
    min_rows: int = defaults.MIN_ROWS,
    max_components: int | None = None,
    n_bootstrap: int | None = None,
    include_rows: bool = False,
    random_state: int = defaults.SEED,
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Analyse how PCA and RobustFairPCA describe the groups of a table.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features) or GroupMoments
        The data, or its moments; a report made from moments has no verdict about new rows.
    sensitive_features : array-like, frame, dict or str
        The group of each row of X; at least two groups. A str names a column of X, which is then
        not a feature.
    n_components : int, default=2
        Number of components, from 1 to n_features - 1.
    fairness_weight : float, default=1.0
        How much the gap between groups counts against the total error.
    disparity : {"gap", "largest"}, default="gap"
        What the fairness weight counts, as in RobustFairPCA; the page has a switch between them.
    reference : {"none", "own"} or mapping, default="none"
        What each group's error is compared with, as in RobustFairPCA.
    radius : float, default=0.0
        Size of the ambiguity set, as in RobustFairPCA.
    standardize : bool, default=False
        Divide features by their standard deviation over all rows.
    clip : float, optional
        Clip features at this number of standard deviations from their mean, as in RobustFairPCA; it
        needs rows.
    feature_names : sequence of str, optional
        Names of the features; those of a frame are known.
    title : str, optional
        What the data is.
    sample_weight : array-like of shape (n_samples,), optional
        How often each row counts.
    target : array-like of shape (n_samples,), optional
        What a model is to predict: the page then shows what a model trained on each projection
        does to the groups, as :func:`fairspan.assess_downstream` measures it.
    small_groups : {"keep", "pool"}, default="keep"
        What to do with groups with fewer than ``min_rows`` rows, as in RobustFairPCA.
    min_rows : int, default=5
        The fewest rows of a group that is not small.
    max_components : int, optional
        The largest number of components to look at; n_components at least. By default 8 for two
        groups and 4 for more, whose every stop is solved beforehand.
    n_bootstrap : int, optional
        Deprecated and not used: the page has intervals for new rows, by cross-fitting.
    include_rows : bool, default=False
        Also hold up to 2,000 rows, projected on the first two components. Without it a report
        holds aggregates only.
    random_state : int, default=0
        Seed of the choice of rows, and of folds and permutations behind the verdict.
    progress : callable, optional
        Called after each step of the analysis with the steps done and the steps in all.

    Returns
    -------
    Report
        The numbers; ``write_html``, ``to_json`` and ``model_card`` show them.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fairspan import report
    >>> data = load_breast_cancer()
    >>> groups = data.target_names[data.target]
    >>> page = report.build(data.data, sensitive_features=groups, standardize=True,
    ...                     n_components=2, max_components=2)
    >>> page.headline
    'PCA serves malignant worse than benign (difference 4.5, 1.0 to 7.9; p = 0.013).'
    """
    weight, size = check_number("fairness_weight", fairness_weight), check_number("radius", radius)
    Counting(disparity=disparity, reference=reference).checked()
    notion = Notion(disparity, reference)
    check_flag("include_rows", include_rows)
    check_integer("random_state", random_state, 0)
    not_used("n_bootstrap", n_bootstrap)
    if title is not None and not isinstance(title, str):
        raise TypeError(f"title={title!r} must be a string.")
    if progress is not None and not callable(progress):
        raise TypeError(f"progress={progress!r} must be callable.")
    check_choice("small_groups", small_groups, ("keep", "pool"))
    check_integer("min_rows", min_rows, 1)
    given = {"clip": clip is not None, "include_rows=True": include_rows}
    for name, is_given in (given | {"target": target is not None}).items():
        if is_given and isinstance(X, GroupMoments):
            raise ValueError(f"{name} needs the rows, which moments do not hold; give X.")
    moments, rows = _read(X, sensitive_features, sample_weight)
    if small_groups == "pool":
        moments, rows = _pooled(moments, rows, min_rows)
    shown = rows
    if clip is not None and rows is not None:
        shown = replace(rows, X=clipped(rows.X, clip, rows.weight))
        moments = GroupMoments.from_groups(
            shown.X,
            rows.groups,
            sample_weight=rows.weight,
            feature_names=moments.feature_names,
        )
    numbers = _numbers_of_components(n_components, max_components, moments)
    data = _prepare(moments, standardize, feature_names, numbers[-1])
    warn_of_small_groups(moments, n_components)
    variance = float(np.einsum("a,aii->", moments.shares, data.prepared.inner.second_moments))
    if variance == 0:
        raise ValueError("All rows of X are the same: nothing varies, and nothing can be lost.")
    settings = Settings.around(moments, weight, size, variance, notion)
    found = _analyses(data, numbers, (weight, size), notion, settings, progress)
    rules: dict[str, Any] = {"disparity": disparity, "reference": reference, "clip": clip}
    rules |= {"fairness_weight": weight, "radius": size, "standardize": standardize}
    recipe = RobustFairPCA(n_components, **rules)
    verdicts = _verdicts(recipe, data, rows, found, random_state)
    content = {
        "format": "fairspan.report",
        "version": 2,
        "title": title or "How PCA serves the groups",
        "groups": groups_of(moments),
        "data": facts_of(moments, variance, from_moments=rows is None),
        "setting": {
            "n_components": int(n_components),
            "fairness_weight": weight,
            "notion": settings.notions.index(notion),
            "radius": size,
            "standardize": bool(standardize),
            "clip": None if clip is None else float(clip),
        },
        "notions": [notion_of(one, moments) for one in settings.notions],
        "stops": {"components": numbers, "weights": settings.weights, "radii": settings.radii},
        "by_components": list(map(page_data, found, verdicts)),
        "nested": nested_prefixes(data, found, weight, size, notion),
        "projected": None,
        "decisions": None,
        "scope": SCOPE,
        "versions": _versions(),
    }
    if target is not None and rows is not None:
        known = rows.X, target, rows.given, rows.weight
        content["decisions"] = decisions(recipe, *known, random_state)
    if include_rows:
        content["projected"] = projected_rows(data, shown, found[n_components - 1], random_state)
    return Report(content)


def _read(X: Any, sensitive_features: Any, sample_weight: Any) -> tuple[GroupMoments, Rows | None]:
    if isinstance(X, RowParts) or (issparse(X) and is_wide(X)):
        raise ValueError(f"A report needs moments of features by features, or dense rows. {_WIDE}")
    try:
        moments = moments_of(X, sensitive_features, sample_weight)
    except MemoryError as error:
        raise MemoryError(f"{error} {_WIDE}") from None
    if moments.n_groups < 2:
        raise ValueError(
            f"There is {moments.n_groups} group; a report compares at least 2. "
            f"{ask_for_more(moments.labels)}"
        )
    if isinstance(X, GroupMoments):
        return moments, None
    X = check_array(X, dtype=FLOATS, input_name="X")
    weight = None if sample_weight is None else check_weights(sample_weight, len(X))
    return moments, Rows(X, encode_groups(sensitive_features, len(X)), sensitive_features, weight)


def _pooled(
    moments: GroupMoments, rows: Rows | None, min_rows: int
) -> tuple[GroupMoments, Rows | None]:
    """Make one group of the small ones."""
    moments = treated(moments, "pool", min_rows)
    if rows is not None:
        groups = groups_as_fitted(rows.groups, moments.labels, "pool")
        rows = replace(rows, groups=groups, given=relabelled(groups, ()))
    return moments, rows


def _numbers_of_components(
    n_components: Any, max_components: int | None, moments: GroupMoments
) -> list[int]:
    k, d = check_components(n_components, moments.n_features), moments.n_features
    if k == d:
        raise ValueError(
            f"n_components={k} keeps all {d} features, so nothing is lost and there is "
            f"nothing to report; use at most n_features - 1 = {d - 1}."
        )
    if max_components is None:
        most = _COMPONENTS_TWO if moments.n_groups == 2 else _COMPONENTS_MORE
    else:
        most = check_integer("max_components", max_components, 1)
    return list(range(1, max(k, min(most, d - 1)) + 1))


def _prepare(
    moments: GroupMoments, standardize: Any, feature_names: Sequence[str] | None, most: int
) -> Data:
    prepared = prepare(moments, standardize, room=most)
    if feature_names is not None and not is_listing(feature_names):
        raise TypeError(f"feature_names={feature_names!r} is not a sequence of names.")
    names = moments.feature_names if feature_names is None else list(feature_names)
    if names is None:
        names = [f"feature {j + 1}" for j in range(moments.n_features)]
    if len(names) != moments.n_features:
        raise ValueError(
            f"feature_names has {len(names)} names but there are n_features={moments.n_features}."
        )
    return Data(prepared, [str(name) for name in names])


def _analyses(
    data: Data,
    numbers: list[int],
    setting: tuple[float, float],
    notion: Notion,
    settings: Settings,
    progress: Callable[[int, int], None] | None,
) -> list[Analysis]:
    """Look at every number of components, and report progress."""
    total, done = n_solves(settings, numbers), 0

    def step() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, total)

    effort = effort_each(total)
    return [
        analyse(data, k, *setting, settings, notion=notion, effort=effort, step=step)
        for k in numbers
    ]


def _verdicts(
    recipe: RobustFairPCA, data: Data, rows: Rows | None, found: list[Analysis], seed: int
) -> list[Verdict | None]:
    """Judge PCA with each number of components and, with the report's own, its setting as well."""
    told: list[Verdict | None] = []
    for one in found:
        if rows is None or one.pca.is_hidden:
            told.append(None)
            continue
        own = one.k == recipe.n_components
        other = {} if own else {"n_components": one.k, "fairness_weight": 0.0, "radius": 0.0}
        judged = verdict(
            clone(recipe).set_params(**other),
            rows.X,
            sensitive_features=rows.given,
            sample_weight=rows.weight,
            feature_names=data.feature_names,
            random_state=seed,
        )
        told.append(judged)
    return told


def _versions() -> dict[str, str]:
    from fairspan import __version__

    found = {"python": platform.python_version(), "fairspan": __version__}
    for name in ("numpy", "scipy", "scikit-learn", "bokeh"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
