"""Estimators on Dask collections: checked at once, computed lazily."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.utils.validation import check_is_fitted, validate_data

from fairspan.ground.rows import check_real, check_two_dimensions
from fairspan.moments.groups import groups_in_gap
from fairspan.moments.projection import Projection


def check_lazy(estimator: Any, X: Any, *, reset: bool) -> None:
    """Check or set names and number of features without computing a row.

    Parameters
    ----------
    estimator : estimator
        Whose features they are.
    X : dask array or dataframe
        Rows.
    reset : bool
        Whether to take them.
    """
    check_two_dimensions(X)
    check_real(X._meta)
    empty = np.empty((0, X.shape[1])) if hasattr(X, "chunks") else X._meta
    validate_data(estimator, empty, reset=reset, skip_check_array=True)


def lazy_method(estimator: Any, method: str, X: Any, width: int | None = None) -> Any:
    """Apply a method to each partition when it is computed.

    Parameters
    ----------
    estimator : fitted estimator
        The estimator.
    method : {"transform", "inverse_transform", "reconstruction_errors"}
        The method.
    X : dask array or dataframe
        Rows; projected ones for ``inverse_transform``, whose number of columns is checked.
    width : int, optional
        Columns of the result; None for one number a row.

    Returns
    -------
    dask array
        The result, not computed.
    """
    from fairspan.tables.dask import lazy_rows

    if method != "inverse_transform":
        check_lazy(estimator, X, reset=False)
    own = getattr(estimator, "_sklearn_output_config", {}).get("transform")
    output = own or get_config()["transform_output"]
    if method == "transform" and output != "default":
        raise ValueError(
            f"transform_output={output!r} holds rows in memory, where a Dask collection stays "
            'lazy; use set_output(transform="default").'
        )
    # Tasks need the projection, not the moments it came from.
    slim = copy(estimator)
    for name in ("moments_", "result_"):
        vars(slim).pop(name, None)
    return lazy_rows(getattr(slim, method), X, width)


def lazy_score(estimator: Any, X: Any, sensitive_features: Any, sample_weight: Any) -> float:
    """Compute the score from the moments of the rows.

    Parameters
    ----------
    estimator : fitted estimator
        The estimator.
    X : dask array or dataframe
        Rows.
    sensitive_features, sample_weight
        Groups and weights of the rows, or None.

    Returns
    -------
    float
        Minus the total error and minus the gap.
    """
    from fairspan.tables.dask import moments_of_collection

    check_is_fitted(estimator)
    check_lazy(estimator, X, reset=False)
    rule = estimator.missing_groups
    found = moments_of_collection(X, sensitive_features, sample_weight, rule)
    # A group without weight has no error; it cannot widen the gap.
    moments = found.moments or found.result()
    projection = Projection.of(estimator)
    errors = projection.errors(projection.second_moments(moments, "global"))
    compared = errors[groups_in_gap(moments.labels, rule)]
    return -float(moments.shares @ errors + (np.ptp(compared) if len(compared) else 0.0))
