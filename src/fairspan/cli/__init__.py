"""The command line: ``fairspan COMMAND ...``; each command is a module, imported when it is called.

A command's module has ``add_arguments(parser)`` and ``run(options)``, which returns an exit code.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module

COMMANDS = {
    "demo": ("show the main job on two tables that come with scikit-learn", "fairspan.demo"),
    "reproduce": ("the paper's tables and figures beside ours", "fairspan.experiments.command"),
}
"""Name -> one line for the help, module."""

OK, FAILED, BAD_USAGE, INTERRUPTED = 0, 1, 2, 130
"""Exit codes: done; refused or failed with a message; wrong arguments; stopped by the user."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Parameters
    ----------
    arguments : sequence of str, optional
        What stands after the program's name; by default what the process was given.

    Returns
    -------
    int
        The exit code.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    parser = argparse.ArgumentParser(prog="fairspan", description=__doc__)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, (summary, module) in COMMANDS.items():
        command = commands.add_parser(name, help=summary, description=summary)
        if given[:1] == [name]:
            import_module(module).add_arguments(command)
    options = parser.parse_args(given)
    code: int = import_module(COMMANDS[options.command][1]).run(options)
    return code
