"""Every example runs without a warning and draws a figure, with the paper's data and without."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from tests.conftest import needs_paper_data

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.py"))


@pytest.fixture
def figures():
    """Figures drawn since the test began."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    pyplot.close("all")
    yield pyplot.get_fignums
    pyplot.close("all")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_on_built_in_data(path, figures, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FAIRSPAN_DATA", raising=False)
    runpy.run_path(str(path))
    assert figures() != []


@needs_paper_data
@pytest.mark.parametrize("name", ["credit", "faces"])
def test_an_example_runs_on_the_papers_data(name, figures, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    path = next(path for path in EXAMPLES if path.stem == name)
    runpy.run_path(str(path))
    assert capsys.readouterr().out.split()[0] in ("Default", "Faces")
    assert figures() != []
