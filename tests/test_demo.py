"""The demo does the whole job, from tables to a report."""

from __future__ import annotations

import pytest

from fairspan.cli import main


def test_the_demo_prints_draws_and_reports(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    pytest.importorskip("bokeh")
    picture, page = tmp_path / "demo.png", tmp_path / "demo.html"
    assert main(["demo", "--picture", str(picture), "--report", str(page)]) == 0
    printed = capsys.readouterr().out
    told = "With 3 components, PCA reconstructs malignant 21 % worse than benign."
    assert told in printed
    assert printed.rstrip().endswith(str(page))
    assert picture.stat().st_size > 10_000
    text = page.read_text(encoding="utf-8").replace("&nbsp;", " ")
    assert told in text
