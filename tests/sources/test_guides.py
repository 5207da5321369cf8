"""The guides' code runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("name", ["scale.md", "many-sites.md"])
def test_the_code_of_a_guide_runs(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", (DOCS / name).read_text(), re.M | re.S)
    assert blocks
    exec(compile("\n".join(blocks), name, "exec"), {})
