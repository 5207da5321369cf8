"""``fairspan reproduce TARGET``: a table or figure of the paper, next to the original."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from pathlib import Path

from fairspan.cli import FAILED, INTERRUPTED, OK, UsageError
from fairspan.experiments.outputs import Request
from fairspan.experiments.runner import Task, pending, run_tasks
from fairspan.experiments.settings import CHOICES, Settings
from fairspan.experiments.sources import FACES, check_available
from fairspan.experiments.store import check_writable
from fairspan.experiments.targets import TARGETS, Target
from fairspan.ground.parameters import check_choice, check_integer
from fairspan.plotting._axes import matplotlib_for

_SWITCHES = {
    "solver": "how RFPCA is solved: to a proved optimum, by the published program number for "
    "number, or by the descent of the paper's text from 20 random starts, last iterates",
    "fairpca": "how FairPCA is solved: exactly, by its published loop (with the spread under "
    "perturbations of 1e-15), or by that loop with its choice of candidates corrected",
    "cfpca_centering": "whether CFPCA centres rows again by a matrix product, as published, which "
    "turns a column that is constant up to rounding into noise (one split of E. Coli)",
    "mu": "CFPCA's weight of covariances: 1, as in the published rows, or the grid of the text",
    "gap_centering": "ABDiff on groups centred by their own means, as published, or by the mean of "
    "all rows, as in the objective",
    "column_rule": "columns left out so that sizes are the paper's, or by the rule of its text "
    "(standard deviation at most 1e-5 or at least 1000)",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    width = max(map(len, TARGETS))
    lines = [f"  {name:<{width}}  {target.summary}" for name, target in TARGETS.items()]
    everything = f"  {'all':<{width}}  all of these"
    parser.epilog = "\n".join(["targets:", *lines, everything])
    parser.add_argument("target", metavar="TARGET", choices=[*TARGETS, "all"])
    for names in ("data sets", "methods"):
        text = f"{names}, in the order of the rows"
        parser.add_argument(f"--{names.replace(' ', '')}", nargs="+", metavar="NAME", help=text)
    text = "number of splits or simulations (default: as in the paper)"
    parser.add_argument("--seeds", type=int, metavar="N", help=text)
    output = Path("fairspan-reproduction")
    text = f"folder of the results and of the rows behind them (default: {output})"
    parser.add_argument("--output", type=Path, default=output, metavar="DIR", help=text)
    text = "number of processes (default: one for each core)"
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, metavar="N", help=text)
    for name, choices in CHOICES.items():
        option = f"--{name.replace('_', '-')}"
        text = f"{_SWITCHES[name]} (default: {choices[0]})"
        parser.add_argument(option, choices=choices, default=choices[0], help=text)
    # Its name before version 0.1.
    parser.add_argument(
        "--gap-centring",
        dest="gap_centering",
        choices=CHOICES["gap_centering"],
        default=argparse.SUPPRESS,
        help=argparse.SUPPRESS,
    )


def run(options: argparse.Namespace) -> int:
    """Reproduce the targets, reusing the rows of earlier runs."""
    chosen = list(TARGETS) if options.target == "all" else [options.target]
    try:
        check_integer("workers", options.workers, 1)
        request = _request(options)
        requests = list(_fitting(chosen, request))
        check_writable(options.output)
    except (ValueError, TypeError) as error:
        raise UsageError(str(error)) from error
    try:
        _check_tools(chosen)
        tasks = {name: TARGETS[name].tasks(asked) for name, asked in requests}
        check_available(_needed(tasks, options.output))
        for name, asked in requests:
            label = f"reproduce {name}"
            rows = run_tasks(tasks[name], options.output, workers=options.workers, label=label)
            for path in TARGETS[name].write(rows, asked):
                print(path)
    except KeyboardInterrupt:
        return _stopped("interrupted; the same command continues", INTERRUPTED)
    except BrokenProcessPool:
        return _stopped("a worker was killed; the same command continues", FAILED)
    return OK


def _request(options: argparse.Namespace) -> Request:
    if options.seeds is not None:
        check_integer("seeds", options.seeds, 1)
    for name in ("datasets", "methods"):
        given = getattr(options, name) or []
        twice = [value for i, value in enumerate(given) if value in given[:i]]
        if twice:
            raise ValueError(f"{name}: {twice[0]!r} is given twice; name each only once.")
    return Request(
        output=options.output,
        settings=Settings(**{name: getattr(options, name) for name in CHOICES}),
        datasets=options.datasets,
        methods=options.methods,
        seeds=options.seeds,
    )


def _fitting(chosen: Sequence[str], request: Request) -> Iterator[tuple[str, Request]]:
    """Give each target the names it supports, and refuse names that no target supports."""
    known = [TARGETS[name] for name in chosen]
    _check_names("datasets", request.datasets, known)
    _check_names("methods", request.methods, known)
    for name in chosen:
        target = TARGETS[name]
        methods, datasets = request.methods if target.methods else None, None
        if request.datasets is not None and target.datasets:
            datasets = [known for known in request.datasets if known in target.datasets]
        asked = replace(request, datasets=datasets, methods=methods)
        # Of all targets, those that know none of the data sets have nothing to show.
        if asked.datasets != []:
            yield name, asked


def _check_names(option: str, given: Sequence[str] | None, targets: Sequence[Target]) -> None:
    if given is None:
        return
    allowed = list(dict.fromkeys(name for target in targets for name in getattr(target, option)))
    if not allowed:
        raise ValueError(f"{option}={list(given)}: this target does not take {option}.")
    for name in given:
        if name == FACES and FACES not in allowed:
            raise ValueError(
                f"datasets: {FACES!r} has a target of its own: fairspan reproduce {FACES}."
            )
        check_choice(option, name, allowed)


def _check_tools(chosen: Sequence[str]) -> None:
    if any(name.startswith("figure") for name in chosen):
        with matplotlib_for("Figures need"):
            import matplotlib  # noqa: F401


def _needed(tasks: dict[str, list[Task]], output: Path) -> list[str]:
    """Return the data sets that still have work to do."""
    left = (task.dataset for some in tasks.values() for task in pending(some, output))
    return list(dict.fromkeys(name for name in left if name is not None))


def _stopped(text: str, code: int) -> int:
    print(text, file=sys.stderr)
    return code
