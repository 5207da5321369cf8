"""Normal use raises no warning: every flow runs in a new interpreter where warnings are errors."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
START = """
import warnings
import numpy as np
from sklearn.datasets import load_breast_cancer
import fairspan
from fairspan import RobustFairPCA, fairness_frontier
data = load_breast_cancer()
X, groups = data.data, data.target_names[data.target]
"""
FLOWS = {
    "pandas and polars": """
import pandas as pd
frame = pd.DataFrame(X, columns=data.feature_names)
labels = pd.Series(groups, dtype="category")
pca = RobustFairPCA(3, standardize=True).set_output(transform="pandas")
assert pca.fit_transform(frame, sensitive_features=labels).shape == (569, 3)
fairspan.metrics.by_group(pca, frame, labels)
import polars as pl
frame = pl.DataFrame(X, schema=[str(name) for name in data.feature_names])
pca = RobustFairPCA(3, standardize=True).set_output(transform="polars")
assert pca.fit_transform(frame, sensitive_features=pl.Series(groups)).shape == (569, 3)
""",
    "pipeline and search": """
import sklearn
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
sklearn.set_config(enable_metadata_routing=True)
model = make_pipeline(StandardScaler(), RobustFairPCA(3), LogisticRegression())
model.fit(X, data.target, sensitive_features=groups)
model.predict(X)
search = GridSearchCV(
    make_pipeline(StandardScaler(), RobustFairPCA(2)),
    {"robustfairpca__fairness_weight": [0.0, 1.0]},
    scoring=fairspan.scorers.total_plus_gap,
    cv=2,
)
search.fit(X, sensitive_features=groups)
fairspan.RobustFairPCACV(2, cv=2, standardize=True).fit(X, sensitive_features=groups)
""",
    "every method, and files": """
methods = [fairspan.RobustFairPCA(3), fairspan.FairPCA(3), fairspan.NullSpaceFairPCA(3)]
methods += [fairspan.ConvexFairPCA(3), fairspan.ExactlyFairPCA(3, max_gap=2.0)]
fairspan.compare(methods, X, groups, standardize=True)
print(fairspan.advise(X, groups, n_components=3, random_state=0))
pca = RobustFairPCA(3, standardize=True).fit(X, sensitive_features=groups)
pca.save("model.npz")
again = fairspan.load_model("model.npz")
assert (again.transform(X) == pca.transform(X)).all()
moments = sum(fairspan.GroupMoments.from_arrays(X[i::3], groups[i::3]) for i in range(3))
moments.save("moments.npz")
RobustFairPCA(3).fit_moments(fairspan.GroupMoments.load("moments.npz").scaled(moments.variances))
fairspan.certify(pca.components_, moments.scaled(pca.scale_), fairness_weight=1.0, radius=0.1)
import pandas as pd
pd.DataFrame(X, columns=[f"x{j}" for j in range(30)]).assign(g=groups).to_parquet("t.parquet")
fairspan.sources.moments_from_files("t.parquet", "g")
""",
    "frontier, plot and report": """
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # An old matplotlib asks new libraries for what they retire.
    import matplotlib.pyplot
matplotlib.use("Agg")
frontier = fairness_frontier(X, 3, sensitive_features=groups, standardize=True)
frontier.plot()
pca = RobustFairPCA(3, standardize=True).fit(X, sensitive_features=groups)
fairspan.plotting.plot_group_errors(pca, X, groups, n_bootstrap=20)
fairspan.plotting.plot_loadings(pca)
fairspan.report.write_report(
    "report.html", X, sensitive_features=groups, standardize=True, n_components=2,
    max_components=2)
""",
}

NEEDED = {
    "pandas and polars": ["pandas", "polars"],
    "every method, and files": ["pandas", "pyarrow"],
    "frontier, plot and report": ["matplotlib", "bokeh"],
}


def run_where_warnings_are_errors(program: str, folder: Path) -> None:
    answer = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert answer.returncode == 0, answer.stderr
    assert "Warning" not in answer.stderr


@pytest.mark.parametrize("flow", FLOWS)
def test_the_flow_raises_no_warning(flow, tmp_path):
    for needed in NEEDED.get(flow, []):
        pytest.importorskip(needed)
    run_where_warnings_are_errors(START + FLOWS[flow], tmp_path)


def test_the_readmes_first_example_raises_no_warning(tmp_path):
    text = (ROOT / "README.md").read_text()
    first = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    assert first is not None
    run_where_warnings_are_errors(first[1], tmp_path)


def test_the_check_notices_a_warning(tmp_path):
    with pytest.raises(AssertionError, match="NoGroupsWarning"):
        run_where_warnings_are_errors(f"{START}RobustFairPCA(2).fit(X)", tmp_path)
