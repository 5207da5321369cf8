"""Arguments that commands share: those of the method, and where output may go.

They are checked before work begins, so that none is wasted.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fairspan.cli import checking_arguments
from fairspan.ground import defaults
from fairspan.ground.atomic import check_place
from fairspan.ground.listed import listed
from fairspan.ground.parameters import check_choice, check_integer, check_number
from fairspan.moments.group_moments import GroupMoments
from fairspan.moments.groups import SMALL_GROUPS
from fairspan.objectives.counting import REFERENCES
from fairspan.objectives.robust import DISPARITIES
from fairspan.words import group_name, quoted


def add_table_arguments(parser: argparse.ArgumentParser, *, groups: bool = True) -> None:
    """Say how a table is read and which columns play which role."""
    table = parser.add_argument_group("the table")
    if groups:
        table.add_argument(
            "-s",
            "--sensitive",
            action="append",
            metavar="COLUMN",
            help="the column that defines the groups; several are intersected (repeat it)",
        )
        text = "cut a sensitive column of numbers into 4 groups of about equal size, or at A,B,.."
        table.add_argument("--bin", action="append", metavar="COLUMN:4|A,B,..", help=text)
        table.add_argument("--weight", metavar="COLUMN", help="how often each row counts")
        text = "the column that a model will predict; it is not used as a feature"
        table.add_argument("--target", metavar="COLUMN", help=text)
        table.add_argument(
            "--features",
            nargs="+",
            action="extend",
            metavar="COLUMN",
            help="use these columns only",
        )
        table.add_argument(
            "--drop", nargs="+", action="extend", metavar="COLUMN", help="use all columns but these"
        )
        table.add_argument(
            "--one-hot",
            nargs="+",
            action="extend",
            metavar="COLUMN[=A,B,..]",
            help="turn text into a column of zeros and ones for each value; all: every text column",
        )
    what = "what to do about missing values (blank, NA, NaN, null): "
    if groups:
        text = (
            f"{what}refuse, drop-rows, or fill them in by the mean, median or most-frequent value "
            "of their column; or COLUMN=VALUE (repeat it; default: refuse)"
        )
        table.add_argument("--missing", action="append", metavar="RULE", help=text)
    else:
        text = f"{what}refuse or drop-rows (default: fill them in as for the fit, or refuse)"
        table.add_argument("--missing", choices=["refuse", "drop-rows"], help=text)
    table.add_argument("--separator", help="between csv cells: , ; | or tab (default: detected)")
    text = "the decimal mark of a csv file: . or , (default: .)"
    table.add_argument("--decimal", metavar="MARK", help=text)
    table.add_argument("--sheet", metavar="NAME", help="the sheet of a spreadsheet to read")
    table.add_argument(
        "--encoding", help="of a csv file (default: utf-8, or as its byte-order mark says)"
    )


def add_json_argument(parser: argparse.ArgumentParser) -> None:
    """Let programs read the answer."""
    parser.add_argument("--json", action="store_true", help="answer in JSON, numbers in full")


def add_model_arguments(parser: argparse.ArgumentParser, *, weight: bool = True) -> None:
    """Add the arguments of the method; without a weight, the command has weights of its own."""
    method = parser.add_argument_group("the method")
    add_number(method, "-k", "--components", default=defaults.N_COMPONENTS, help="how many")
    if weight:
        text = "how much the disparity counts against the total error"
        add_number(
            method, "--fairness-weight", default=defaults.FAIRNESS_WEIGHT, metavar="W", help=text
        )
    add_comparison_arguments(method, disparity="gap")
    text = "how far the truth may lie from the data; 0 trusts the data"
    add_number(method, "--effort", default=defaults.EFFORT, help="multiplies the work of proofs")
    add_number(method, "--radius", default=defaults.RADIUS, metavar="R", help=text)
    add_scale_arguments(method)


def add_scale_arguments(parser: Any) -> None:
    """Add how features are scaled."""
    either = parser.add_mutually_exclusive_group()
    text = "divide features by their standard deviation"
    either.add_argument("--standardize", action="store_true", help=text)
    text = (
        "mixed: divide numbers by their standard deviation, and each category's column by the "
        "square root of its share, as factor analysis of mixed data does"
    )
    either.add_argument("--scale", choices=["mixed"], help=text)


def add_count_argument(parser: Any, *, is_model: bool = True) -> None:
    """Add what of small groups may be written."""
    if is_model:
        text = "leave the moments of the data out of the model file"
        parser.add_argument("--no-moments", action="store_true", help=text)
    text = "refuse to write moments of groups of fewer rows, which may reveal single rows"
    add_number(parser, "--min-count", default=defaults.MIN_COUNT, metavar="N", help=text)


def add_clip_argument(parser: Any) -> None:
    """Let extreme values be cut off."""
    text = "clip features at this number of standard deviations from their mean, for instance 3"
    parser.add_argument("--clip", type=float, metavar="C", help=text)


def clip_note(options: argparse.Namespace) -> tuple[str, ...]:
    """Say what was cut off, if anything."""
    if options.clip is None:
        return ()
    return (f"features clipped at {options.clip:g} standard deviations from their mean (--clip)",)


def add_small_group_arguments(parser: Any, choices: Sequence[str] = SMALL_GROUPS) -> None:
    """Add what to do with groups of very few rows."""
    pool = "keep them, pool them into one, or count them in the total error only"
    if "total_only" not in choices:
        pool = "keep them, or pool them into one"
    text = f"of fewer than --min-rows rows: {pool} (default: keep)"
    given = [name.replace("_", "-") for name in choices]
    parser.add_argument("--small-groups", choices=given, default="keep", help=text)
    add_number(
        parser, "--min-rows", default=defaults.MIN_ROWS, metavar="N", help="see --small-groups"
    )


def small_groups_of(options: argparse.Namespace) -> dict[str, Any]:
    """Give what the library calls these options."""
    given = getattr(options, "small_groups", "keep").replace("-", "_")
    return {"small_groups": given, "min_rows": getattr(options, "min_rows", defaults.MIN_ROWS)}


def check_enough(moments: GroupMoments, least: int, what: str) -> None:
    """Refuse groups with too few rows to be split, and say what pools enough of them.

    Parameters
    ----------
    moments : GroupMoments
        The groups.
    least : int
        How many rows each needs.
    what : str
        What is done with parts of their rows.
    """
    counts = dict(zip(moments.labels, moments.counts.tolist(), strict=True))
    small = {label: n for label, n in counts.items() if n < least}
    if not small:
        return
    # The smallest groups together, until they have enough rows.
    together = np.cumsum(sorted(counts.values()))
    last = sorted(counts.values())[int(np.searchsorted(together, least))]
    named = listed(small, lambda label: f"{quoted(label)} ({small[label]})")
    raise ValueError(
        f"groups of fewer than {least} rows cannot be {what}: {named}. Use --small-groups pool "
        f"--min-rows {last + 1}, which makes one group of the smallest."
    )


def add_comparison_arguments(parser: Any, *, disparity: str | None = None) -> None:
    """Add how groups are compared; without a disparity the default is the model's own."""
    default = "the model's" if disparity is None else disparity
    text = (
        "gap: largest minus smallest group error; largest: the largest error alone, which makes no "
        f"group worse to look more equal (default: {default})"
    )
    parser.add_argument("--disparity", choices=DISPARITIES, default=disparity, help=text)
    default = "the model's" if disparity is None else "none"
    text = (
        "what errors are compared with: none, own (each group's own best), or LABEL=NUMBER, "
        f"repeated for each group (default: {default})"
    )
    parser.add_argument("--reference", action="append", metavar="R", help=text)


