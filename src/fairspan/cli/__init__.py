"""The command line: ``fairspan COMMAND ...``; each command is a module, imported when it is called.

A command's module has ``add_arguments(parser)`` and ``run(options)``, which returns an exit code.
"""

from __future__ import annotations

import argparse
import ast
import io
import os
import re
import shlex
import signal
import sys
import threading
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module

COMMANDS = {
    "demo": ("show the main job on the census table that comes with fairspan", "fairspan.cli.demo"),
    "advise": ("show whether there is a gap and what closing it costs", "fairspan.cli.advise"),
    "fit": ("find a fair projection of a table and save it", "fairspan.cli.fit"),
    "transform": ("project the rows of a table with a saved model", "fairspan.cli.transform"),
    "frontier": ("show what closing the gap costs, step by step", "fairspan.cli.frontier"),
    "compare": ("fit every method to a table and judge all alike", "fairspan.cli.compare"),
    "downstream": ("train a model on each projection and judge it", "fairspan.cli.downstream"),
    "select": ("choose weight, radius and k by cross-validation", "fairspan.cli.select"),
    "report": ("make one html page about a table, to open and hand over", "fairspan.cli.report"),
    "moments": ("reduce a table to group moments, without its rows", "fairspan.cli.moments"),
    "merge": ("add the group moments of several sites", "fairspan.cli.merge"),
    "certify": ("prove again how close to the optimum a model is", "fairspan.cli.certify"),
    "info": ("show what a model file or a moments file contains", "fairspan.cli.info"),
    "reproduce": ("reproduce the paper's tables and figures", "fairspan.experiments.command"),
}
"""Name -> one line for the help, module."""

OK, FAILED, BAD_USAGE, NOT_PROVED, INTERRUPTED, NO_READER = 0, 1, 2, 3, 130, 141

_EXIT_CODES = """\
exit codes:
  0    done
  1    refused or failed; one sentence on standard error says why
  2    wrong arguments
  3    certify only: not proved optimal to the tolerance
  130  interrupted with Ctrl-C; files are as they were
  141  the program reading the output has exited

Start with:  fairspan fit people.csv --sensitive sex -k 3 --standardize -o model.npz
Help of a command, with examples:  fairspan fit --help"""


_WORDS = {
    "sensitive_features=...": "--sensitive COLUMN",
    "n_components": "-k",
    "n_features=": "",
    "n_features": "the number of features",
    "sensitive_features": "--sensitive",
    "sample_weight": "--weight",
    "fairness_weights": "--weights",
    "fairness_weight": "--fairness-weight",
    "radius=": "--radius ",
    "disparity": "--disparity",
    "reference": "--reference",
    "n_bootstrap": "--bootstrap",
    "random_state": "--seed",
    "small_groups": "--small-groups",
    "min_rows": "--min-rows",
    "n_splits": "--splits",
    "gap_budget": "--gap-budget",
    "total_budget": "--total-budget",
    "clip=": "--clip ",
    "standardize=True": "--standardize",
    "effort": "--effort",
    "max_time": "--max-time",
    "min_count": "--min-count",
    "moments=False": "--no-moments",
    "methods=": "--methods ",
    "methods:": "--methods:",
    "metrics=": "--metrics ",
    "metrics:": "--metrics:",
    "rule=": "--rule ",
    "jobs=": "--jobs ",
    "checkpoint=": "--resume ",
    "pandas.qcut(values, 4)": "--bin COLUMN:4",
    "X has n_samples=1; 1 sample is too few": "the table has one row",
    "X holds": "the table holds",
    "y has": "the target has",
    "y holds": "the target holds",
}
"""What the library calls things -> what the command line does."""
_COLUMNS = (
    "sensitive|features|target|drop|weight|one_hot|missing|separator|encoding|decimal|sheet|keep"
    "|bins"
)
_VALUE = r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|-?\d+)"""
_KEYWORD = re.compile(rf"\b({_COLUMNS})=(?:\[({_VALUE}(?:, {_VALUE})*)\]|({_VALUE})|\[?\.\.\.\]?)")
"""How the library names its keywords for tables: drop=['a'], missing='drop_rows', drop=[...]."""
_PAIRS = re.compile(rf"\b(missing|bins)=\{{({_VALUE}: {_VALUE}(?:, {_VALUE}: {_VALUE})*)\}}")
"""And its mappings: missing={'sex': 'unknown'}."""
_MOST_ALIKE = 2
"""Warnings that are shown of those that say the same with other numbers."""
_INTERRUPTED = "interrupted; files are as they were"


class UsageError(Exception):
    """Arguments that are wrong whatever the table holds."""


@contextmanager
def checking_arguments() -> Iterator[None]:
    """Report as wrong arguments what the library's own checks refuse about them."""
    try:
        yield
    except ValueError as error:
        raise UsageError(in_options(str(error))) from None


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Parameters
    ----------
    arguments : sequence of str, optional
        The words after the program's name; by default those of the process.

    Returns
    -------
    int
        The exit code.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in given
    for stream in (sys.stdout, sys.stderr):
        # A label that the terminal cannot show is no reason to fail after the work is done.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        with warnings.catch_warnings():
            with _leaving_at_once():
                _tell_warnings()
                options = _parser(given).parse_args(given)
                command = import_module(COMMANDS[options.command][1])
            code: int = command.run(options)
            sys.stdout.flush()
            return code
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else OK
    except KeyboardInterrupt:
        return _stopped(INTERRUPTED, _INTERRUPTED, debug)
    except BrokenPipeError:
        # What Python flushes on its way out has no reader either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return NO_READER
    except UsageError as error:
        return _stopped(BAD_USAGE, f"error: {error}", debug)
    except Exception as error:
        return _stopped(FAILED, f"error: {_sentence(error)}", debug)


