"""The house of CONTRIBUTING.md stands: files import from their own row of its table and above."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "fairspan"

DOWNWARDS = {
    ("moments.group_moments", "tables.dask"): "from_arrays takes Dask arrays, if they are given",
    (
        "estimators.projecting",
        "tables.dask",
    ): "fit and transform take Dask arrays, if they are given",
    ("estimators.wide", "tables.dask"): "the same, by products",
    (
        "estimators.export",
        "storage.model_file",
    ): "save is a method, and a file knows every estimator",
    ("ground.archive", "__init__"): "a file names the version that wrote it",
    ("report._build", "__init__"): "a page names the version that made it",
    ("storage.model_file", "__init__"): "the public estimators are those that a file may hold",
    ("frontier.result", "plotting"): "plot is a method, and needs an extra",
    ("downstream.result", "plotting"): "plot is a method, and needs an extra",
}
"""Imports inside functions that reach below, and why."""

NOT_THROUGH_THE_DOOR = {
    ("estimators.convex", "solve_conic"): "a program over matrices, no function of group errors",
    ("estimators.convex", "solve_isometric_admm"): "the same program, by splitting",
    ("convergence.history", "solve_subgradient"): "looks at every iterate of the paper's algorithm",
    ("estimators.robust", "solve_greedy"): "solves a problem a component, each through the door",
    ("selection.evaluate", "solve_greedy"): "the same, on the training part of a split",
    ("products.mixtures", "find"): "asks which pieces meet at an answer that the door gave",
    ("products.mixtures", "plain_bound"): "asks a lifted problem, which no solver may look at",
    ("selection.grid", "follow"): "follows one curve through a whole grid, and proves it by lines",
}
"""Solvers that are called other than by fairspan.solvers.solve, and why."""


@cache
def layers() -> list[list[str]]:
    """Rows of the table, as modules and packages."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`[^|]*) \| [^|]* \|$", text, flags=re.M)
    return [
        [name.strip("/").removesuffix(".py").replace("/", ".") for name in re.findall("`(.*?)`", r)]
        for r in rows
    ]


def modules() -> dict[str, Path]:
    """Name a package by its folder, and the whole by its __init__."""
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)
        found[name] = path
    return found


MODULES = modules()


def place(module: str) -> int:
    """The row of a module: the one that names it, or the nearest folder around it."""
    parts = module.split(".")
    for depth in range(len(parts), 0, -1):
        for row, names in enumerate(layers()):
            if ".".join(parts[:depth]) in names:
                return row
    raise AssertionError(f"{module} is in no row of CONTRIBUTING.md")


def imports(path: Path) -> Iterator[tuple[str, bool]]:
    """Give the modules of the package that a file imports, and whether inside a function."""
    todo: list[tuple[ast.AST, bool]] = [(ast.parse(path.read_text(encoding="utf-8")), False)]
    while todo:
        node, inside = todo.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            if node.module.split(".")[0] == "fairspan":
                yield from ((target(node.module, alias.name), inside) for alias in node.names)
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names if alias.name.split(".")[0] == "fairspan"]
            yield from ((target(name, ""), inside) for name in names)
        inside = inside or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        todo += [(child, inside) for child in ast.iter_child_nodes(node)]


def target(module: str, name: str) -> str:
    """What ``from module import name`` imports: a module of that name, or the module itself."""
    base = module.removeprefix("fairspan").strip(".")
    full = f"{base}.{name}".strip(".")
    return full if full in MODULES else base or "__init__"


def test_the_table_names_every_file_and_folder_once():
    named = [name for row in layers() for name in row if "." not in name]
    there = {path.stem for path in SOURCE.iterdir() if path.suffix == ".py" or path.is_dir()}
    assert sorted(named) == sorted(there - {"__pycache__"})
    assert {name for row in layers() for name in row} <= set(MODULES)


def test_files_import_from_their_own_row_and_above():
    below = [
        f"{name} imports {other}"
        for name, path in MODULES.items()
        for other, inside in imports(path)
        if not inside and place(other) > place(name)
    ]
    assert below == []


def test_imports_inside_functions_that_reach_below_are_listed():
    below = {
        (name, other)
        for name, path in MODULES.items()
        for other, inside in imports(path)
        if inside and place(other) > place(name)
    }
    assert below == set(DOWNWARDS)


def test_no_files_import_each_other():
    graph = {
        name: {other for other, inside in imports(path) if not inside and other != name}
        for name, path in MODULES.items()
    }
    TopologicalSorter(graph).prepare()


def solver_functions() -> set[str]:
    """Functions of the solvers' folder that minimise: by their name, or what they take."""
    found = set()
    for path in (SOURCE / "solvers").rglob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef):
                takes = {argument.arg for argument in node.args.args}
                minimises = "objective" in takes and takes & {"problem", "curve"}
                if node.name.startswith("solve") or minimises:
                    found.add(node.name)
    return found - {"solve"}


def test_solvers_are_called_through_their_one_door():
    solvers, calls = solver_functions(), set()
    assert {"solve_boundary", "solve_newton", "solve_cutting_planes", "follow"} <= solvers
    for name, path in MODULES.items():
        if name.split(".")[0] == "solvers":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module.startswith("fairspan.solvers"):
                names = {alias.name for alias in node.names}
                modules = {f"{node.module}.{one}".removeprefix("fairspan.") for one in names}
                assert not modules & set(MODULES), f"{name} imports a module of solvers"
                calls |= {(name, one) for one in names & solvers}
            elif isinstance(node, ast.Import):
                assert not any(alias.name.startswith("fairspan.solvers") for alias in node.names)
    assert calls == set(NOT_THROUGH_THE_DOOR)
