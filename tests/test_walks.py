"""A reader who follows a fit, or a report, through the code opens few files."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fairspan
from fairspan import RobustFairPCA, report
from fairspan.report._page import PANELS

ROOT = str(Path(fairspan.__file__).parent)
RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 6)) * np.repeat([[3.0], [1.0]], [80, 120], axis=0)
GROUPS = np.repeat(["a", "b"], [80, 120])


def walk(call: Callable[[], object]) -> set[str]:
    """Files of the package whose functions run; the first call is for imports."""
    seen: set[str] = set()

    def look(frame: Any, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(ROOT):
            seen.add(frame.f_code.co_filename)

    call()
    before = sys.getprofile()
    sys.setprofile(look)
    try:
        call()
    finally:
        sys.setprofile(before)
    return seen


def test_a_fit_of_two_groups_runs_through_few_files() -> None:
    files = walk(lambda: RobustFairPCA(3).fit(X, sensitive_features=GROUPS))
    assert len(files) <= 18, sorted(files)


def test_a_report_of_two_groups_runs_through_few_files(tmp_path: Path) -> None:
    pytest.importorskip("bokeh")

    def page() -> None:
        report.build(X, sensitive_features=GROUPS, max_components=2).write_html(
            tmp_path / "page.html"
        )

    # A panel is a file beside the way: nothing else leads through it.
    panels = {panel.__code__.co_filename for _, panel in PANELS.values()}
    files = walk(page) - panels
    assert len(files) <= 44, sorted(files)