@contextmanager
def _leaving_at_once() -> Iterator[None]:
    """End the process if it is interrupted while modules are imported: some cannot be stopped."""

    def leave(*_: object) -> None:
        os.write(2, f"{_INTERRUPTED}\n".encode())
        os._exit(INTERRUPTED)

    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not usual or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _parser(given: list[str]) -> argparse.ArgumentParser:
    from fairspan import __version__

    def raw(prog: str) -> argparse.HelpFormatter:
        return argparse.RawDescriptionHelpFormatter(prog, max_help_position=28, width=100)

    parser = argparse.ArgumentParser(
        prog="fairspan",
        usage="fairspan COMMAND [...]",
        description="Principal components that treat groups even-handedly.",
        epilog=_EXIT_CODES,
        formatter_class=raw,
    )
    parser.add_argument("--version", action="version", version=f"fairspan {__version__}")
    commands = parser.add_subparsers(
        dest="command", metavar="COMMAND [...]", prog="fairspan", required=True
    )
    called = next((word for word in given if not word.startswith("-")), None)
    for name, (summary, module) in COMMANDS.items():
        command = commands.add_parser(name, help=summary, formatter_class=raw)
        if name == called:
            command.description = f"{summary[0].upper()}{summary[1:]}."
            called_module = import_module(module)
            command.usage = getattr(called_module, "USAGE", None)
            command.epilog = getattr(called_module, "EXAMPLES", None)
            called_module.add_arguments(command)
            command.add_argument("--debug", action="store_true", help="show where an error arose")
    return parser


def _tell_warnings() -> None:
    """Show each warning as one line, once; of those that differ in numbers only, the first few."""
    from fairspan.cli.console import paint

    told = set()
    alike: Counter[str] = Counter()

    def show(message: Warning | str, *_: object, **__: object) -> None:
        text = in_options(str(message))
        if text in told:
            return
        told.add(text)
        kind = re.sub(r"\d[\d.e+-]*", "0", text)
        alike[kind] += 1
        if alike[kind] == _MOST_ALIKE:
            text += " Further warnings that differ from this in numbers only are not shown."
        if alike[kind] <= _MOST_ALIKE:
            print(f"{paint('warning:', 'yellow', sys.stderr)} {text}", file=sys.stderr)

    warnings.showwarning = show
    warnings.simplefilter("always")
    for category in (DeprecationWarning, PendingDeprecationWarning, FutureWarning, ImportWarning):
        warnings.simplefilter("ignore", category)


def _stopped(code: int, text: str, debug: bool) -> int:
    from fairspan.cli.console import paint

    if debug:
        traceback.print_exc()
    start, colon, rest = text.partition("error:")
    shown = f"{start}{paint(colon, 'red', sys.stderr)}{rest}" if colon else text
    print(shown, file=sys.stderr)
    return code


def in_options(text: str) -> str:
    """Say in one line, and by the options of the command line, what the library says."""

    def option(found: re.Match[str]) -> str:
        word, value = _WORDS[found[1]], found[2]
        return f"{word} " if value else word

    def keyword(found: re.Match[str]) -> str:
        values = [
            ast.literal_eval(value) for value in re.findall(_VALUE, found[2] or found[3] or "")
        ]
        typed = [shlex.quote(str(value)) for value in values]
        name = {"one_hot": "one-hot", "bins": "bin"}.get(found[1], found[1])
        return " ".join([f"--{name}", *typed])

    def pairs(found: re.Match[str]) -> str:
        given = ast.literal_eval(f"{{{found[2]}}}").items()
        name, mark = ("bin", ":") if found[1] == "bins" else (found[1], "=")
        typed = (b if a == "*" else shlex.quote(f"{a}{mark}{b}") for a, b in given)
        return " ".join(f"--{name} {one}" for one in typed)

    words = "|".join(map(re.escape, _WORDS))
    text = " ".join(text.split())
    text = re.sub(rf"(?<![\w-])({words})(?:(?<==)|(?![a-z_]))(=?)", option, text)
    text = _KEYWORD.sub(keyword, _PAIRS.sub(pairs, text))
    return re.sub(r"--missing (drop|most)_", r"--missing \1-", text)


def _sentence(error: Exception) -> str:
    """What an error says, in one line and without Python's own words."""
    if isinstance(error, FileNotFoundError) and error.filename:
        return f"there is no file {error.filename!r}."
    if isinstance(error, IsADirectoryError) and error.filename:
        return f"{error.filename!r} is a folder; a file is needed."
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename!r}." if error.filename else f"{error.strerror}."
    if isinstance(error, MemoryError):
        return in_options(str(error)) or (
            "there is not enough memory for this table. Use fewer columns with --features."
        )
    text = in_options(str(error))
    if isinstance(error, ValueError | TypeError | ImportError | OSError):
        return text
    return f"{type(error).__name__}: {text} (--debug shows where; please report it)"
