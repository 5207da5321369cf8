"""What the terminal shows: tables, and progress with the time left."""

from __future__ import annotations

import csv
import json
import logging
import math
import os
import re
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self, TextIO

from fairspan.ground.atomic import replacing
from fairspan.words import Findings

ALL = "--json lists all"
"""Where the rows of a table are that are not shown."""
_WIDTH = 30
_EVERY = 0.1
_EVERY_LINE = 10.0
"""Seconds between two drawings of the bar, and between two lines where there is no terminal."""
_STYLES = {"bold": "1", "red": "1;31", "yellow": "1;33", "green": "1;32"}


def paint(text: str, style: str, stream: TextIO | None = None) -> str:
    """Colour text on a terminal, unless NO_COLOR is set; leave it plain everywhere else."""
    stream = sys.stdout if stream is None else stream
    if not stream.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return text
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m"


def answer(as_json: bool, text: str, document: Mapping[str, Any]) -> None:
    """Print the text for people, or the document for programs, with numbers to the last digit."""
    print(json_text(document) if as_json else text)


def json_text(document: Mapping[str, Any]) -> str:
    """Write a document for programs."""
    return json.dumps(plain(document), indent=2, ensure_ascii=False, allow_nan=False)


def write_output(
    path: Path, points: Sequence[Mapping[str, Any]], text: str, draw: Callable[[Any], Any]
) -> None:
    """Write points as csv, the text as json, or else a picture, by the ending of the file."""
    ending = path.suffix.lower()
    if ending in (".csv", ".json"):
        write_rows(path, points, text)
        return
    from fairspan.plotting._axes import new_figure

    with replacing(path) as temporary:
        figure = new_figure((8, 5), "The picture needs")
        draw(figure.subplots())
        figure.savefig(temporary, dpi=150, format=ending[1:])


def write_rows(path: Path, rows: Sequence[Mapping[str, Any]], text: str) -> None:
    """Write rows as csv, or the text as json, by the ending of the file."""
    with replacing(path) as temporary:
        if path.suffix.lower() == ".csv":
            with temporary.open("w", newline="", encoding="utf-8") as file:
                writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
                writer.writeheader()
                writer.writerows(rows)
        else:
            temporary.write_text(text + "\n", encoding="utf-8")


def plain(value: Any) -> Any:
    """Turn numpy values and tuples into what JSON knows; numbers that are not finite into null."""
    # Starting must not wait for numpy: its arrays and numbers are known by this method.
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def sentences(*texts: str) -> str:
    """Set sentences in lines that fit a page; a number and its % stay together."""
    # Sentences name a keyword and, in brackets, its option; here the option is enough.
    text = re.sub(r"\b\w+=\S+ \((--[^)]+)\)", r"\1", " ".join(texts))
    text = re.sub(r'(?<!\()\bdisparity="(\w+)"', r"--disparity \1", text).replace(
        " %", "\N{NO-BREAK SPACE}%"
    )
    lines = textwrap.fill(text, 96, break_long_words=False, break_on_hyphens=False)
    return lines.replace("\N{NO-BREAK SPACE}%", " %")


def paragraph(found: Findings) -> str:
    """Say what was found: on new rows first, then on the fitted ones, then how sure it is."""
    first = paint(sentences(found.headline, found.change), "bold")
    fitted = " ".join(filter(None, (found.fitted, found.effect, found.variance)))
    more = map(sentences, (fitted, found.payers, found.caveats, found.proof))
    return "\n".join(filter(None, (first, *more)))


def made_page(path: str) -> str:
    """Say where a page is."""
    return f"Report: {path} (open it in a browser)"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Set text in columns, the first to the left and the others to the right."""
    widths = [max(len(row[j]) for row in [header, *rows]) for j in range(len(header))]
    lines = [
        "  ".join(
            f"{cell:>{width}}" if j else f"{cell:<{width}}"
            for j, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in [header, *rows]
    ]
    lines = [line.rstrip() for line in lines]
    return "\n".join([lines[0], "-" * max(map(len, lines)), *lines[1:]])


class Progress:
    """A bar with the time left on a terminal, a line now and then elsewhere.

    Parameters
    ----------
    total : int
        Steps in all.
    label : str
        What the steps are.
    done : int
        Steps that earlier runs have done; they do not count for the time left.
    stream : file, optional
        Where to write; standard error by default.
    hidden : bool
        Count, but show nothing: the work is short.
    """

    def __init__(
        self,
        total: int,
        label: str,
        *,
        done: int = 0,
        stream: TextIO | None = None,
        hidden: bool = False,
    ):
        self.total, self.label, self.done = total, label, done
        self.stream = sys.stderr if stream is None else stream
        self._hidden, self._terminal = hidden, self.stream.isatty()
        self._before, self._start, self._shown = done, time.monotonic(), float("-inf")

    def __enter__(self) -> Self:
        self._show()
        return self

    def __exit__(self, *_: object) -> None:
        self._show(last=True)

    def step(self, n: int = 1) -> None:
        """Count n steps as done."""
        self.done += n
        self._show()

    def _show(self, *, last: bool = False) -> None:
        now = time.monotonic()
        if self._hidden:
            return
        if not last and now - self._shown < (_EVERY if self._terminal else _EVERY_LINE):
            return
        self._shown = now
        share = self.done / max(self.total, 1)
        text = f"{self.label}: {self.done}/{self.total}, {self._time(now)}"
        if self._terminal:
            filled = round(_WIDTH * share)
            bar = "#" * filled + "." * (_WIDTH - filled)
            self.stream.write(f"\r\x1b[K[{bar}] {text}" + ("\n" if last else ""))
        else:
            self.stream.write(text + "\n")
        self.stream.flush()

    def _time(self, now: float) -> str:
        passed, done = now - self._start, self.done - self._before
        if self.done >= self.total:
            return f"{_clock(passed)} taken"
        if done == 0:
            return "time left unknown"
        return f"{_clock(passed * (self.total - self.done) / done)} left"


class _Passes(logging.Handler):
    """Shows how many passes over the rows a fit has made; their number is not known in advance."""

    def __init__(self, label: str) -> None:
        super().__init__()
        self.label, self.stream, self.has_shown = label, sys.stderr, False
        self._start = self._shown = time.monotonic()

    def emit(self, record: logging.LogRecord) -> None:
        """Show the number of passes that a log record gives."""
        passes, now = getattr(record, "passes", None), time.monotonic()
        terminal = self.stream.isatty()
        if passes is None or now - self._shown < (_EVERY if terminal else _EVERY_LINE):
            return
        self._shown, self.has_shown = now, terminal
        text = f"{self.label}: pass {passes} over the rows, {_clock(now - self._start)} taken"
        self.stream.write(f"\r\x1b[K{text}" if terminal else f"{text}\n")
        self.stream.flush()


@contextmanager
def showing_passes(label: str) -> Iterator[None]:
    """Show on standard error how many passes over the rows a fit makes."""
    logger, handler = logging.getLogger("fairspan"), _Passes(label)
    level, propagates = logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    # The lowered level is for this handler alone.
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        logger.propagate = propagates
        if handler.has_shown:
            handler.stream.write("\r\x1b[K")


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
