from __future__ import annotations

import pytest

from tests.datasets.server import serving


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with serving() as running:
        yield running
