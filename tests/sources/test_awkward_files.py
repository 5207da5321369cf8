"""Files as people have them: an index, labels in two places, other encodings, gaps."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fairspan import GroupMoments
from fairspan.sources import moments_from_files
from tests.sources.tables import assert_same_route


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {"x": rng.standard_normal(40), "y": rng.standard_normal(40), "g": ["u", "v"] * 20}
    )


def in_memory(frame: pd.DataFrame) -> GroupMoments:
    return GroupMoments.from_arrays(frame[["x", "y"]], frame["g"])


def test_the_index_of_a_frame_is_no_feature_unless_it_is_named(frame, tmp_path):
    some = frame[frame["x"] > -1]
    some[:9].to_parquet(tmp_path / "a.parquet")
    some[9:].reset_index(drop=True).to_parquet(tmp_path / "b.parquet")
    for paths in (tmp_path, [tmp_path / "b.parquet", tmp_path / "a.parquet"]):
        assert_same_route(moments_from_files(paths, "g"), in_memory(some))
    named = frame.set_index(pd.Index(np.arange(40) % 3, name="id"))
    named.to_parquet(tmp_path / "named.parquet")
    found = moments_from_files(tmp_path / "named.parquet", "g")
    assert found.feature_names == ("x", "y")
    found = moments_from_files(tmp_path / "named.parquet", "g", ["x", "id"])
    assert found.feature_names == ("x", "id")
    found = moments_from_files(tmp_path / "named.parquet", "id", drop=["g"])
    assert found.labels == (0, 1, 2)


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_folder_and_a_column_must_not_contradict_each_other(frame, kind, tmp_path):
    write = {"parquet": pd.DataFrame.to_parquet, "csv": pd.DataFrame.to_csv}[kind]
    frame["n"] = frame["g"].map({"u": 1, "v": 2})
    for (g, n), rows in frame.groupby(["g", "n"]):
        folder = tmp_path / f"g={g}" / f"n={n}"
        folder.mkdir(parents=True)
        write(rows, folder / f"p.{kind}", index=False)
    found = moments_from_files(tmp_path, ["g", "n"])
    assert_same_route(found, GroupMoments.from_arrays(frame[["x", "y"]], frame[["g", "n"]]))
    write(frame, tmp_path / "g=u" / "n=1" / f"p.{kind}", index=False)
    text = rf"p\.{kind}': its column '{{}}' holds other values than its folder, {{}} says"
    with pytest.raises(ValueError, match=text.format("g", "g=u,")):
        moments_from_files(tmp_path, "g")
    with pytest.raises(ValueError, match=text.format("n", "n=1,")):
        moments_from_files(tmp_path, features=["x", "n"])
    # The pattern means the files themselves, so that the column alone counts.
    found = moments_from_files(str(tmp_path / "*" / "*" / f"*.{kind}"), "g", ["x", "y"])
    assert found.counts.tolist() == [20, 40]


def test_a_file_given_twice_is_refused_and_named(frame, tmp_path):
    frame.to_parquet(tmp_path / "p0.parquet")
    frame.to_parquet(tmp_path / "p1.parquet")
    for again in (tmp_path / "p0.parquet", str(tmp_path / ".." / tmp_path.name / "*0.parquet")):
        with pytest.raises(ValueError, match=r"paths holds '.*p0\.parquet' twice"):
            moments_from_files([tmp_path, again], "g")
