"""Facts about a data set before it is loaded."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass


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
