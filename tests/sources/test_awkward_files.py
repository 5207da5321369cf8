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
