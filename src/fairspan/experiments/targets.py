"""What can be reproduced: for each target its tasks, and its files from rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
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


def _split_tasks(
    experiment: str, function: Callable[..., list[Row]], datasets: Sequence[str], request: Request
) -> list[Task]:
    """Make a task for each data set, split and method; a split's methods are one batch."""
    folder = f"{experiment}-{request.settings.key}"
    return [
        Task(
            file=f"{folder}/{dataset}/{seed}-{name}",
            batch=f"{dataset}-{seed}",
            function=function,
            arguments=(dataset, seed, name, request.settings),
            dataset=dataset,
        )
        for dataset in datasets
        for seed in range(request.seeds or SPLITS)
        for name in request.method_names
    ]


def _score_tasks(request: Request) -> list[Task]:
    return _split_tasks("scores", trials.scores, request.datasets or TABLES, request)


def _leakage_tasks(request: Request) -> list[Task]:
    return _split_tasks("leakage", trials.leakage, request.datasets or TABLES, request)


def _face_tasks(request: Request) -> list[Task]:
    """Faces are centred but not scaled, with two folds and 500 steps of descent."""
    settings = replace(request.settings, n_folds=2, scale=False, descent_steps=500)
    return _split_tasks("scores", trials.scores, [FACES], replace(request, settings=settings))


def _size_tasks(request: Request) -> list[Task]:
    folder = f"sizes-{request.settings.key}"
    return [
        Task(f"{folder}/{name}", name, trials.size, (name, 0, request.settings), name)
        for name in request.datasets or (*TABLES, FACES)
    ]


def _toy_tasks(request: Request) -> list[Task]:
    folder = f"toy-{request.settings.key}"
    arrows = [
        Task(f"{folder}/{source}", "toy", toy.arrows, (source, 0))
        for source in ("population", "sample")
    ]
    return [Task(f"{folder}/points", "toy", toy.points, (0,)), *arrows]


def _pareto_tasks(request: Request) -> list[Task]:
    folder, settings = f"pareto-{request.settings.key}", request.settings
    return [
        Task(f"{folder}/{name}/{method}", name, curves.pareto, (name, method, settings), name)
        for name in request.datasets or curves.PARETO_TABLES
        for method in curves.PARETO_METHODS
    ]


def _component_tasks(request: Request) -> list[Task]:
    folder, settings = f"components-{request.settings.key}", request.settings
    return [
        Task(f"{folder}/{name}/{i}", f"{name}-{i}", curves.components, (name, i, settings), name)
        for name in request.datasets or curves.COMPONENT_TABLES
        for i in range(request.seeds or curves.SPLITS)
    ]


def _radius_tasks(request: Request) -> list[Task]:
    folder, settings = f"radius-{request.settings.key}", request.settings
    return [
        Task(f"{folder}/{i}", str(i), toy.radius, (i, settings))
        for i in range(request.seeds or toy.SIMULATIONS)
    ]


_METHODS = tuple(TITLES)
TARGETS = {
    "table-datasets": Target(
        "sizes of the data sets", (*TABLES, FACES), (), _size_tasks, outputs.write_sizes
    ),
    "table1": Target(
        "out-of-sample ABDiff and ARE, and the paper's claims counted",
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
