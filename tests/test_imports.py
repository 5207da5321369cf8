"""Importing fairspan brings no extra along and is quick; what is used later is imported later."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import import_module

import pytest

from tests import public_names

EXTRAS = (
    "bokeh",
    "clarabel",
    "dask",
    "distributed",
    "matplotlib",
    "onnxruntime",
    "pandas",
    "polars",
    "pooch",
    "pyarrow",
    "pyspark",
    "skl2onnx",
)
PARTS = ("convergence", "datasets", "plotting", "report", "scorers", "sources")


def loaded_after(statement: str) -> set[str]:
    """Modules that a statement imports in a new process where scikit-learn is there already."""
    program = (
        "import json, sys\n"
        "import sklearn.decomposition\n"
        "before = set(sys.modules)\n"
        f"{statement}\n"
        "print(json.dumps(sorted(set(sys.modules) - before)))\n"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120
    )
    return set(json.loads(answer.stdout))


@pytest.mark.parametrize(
    "statement",
    ["import fairspan", f"from fairspan import {', '.join(PARTS)}", "import fairspan.cli"],
)
def test_no_extra_is_imported(statement):
    names = {name.partition(".")[0] for name in loaded_after(statement)}
    assert "fairspan" in names
    assert not names & set(EXTRAS)


def test_parts_are_imported_when_they_are_used():
    found = loaded_after("import fairspan")
    assert not found & {f"fairspan.{name}" for name in PARTS}
    assert "fairspan.report" in loaded_after("import fairspan; fairspan.report")


def test_all_public_names_are_there():
    import fairspan

    assert set(dir(fairspan)) == {*fairspan.__all__, "__version__"}
    assert all(getattr(fairspan, name) is not None for name in fairspan.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = fairspan.nothing


@pytest.mark.parametrize(
    "name", [*PARTS, "inference", "metrics", "objectives", "problem", "solvers"]
)
def test_public_modules_show_public_names_only(name):
    module = import_module(f"fairspan.{name}")
    shown = {part for part in dir(module) if not part.startswith("__")}
    assert shown == set(module.__all__)


def test_public_names_are_those_written_down():
    assert public_names.text() == public_names.FILE.read_text(encoding="utf-8"), (
        "Public names or signatures changed. If that is intended, run `python -m "
        "tests.public_names`, look at the difference, and say it in CHANGELOG.md."
    )
