"""The demo does the whole job, from tables to a report."""

from __future__ import annotations

import html

import pytest

from fairspan.cli import main


def test_the_demo_prints_draws_and_reports(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    pytest.importorskip("bokeh")
    picture, page, table = (tmp_path / name for name in ("demo.png", "demo.html", "adult.csv"))
    files = ["--picture", str(picture), "--report", str(page), "--table", str(table)]
    assert main(["demo", *files]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    told = "PCA serves male worse than female (difference 0.39, 0.24 to 0.53; p < 0.001)."
    assert f"{told} RobustFairPCA reduces the difference on new rows." in printed
    assert "Another projection serves every group better" in printed
    largest = (
        'RobustFairPCA(disparity="largest") narrows the gap from 16 % to 11 % for 0.3 % more '
        "total error."
    )
    assert largest in printed
    assert printed.endswith(str(page))
    assert picture.stat().st_size > 10_000
    assert table.read_text(encoding="utf-8").startswith("age,")
    text = page.read_text(encoding="utf-8").replace("&nbsp;", " ")
    assert html.escape(told) in text
