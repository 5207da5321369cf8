"""Targets of reproduction: their tasks, and their files from rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from fairspan.experiments import curves, outputs, toy, trials
from fairspan.experiments.comparison import SPLITS
from fairspan.experiments.methods import TITLES
from fairspan.experiments.outputs import Request
from fairspan.experiments.runner import Task
from fairspan.experiments.sources import FACES, TABLES
from fairspan.experiments.store import Row


class Target(NamedTuple):
    """A table or figure.

    Attributes
    ----------
    summary : str
        One line for the help.
    datasets, methods : tuple of str
        What may be chosen; empty where there is no choice.
    tasks : callable
        From a request to tasks.
    write : callable
        From rows and a request to files.
    """

    summary: str
    datasets: tuple[str, ...]
    methods: tuple[str, ...]
    tasks: Callable[[Request], list[Task]]
    write: Callable[[list[Row], Request], list[Path]]


Case = tuple[str, str, tuple[object, ...], str | None]
"""The name of a file, a batch, the arguments of the function that makes the rows, a data set."""


def _tasks(
    experiment: str, function: Callable[..., list[Row]], request: Request, cases: Iterable[Case]
) -> list[Task]:
    folder = f"{experiment}-{request.settings.key}"
    return [
        Task(f"{folder}/{file}", batch, function, arguments, dataset)
        for file, batch, arguments, dataset in cases
    ]


def _split_tasks(
    experiment: str,
    function: Callable[..., list[Row]],
    request: Request,
    datasets: Sequence[str] = TABLES,
) -> list[Task]:
    """Make a task for each data set, split and method; a split's methods are one batch."""
    cases: list[Case] = [
        (f"{one}/{seed}-{name}", f"{one}-{seed}", (one, seed, name, request.settings), one)
        for one in request.datasets or datasets
        for seed in range(request.seeds or SPLITS)
        for name in request.method_names
    ]
    return _tasks(experiment, function, request, cases)


_score_tasks = partial(_split_tasks, "scores", trials.scores)
_leakage_tasks = partial(_split_tasks, "leakage", trials.leakage)


def _face_tasks(request: Request) -> list[Task]:
    """Make the tasks of the faces: centred, not scaled, two folds, 500 steps of descent."""
    settings = replace(request.settings, n_folds=2, scale=False, descent_steps=500)
    return _score_tasks(replace(request, settings=settings), [FACES])


_ON_FACES = ("pca", "rfpca", "fairpca")
"""Methods with claims about faces: the paper has no figures of CFPCA there."""


def _claim_tasks(request: Request) -> list[Task]:
    """Make the tasks behind all tables; their rows are shared with the targets of the tables."""
    names = request.datasets or (*TABLES, FACES)
    tables = [name for name in names if name != FACES]
    faces = replace(request, datasets=None, methods=_ON_FACES)
    tasks = _face_tasks(faces) if FACES in names else []
    asked = replace(request, datasets=tables)
    return [*_score_tasks(asked), *_leakage_tasks(asked), *tasks] if tables else tasks


def _size_tasks(request: Request) -> list[Task]:
    names = request.datasets or (*TABLES, FACES)
    cases = ((name, name, (name, 0, request.settings), name) for name in names)
    return _tasks("sizes", trials.size, request, cases)


def _toy_tasks(request: Request) -> list[Task]:
    arrows = ((source, "toy", (source, 0), None) for source in ("population", "sample"))
    points = _tasks("toy", toy.points, request, [("points", "toy", (0,), None)])
    return [*points, *_tasks("toy", toy.arrows, request, arrows)]


def _pareto_tasks(request: Request) -> list[Task]:
    cases = (
        (f"{name}/{method}", name, (name, method, request.settings), name)
        for name in request.datasets or curves.PARETO_TABLES
        for method in curves.PARETO_METHODS
    )
    return _tasks("pareto", curves.pareto, request, cases)


def _component_tasks(request: Request) -> list[Task]:
    cases = (
        (f"{name}/{i}", f"{name}-{i}", (name, i, request.settings), name)
        for name in request.datasets or curves.COMPONENT_TABLES
        for i in range(request.seeds or curves.SPLITS)
    )
    return _tasks("components", curves.components, request, cases)


def _radius_tasks(request: Request) -> list[Task]:
    numbers = range(request.seeds or toy.SIMULATIONS)
    cases = ((str(i), str(i), (i, request.settings), None) for i in numbers)
    return _tasks("radius", toy.radius, request, cases)


_METHODS = tuple(TITLES)
TARGETS = {
    "table-datasets": Target(
        "sizes of the data sets", (*TABLES, FACES), (), _size_tasks, outputs.write_sizes
    ),
    "table1": Target(
        "out-of-sample ABDiff and ARE",
        TABLES,
        _METHODS,
        _score_tasks,
        outputs.write_table1,
    ),
    "table-insample": Target(
        "in-sample ABDiff and ARE", TABLES, _METHODS, _score_tasks, outputs.write_in_sample
    ),
    "table-leakage": Target(
        "Delta F_Lin: how well a linear rule tells the projected groups apart",
        TABLES,
        _METHODS,
        _leakage_tasks,
        outputs.write_leakage,
    ),
    "lfw": Target("ABDiff and ARE on faces", (), _METHODS, _face_tasks, outputs.write_faces),
    "claims": Target(
        "how often RFPCA is the best: the paper's claims counted on all tables",
        (*TABLES, FACES),
        (),
        _claim_tasks,
        outputs.write_claims,
    ),
    "figure1": Target("directions on two Gaussian groups", (), (), _toy_tasks, outputs.write_toy),
    "figure-pareto": Target(
        "ABDiff against ARE over each method's grid",
        TABLES,
        (),
        _pareto_tasks,
        outputs.write_pareto,
    ),
    "figure-components": Target(
        "errors against the number of components",
        TABLES,
        (),
        _component_tasks,
        outputs.write_components,
    ),
    "figure-radius": Target(
        "scores against the minority's radius", (), (), _radius_tasks, outputs.write_radius
    ),
}
"""Targets by name, in the order of ``all``."""
