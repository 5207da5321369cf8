"""Many sites: moments saved apart and added anywhere give the fit on all rows."""

from __future__ import annotations

import re
import subprocess
import sys

import numpy as np
import pytest

from fairspan import GroupMoments, RobustFairPCA
from fairspan.sources import moments_from_dask, moments_from_files, moments_from_spark

pd = pytest.importorskip("pandas")


@pytest.fixture
def sites():
    rng = np.random.default_rng(3)
    frames = []
    for site, n_rows in enumerate([500, 40, 300, 7, 1200, 90, 33]):
        X = rng.standard_normal((n_rows, 6)) @ rng.standard_normal((6, 6)) + 50 * site
        frame = pd.DataFrame(X, columns=list("uvwxyz"))
        frame["sex"] = rng.choice(["f", "m"], n_rows)
        frame["weight"] = rng.integers(1, 4, n_rows)
        frames.append(frame)
    return frames


@pytest.mark.parametrize("standardize", [False, True])
def test_seven_sites_together_are_one_fit_on_all_rows(sites, standardize, tmp_path):
    for i, frame in enumerate(sites):
        frame.to_csv(tmp_path / f"site{i}.csv", index=False)
        moments = moments_from_files(tmp_path / f"site{i}.csv", "sex", weight="weight")
        moments.save(tmp_path / f"site{i}.moments", min_count=1)
    loaded = [GroupMoments.load(path) for path in sorted(tmp_path.glob("*.moments"))]
    assert len(loaded) == 7
    model = RobustFairPCA(2, standardize=standardize).fit_moments(sum(loaded))
    rows = pd.concat(sites)
    whole = RobustFairPCA(2, standardize=standardize).fit(
        rows[list("uvwxyz")], sensitive_features=rows["sex"], sample_weight=rows["weight"]
    )
    assert model.objective_ == pytest.approx(whole.objective_, rel=1e-10)
    # The basis and its signs are canonical, so components agree without a turn.
    assert model.components_ == pytest.approx(whole.components_, abs=1e-8)
    assert model.transform(rows[list("uvwxyz")]) == pytest.approx(
        whole.transform(rows[list("uvwxyz")]), abs=1e-6
    )
    assert model.feature_names_in_.tolist() == list("uvwxyz")


def test_other_columns_or_orders_are_refused_with_the_difference(sites):
    def moments(columns):
        return GroupMoments.from_arrays(sites[0][columns], sites[0]["sex"])

    with pytest.raises(ValueError, match=r"feature 1 is 'v' .* 'w' .* in a different order"):
        moments(["u", "v", "w"]) + moments(["u", "w", "v"])
    with pytest.raises(ValueError, match=r"Only on the left: 'v'; only on the right: 'x'"):
        moments(["u", "v"]) + moments(["u", "x"])
    with pytest.raises(ValueError, match=r"2 and of 3 .* Only on the left: none; .* 'w'"):
        moments(["u", "v"]) + moments(["u", "v", "w"])


def test_the_moments_of_a_group_of_one_row_are_that_row(sites):
    """What the guide warns of."""
    frame = sites[0][list("uvwxyz")]
    groups = ["only one"] + ["others"] * (len(frame) - 1)
    moments = GroupMoments.from_arrays(frame, groups)
    assert moments.means[0] == pytest.approx(frame.iloc[0].to_numpy())


def test_effective_sizes_are_those_of_kish(sites):
    frame = sites[0]
    moments = GroupMoments.from_arrays(
        frame[["u", "v"]], frame["sex"], sample_weight=frame["weight"]
    )
    for size, label in zip(moments.effective_sizes, moments.labels, strict=True):
        weight = frame.loc[frame["sex"] == label, "weight"].to_numpy()
        assert size == pytest.approx(weight.sum() ** 2 / (weight**2).sum())
    equal = GroupMoments.from_arrays(frame[["u", "v"]], frame["sex"])
    assert equal.effective_sizes.tolist() == equal.counts.tolist()


def test_the_package_imports_and_fits_where_no_engine_is():
    code = (
        "import sys\n"
        "for name in ('pyarrow', 'dask', 'distributed', 'pyspark'):\n"
        "    sys.modules[name] = None\n"
        "import fairspan\n"
        "import fairspan.sources\n"
        "X = [[0.0, 1.0], [2.0, 0.5], [1.0, 3.0]] * 10\n"
        "fairspan.RobustFairPCA(1).fit(X, sensitive_features=[0, 1, 1] * 10)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("package", "call", "extra"),
    [
        ("pyarrow", lambda path: moments_from_files(path.with_suffix(".parquet")), "files"),
        ("dask", lambda path: moments_from_files(path, engine="dask"), "dask"),
        ("pyarrow", moments_from_dask, "dask"),
        ("pyspark.sql", lambda path: moments_from_files(path, engine="spark"), "spark"),
        ("pyspark.sql", moments_from_spark, "spark"),
    ],
)
def test_a_missing_package_names_the_extra(package, call, extra, tmp_path, monkeypatch):
    (tmp_path / "t.csv").write_text("x,y\n1,2\n2,3\n")
    (tmp_path / "t.parquet").touch()
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=re.escape(f'pip install "fairspan[{extra}]"')):
        call(tmp_path / "t.csv")
