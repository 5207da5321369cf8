"""The data sets by name: files, sources, citations and sizes."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Any

from fairspan.datasets.entry import DatasetInfo
from fairspan.ground.parameters import check_choice

_TABLES = (
    "https://raw.githubusercontent.com/hieuvt29/distributionally_robust_fair_pca/"
    "725d4111cc55be3534522d784e008b4fb40750f3/data/"
)
_PREPARED_BY = (
    'M. Olfat and A. Aswani, "Convex formulations for fair principal component analysis", '
    "AAAI 33, 663-670, 2019 (preparation of the tables)"
)


def _entry(name: str, facts: dict[str, Any]) -> DatasetInfo:
    """Complete an entry; all tables come from one source, prepared alike."""
    if "licence" in facts:
        return DatasetInfo(name, **facts)
    dropped = tuple(facts.pop("dropped", ()))
    also = f"; {' and '.join(dropped)} are dropped too" if dropped else ""
    facts["citation"] += f"; {_PREPARED_BY}"
    return DatasetInfo(
        name,
        url=_TABLES + facts["file_name"],
        licence="CC BY 4.0",
        dropped=dropped,
        notes="the last column is the sensitive attribute, the last but one is a label and is "
        f"dropped, as are columns that are constant over the file{also}",
        **facts,
    )


_KNOWN = tomllib.loads(files(__package__).joinpath("registry.toml").read_text(encoding="utf-8"))
_REGISTRY = {name: _entry(name, facts) for name, facts in _KNOWN.items()}


def names() -> tuple[str, ...]:
    """List the data sets of the paper, in its order.

    Returns
    -------
    tuple of str
        Names that :func:`load` takes, besides "adult".
    """
    return tuple(name for name in _REGISTRY if name != "adult")


def info(name: str) -> DatasetInfo:
    """Return the facts about a data set without loading it.

    Parameters
    ----------
    name : str
        One of :func:`names`, or "adult".

    Returns
    -------
    DatasetInfo
        File, address, digest, size, licence and citation.
    """
    return _REGISTRY[check_choice("name", name, _REGISTRY)]


def describe(name: str) -> str:
    """Describe a data set in a few lines of text.

    Parameters
    ----------
    name : str
        One of :func:`names`, or "adult".

    Returns
    -------
    str
        Size, sensitive attribute, source, licence, citation, preparation and file.
    """
    return info(name).description
