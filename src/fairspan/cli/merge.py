"""``fairspan merge``: moments of several sites become those of all their rows together."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

from fairspan.cli import OK, UsageError, console, summary
from fairspan.cli.arguments import (
    add_json_argument,
    check_output,
)
from fairspan.cli.moments import groups_table, moments_document
from fairspan.ground.types import Label
from fairspan.moments import file as moments_file
from fairspan.words import plural

_OWN_FILLS = (
    "sites filled in missing values by different values; a model of these moments refuses them"
)
USAGE = "fairspan merge SITE.npz SITE.npz ... -o ALL.npz [options]"
EXAMPLES = """\
examples:
  fairspan merge north.npz south.npz -o all.npz

The result equals the moments of all rows in one table, whatever the order of the files."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("files", nargs="+", metavar="SITE.npz", help="what fairspan moments wrote")
    parser.add_argument("-o", "--output", required=True, metavar="ALL.npz")
    add_json_argument(parser)


def run(options: argparse.Namespace) -> int:
    """Add the moments."""
    check_output(options.output, options.files, (".npz",))
    places = [Path(file).resolve() for file in options.files]
    twice = next((str(place) for place in places if places.count(place) > 1), None)
    if twice:
        raise UsageError(f"{twice!r} is given more than once; its rows would count again.")
    total, columns = moments_file.load(options.files[0])
    is_filled = bool((columns or {}).get("fills"))
    for path in options.files[1:]:
        more, others = moments_file.load(path)
        try:
            _check_labels(total.labels, more.labels)
            _check_bins(columns, others)
            total = total + more
        except ValueError as error:
            raise ValueError(f"{path!r} does not fit {options.files[0]!r}: {error}") from None
        columns = columns if columns == others else _common(columns, others)
    # What the sites have given away is no secret any more.
    moments_file.save(options.output, total, columns, min_count=1)
    notes = [_OWN_FILLS] if is_filled and not (columns or {}).get("fills") else []
    lines = [summary.data_line(plural(len(options.files), "file"), total)]
    lines += [*(f"  {note}" for note in notes), "", groups_table(total), ""]
    lines += [f"Moments: {options.output}"]
    lines += [f"Next:  fairspan fit {shlex.quote(options.output)} -k 3 -o model.npz"]
    document = moments_document(total) | {"files": options.files, "output": options.output}
    document["notes"] = notes
    console.answer(options.json, "\n".join(lines), document)
    return OK


def _check_bins(ours: Any, theirs: Any) -> None:
    """Refuse groups that were cut at other numbers."""
    one, two = ((columns or {}).get("bins", {}) for columns in (ours, theirs))
    for name in one.keys() & two.keys():
        if one[name] != two[name]:
            cuts = ",".join(f"{cut:.15g}" for cut in one[name])
            raise ValueError(
                f"the column {name!r} was cut at other numbers; use the same at every site, for "
                f"instance --bin {name}:{cuts}."
            )


def _common(ours: Any, theirs: Any) -> Any:
    """Give how columns became features if that is the same but for what filled their blanks."""
    if ours is None or theirs is None or ours | {"fills": {}} != theirs | {"fills": {}}:
        return None
    return ours | {"fills": {}}


def _check_labels(ours: Sequence[Label], theirs: Sequence[Label]) -> None:
    """Refuse labels of different kinds that print alike, as 1 and '1', or are equal, as 1 and True.

    Each site reads its own table: one sees numbers where another has text among them.
    """
    for mine, other in product(ours, theirs):
        alike = mine == other or str(mine) == str(other)
        kinds = {_kind(mine), _kind(other)}
        if alike and len(kinds) > 1:
            raise ValueError(
                f"group {mine!r} of one and {other!r} of the other look alike but differ in kind "
                f"({' and '.join(sorted(kinds))}). Give groups the same names at every site, for "
                "instance with a letter before each number, and make the moments again."
            )


def _kind(label: Label) -> str:
    return "number" if type(label) in (int, float) else type(label).__name__
