"""Tables are reduced to moments as they are read: no piece shows, and no row is kept."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from fairspan import GroupMoments
from fairspan.sources import moments_from_files
from fairspan.tables import columns
from tests.sources.tables import assert_same_route

pd = pytest.importorskip("pandas")

LABELS = {
    "text": ["a", "b", "b"],
    "whole": [1, -2, 3],
    "half": [0.5, 1.5, 1.5],
    "zeros": ["007", "7", "8"],
    "truth": [True, False, True],
}


@pytest.fixture
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.standard_normal((90, 3)).round(6), columns=["x", "y", "z"])
    frame["kind"] = rng.choice(["p", "q", "r"], 90)
    frame["w"] = rng.integers(0, 3, 90).astype(float)
    for name, labels in LABELS.items():
        frame[name] = [labels[i] for i in rng.integers(0, 3, 90)]
    frame.loc[[4, 50], "y"] = np.nan
    frame.loc[70, "kind"] = None
    return frame


@pytest.mark.parametrize("ending", ["csv", "parquet", "feather"])
@pytest.mark.parametrize("label", LABELS)
def test_pieces_give_the_moments_and_the_labels_of_the_library(
    ending, label, frame, fairspan, folder, monkeypatch
):
    monkeypatch.setattr(columns, "batch_rows", lambda n: 7)
    path = folder / f"t.{ending}"
    {"csv": frame.to_csv, "parquet": frame.to_parquet}.get(ending, frame.to_feather)(
        path, **({"index": False} if ending == "csv" else {})
    )
    rest = " ".join(name for name in LABELS if name != label)
    roles = f"-s {label} --drop {rest} --weight w --one-hot kind"
    answer = fairspan(f"moments {path.name} {roles} --missing drop-rows -o m.npz --json")
    assert answer.code == 0, answer
    assert "3 of 90 rows left out: missing values in 'y' (2), 'kind' (1)" in str(answer.json)
    found = GroupMoments.load("m.npz")
    expected = moments_from_files(
        path, label, ["x", "y", "z", "kind"], weight="w", one_hot=["kind"], missing="drop_rows"
    )
    assert_same_route(found, expected)
    assert [type(one) for one in found.labels] == [type(one) for one in expected.labels]
    assert found.dropped_rows == expected.dropped_rows == 3


def test_words_for_missing_values_are_no_group(refused, folder):
    (folder / "t.csv").write_text("x,y,g\n1,2,a\n2,2,NA\n4,1,b\n")
    assert "'g' (1) of 3 rows" in refused("moments t.csv -s g -o m.npz")
    with pytest.raises(ValueError, match=r"missing values in 'g' \(1\) .* If 'NA' is a label"):
        moments_from_files("t.csv", "g")


def test_nan_is_no_group_in_a_parquet_table_either(refused, folder):
    frame = pd.DataFrame({"x": [1.0, 2, 4], "y": [2.0, 2, 1], "g": [1.0, np.nan, 2.0]})
    frame.to_parquet("t.parquet")
    assert "'g' (1) of 3 rows" in refused("moments t.parquet -s g -o m.npz")


@pytest.mark.skipif(sys.platform == "win32", reason="needs resource")
def test_memory_does_not_grow_with_the_table(folder):
    program = (
        "import resource, sys\n"
        "from fairspan.cli import main\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "code = main(['moments', 't.npy', '-s', '0', '-o', 'm.npz', '--json'])\n"
        "after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "sys.exit(code or (after - before) * (1 if sys.platform == 'darwin' else 1024) > 240e6)\n"
    )
    # Pages of the file that were read may count, so that copies of it must show beyond them.
    table = np.lib.format.open_memmap("t.npy", mode="w+", dtype=np.uint8, shape=(2_000_000, 20))
    table[:] = np.random.default_rng(0).integers(0, 2, (1000, 20)).repeat(2000, axis=0)
    del table
    assert subprocess.run([sys.executable, "-c", program], timeout=120).returncode == 0
