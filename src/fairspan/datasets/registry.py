"""The data sets by name: files, sources, citations and sizes; and one in memory."""

from __future__ import annotations

import textwrap
import tomllib
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from fairspan.ground.parameters import check_choice
from fairspan.ground.types import FloatArray

_TABLES = (
    "https://raw.githubusercontent.com/hieuvt29/distributionally_robust_fair_pca/"
    "725d4111cc55be3534522d784e008b4fb40750f3/data/"
)
_PREPARED_BY = (
    'M. Olfat and A. Aswani, "Convex formulations for fair principal component analysis", '
    "AAAI 33, 663-670, 2019 (preparation of the tables)"
)


@dataclass(frozen=True)
class DatasetInfo:
    """A data set before it is loaded.

    Attributes
    ----------
    name : str
        The name that :func:`load` takes.
    title : str
        The name in the paper's tables.
    file_name : str
        The file in the data directory.
    url : str
        A public copy of the file, or of the archive it is built from.
    sha256 : str
        Digest of the file; empty for the faces, whose arrays have digests instead.
    attribute : str
        The sensitive attribute, in the paper's words.
    n_rows : int
        Rows.
    n_features : int
        Features after preparation.
    source : str
        Where the data comes from.
    licence : str
        What may be done with it.
    citation : str
        Whom to cite.
    dropped : tuple of str
        Columns that the published experiment drops although they vary.
    notes : str
        What else was done to the data.
    """

    name: str
    title: str
    file_name: str
    url: str
    sha256: str
    attribute: str
    n_rows: int
    n_features: int
    source: str
    licence: str
    citation: str
    dropped: tuple[str, ...] = ()
    notes: str = ""

    @property
    def description(self) -> str:
        """The facts as text."""
        facts = {
            "Sensitive": self.attribute,
            "Source": self.source,
            "Licence": self.licence,
            "Cite": self.citation,
            "Preparation": self.notes,
        }
        lines = [f"{self.title}: {self.n_rows:,} rows, {self.n_features:,} features"]
        for name, text in facts.items():
            lines += textwrap.wrap(
                f"{name}: {text}.",
                width=100,
                subsequent_indent="  ",
                break_long_words=False,
                break_on_hyphens=False,
            )
        return "\n".join([*lines, f"File: {self.file_name}", f"From: {self.url}"])


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
        Names that :func:`load` takes, in addition to "adult".
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
