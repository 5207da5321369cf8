"""The command line and ``sources``, with pyarrow, without it and on Dask, read every file alike."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairspan.cli import in_options
from tests.sources.routes import by_command, by_library

pytest.importorskip("pyarrow")
dask = pytest.importorskip("dask")


@dataclass(frozen=True)
class Case:
    """A file, how it is read, and what must come of it: rows of each group, or a refusal."""

    content: bytes | str
    rows: dict[Any, list[list[float]]] | None = None
    refusal: str = ""
    notes: tuple[str, ...] = ()
    names: tuple[str, ...] = ("x", "y")
    options: dict[str, Any] = field(default_factory=dict)
    words: dict[str, Any] | None = None
    ending: str = "csv"
    dropped: int = 0


PLAIN = "x,y,g\n1,2,u\n3,5.5,v\n-4,0,u\n"
ROWS = {"u": [[1, 2], [-4, 0]], "v": [[3, 5.5]]}
DETECTED = "columns are separated by {} (detected)"
INDEX = "dropped the first column: it has no name and counts the rows"
SPACED = "column 'g': spaces around labels removed ({})"
NAMES = "spaces around column names removed (2)"
TRUE = "column 'x': true and false are read as 1 and 0"
MARKED = "encoding is utf-16 (byte-order mark)"
COUNTS = "column 'x' just counts the rows; if it is not a feature, use drop=['x']"


BLANKS = "x,y,k,g\n1,2,a,u\n2,,b,v\n4,6,b,u\n,0,,u\n4,2,b,v\n"


def utf16(text: str, mark: bytes, encoding: str) -> bytes:
    return mark + text.encode(encoding)


def late(bad: str) -> str:
    """A file of three blocks whose last row alone is odd."""
    fill = "a" * 200
    return "x,y,g,z\n" + f"1.25,2.5,u,{fill}\n3.5,1.75,v,{fill}\n" * 25_000 + bad


CASES = {
    "plain": Case(PLAIN, ROWS),
    "semicolons": Case(PLAIN.replace(",", ";"), ROWS, notes=(DETECTED.format("semicolons"),)),
    "tabs": Case(PLAIN.replace(",", "\t"), ROWS, notes=(DETECTED.format("tabs"),)),
    "tabs in a tsv file": Case(PLAIN.replace(",", "\t"), ROWS, ending="tsv"),
    "commas in a tsv file": Case(PLAIN, ROWS, notes=(DETECTED.format("commas"),), ending="tsv"),
    "a text file": Case(PLAIN, ROWS, ending="txt"),
    "bars": Case(PLAIN.replace(",", "|"), ROWS, options={"separator": "|"}),
    "a tab by name": Case(PLAIN.replace(",", "\t"), ROWS, options={"separator": "tab"}),
    "commas in names between semicolons": Case(
        "x,1;y,1;g\n1;2;u\n3;4;v\n",
        {"u": [[1, 2]], "v": [[3, 4]]},
        notes=(DETECTED.format("semicolons"),),
        names=("x,1", "y,1"),
    ),
    "a separator that is not there": Case(
        PLAIN, refusal="has no column 'g'", options={"separator": ";"}
    ),
    "a mark of utf-8": Case(PLAIN.encode("utf-8-sig"), ROWS),
    "a mark of utf-16": Case(utf16(PLAIN, b"\xff\xfe", "utf-16-le"), ROWS, notes=(MARKED,)),
    "a big-endian mark": Case(utf16(PLAIN, b"\xfe\xff", "utf-16-be"), ROWS, notes=(MARKED,)),
    "utf-16 by name": Case(PLAIN.encode("utf-16-le"), ROWS, options={"encoding": "utf-16-le"}),
    "utf-16 without a mark": Case(
        PLAIN.encode("utf-16-le"), refusal="needs for instance encoding='utf-16-le'"
    ),
    "latin-1 by name": Case(
        PLAIN.replace("u", "ü").encode("latin-1"),
        {"v": ROWS["v"], "ü": ROWS["u"]},
        options={"encoding": "latin-1"},
    ),
    "latin-1": Case(PLAIN.replace("u", "ü").encode("latin-1"), refusal="is not text in utf-8; if"),
    "latin-1 in a header": Case(
        "x,ü,g\n1,2,u\n".encode("latin-1"), refusal="not text in utf-8; if"
    ),
    "latin-1 in a column of numbers": Case(
        "x,y,g\n1,ü,u\n2,3,v\n".encode("latin-1"), refusal="is not text in utf-8; if"
    ),
    "latin-1 in a column that is dropped": Case(
        "x,y,g,z\n1,2,u,ü\n3,4,v,ü\n".encode("latin-1"),
        {"u": [[1, 2]], "v": [[3, 4]]},
        options={"drop": ["z"]},
    ),
    "lines of Windows": Case(PLAIN.replace("\n", "\r\n"), ROWS),
    "lines of old Macs": Case(PLAIN.replace("\n", "\r"), ROWS),
    "lines of all kinds": Case("x,y,g\n1,2,u\r\n3,5.5,v\r-4,0,u", ROWS),
    "no end of the last line": Case(PLAIN.rstrip("\n"), ROWS),
    "blank lines": Case("\n\nx,y,g\n\n1,2,u\n\n\n3,5.5,v\n-4,0,u\n\n\n", ROWS),
    "a line of spaces": Case(PLAIN + "  \n", refusal="line 5 has another number of cells (1)"),
    "quotes": Case('"x","y","g"\n"1","2","u"\n"3","5.5","v"\n"-4","0","u"\n', ROWS),
    "quotes around separators, quotes and line breaks": Case(
        'x,y,g\n1,2,"a, ""b""\nc"\n3,4,v\n', {'a, "b"\nc': [[1, 2]], "v": [[3, 4]]}
    ),
    "a line break in a name": Case(
        'x,"y\nz",g\n1,2,u\n3,4,v\n', {"u": [[1, 2]], "v": [[3, 4]]}, names=("x", "y\nz")
    ),
    "a quote within a cell": Case('x,y,g\n1,2,5"\n3,4,v\n', {'5"': [[1, 2]], "v": [[3, 4]]}),
    "a quote that is not closed": Case(
        'x,y,g\n1,2,u\n3,4,"v\n5,6,u\n', refusal="has a quote that is not closed, in line"
    ),
    "a quote that is not closed, after another": Case(
        'x,y,g\n1,2,5"\n3,4,"v\n5,6,u\n', refusal="has a quote that is not closed, in line"
    ),
    "a quote that is not closed in an unused column": Case(
        'x,y,g,z\n1,2,u,a\n3,4,v,"b\n5,6,u,c\n',
        refusal="has a quote that is not closed, in line",
        options={"drop": ["z"]},
    ),
    "a very long cell": Case(
        f'x,y,g,z\n1,2,u,"{"a" * 200_000}"\n3,4,v,\n',
        {"u": [[1, 2]], "v": [[3, 4]]},
        options={"drop": ["z"]},
    ),
    "zero bytes": Case("x,y,g\n1,2,a\0b\n3,4,v\n", {"a\0b": [[1, 2]], "v": [[3, 4]]}),
    "spaces around labels": Case(
        "x,y,g\n1,2,u\n3,5.5, v\n-4,0,u  \n", ROWS, notes=(SPACED.format(2),)
    ),
    "other white space around labels": Case(
        "x,y,g\n1,2,u\n3,5.5,\xa0v\n-4,0,u\u3000\n", ROWS, notes=(SPACED.format(2),)
    ),
    "a space after every separator": Case('x, y, g\n1, 2, "u"\n3, 5.5, v\n-4, 0, u\n', ROWS),
    "spaces around names": Case(
        PLAIN.replace("x,y,g", " x,y ,g"),
        ROWS,
        notes=(NAMES,),
    ),
    "spaces around numbers": Case("x,y,g\n 1,2\t,u\n3 ,5.5,v\n-4,  0,u\n", ROWS),
    "separators at the ends of lines": Case(
        "x,y,g,\n1,2,u,\n3,5.5,v,\n-4,0,u,\n",
        ROWS,
        notes=("dropped the last column: it has no name and no values",),
    ),
    "a value in a last column without a name": Case(
        "x,y,g,\n1,2,u,\n3,5.5,v,7\n", refusal="has no name, but holds '7' in line 3"
    ),
    "a separator at the end of some lines": Case(
        "x,y,g\n1,2,u,\n3,4,v\n", refusal="line 2 has another number of cells (4)"
    ),
    "a row too short": Case(
        "x,y,g\n1,2,u\n3,4\n", refusal="line 3 has another number of cells (2)"
    ),
    "blank cells only, one too many": Case(
        PLAIN + ",,,\n", refusal="line 5 has another number of cells (4)"
    ),
    "blank cells only, one too many, far down": Case(
        late(",,,,\n"),
        refusal="line 50002 has another number of cells (5)",
        options={"drop": ["z"]},
    ),
    "an index": Case(",x,y,g\n0,1,2,u\n1,3,5.5,v\n2,-4,0,u\n", ROWS, notes=(INDEX,)),
    "an index with gaps": Case(
        ",x,y,g\n0,1,2,u\n2,3,4,v\n", refusal="has no name and does not count the rows from 0"
    ),
    "an index of words": Case(
        ",x,y,g\na,1,2,u\nb,3,4,v\n", refusal="has no name and does not count the rows from 0"
    ),
    "an index with gaps that is dropped": Case(
        ",x,y,g\n0,1,2,u\n2,3,4,v\n", {"u": [[1, 2]], "v": [[3, 4]]}, options={"drop": [""]}
    ),
    "an index that is not asked for": Case(
        ",x,y,g\n5,1,2,u\n2,3,4,v\n",
        {"u": [[1, 2]], "v": [[3, 4]]},
        options={"features": ["x", "y"]},
    ),
    "an index with a name": Case(
        "x,y,g\n0,1,u\n1,5,v\n2,9,u\n",
        {"u": [[0, 1], [2, 9]], "v": [[1, 5]]},
        notes=(COUNTS,),
    ),
    "a column without a name": Case("x,,g\n1,2,u\n", refusal="column 2 of"),
    "two columns without a name": Case(
        ",,g\n1,2,u\n", refusal="names 1 of 3 columns ('g'): name every column there, and remove"
    ),
    "a name twice": Case("x, x,g\n1,2,u\n", refusal="columns of the same name: ['x']; rename"),
    "a header only": Case("x,y,g\n", refusal="has no rows."),
    "nothing": Case("", refusal="is empty; a csv file begins with column names"),
    "blank lines only": Case("\n \n\r\n", refusal="is empty; a csv file begins with column names"),
    "no header": Case("1,2,3\n4,5,6\n", refusal="holds numbers (1, 2, 3, ...), not column names"),
    "numbers as names": Case(
        "0,1,g\n1,2,u\n3,4,v\n", {"u": [[1, 2]], "v": [[3, 4]]}, names=("0", "1")
    ),
    "plus, points and exponents": Case(
        "x,y,g\n+1,.5,u\n1.e1,-2E-3,v\n1e-400,007,u\n",
        {"u": [[1, 0.5], [0, 7]], "v": [[10, -0.002]]},
    ),
    "underscores": Case(PLAIN + "12_30,1,u\n", refusal="not numbers: 'x' ('12_30' in line 5)."),
    "digits of another script": Case(
        PLAIN + "\u0661\u0662,1,u\n", refusal="not numbers: 'x' ('\u0661\u0662' in line 5)."
    ),
    "decimal commas": Case(
        "x;y;g\n1,5;2;u\n3;4;v\n",
        refusal="Numbers in 'x' have a comma: use decimal=',' if it is a decimal comma",
    ),
    "decimal commas by name": Case(
        "x;y;g\n1,5;-,25;u\n3;4e1;v\n1,5E-1;NA;u\n2; 7,0 ;1,5\n",
        {"1,5": [[2, 7]], "u": [[1.5, -0.25]], "v": [[3, 40]]},
        notes=(
            DETECTED.format("semicolons"),
            "1 of 4 rows left out: missing values in 'y' (1)",
        ),
        options={"decimal": ",", "missing": "drop_rows"},
        dropped=1,
    ),
    "decimal commas between commas": Case(
        'x,y,g\n"1,5",2,u\n3,"4,25",v\n',
        {"u": [[1.5, 2]], "v": [[3, 4.25]]},
        options={"decimal": ","},
    ),
    "points where commas are decimal": Case(
        "x;y;g\n1.234,5;2;u\n1.5;4;v\n",
        refusal="'x' ('1.234,5' in line 2). Numbers in 'x' have marks between thousands: remove",
        options={"decimal": ","},
    ),
    "thousands": Case(
        'x,y,g\n"1,234,567.8",2,u\n3,4,v\n',
        refusal="Numbers in 'x' have marks between thousands: remove these from the file",
    ),
    "hexadecimal numbers": Case(PLAIN + "0x10,1,u\n", refusal="numbers: 'x' ('0x10' in line 5)"),
    "dates": Case(
        "x,y,g\n1,2026-01-31,u\n2,2026-02-01 09:30,v\n",
        refusal="Dates in 'y' cannot be features: derive a number, such as an age in days. "
        "Leave out columns with drop=['y'], or name",
    ),
    "dates as others write them": Case(
        "x,y,g\n31/1/2026,31.01.26,u\n2/12/2026,02.02.26,v\n", refusal="Dates in 'x', 'y' cannot be"
    ),
    "a column of one value": Case(
        "x,y,z,g\n7,1,0,u\n7,3,0,v\n7,,1,u\n7,2,0,u\n",
        {"u": [[7, 1, 0], [7, 2, 0]], "v": [[7, 3, 0]]},
        names=("x", "y", "z"),
        notes=(
            "1 of 4 rows left out: missing values in 'y' (1)",
            "the same value in every row: 'x', 'z'",
        ),
        options={"missing": "drop_rows"},
        dropped=1,
    ),
    "text in several columns": Case(
        "x,y,g\n1,?,u\nthree,-,v\n",
        refusal="'x' ('three' in line 3), 'y' ('?' in line 2). Where marks in 'y' stand for",
    ),
    "text far down": Case(
        late("1,one,u,\n"), refusal="numbers: 'y' ('one' in line 50002)", options={"drop": ["z"]}
    ),
    "true far down": Case(
        late("true,4,u,\n"),
        {"u": [[1.25, 2.5]] * 25_000 + [[1, 4]], "v": [[3.5, 1.75]] * 25_000},
        notes=(TRUE,),
        options={"drop": ["z"]},
    ),
    "infinity": Case(PLAIN + "inf,1,u\n", refusal="cannot be used: column 'x' has infinite values"),
    "a number too large": Case(PLAIN + "1,-1e400,u\n", refusal="column 'y' has infinite values"),
    "words for missing values": Case(
        "x,y,g\nNA,2,u\n3,#N/A,v\n-nan,0,u\nNAN,0,u\nnan(ind),0,u\n1,2,u\n3,4,v\n",
        refusal="missing values in 'x' (4), 'y' (1) of 7 rows. Leave out those rows",
    ),
    "rows with missing values left out": Case(
        'x,y,g\nNA,2,u\n3,"",v\n 1 ,2,u\n3,4,v\n5,6, \n7,8,n/a\n',
        {"u": [[1, 2]], "v": [[3, 4]]},
        notes=("4 of 6 rows left out: missing values in 'x' (1), 'y' (1), 'g' (2)",),
        options={"missing": "drop_rows"},
        dropped=4,
    ),
    "commas before three digits": Case(
        'x,y,g\n"1,234",2,u\n"12,345",4,v\n',
        refusal="Numbers in 'x' have a comma before three digits: remove it from the file if it "
        "separates thousands (decimal=',' if it is a decimal comma). Leave out columns with "
        "drop=['x'], or name the columns to use with features=[...].",
    ),
    "decimal commas, some before three digits": Case(
        'x,y,g\n"1,234","2,5",u\n"12,345","4,5",v\n',
        refusal="Numbers in 'x', 'y' have a comma: use decimal=',' if it is a decimal comma, and "
        "remove it from the file if it separates thousands.",
    ),
    "missing values in every row": Case(
        "x,y,g\n,2,u\n3,,v\n",
        refusal="has no complete rows: every row has missing values in 'x' (1), 'y'",
        options={"missing": "drop_rows"},
    ),
    "missing values filled in by the mean": Case(
        BLANKS,
        {"u": [[1, 2, 1, 0], [4, 6, 0, 1], [2.75, 0, 0, 1]], "v": [[2, 2.5, 0, 1], [4, 2, 0, 1]]},
        notes=(
            "column 'k' became 2 columns of zeros and ones",
            "3 missing values filled in: 'x' (1) by 2.75, 'y' (1) by 2.5, 'k' (1) by 'b'",
        ),
        names=("x", "y", "k=a", "k=b"),
        options={"missing": "mean", "one_hot": ["k"]},
    ),
    "missing values filled in by the median": Case(
        BLANKS,
        {"u": [[1, 2], [4, 6], [3, 0]], "v": [[2, 2], [4, 2]]},
        notes=("2 missing values filled in: 'x' (1) by 3.0, 'y' (1) by 2.0",),
        options={"missing": "median", "drop": ["k"]},
    ),
    "missing values filled in by what is most frequent, weights counted": Case(
        "x,y,g,w\n1,2,u,3\n5,,v,1\n5,7,v,1\n,7,v,1\n5,7,u,0\n5,7,u,0\n",
        {"u": [[1, 2]] * 3, "v": [[5, 2], [5, 7], [1, 7]]},
        notes=("2 missing values filled in: 'x' (1) by 1.0, 'y' (1) by 2.0",),
        options={"missing": "most_frequent", "weight": "w"},
    ),
    "missing values filled in by values": Case(
        "x,y,g\n1,2,NA\n,4,ZA\n3,,ZA\n5,7,ZA\n",
        {"NA": [[1, 2]], "ZA": [[0.5, 4], [3, 13 / 3], [5, 7]]},
        notes=("3 missing values filled in: 'x' (1) by 0.5, 'y' (1) by 4.33333, 'g' (1) by 'NA'",),
        options={"missing": {"*": "mean", "x": 0.5, "g": "NA"}},
        words={"missing": ["mean", "--missing", "x=0.5", "--missing", "g=NA"]},
    ),
    "no label to fill in": Case(
        "x,y,g\n1,,\n3,4,v\n5,6,u\n",
        refusal="has missing values in 'g' (1) of 3 rows. Leave out those rows with "
        "missing='drop_rows'. Rows without a label become a group of their own with "
        "missing={'*': 'mean', 'g': 'unknown'}.",
        options={"missing": "mean"},
    ),
    "a column of blanks": Case(
        "x,y,g\n1,,u\n3, ,v\n5,NA,u\n",
        refusal="has missing values in 'y' (3) of 3 rows. Leave out columns without any value with "
        "drop=['y'].",
        options={"missing": "mean"},
    ),
    "words that are text": Case(PLAIN + "none,1,u\n", refusal="numbers: 'x' ('none' in line 5)"),
    "quoted blanks": Case(
        'x,y,g\n1,"",u\n2," ",v\n3,,u\n4,5,v\n', refusal="missing values in 'y' (3) of 4 rows"
    ),
    "a label spelled NA": Case(
        "x,y,g\n1,2,NA\n3,4,ZA\n",
        refusal="missing values in 'g' (1) of 2 rows. Leave out those rows with "
        "missing='drop_rows'. If 'NA' is a label and not a missing value, use missing={'g': 'NA'}.",
    ),
    "true and false": Case(
        "x,y,g\nTrue,1,u\nFalse,2,v\nTRUE,9,u\n,4,u\n",
        {"u": [[1, 1], [1, 9]], "v": [[0, 2]]},
        notes=(TRUE, "1 of 4 rows left out: missing values in 'x' (1)"),
        options={"missing": "drop_rows"},
        dropped=1,
    ),
    "true beside numbers": Case(
        "x,y,g\n2,1,u\ntRue,2,v\n0.5,9,u\n", {"u": [[2, 1], [0.5, 9]], "v": [[1, 2]]}, notes=(TRUE,)
    ),
    "labels that are true and false": Case(
        "x,y,g\n1,2,true\n3,4,False\n", {False: [[3, 4]], True: [[1, 2]]}
    ),
    "labels that are whole": Case("x,y,g\n1,2,10\n3,4,-9\n", {-9: [[3, 4]], 10: [[1, 2]]}),
    "labels that are numbers": Case(
        "x,y,g\n1,2,1\n3,4,1.50\n5,7,1.0\n", {1.0: [[1, 2], [5, 7]], 1.5: [[3, 4]]}
    ),
    "labels with zeros in front": Case("x,y,g\n1,2,007\n3,4,7\n", {"007": [[1, 2]], "7": [[3, 4]]}),
    "labels of several kinds": Case("x,y,g\n1,2,1\n3,4,true\n", {"1": [[1, 2]], "true": [[3, 4]]}),
    "a single feature": Case("y,g\n1,u\n2,v\n", {"u": [[1]], "v": [[2]]}, names=("y",)),
    "no features": Case("g\nu\nv\n", refusal="has no column left to be a feature"),
    "categories that are found": Case(
        "x,k,g\n1,b,u\n3, a,v\n5,b,u\n",
        {"u": [[1, 0, 1], [5, 0, 1]], "v": [[3, 1, 0]]},
        notes=(
            "column 'k': spaces around labels removed (1)",
            "column 'k' became 2 columns of zeros and ones",
        ),
        names=("x", "k=a", "k=b"),
        options={"one_hot": ["k"]},
        words={"one_hot": ["k"]},
    ),
    "all text as categories": Case(
        "k,x,n,g\nb,1,NA,u\na,3,yes,v\nb,5,,u\n",
        {"u": [[0, 1, 1, 1, 0], [0, 1, 5, 1, 0]], "v": [[1, 0, 3, 0, 1]]},
        notes=(
            "column 'k' became 2 columns of zeros and ones",
            "column 'n' became 2 columns of zeros and ones",
            "2 missing values filled in: 'n' (2) by 'no'",
        ),
        names=("k=a", "k=b", "x", "n=no", "n=yes"),
        options={"one_hot": "all", "missing": {"n": "no"}},
        words={"one_hot": "all", "missing": ["n=no"]},
    ),
    "all text as categories, but no dates": Case(
        "k,x,g\nb,2026-01-31,u\na,2026-02-28,v\n",
        refusal="'x' ('2026-01-31' in line 2). Dates in 'x' cannot be features",
        options={"one_hot": "all"},
    ),
    "all text as categories, but no names": Case(
        "k,x,g\n" + "".join(f"name {i},{i % 7},u\n" for i in range(3000)),
        refusal="different values to become features: 'k' (3,000). Leave them out with drop=['k']",
        options={"one_hot": "all"},
    ),
    "categories with commas": Case(
        'x,k,g\n1,"b, c",u\n3,a,v\n',
        {"u": [[1, 1, 0]], "v": [[3, 0, 1]]},
        notes=("column 'k' became 2 columns of zeros and ones",),
        names=("x", "k=b, c", "k=a"),
        options={"one_hot": {"k": ["b, c", "a"]}},
        words={"one_hot": ['k="b, c",a']},
    ),
    "a category that is not listed": Case(
        "x,k,g\n1,b,u\n3,mars,v\n",
        refusal="cannot be used: column 'k' has values that are not among its categories: 'mars'",
        options={"one_hot": {"k": ["b", "a"]}},
        words={"one_hot": ["k=b,a"]},
    ),
    "groups by age": Case(
        "x,g\n" + "".join(f"{i % 5},{i}\n" for i in range(20, 60)) + "7,\n",
        {
            "29 or less": [[i % 5] for i in range(20, 30)],
            "29 to 39": [[i % 5] for i in range(30, 40)],
            "39 to 49": [[i % 5] for i in range(40, 50)],
            "over 49": [[i % 5] for i in range(50, 60)],
        },
        notes=(
            "column 'g' was cut at 29, 39, 49",
            "1 of 41 rows left out: missing values in 'g' (1)",
        ),
        names=("x",),
        options={"bins": {"g": 4}, "missing": "drop_rows"},
        words={"bin": ["g:4"], "missing": "drop_rows"},
        dropped=1,
    ),
    "groups by cuts": Case(
        "x;g\n1;0,5\n2;1,5\n3;-2\n5;9\n",
        {"0.5 or less": [[1], [3]], "over 0.5": [[2], [5]]},
        notes=(DETECTED.format("semicolons"), "column 'g' was cut at 0.5"),
        names=("x",),
        options={"bins": {"g": [0.5]}, "decimal": ","},
        words={"bin": ["g:0.5"], "decimal": ","},
    ),
    "groups by weights": Case(
        "x,g,w\n1,1,2\n2,2,1\n3,3,1\n1,1,0\n",
        {"1 or less": [[1], [1]], "over 1": [[2], [3]]},
        notes=("column 'g' was cut at 1",),
        names=("x",),
        options={"bins": {"g": 2}, "weight": "w"},
        words={"bin": ["g:2"], "weight": "w"},
    ),
    "numbers that may be cut": Case(
        "x,g\n" + "".join(f"{i},{i % 21}\n{-i},{i % 21}\n" for i in range(42)),
        {g: [[g], [-g], [g + 21], [-g - 21]] for g in range(21)},
        notes=("column 'g' has more than 20 numbers; bins={'g': 4} makes 4 groups",),
        names=("x",),
    ),
    "weights": Case(
        "x,y,g,w\n1,2,u,2\n3,4,v,1\n1,2,u,0\n",
        {"u": [[1, 2], [1, 2]], "v": [[3, 4]]},
        options={"weight": "w"},
    ),
    "negative weights": Case(
        "x,y,g,w\n1,2,u,2\n3,4,v,-1\n",
        refusal="weight='w' has negative values",
        options={"weight": "w"},
    ),
    "weights that are text": Case(
        "x,y,g,w\n1,2,u,2\n3,4,v,two\n",
        refusal="not numbers: 'w' ('two' in line 3)",
        options={"weight": "w"},
    ),
    "gzip": Case(gzip.compress(PLAIN.encode()), ROWS, ending="csv.gz"),
    "gzip of any name": Case(gzip.compress(PLAIN.encode()), ROWS, ending="gz"),
    "half a gzip file": Case(
        gzip.compress(late("").encode())[:-900], refusal="cannot be read as gzip", ending="csv.gz"
    ),
    "no gzip file": Case(PLAIN, refusal="cannot be read as gzip", ending="csv.gz"),
    "a picture": Case(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256)), refusal="'"),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> dict[str, str]:
    """The files by the names of their cases."""
    folder, paths = tmp_path_factory.mktemp("alike"), {}
    for i, (name, case) in enumerate(CASES.items()):
        path = folder / f"{i}.{case.ending}"
        text = case.content
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        paths[name] = str(path)
    return paths


@pytest.fixture(scope="module")
def bare(files) -> dict[str, list[dict[str, Any]]]:
    """What library and command line of a bare install make of all files."""
    cases = {
        name: (files[name], case.options, case.options if case.words is None else case.words)
        for name, case in CASES.items()
    }
    command = [sys.executable, "-m", "tests.sources.routes"]
    root = Path(__file__).parents[2]
    done = subprocess.run(
        command, input=json.dumps(cases), capture_output=True, text=True, cwd=root
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", CASES)
def test_every_route_reads_a_file_alike_and_as_expected(name, files, bare):
    case, path = CASES[name], files[name]
    found = by_library(path, case.options)
    check(case, found, path)
    with dask.config.set(scheduler="sync"):
        by_dask = by_library(path, case.options, engine="dask")
    told = in_command_words(found)
    assert json.loads(json.dumps(found)) == json.loads(json.dumps(by_dask))
    assert_alike(found, bare[name][0])
    assert_alike(told, bare[name][1])
    words = case.options if case.words is None else case.words
    assert_alike(told, by_command(path, words))


def in_command_words(found: dict[str, Any]) -> dict[str, Any]:
    if "error" in found:
        return {"error": in_options(found["error"])}
    return found | {"notes": [in_options(note) for note in found["notes"]]}


def assert_alike(one: dict[str, Any], other: dict[str, Any]) -> None:
    """Moments to twelve digits, because batches differ; all else to the letter."""
    assert one.keys() == other.keys(), (one.get("error"), other.get("error"))
    for key, value in one.items():
        if key in ("means", "scatters"):
            np.testing.assert_allclose(value, other[key], rtol=1e-12, atol=1e-9)
        else:
            assert value == other[key], key


def check(case: Case, found: dict[str, Any], path: str) -> None:
    """What was found is what the case says, by plain arithmetic."""
    if case.rows is None:
        assert case.refusal in found["error"]
        assert found["error"].count(path) == 1
        return
    assert "error" not in found, found
    assert found["labels"] == repr(tuple(case.rows))
    assert found["names"] == list(case.names)
    assert found["notes"] == list(case.notes)
    assert found["dropped"] == case.dropped
    assert found["counts"] == [len(rows) for rows in case.rows.values()]
    moments = zip(found["means"], found["scatters"], strict=True)
    for rows, (mean, scatter) in zip(case.rows.values(), moments, strict=True):
        X = np.array(rows, dtype=float)
        np.testing.assert_allclose(mean, X.mean(axis=0), rtol=1e-12, atol=1e-12)
        apart = X - X.mean(axis=0)
        np.testing.assert_allclose(scatter, apart.T @ apart, rtol=1e-9, atol=1e-9)


def test_pyarrow_reads_the_files_that_people_have(tmp_path, monkeypatch):
    """Else the plain reader, which is much slower, would do all the work unseen."""
    from fairspan.tables import csv

    def never(*_: Any) -> None:
        raise AssertionError("the plain reader was asked")

    monkeypatch.setattr(csv._CsvFile, "_plain", never)
    text = 'x,y,z,g\n1,,True,"u, v"\n2.5,NA,False, w\n-1e3,4,,"u, v"\n7,8,True,w\n'
    for content in (text, text.replace("\n", "\r\n"), "\ufeff" + text, text.replace(",", ";")):
        (tmp_path / "t.csv").write_text(content, newline="", encoding="utf-8")
        found = by_library(str(tmp_path / "t.csv"), {"missing": "drop_rows"})
        assert found["counts"] == [1], content
    (tmp_path / "t.csv").write_text(text.replace(",", ";").replace(".", ","), encoding="utf-8")
    found = by_library(str(tmp_path / "t.csv"), {"missing": "drop_rows", "decimal": ","})
    assert found["counts"] == [1]


def test_the_plain_reader_goes_on_where_pyarrow_stops(files):
    name = "true far down"
    found = by_library(files[name], {"drop": ["z"], "batch_rows": 999})
    check(CASES[name], found, files[name])
