"""Files as people have them: an index, labels in two places, other encodings, gaps."""

from __future__ import annotations

import logging

import numpy as np
import pytest

from fairspan import GroupMoments
from fairspan.sources import moments_from_files
from tests.sources.tables import assert_same_route

pd = pytest.importorskip("pandas")


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


def test_the_nameless_index_of_a_csv_file_is_left_out_if_it_counts_the_rows(
    frame, tmp_path, caplog
):
    frame.to_csv(tmp_path / "t.csv")
    some = frame[frame["x"] > -1]
    some.to_csv(tmp_path / "some.csv")
    with caplog.at_level(logging.INFO, logger="fairspan"):
        assert_same_route(moments_from_files(tmp_path / "t.csv", "g"), in_memory(frame))
    assert "dropped the first column: it has no name and counts the rows" in caplog.text
    with pytest.raises(ValueError, match=r"column 1 of .* has no name and .* drop=\[''\], or list"):
        moments_from_files(tmp_path / "some.csv", "g")
    for options in ({"drop": [""]}, {"features": ["x", "y"]}):
        found = moments_from_files(tmp_path / "some.csv", "g", **options)
        assert_same_route(found, in_memory(some))


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
    text = rf"p\.{kind}': its column '{{}}' does not match its folder {{}}; rename"
    with pytest.raises(ValueError, match=text.format("g", "g=u")):
        moments_from_files(tmp_path, "g")
    with pytest.raises(ValueError, match=text.format("n", "n=1")):
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


@pytest.mark.parametrize("empty", ["", "NA"])
def test_columns_with_a_value_for_missing_ones_are_not_blamed(empty, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(f"x,y,g\n1,2,u\n{empty},4,v\n3,1,{empty}\n2,2,u\n")
    with pytest.raises(ValueError, match=r"t\.csv' has missing values in 'g' \(1\) of 4 rows\. L"):
        moments_from_files(path, "g", missing={"x": 0.0})
    found = moments_from_files(path, "g", missing={"x": 0.0, "g": "w"})
    assert found.labels == ("u", "v", "w")
    assert found.means[1].tolist() == [0.0, 4.0]
    for nothing in (None, np.nan):
        with pytest.raises(ValueError, match=r"missing=\{'x': .*\} puts a missing value in"):
            moments_from_files(path, "g", missing={"x": nothing})


def test_labels_of_text_files_are_filled_by_values_of_their_type(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,y,g,h\n1,2,1,4\n0,4,2,\n3,1,,5\n2,2,1,4\n")
    found = moments_from_files(path, "g", ["x", "h"], missing={"g": 9, "h": 0}, one_hot=["h"])
    assert found.labels == (1, 2, 9)
    assert found.feature_names == ("x", "h=0", "h=4", "h=5")
    pd.DataFrame({"x": [1.0, 2.0], "g": ["u", None]}).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(ValueError, match=r"missing=\{'g': 9\}: the column holds .*string; give"):
        moments_from_files(tmp_path / "t.parquet", "g", missing={"g": 9})


@pytest.mark.parametrize("header", ["x,y,g", "x,é,g"])
def test_text_in_another_encoding_is_refused_with_file_and_encoding(header, tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(f"{header}\n1,2,é\n3,4,v\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"t\.csv' is not text in utf-8; .* encoding='cp1252'"):
        moments_from_files(path, "g")
    assert moments_from_files(path, "g", encoding="latin-1").labels == ("v", "é")


def test_weights_that_are_no_numbers_are_refused(frame, tmp_path):
    frame.to_parquet(tmp_path / "t.parquet")
    with pytest.raises(ValueError, match=r"'g' \(.*string\). weight='g' must be a column of numb"):
        moments_from_files(tmp_path / "t.parquet", features=["x"], weight="g")


def test_labels_that_are_python_objects_are_refused_with_the_way_out(tmp_path):
    np.save(tmp_path / "X.npy", np.eye(2))
    np.save(tmp_path / "g.npy", np.array(["u", "v"], dtype=object))
    with pytest.raises(ValueError, match=r"g\.npy' cannot be read as .*labels\.astype\(str\)"):
        moments_from_files(tmp_path / "X.npy", str(tmp_path / "g.npy"))
