"""A data set in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fairspan.ground.types import FloatArray


@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows, their groups, and where they come from.

    Attributes
    ----------
    name : str
        The name of the data set.
    X : ndarray of shape (n_rows, n_features)
        The features, neither centred nor scaled.
    sensitive_features : ndarray of shape (n_rows,) or dict of such
        The group labels, or several columns of them by name; pass it on as it is.
    feature_names : tuple of str
        Names of the columns of X.
    sensitive_name : str
        Name of the sensitive attribute, or of several, with commas between.
    description : str
        Size, source, licence, citation and preparation as text.
    image_shape : tuple of int or None
        Rows and columns of pixels, where each row of X is a picture.
    target : ndarray of shape (n_rows,) or None
        What a model is to predict, for data that comes with it.
    columns : dict of str to ndarray, or None
        All columns of a table of numbers and text by name; ``pandas.DataFrame(columns)`` is the
        table.
    """

    name: str
    X: FloatArray
    sensitive_features: Any
    feature_names: tuple[str, ...]
    sensitive_name: str
    description: str
    image_shape: tuple[int, int] | None = None
    target: Any = None
    columns: dict[str, Any] | None = None
