"""Columns of labels that their library holds as codes, or encodes faster than we could."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Coded:
    """A column as codes of its values.

    Attributes
    ----------
    series : narwhals.Series
        The column.
    codes : ndarray of shape (n_rows,)
        Places in the values; -1 where a label is missing.
    values : list
        All values, whether they occur or not.
    """

    series: nw.Series[Any]
    codes: npt.NDArray[np.integer[Any]]
    values: list[Any]
    ndim = 1

    @classmethod
    def of(cls, series: nw.Series[Any]) -> Coded | None:
        """Take the codes of a pandas column of categories or strings; None for others."""
        native = series.to_native()
        if series.dtype == nw.Categorical:
            categories = getattr(getattr(native, "cat", None), "categories", None)
            # Dates are labels as NumPy knows them.
            if categories is None or categories.dtype.kind in "mM":
                return None
            return cls(series, np.asarray(native.cat.codes), categories.tolist())
        if series.dtype == nw.String and hasattr(native, "factorize"):
            codes, values = native.factorize()
            return cls(series, np.asarray(codes), list(values))
        return None

    def __len__(self) -> int:
        return len(self.codes)

    def __array__(self, dtype: Any = None, copy: Any = None) -> npt.NDArray[Any]:
        return np.asarray(self.series.to_numpy(), dtype=dtype)