def reference_of(options: argparse.Namespace, labels: Iterable[Any]) -> str | dict[Any, float]:
    """Read the references: a choice, or a number for each group, by its name."""
    given: list[str] = options.reference or ["none"]
    if len(given) == 1 and "=" not in given[0]:
        return check_choice("reference", given[0], REFERENCES)
    known = {group_name(label): label for label in labels}
    found = {}
    for text in given:
        name, _, number = text.rpartition("=")
        if name and name not in known:
            raise ValueError(
                f"--reference {text}: there is no group {name!r}; the groups are {listed(known)}."
            )
        try:
            found[known[name]] = float(number)
        except (KeyError, ValueError):
            raise ValueError(
                f"--reference {text} is not LABEL=NUMBER; the groups are {listed(known)}."
            ) from None
    return found


def add_number(parser: Any, *names: str, default: float, help: str = "", **more: Any) -> None:
    """Add an option that is a number of the default's type, and show the default."""
    text = f"{help} (default: %(default)g)" if help else "default: %(default)g"
    parser.add_argument(*names, type=type(default), default=default, help=text, **more)


def check_model_arguments(options: argparse.Namespace) -> None:
    """Refuse numbers that no table would allow, before one is read."""
    given = vars(options)
    with checking_arguments():
        check_integer("n_components", options.components, 1)
        check_number("fairness_weight", given.get("fairness_weight", 0.0))
        for weight in given.get("weights") or ():
            check_number("fairness_weights", weight)
        check_number("radius", given.get("radius", 0.0))
        if given.get("clip") is not None:
            check_number("clip", options.clip, positive=True)


def check_output(
    path: str | Path, inputs: Iterable[str | Path] = (), endings: Sequence[str] = ()
) -> Path:
    """Check that a file can be written there and that no input is lost.

    Parameters
    ----------
    path : str or path
        The file to write.
    inputs : iterable of str or path
        Files that are read, which the output must not replace.
    endings : sequence of str
        The endings that are known, if the format depends on it.

    Returns
    -------
    Path
        The path.
    """
    path = Path(path)
    if path.is_dir():
        raise ValueError(f"the output {str(path)!r} is a folder; name a file in it.")
    if path.exists() and not path.is_file():
        raise ValueError(f"the output {str(path)!r} is not a regular file; choose another name.")
    if not path.parent.is_dir():
        raise ValueError(
            f"the folder {str(path.parent)!r} of the output {path.name!r} does not exist; make "
            "it first."
        )
    for other in inputs:
        if path.exists() and Path(other).exists() and os.path.samefile(path, other):
            raise ValueError(f"the output {str(path)!r} is also an input; choose another name.")
    if endings and path.suffix.lower() not in endings:
        raise ValueError(
            f"the output {str(path)!r} must end in {' or '.join(endings)}; that sets its format."
        )
    try:
        check_place(path)
    except OSError as error:
        why = (error.strerror or "it failed").lower()
        raise ValueError(f"cannot write to {str(path)!r}: {why}.") from None
    return path
