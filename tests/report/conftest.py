"""A browser for the pages, and the reports that the tests share."""

from __future__ import annotations

import os
import shutil

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from fairspan import report

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ARGUMENTS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
HOSTILE = "<img src=x onerror=alert(1)>"


def chromium() -> str:
    """The browser of this machine; without one the tests are skipped, or fail where they must."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        if os.environ.get("FAIRSPAN_REQUIRE_BROWSER") == "1":
            pytest.fail("FAIRSPAN_REQUIRE_BROWSER=1, but there is no Chromium on the path.")
        pytest.skip("needs Chromium: install the package chromium, or run `make engines`")
    return found


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    executable = chromium()
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as running:
        started = running.chromium.launch(executable_path=executable, args=ARGUMENTS)
        yield started
        started.close()


@pytest.fixture(scope="session")
def cancer():
    data = load_breast_cancer()
    return data.data, data.target_names[data.target], data.feature_names.tolist()


@pytest.fixture(scope="session")
def two_groups(cancer):
    X, groups, names = cancer
    return report.build(
        X,
        sensitive_features=groups,
        feature_names=names,
        n_components=3,
        radius=0.1,
        standardize=True,
        max_components=3,
        n_bootstrap=50,
        title="Breast cancer",
    )


def many_rows():
    """Twelve groups with awkward names, and features with worse ones."""
    names = [HOSTILE, "</script><script>alert(2)</script>", "$$x^2$$", "c & d", "very long " * 12]
    names += [f"group {a}" for a in range(7)]
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 12, 1200)
    X = rng.normal(size=(1200, 6)) @ rng.normal(size=(6, 6))
    X *= rng.uniform(0.5, 1.6, (12, 6))[codes]
    features = [f"<b>feature {j}</b>" for j in range(5)] + ["long name " * 10]
    return X, np.array(names, dtype=object)[codes], features


@pytest.fixture(scope="session")
def many_groups():
    X, groups, names = many_rows()
    return report.build(
        X,
        sensitive_features=groups,
        feature_names=names,
        standardize=True,
        n_components=2,
        max_components=2,
        n_bootstrap=50,
        title=HOSTILE,
    )


@pytest.fixture(scope="session")
def many_features():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(90, 500)) * np.geomspace(3, 0.1, 500)
    options = {"n_components": 1, "max_components": 1, "n_bootstrap": 20}
    return report.build(X, sensitive_features=["a", "b", "b"] * 30, **options)
