"""Moments of a table in parts: the same two steps on every engine."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from fairspan.ground.rows import check_memory
from fairspan.moments.group_moments import GroupMoments
from fairspan.tables.columns import Columns
from fairspan.tables.labels import with_types

Step = Callable[[Iterator[Any]], Any]
"""A function of the tables of one part."""
Add = Callable[[Any, Any], Any]


class Run(Protocol):
    """An engine: applies a step to the tables of each part and adds what comes out."""

    def __call__(self, step: Step, add: Add, names: Sequence[str], rows: int) -> Any:
        """Run the step on all parts, reading the named columns, so many rows at once."""


def moments_of_parts(columns: Columns, run: Run, text_labels: Sequence[str] = ()) -> GroupMoments:
    """Find the categories that are not known, then the moments.

    Parameters
    ----------
    columns : Columns
        The part each column plays.
    run : Run
        The engine.
    text_labels : sequence of str
        Sensitive columns that are read as text, whose type shows when all labels are known.

    Returns
    -------
    GroupMoments
        Moments of all rows.
    """
    if columns.open_columns:
        found = run(
            columns.categories, _merge_categories, columns.open_columns, columns.rows_at_once
        )
        columns = columns.with_categories(found)
    check_memory(1, len(columns.feature_names))
    partial = run(columns.moments, operator.add, columns.needed, columns.rows_at_once)
    return with_types(partial.result(), [name in text_labels for name in columns.sensitive])


def _merge_categories(left: dict[str, set[str]], right: dict[str, set[str]]) -> dict[str, set[str]]:
    """Unite categories found in two parts."""
    return {name: values | right[name] for name, values in left.items()}


def missing_extra(name: str, package: str) -> ImportError:
    """Say which extra brings a package.

    Parameters
    ----------
    name : str
        The extra.
    package : str
        The package that is missing.

    Returns
    -------
    ImportError
        To be raised.
    """
    return ImportError(f'This needs {package}: pip install "fairspan[{name}]".')
