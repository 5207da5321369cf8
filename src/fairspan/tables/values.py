"""Values of Arrow columns: numbers, categories, and what is missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from fairspan.ground.types import FloatArray

_SHOWN = 10

MISSING_WORDS = (
    *("", "NA", "N/A", "n/a", "#NA", "#N/A", "#N/A N/A", "NULL", "null"),
    *("NaN", "nan", "-NaN", "-nan", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
)
"""What stands for a missing value in files of text, in any column."""


class ColumnError(ValueError):
    """Columns of features hold text, or columns in use miss values; names all of them."""

    def __init__(
        self, where: str = "", text: dict[str, str] | None = None, missing: Any = None
    ) -> None:
        super().__init__(where, text, missing)
        self.where = where
        self.text: dict[str, str] = dict(text or {})
        self.missing: Counter[str] = Counter(missing or {})

    def __str__(self) -> str:
        parts = [f"{self.where}: " if self.where else ""]
        if self.text:
            parts.append(
                f"columns that are not numbers: {_listed(self.text)}. Leave them out with "
                f"drop={list(self.text)[:_SHOWN]}, or make each category a feature with "
                f"one_hot={list(self.text)[:_SHOWN]}. "
            )
        if self.missing:
            counts = {name: str(count) for name, count in self.missing.items()}
            parts.append(
                f"columns with missing values: {_listed(counts)}. Leave the columns out with "
                "drop=[...], the rows with missing='drop_rows', or say what to put in their place "
                "with missing={column: value}. "
            )
        return "".join(parts).strip()

    def at(self, where: str) -> ColumnError:
        """Give the same error with a place."""
        return ColumnError(where, self.text, self.missing)

    def note_text(self, name: str, column: Any) -> None:
        """Note a column that holds text which is not a number, with an example."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if name in self.text or is_number_type(column.type):
            return
        if not pa.types.is_string(column.type):
            self.text[name] = str(column.type)
            return
        try:
            pc.cast(column, pa.float64())
        except pa.ArrowInvalid:
            numbers = pc.match_substring_regex(column, r"^\s*[+-]?[0-9.]+([eE][+-]?[0-9]+)?\s*$")
            examples = column.filter(pc.invert(numbers)).drop_null()
            self.text[name] = f"such as {examples[0].as_py()!r}" if len(examples) else "text"

    def note_missing(self, name: str, count: int) -> None:
        """Count missing values."""
        if count:
            self.missing[name] += count


def _listed(values: dict[str, str]) -> str:
    shown = ", ".join(f"{name!r} ({value})" for name, value in list(values.items())[:_SHOWN])
    more = len(values) - _SHOWN
    return f"{shown} and {more} more" if more > 0 else shown


def is_number_type(kind: Any) -> bool:
    """Whether values of an Arrow type are numbers; truth values count as 0 and 1."""
    import pyarrow as pa

    types = pa.types
    if types.is_dictionary(kind):
        kind = kind.value_type
    tests = (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean, types.is_null)
    return any(test(kind) for test in tests)


def as_numbers(column: Any) -> FloatArray:
    """Give a column of numbers as float64, NaN where values are missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    # Whole numbers beyond 2^53 are rounded, as numpy does.
    column = pc.cast(decoded(column), pa.float64(), safe=False)
    return np.asarray(column.to_numpy())


def decoded(column: Any) -> Any:
    """Give a dictionary-encoded column as a plain one."""
    import pyarrow as pa

    encoded = pa.types.is_dictionary(column.type)
    return column.cast(column.type.value_type) if encoded else column


def is_missing(column: Any) -> npt.NDArray[np.bool_]:
    """Which values are null or NaN."""
    return np.asarray(decoded(column).is_null(nan_is_null=True).to_numpy())


def count_missing(column: Any) -> int:
    """Count values that are null or NaN."""
    import pyarrow as pa

    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if pa.types.is_floating(kind):
        return int(is_missing(column).sum())
    return int(column.null_count)


def fill_missing(name: str, column: Any, value: Any) -> Any:
    """Put a value where values are missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = decoded(column)
    if is_number_type(column.type):
        column = column if isinstance(value, int) else column.cast(pa.float64(), safe=False)
    try:
        scalar = pa.scalar(value, type=None if pa.types.is_null(column.type) else column.type)
    except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError):
        raise ValueError(
            f"missing={{{name!r}: {value!r}}}: the column holds values of type {column.type}; "
            "give a value of that type."
        ) from None
    return pc.if_else(column.is_null(nan_is_null=True), scalar, column)


def texts_of(values: Any) -> list[str]:
    """Give values as texts, by which categories are compared."""
    import pyarrow as pa

    return [str(text) for text in decoded(values).cast(pa.string()).to_pylist()]


def category_codes(
    name: str, column: Any, categories: Sequence[str]
) -> npt.NDArray[np.integer[Any]]:
    """Give the position of each value among the categories."""
    encoded = decoded(column).dictionary_encode().combine_chunks()
    places = {category: place for place, category in enumerate(categories)}
    texts = texts_of(encoded.dictionary)
    unseen = [text for text in texts if text not in places]
    if unseen:
        raise ValueError(
            f"one_hot column {name!r} has categories that are not listed: {unseen[:5]}; listed "
            f"are {list(categories)[:10]}."
        )
    lookup = np.array([places[text] for text in texts], dtype=np.intp)
    return np.asarray(lookup[encoded.indices.to_numpy(zero_copy_only=False)])
