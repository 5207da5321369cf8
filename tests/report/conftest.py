"""A browser for the pages, and the reports that the tests share."""

from __future__ import annotations

import os
import shutil

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from fairspan import report
from fairspan.exceptions import SmallGroupWarning

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ARGUMENTS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
HOSTILE = "<img src=x onerror=alert(1)>"
SLIDERS = ("weight", "radius", "components")
SENTENCES = ("headline", "change", "fitted", "effect", "variance", "payers", "caveats", "proof")


def chromium() -> str:
    """The browser of this machine; without one the tests are skipped, or fail where they must."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        if os.environ.get("FAIRSPAN_REQUIRE_BROWSER") == "1":
            pytest.fail("FAIRSPAN_REQUIRE_BROWSER=1, but there is no Chromium on the path.")
        pytest.skip("needs Chromium: install the package chromium, or run `make engines`")
    return found


class Page:
    """An open report."""

    def __init__(self, browser, path, *, width=1280, **options):
        viewport = {"width": width, "height": 900}
        self.context = browser.new_context(viewport=viewport, offline=True, **options)
        self.troubles, self.requests = [], []
        self.tab = self.context.new_page()
        self.tab.on("pageerror", lambda error: self.troubles.append(str(error)))
        self.tab.on("dialog", lambda dialog: self.troubles.append(f"dialog {dialog.message}"))
        self.tab.on("console", self._listen)
        self.tab.on("request", lambda request: self.requests.append(request.url))
        self.tab.goto(path.as_uri())
        self.tab.wait_for_selector("html[data-ready=true]", timeout=30_000)

    def _listen(self, message):
        if message.type in ("error", "warning"):
            self.troubles.append(message.text)

    def move(self, name, place):
        script = "(e, v) => { e.value = v; e.dispatchEvent(new Event('input')); }"
        self.tab.locator(f"#{name}").evaluate(script, int(place))

    def text(self, name):
        return self.tab.locator(f"#{name}").inner_text()

    def summary(self):
        """All sentences, with plain spaces."""
        told = " ".join(filter(None, map(self.text, SENTENCES)))
        return told.replace("\N{NO-BREAK SPACE}", " ")

    def table(self):
        """Values of the table: groups, total, gap; PCA and chosen."""
        cells = "rows => rows.map(r => [...r.querySelectorAll('[data-value]')]"
        script = f"{cells}.map(c => Number(c.dataset.value)))"
        return np.array(self.tab.locator("#table tbody tr").evaluate_all(script))

    def rows(self):
        """The same by name, in the order shown."""
        names = self.tab.locator("#table tbody th").all_text_contents()
        return dict(zip(names, self.table().tolist(), strict=True))

    def column(self, source, name):
        """A column of a chart's source."""
        script = """([source, name]) => {
          for (const one of Bokeh.documents) {
            const found = one.get_model_by_name(source);
            if (found) return [...found.data[name]];
          }
        }"""
        return self.tab.evaluate(script, [source, name])

    def overflows(self):
        # Charts follow a new width a moment later.
        for _ in range(50):
            if self.tab.evaluate("document.documentElement.scrollWidth <= window.innerWidth"):
                return False
            self.tab.wait_for_timeout(100)
        return True


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    executable = chromium()
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as running:
        started = running.chromium.launch(executable_path=executable, args=ARGUMENTS)
        yield started
        started.close()


@pytest.fixture(scope="module")
def open_page(browser, tmp_path_factory):
    opened = []
    folder = tmp_path_factory.mktemp("reports")

    def start(made, **options):
        path = folder / f"{len(opened)}.html"
        made.write_html(path)
        opened.append(Page(browser, path, **options))
        return opened[-1]

    yield start
    for page in opened:
        page.context.close()


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
        title=HOSTILE,
    )


@pytest.fixture(scope="session")
def forty_groups():
    """Forty groups with long names and one of a single row, with few settings: they take time."""
    rng = np.random.default_rng(3)
    codes = np.append(rng.integers(0, 40, 1500), 40)
    X = rng.normal(size=(1501, 4)) * rng.uniform(0.6, 1.5, (41, 4))[codes]
    X[-1] *= 4
    sides = ("Saint", "Upper", "Lower", "North", "South", "Greater", "Mount", "Port")
    places = ("Pierre-et-Miquelon", "Canada West", "Saxony (district)", "Holland", "Manchester")
    names = np.array([f"{a} {b}" for a in sides for b in places] + ["Lone Rock Territory"])
    options = {"n_components": 1, "max_components": 1}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fairspan.report._settings._COARSE_WEIGHTS", (1.0,))
        patch.setattr("fairspan.report._settings._COARSE_RADII", 1)
        with pytest.warns(SmallGroupWarning, match="'Lone Rock Territory': 1"):
            return report.build(X, sensitive_features=names[codes], **options)


@pytest.fixture(scope="session")
def many_features():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(90, 500)) * np.geomspace(3, 0.1, 500)
    options = {"n_components": 1, "max_components": 1}
    return report.build(X, sensitive_features=["a", "b", "b"] * 30, **options)
