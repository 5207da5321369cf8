"""The demo does the whole job, from tables to a report."""

from __future__ import annotations

import pytest

from fairspan.cli import main


def test_the_demo_prints_draws_and_reports(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    pytest.importorskip("bokeh")
    picture, page = tmp_path / "demo.png", tmp_path / "demo.html"
    assert main(["demo", "--picture", str(picture), "--report", str(page)]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    told = "No difference between groups is shown (malignant minus benign: 1.8, -0.4 to 4.1; p = "
    told += "0.10)."
    assert f"{told} Whether RobustFairPCA changes it is not shown on new rows." in printed
    fitted = "With 3 components, PCA reconstructs malignant 21 % worse than benign on the fitted"
    assert fitted in printed
    assert printed.endswith(str(page))
    assert picture.stat().st_size > 10_000
    text = page.read_text(encoding="utf-8").replace("&nbsp;", " ")
    assert told in text
