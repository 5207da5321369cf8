"""Columns that the caller names: each once, known, and in parts that go together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from fairspan.ground.parameters import check_choice, is_listing
from fairspan.tables.values import texts_of

_RULES = ("raise", "drop_rows")


def names_of(argument: str, given: Any) -> tuple[str, ...]:
    """Give names of columns as a tuple, each once."""
    if given is None:
        return ()
    names = tuple(given) if is_listing(given) else (given,)
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"{argument} has {name!r}; columns are given by name.")
    twice = sorted(name for name, times in Counter(names).items() if times > 1)
    if twice:
        raise ValueError(f"{argument} names columns twice: {twice[:5]}.")
    return names


def categories_of(given: Any) -> dict[str, tuple[str, ...] | None]:
    """Give the categories of each column as texts; None where they are to be found."""
    if not isinstance(given, Mapping):
        return dict.fromkeys(names_of("one_hot", given))
    import pyarrow as pa

    categories: dict[str, tuple[str, ...] | None] = {}
    for name, values in given.items():
        if not is_listing(values):
            raise TypeError(f"one_hot={{{name!r}: {values!r}}} must list the column's categories.")
        try:
            categories[name] = tuple(texts_of(pa.array(list(values))))
        except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
            raise ValueError(
                f"one_hot={{{name!r}: {values!r}}} is no list of values that a column can hold: "
                f"{error}"
            ) from None
    return categories


def check_known(argument: str, names: Iterable[str], types: Mapping[str, Any]) -> None:
    """Check that the table has the columns that an argument names."""
    unknown = [name for name in names if name not in types]
    if unknown:
        raise ValueError(
            f"{argument} names columns that the data does not have: {unknown[:5]}; it has "
            f"{list(types)[:20]}{' and more' if len(types) > 20 else ''}."
        )


def features_of(
    given: Any, types: Mapping[str, Any], dropped: Collection[str], taken: Collection[str | None]
) -> tuple[str, ...]:
    """Give the columns of features: those that are named, or all that play no other part."""
    if given is not None:
        if dropped:
            raise ValueError("Give features=[...] or drop=[...], not both.")
        return names_of("features", given)
    chosen = tuple(name for name in types if name not in taken and name not in dropped)
    if "" in chosen:
        raise ValueError(
            "A column has no name, as the index has in csv files of pandas; leave it out "
            "with drop=[''], or name the features."
        )
    return chosen


def rule_of(missing: Any) -> str | dict[str, Any]:
    """Give the rule for missing values: a word, or what takes their place in each column."""
    if not isinstance(missing, Mapping):
        return check_choice("missing", missing, _RULES)
    import pyarrow as pa

    for name, value in missing.items():
        try:
            present = pa.scalar(value, from_pandas=True).is_valid
        except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
            raise ValueError(
                f"missing={{{name!r}: {value!r}}} is no value that a column can hold: {error}"
            ) from None
        if not present:
            raise ValueError(
                f"missing={{{name!r}: {value!r}}} puts a missing value in the place of missing "
                "ones; give a value, or use missing='drop_rows'."
            )
    return dict(missing)


def check_one_hot(
    one_hot: Iterable[str], features: Collection[str], sensitive: Collection[str]
) -> None:
    """Check that columns of categories are features and not groups."""
    groups = [name for name in one_hot if name in sensitive]
    if groups:
        raise ValueError(
            f"one_hot names columns of groups: {groups[:5]}; a column is one of features or of "
            "groups."
        )
    others = [name for name in one_hot if name not in features]
    if others:
        raise ValueError(
            f"one_hot names columns that are no features: {others[:5]}; add them to features=[...]."
        )
