"""Packages that need not be installed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def needing(what: str, extra: str) -> Iterator[None]:
    """Add to a failed import what needs the package, and which extra brings it.

    Parameters
    ----------
    what : str
        A sentence such as "Plots need matplotlib".
    extra : str
        The extra.
    """
    try:
        yield
    except ImportError as error:
        raise ImportError(f'{what}: pip install "fairspan[{extra}]".') from error


def as_frame(rows: list[dict[str, Any]]) -> Any:
    """Make a table of rows: a DataFrame if pandas is installed, otherwise a list of dicts.

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
