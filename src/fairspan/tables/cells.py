"""The rules for cells of text: which mean numbers, which mean nothing, and how labels are read.

They are those of csv files, whoever cuts these into cells:

- spaces around a cell are no part of it; around labels they are counted;
- a cell is missing if it is blank, quoted or not, or one of ``MISSING_WORDS``;
- a number is what Python reads as one, in ASCII digits and without underscores; infinity is
  written ``inf``, and any spelling of ``nan`` in a column of numbers is missing;
- ``true`` and ``false`` in a column of numbers are 1 and 0, in any case of letters;
- everything else is text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from fairspan.ground.types import FloatArray
from fairspan.tables.findings import Findings, Name
from fairspan.tables.pieces import Coded

MISSING_WORDS = (
    *("", "NA", "N/A", "n/a", "#NA", "#N/A", "#N/A N/A", "NULL", "null"),
    *("NaN", "nan", "-NaN", "-nan", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
)
"""What means a missing value, in any column."""
TRUTHS = {"true": 1.0, "false": 0.0}
_NAN = re.compile(r"[-+]?nan(\(\w*\))?", re.IGNORECASE | re.ASCII)


def number_of(word: str) -> float | None:
    """Read a word as a number, NaN if it means a missing value; None if it is text."""
    if word in MISSING_WORDS or _NAN.fullmatch(word):
        return np.nan
    try:
        # Python reads 12_30 and the digits of every script, too.
        return float(word) if word.isascii() and "_" not in word else None
    except ValueError:
        return None


def numbers_of(name: Name, cells: Sequence[str], lines: Sequence[int], met: Findings) -> FloatArray:
    """Read cells as numbers.

    Parameters
    ----------
    name : str
        The column.
    cells : sequence of str
        The cells.
    lines : sequence of int
        The lines they stand in.
    met : Findings
        Where text and words for true and false are noted.

    Returns
    -------
    ndarray
        The numbers; NaN where they are missing or text.
    """
    together = "".join(cells)
    if together.isascii() and "_" not in together:
        try:
            return np.fromiter(map(float, cells), np.float64, len(cells))
        except ValueError:
            pass
    values = np.full(len(cells), np.nan)
    for i, cell in enumerate(cells):
        word = cell.strip()
        number = number_of(word)
        if number is None:
            number = TRUTHS.get(word.lower())
            if number is None:
                word.encode()  # raises where the bytes are not of the encoding
                met.add_text(name, word, f" in line {lines[i]}")
                continue
            met.truths[name] += 1
        values[i] = number
    return values


def labels_of(name: Name, coded: Coded, met: Findings | None) -> Coded:
    """Read coded cells as labels: without spaces, and without words that mean no value.

    Parameters
    ----------
    name : str
        The column.
    coded : Coded
        Cells as they are written.
    met : Findings or None
        Where spaces and words are noted; None leaves words as they are.

    Returns
    -------
    Coded
        The labels.
    """
    words = [str(cell).strip() for cell in coded.values]
    for word in words:
        word.encode()  # raises where the bytes are not of the encoding
    if met is None:
        return coded.recoded(word or None for word in words)
    spaced = [i for i, word in enumerate(words) if word and word != coded.values[i]]
    if spaced and (count := int(np.isin(coded.codes, spaced).sum())):
        met.spaces[name] += count
    met.words.update(dict.fromkeys(word for word in words if word and word in MISSING_WORDS))
    return coded.recoded(None if word in MISSING_WORDS else word for word in words)
