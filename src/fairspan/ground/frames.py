"""Tables of results: a DataFrame if pandas is installed, otherwise a list of dicts."""

from __future__ import annotations

from typing import Any


def as_frame(rows: list[dict[str, Any]]) -> Any:
    """Make a table of rows.

    Parameters
    ----------
    rows : list of dict
        One dict of column names and values for each row.

    Returns
    -------
    pandas.DataFrame or list of dict
        The table; the rows as they are without pandas.
    """
    try:
        import pandas as pd  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        return rows
    return pd.DataFrame(rows)
