"""Arguments that commands share: those of the method, and where output may go.

They are checked before work begins, so that no work is done in vain.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from fairspan.ground import defaults
from fairspan.ground.atomic import check_place
from fairspan.ground.listed import listed
from fairspan.ground.parameters import check_choice, check_integer, check_number
from fairspan.objectives.by_group import REFERENCES
from fairspan.objectives.robust import DISPARITIES
from fairspan.words import group_name


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
    text = "divide features by their standard deviation"
    method.add_argument("--standardize", action="store_true", help=text)


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
        try:
            found[known[name]] = float(number)
        except (KeyError, ValueError):
            raise ValueError(
                f"--reference {text} is not LABEL=NUMBER; the groups are {listed(known)}."
            ) from None
    return found


def add_number(parser: Any, *names: str, default: float, help: str = "", **more: Any) -> None:
    """Add an option that is a number of the default's type, and tell the default."""
    text = f"{help} (default: %(default)g)" if help else "default: %(default)g"
    parser.add_argument(*names, type=type(default), default=default, help=text, **more)


def check_model_arguments(options: argparse.Namespace) -> None:
    """Refuse numbers that no table would allow, before one is read."""
    check_integer("n_components", options.components, 1)
    check_number("fairness_weight", options.fairness_weight)
    check_number("radius", options.radius)


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
