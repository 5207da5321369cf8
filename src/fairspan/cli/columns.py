"""How columns of a table become features: chosen once, kept by the model, applied again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

import numpy as np

from fairspan.cli.tables import Coded, Source
from fairspan.ground.types import FloatArray


@dataclass(frozen=True)
class Columns:
    """Columns that are features, in order; those with categories become one indicator for each."""

    features: tuple[Any, ...]
    categories: dict[Any, tuple[str, ...]] = field(default_factory=dict)
    sensitive: tuple[Any, ...] = ()
    weight: Any = None

    @property
    def numbers(self) -> list[Any]:
        """Columns to be read as numbers."""
        return [name for name in self.features if name not in self.categories]

    @property
    def is_named(self) -> bool:
        """Whether columns have names; those of arrays are numbered."""
        return not any(isinstance(name, int) for name in self.features)

    @property
    def names(self) -> list[str]:
        """Names of the features."""
        found: list[str] = []
        for name in self.features:
            parts = self.categories.get(name)
            found += [f"column {name}" if isinstance(name, int) else name] if parts is None else []
            found += [f"{name}={part}" for part in parts or ()]
        return found

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names of the features; columns of arrays have none."""
        return tuple(self.names) if self.is_named else None

    @property
    def by(self) -> str:
        """The columns that tell groups apart."""
        return " and ".join(map(str, self.sensitive))

    def to_json(self) -> dict[str, Any]:
        """Describe it for a model file."""
        return {
            "features": list(self.features),
            "categories": {name: list(parts) for name, parts in self.categories.items()},
            "sensitive": list(self.sensitive),
            "weight": self.weight,
        }

    @classmethod
    def from_json(cls, document: Any) -> Columns:
        """Read what :meth:`to_json` gave."""
        return cls(
            tuple(document["features"]),
            {name: tuple(parts) for name, parts in document["categories"].items()},
            tuple(document["sensitive"]),
            document["weight"],
        )


def find(source: Source, given: Sequence[str], option: str) -> list[Any]:
    """Find columns by the names a user gave; those of arrays by number, from 0 or from the end."""
    found: list[Any] = []
    for name in given:
        column: Any = name
        if isinstance(source.names[0], int):
            column = int(name) if name.lstrip("-").isdigit() else name
            if isinstance(column, int) and -len(source.names) <= column < 0:
                column += len(source.names)
        if column not in source.names:
            raise ValueError(unknown(source, [name], option))
        found.append(column)
    twice = [name for name in found if found.count(name) > 1]
    if twice:
        raise ValueError(f"{option} names the column {twice[0]!r} twice.")
    return found


def unknown(source: Source, missing: Sequence[Any], option: str) -> str:
    """Say which columns are not there and which are."""
    names = [str(name) for name in source.names]
    if isinstance(source.names[0], int):
        there = f"its columns are numbered 0 to {len(names) - 1}"
    else:
        there = "its columns are " + ", ".join(map(repr, names[:12]))
        there += f" and {len(names) - 12} more" if len(names) > 12 else ""
    near = get_close_matches(str(missing[0]), names, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    listed = ", ".join(map(repr, missing[:8])) + (" ..." if len(missing) > 8 else "")
    return f"{str(source.path)!r} has no column {listed} ({option}); {there}.{hint}"


def choose(source: Source, options: Any) -> tuple[Columns, dict[Any, tuple[str, ...] | None]]:
    """Choose columns as the options say: by default all that have no other role.

    Parameters
    ----------
    source : Source
        The table.
    options : namespace
        sensitive, weight, features, drop and one_hot.

    Returns
    -------
    columns : Columns
        The columns, without categories.
    one_hot : dict
        Columns to turn into indicators, with their categories if these were given.
    """
    sensitive = find(source, options.sensitive or [], "--sensitive")
    weight = find(source, [options.weight] if options.weight else [], "--weight")
    dropped = find(source, options.drop or [], "--drop")
    one_hot: dict[Any, tuple[str, ...] | None] = {}
    for word in options.one_hot or []:
        # A name may hold an equals sign; a column of the whole name comes first.
        name, _, parts = (word, "", "") if word in source.names else word.partition("=")
        (column,) = find(source, [name], "--one-hot")
        one_hot[column] = tuple(parts.split(",")) if parts else None
    if options.features:
        features = find(source, options.features, "--features")
        features += [name for name in one_hot if name not in features]
    else:
        taken = {*sensitive, *weight, *dropped}
        features = [name for name in source.names if name not in taken]
    wrong = [name for name in features if name in {*sensitive, *weight, *dropped}]
    if wrong:
        raise ValueError(
            f"the column {wrong[0]!r} is asked for as a feature and has another role too; leave it "
            "out of --features, or out of --sensitive, --weight or --drop."
        )
    unused = [name for name in one_hot if name not in features]
    if unused:
        raise ValueError(f"the column {unused[0]!r} is in --one-hot and in another role.")
    if not features:
        raise ValueError(f"no column of {str(source.path)!r} is left to be a feature.")
    return Columns(tuple(features), {}, tuple(sensitive), weight[0] if weight else None), one_hot


def indicators(name: Any, coded: Coded, categories: Sequence[str]) -> FloatArray:
    """Give one column of zeros and ones for each category, NaN for missing rows."""
    place = {category: i for i, category in enumerate(categories)}
    texts = [str(value) for value in coded.values]
    unseen = [
        text for i, text in enumerate(texts) if text not in place and (coded.codes == i).any()
    ]
    if unseen:
        rows = int(np.isin(coded.codes, [texts.index(text) for text in unseen]).sum())
        raise ValueError(
            f"the column {name!r} has values that are not among its categories: {unseen[:5]} "
            f"({rows} rows); the categories are {list(categories[:8])}. Name all of them when "
            f"fitting (--one-hot {name}=A,B,...), or leave those rows out."
        )
    columns = np.array([place.get(text, -1) for text in texts] + [-1])[coded.codes]
    matrix = (columns[:, None] == np.arange(len(categories))).astype(np.float64)
    matrix[coded.codes < 0] = np.nan
    return np.asarray(matrix)
