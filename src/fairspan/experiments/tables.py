"""Tables as csv, Markdown, LaTeX and html."""

from __future__ import annotations

import csv
import html
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fairspan.experiments.store import Row, write_atomically


@dataclass(frozen=True)
class Table:
    """A title, columns, cells as text, and notes below.

    Attributes
    ----------
    title : str
        What the table shows.
    columns : sequence of str
        The header.
    rows : sequence of sequences of str
        The cells; the first ``n_words`` columns are words, the others numbers.
    n_words : int
        How many columns are set to the left.
    notes : sequence of str
        Paragraphs below the table.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    n_words: int
    notes: Sequence[str] = ()

    def markdown(self) -> str:
        """Return the table as Markdown."""
        marks = [":--" if j < self.n_words else "--:" for j in range(len(self.columns))]
        lines = [f"# {self.title}", "", _line(self.columns), _line(marks)]
        lines += [_line(row) for row in self.rows]
        for note in self.notes:
            lines += ["", note]
        return "\n".join(lines) + "\n"

    def latex(self) -> str:
        """Return the table as LaTeX (packages booktabs and longtable)."""
        shape = "l" * self.n_words + "r" * (len(self.columns) - self.n_words)
        lines = [f"% {self.title}", rf"\begin{{longtable}}{{{shape}}}", r"\toprule"]
        lines += [_latex_line(self.columns), r"\midrule", r"\endhead"]
        lines += [_latex_line(row) for row in self.rows]
        lines += [r"\bottomrule", r"\end{longtable}"]
        lines += [rf"\par\noindent\footnotesize {_latex(note)}" for note in self.notes]
        return "\n".join(lines) + "\n"

    def html(self) -> str:
        """Return the table as a self-contained html page."""
        lines = [
            "<!DOCTYPE html>",
            '<html lang="en"><head><meta charset="utf-8">',
            f"<title>{html.escape(self.title)}</title>",
            f"<style>{_STYLE}</style></head><body>",
            f"<h1>{html.escape(self.title)}</h1>",
            "<table><thead>",
            self._html_line(self.columns, "th"),
            "</thead><tbody>",
            *(self._html_line(row, "td") for row in self.rows),
            "</tbody></table>",
            *(f"<p>{html.escape(note)}</p>" for note in self.notes),
            "</body></html>",
        ]
        return "\n".join(lines) + "\n"

    def write(self, output: Path, name: str) -> list[Path]:
        """Write Markdown, LaTeX and html files of one name.

        Parameters
        ----------
        output : Path
            The folder.
        name : str
            Name of the files, without an ending.

        Returns
        -------
        list of Path
            The files.
        """
        shapes = {"md": self.markdown(), "tex": self.latex(), "html": self.html()}
        files = {output / f"{name}.{ending}": text for ending, text in shapes.items()}
        for path, text in files.items():
            write_atomically(path, text.encode())
        return list(files)

    def _html_line(self, cells: Sequence[str], tag: str) -> str:
        parts = [
            f"<{tag}{'' if j < self.n_words else ' class=number'}>{html.escape(cell)}</{tag}>"
            for j, cell in enumerate(cells)
        ]
        return f"<tr>{''.join(parts)}</tr>"


_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;margin:2em auto;max-width:60em;padding:0 1em;"
    "color:#222}h1{font-size:1.3em}table{border-collapse:collapse;font-size:.9em}"
    "th,td{padding:.2em .8em;text-align:left;border-bottom:1px solid #ddd}"
    ".number{text-align:right;font-variant-numeric:tabular-nums}"
)


def write_csv(path: Path, rows: Iterable[Row], columns: Sequence[str]) -> Path:
    """Write rows as a csv file; numbers keep ten significant digits.

    Parameters
    ----------
    path : Path
        The file.
    rows : iterable of dict
        The rows.
    columns : sequence of str
        Which of their values, in order.

    Returns
    -------
    Path
        The file.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        values = (row[name] for name in columns)
        writer.writerow(f"{v:.10g}" if isinstance(v, float) else v for v in values)
    write_atomically(path, text.getvalue().encode())
    return path


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _latex_line(cells: Sequence[str]) -> str:
    return " & ".join(map(_latex, cells)) + r" \\"


def _latex(text: str) -> str:
    special = {c: rf"\{c}" for c in "%&_#$"} | {"<": r"\textless{}", ">": r"\textgreater{}"}
    return "".join(special.get(c, c) for c in text)
