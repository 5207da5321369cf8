"""Tables of numbers and categories, scaled as factor analysis of mixed data does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import narwhals as nw
import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from fairspan.ground.listed import listed
from fairspan.ground.parameters import is_listing
from fairspan.ground.rows import as_known
from fairspan.ground.types import FloatArray


class MixedScaler(TransformerMixin, BaseEstimator):
    """Scale numbers and categories so that a PCA of them is a factor analysis of mixed data.

    Numbers are standardised. Each category becomes a column of zeros and ones, divided by the
    square root of the category's share of the rows, so that rare categories count as much as
    frequent ones; all columns are centred. PCA of the result is FAMD, and MCA where there are
    categories only.

    Parameters
    ----------
    categorical : "auto" or sequence of str or int, default="auto"
        Columns of categories, by name or by position. "auto" takes those that hold text or are of a
        categorical type.

    Attributes
    ----------
    categories_ : dict of int to tuple
        The categories, in order, of each column that has some.
    mean_, scale_ : ndarray of shape (n_features_out,)
        What is subtracted from each column that comes out, and what it is divided by.
    columns_ : ndarray of shape (n_features_out,)
        The position of the column that each column that comes out belongs to.
    n_features_in_ : int
        Number of columns seen by ``fit``.
    feature_names_in_ : ndarray of str
        Their names, if ``X`` has names.

    See Also
    --------
    fairspan.RobustFairPCA : A projection to put after it, in a pipeline.

    Notes
    -----
    ``fairspan fit --one-hot all --scale mixed`` does the same on the command line.

    Examples
    --------
    >>> import numpy as np
    >>> from fairspan.preprocessing import MixedScaler
    >>> X = np.array([[1.0, "a"], [3.0, "b"], [5.0, "b"], [7.0, "b"]], dtype=object)
    >>> scaler = MixedScaler().fit(X)
    >>> scaler.get_feature_names_out()
    array(['x0', 'x1=a', 'x1=b'], dtype=object)
    >>> scaler.transform(X).var(axis=0).round(2).tolist()
    [1.0, 0.75, 0.25]
    """

    def __init__(self, categorical: Any = "auto") -> None:
        self.categorical = categorical

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn categories, means and scales.

        Parameters
        ----------
        X : frame or array-like of shape (n_samples, n_features)
            Numbers and categories, without missing values.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts.

        Returns
        -------
        self
            The fitted transformer.
        """
        columns = self._read(X, reset=True)
        weight = _check_sample_weight(sample_weight, columns[0], ensure_non_negative=True)
        chosen = self._chosen(columns)
        self.categories_ = {
            place: tuple(sorted({*columns[place][weight > 0].tolist()}, key=_order))
            for place in range(len(columns))
            if place in chosen
        }
        parts = list(self._parts(columns))
        self.columns_ = np.concatenate([np.full(part.shape[1], j) for j, part in enumerate(parts)])
        Z = np.hstack(parts)
        self.mean_ = np.average(Z, axis=0, weights=weight)
        deviation = np.sqrt(np.average((Z - self.mean_) ** 2, axis=0, weights=weight))
        # What is left of a constant by rounding is no deviation.
        deviation[deviation <= 1e-10 * np.abs(self.mean_)] = 1.0
        is_category = np.isin(self.columns_, list(self.categories_))
        self.scale_ = np.where(is_category, np.sqrt(np.abs(self.mean_)), deviation)
        self.scale_[self.scale_ == 0] = 1.0
        return self

    def transform(self, X: Any) -> Any:
        """Scale rows.

        Parameters
        ----------
        X : frame or array-like of shape (n_samples, n_features)
            Numbers and categories.

        Returns
        -------
        ndarray of shape (n_samples, n_features_out)
            The scaled columns.
        """
        check_is_fitted(self)
        columns = self._read(X, reset=False)
        return (np.hstack(list(self._parts(columns))) - self.mean_) / self.scale_

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[Any]:
        """Name the columns that come out: ``age``, ``region=east``.

        Parameters
        ----------
        input_features : None
            Ignored.

        Returns
        -------
        ndarray of str
            The names.
        """
        check_is_fitted(self)
        names = []
        for place, name in enumerate(self._names):
            parts = self.categories_.get(place)
            names += [name] if parts is None else [f"{name}={part}" for part in parts]
        return np.array(names, dtype=object)

    def sum_by_column(self, values: Any) -> dict[str, Any]:
        """Add up what belongs to the same column of the table.

        Squared loadings (``components_ ** 2``) become the share of each column in each component.

        Parameters
        ----------
        values : array-like of shape (..., n_features_out)
            Values, one for each column that comes out.

        Returns
        -------
        dict of str to ndarray of shape (...)
            Their sums, by the name of the column.
        """
        check_is_fitted(self)
        values = np.asarray(values)
        if values.shape[-1:] != self.columns_.shape:
            raise ValueError(
                f"values has shape {values.shape}; its last axis must have the length of the "
                f"{len(self.columns_)} columns that come out."
            )
        places = enumerate(self._names)
        return {name: values[..., self.columns_ == place].sum(axis=-1) for place, name in places}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        return tags

    @property
    def _names(self) -> list[str]:
        default = [f"x{place}" for place in range(self.n_features_in_)]
        return [str(name) for name in getattr(self, "feature_names_in_", default)]

    def _read(self, X: Any, *, reset: bool) -> list[npt.NDArray[Any]]:
        """Give the columns of a table: floats, or objects where they hold text."""
        frame = as_known(X, "X")
        if not isinstance(frame, nw.DataFrame):
            checked = validate_data(self, X, reset=reset, dtype=None, ensure_all_finite=False)
            return list(np.asarray(checked).T)
        validate_data(self, X, reset=reset, skip_check_array=True)
        if not len(frame):
            raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
        return [np.asarray(column.to_numpy()) for column in frame.iter_columns()]

    def _chosen(self, columns: list[npt.NDArray[Any]]) -> set[int]:
        """Find the columns of categories."""
        if isinstance(self.categorical, str) and self.categorical == "auto":
            return {place for place, column in enumerate(columns) if _is_text(column)}
        if not is_listing(self.categorical):
            raise ValueError(
                f"categorical={self.categorical!r} must be 'auto' or list columns of categories."
            )
        names = list(getattr(self, "feature_names_in_", []))
        places = [names.index(one) if one in names else one for one in self.categorical]
        unknown = [one for one in places if one not in range(len(columns))]
        if unknown:
            raise ValueError(f"categorical=... names columns that X does not have: {unknown}.")
        return set(places)

    def _parts(self, columns: list[npt.NDArray[Any]]) -> Iterator[FloatArray]:
        """Give a block of columns for each column of the table."""
        for place, column in enumerate(columns):
            if place not in self.categories_:
                yield check_array(
                    column.reshape(-1, 1), dtype=np.float64, input_name=self._names[place]
                )
                continue
            parts = self.categories_[place]
            found = column[:, None] == np.array(parts, dtype=object)
            if not found.any(axis=1).all():
                unknown = {*column[~found.any(axis=1)].tolist()}
                raise ValueError(
                    f"column {self._names[place]!r} has values that are not among its categories: "
                    f"{listed(unknown)}."
                )
            yield found.astype(np.float64)


def _is_text(column: npt.NDArray[Any]) -> bool:
    if column.dtype.kind != "O":
        return column.dtype.kind in "US"
    return any(isinstance(value, str) for value in column)


def _order(value: Any) -> tuple[str, Any]:
    """Order values of one kind among themselves."""
    return ("", value) if isinstance(value, int | float) else (type(value).__name__, str(value))
