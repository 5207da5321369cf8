"""Moments of files are those of the rows in memory, whatever the kind, the cut and the order."""

from __future__ import annotations

import gzip
import logging

import numpy as np
import pytest

from fairspan import GroupMoments, RobustFairPCA
from fairspan.sources import moments_from_files
from fairspan.tables import parts
from tests.sources.tables import (
    FEATURES,
    assert_same_route,
    in_memory,
    made_table,
    write_files,
)

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

KINDS = ["parquet", "feather", "arrow", "csv", "csv.gz"]


@pytest.fixture(scope="module")
def table():
    return made_table()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("batch_rows", [None, 1, 97])
def test_every_kind_of_file_and_batch_gives_the_moments_in_memory(
    table, kind, batch_rows, tmp_path
):
    table = table.slice(0, 90) if batch_rows == 1 else table
    paths = write_files(table, tmp_path, kind)
    for given in (paths, paths[::-1], tmp_path, str(tmp_path / "*")):
        found = moments_from_files(given, "sex", FEATURES, batch_rows=batch_rows)
        assert_same_route(found, in_memory(table, ["sex"]))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sensitive", [[], ["site"], ["old"], ["sex", "site", "old"]])
def test_groups_have_the_labels_of_a_frame_in_memory(table, kind, sensitive, tmp_path):
    write_files(table, tmp_path, kind)
    found = moments_from_files(tmp_path, sensitive, FEATURES, weight="weight")
    assert_same_route(found, in_memory(table, sensitive, "weight"))


def test_all_columns_are_features_but_those_with_another_part(table, tmp_path):
    path = write_files(table, tmp_path, "parquet", pieces=1)[0]
    found = moments_from_files(path, "sex", weight="weight", drop=["site", "old"])
    assert_same_route(found, in_memory(table, ["sex"], "weight"))


@pytest.mark.parametrize("key", ["sex", "site"])
def test_names_of_folders_are_columns(table, key, tmp_path):
    parquet.write_to_dataset(table, tmp_path, partition_cols=[key])
    found = moments_from_files(tmp_path, key, FEATURES)
    assert_same_route(found, in_memory(table, [key]))
    both = moments_from_files(tmp_path, ["old", key], FEATURES)
    assert_same_route(both, in_memory(table, ["old", key]))
    if key == "site":
        as_feature = moments_from_files(tmp_path, "sex", ["tiny", "site"])
        frame = table.to_pandas()
        expected = GroupMoments.from_arrays(frame[["tiny", "site"]], frame["sex"])
        assert_same_route(as_feature, expected)


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["u", "v"] * 10).dictionary_encode(),
        pd.Categorical(["u", "v"] * 10, categories=["v", "u", "never"]),
        pa.array([1.5, 2.5] * 10),
        pa.array([3, 4] * 10, pa.uint8()),
        pa.array([np.datetime64("2020-01-01", "us"), np.datetime64("2021-01-01", "us")] * 10),
        pa.array(["u", "v"] * 10, pa.large_string()),
    ],
    ids=lambda column: str(column.type if isinstance(column, pa.Array) else "categorical"),
)
def test_typed_labels_are_those_of_a_frame(column, tmp_path):
    table = pa.table({"x": np.arange(20.0), "y": np.arange(20.0) ** 2, "g": column})
    parquet.write_table(table, tmp_path / "t.parquet")
    frame = parquet.read_table(tmp_path / "t.parquet").to_pandas()
    expected = GroupMoments.from_arrays(frame[["x", "y"]], frame["g"])
    assert_same_route(moments_from_files(tmp_path / "t.parquet", "g"), expected)


def test_every_ending_is_documented():
    endings = {
        word for kind in parts.KINDS.values() for end in kind.endings for word in end[1:].split(".")
    }
    assert [word for word in endings if f"``.{word}``" not in moments_from_files.__doc__] == []


def test_a_matrix_file_names_its_columns_by_position(tmp_path):
    rng = np.random.default_rng(0)
    X, groups = rng.standard_normal((503, 4)) + 7, rng.integers(0, 3, 503)
    names, weight = np.array(["a", "b", "c"])[groups], rng.integers(1, 4, 503)
    for order in ("C", "F"):
        np.save(tmp_path / "X.npy", np.asarray(np.column_stack([X, groups]), order=order))
        by_column = moments_from_files(tmp_path / "X.npy", -1, batch_rows=100)
        # A matrix has one type for all columns; labels that are whole are whole numbers.
        assert_same_route(by_column, GroupMoments.from_arrays(X, groups))
        np.save(tmp_path / "again.npy", np.load(tmp_path / "X.npy"))
        some = moments_from_files([tmp_path / "X.npy", tmp_path / "again.npy"], 4, [2, 0])
        twice = np.vstack([X, X])[:, [2, 0]]
        assert_same_route(some, GroupMoments.from_arrays(twice, np.tile(groups, 2)))
    np.save(tmp_path / "X.npy", X.astype(np.float32))
    np.save(tmp_path / "groups.npy", names)
    np.save(tmp_path / "weight.npy", weight)
    beside = moments_from_files(
        tmp_path / "X.npy",
        str(tmp_path / "groups.npy"),
        weight=str(tmp_path / "weight.npy"),
        batch_rows=100,
    )
    single = X.astype(np.float32)
    assert_same_route(beside, GroupMoments.from_arrays(single, names, sample_weight=weight))
    # Without names, arrays can be transformed without a warning.
    RobustFairPCA(2).fit_moments(beside).transform(X)


def test_categories_become_features_of_zeros_and_ones(table, tmp_path):
    write_files(table, tmp_path, "parquet")
    write_files(table, tmp_path / "text", "csv")
    frame = table.to_pandas()
    dummies = pd.get_dummies(frame["sex"], prefix="sex", prefix_sep="=").astype(float)
    X = pd.concat([frame[["tiny"]].astype(float), dummies, frame[["single"]].astype(float)], axis=1)
    expected = GroupMoments.from_arrays(X, frame["site"])
    given = {"sex": sorted(set(frame["sex"]))}
    for folder in (tmp_path / "text", list(tmp_path.glob("*.parquet"))):
        for one_hot in (["sex"], given):
            found = moments_from_files(folder, "site", ["tiny", "sex", "single"], one_hot=one_hot)
            assert_same_route(found, expected)
        numbers = moments_from_files(folder, "sex", ["tiny", "site"], one_hot={"site": [1, 2, 3]})
        assert numbers.feature_names == ("tiny", "site=1", "site=2", "site=3")
    with pytest.raises(ValueError, match=r"part-0.*'sex' has values that are not among .*: 'ü"):
        moments_from_files(tmp_path / "text", "site", ["sex"], one_hot={"sex": ["f", 'm "x", y']})


@pytest.fixture
def gaps(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((400, 3)), columns=["x", "y", "z"])
    frame["g"] = rng.choice(["a", "b"], 400)
    frame["w"] = rng.uniform(1, 2, 400)
    frame.loc[[3, 77], "x"] = np.nan
    frame.loc[[77, 300], "z"] = np.nan
    frame.loc[[5], "g"] = None
    frame.loc[[6, 7], "w"] = np.nan
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet", row_group_size=50)
    return frame


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_missing_values_are_refused_with_all_columns_named(gaps, kind, tmp_path):
    path = tmp_path / f"t.{kind}"
    text = r"has missing values in 'x' \(2\), 'z' \(2\), 'g' \(1\), 'w' \(2\) of 400 rows\. Leave"
    with pytest.raises(ValueError, match=text) as error:
        moments_from_files(path, "g", ["x", "y", "z"], weight="w", batch_rows=10)
    assert f"t.{kind}" in str(error.value)
    assert "missing='drop_rows'" in str(error.value)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_rows_with_missing_values_are_dropped_on_request_and_counted(gaps, kind, tmp_path, caplog):
    with caplog.at_level(logging.INFO, logger="fairspan"):
        found = moments_from_files(
            tmp_path / f"t.{kind}", "g", list("xyz"), weight="w", missing="drop_rows", batch_rows=3
        )
    full = gaps.dropna()
    assert_same_route(
        found, GroupMoments.from_arrays(full[list("xyz")], full["g"], sample_weight=full["w"])
    )
    assert found.dropped_rows == len(gaps) - len(full) == 6
    assert "(6 dropped)" in repr(found)
    assert "6 of 400 rows left out: missing values in 'x' (2), 'z' (2), 'g' (1)" in caplog.text
    found.save(tmp_path / "moments")
    assert (found + GroupMoments.load(tmp_path / "moments")).dropped_rows == 12


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_given_values_take_the_place_of_missing_ones(gaps, kind, tmp_path):
    values = {"x": 0, "z": -1.5, "g": "unknown", "w": 1}
    found = moments_from_files(
        tmp_path / f"t.{kind}", "g", list("xyz"), weight="w", missing=values, batch_rows=101
    )
    full = gaps.fillna(values)
    assert_same_route(
        found, GroupMoments.from_arrays(full[list("xyz")], full["g"], sample_weight=full["w"])
    )
    with pytest.raises(ValueError, match=r"missing=\{'x': 'none'\}: the column holds values of"):
        moments_from_files(tmp_path / f"t.{kind}", "y", ["x"], missing={"x": "none"})


def test_text_is_refused_with_all_columns_and_both_ways_out(table, tmp_path):
    for kind in ("parquet", "csv"):
        path = write_files(table, tmp_path / kind, kind, pieces=1)[0]
        with pytest.raises(
            ValueError, match=r"not numbers: 'sex' \((string|'ü' in line 2)\)"
        ) as error:
            moments_from_files(path, "site")
        assert str(path) in str(error.value)
        assert "drop=['sex']" in str(error.value)
        assert "one_hot=['sex']" in str(error.value)


def test_text_far_down_a_csv_file_is_refused_with_file_and_columns(tmp_path):
    rows = 300_000
    frame = pd.DataFrame({"x": np.arange(rows), "y": np.arange(rows) * 1.0, "g": "a"})
    frame["late"] = ["1"] * (rows - 1) + ["one"]
    frame["also late"] = ["2"] * (rows - 2) + ["zwei", ""]
    path = tmp_path / "long.csv"
    frame.to_csv(path, index=False)
    assert path.stat().st_size > 2**22
    text = r"long.csv.*: 'late' \('one' in line 300001\), 'also late' \('zwei' in line 300000\)"
    with pytest.raises(ValueError, match=text):
        moments_from_files(path, "g")
    found = moments_from_files(path, "g", drop=["late", "also late"])
    assert_same_route(found, GroupMoments.from_arrays(frame[["x", "y"]].astype(float), frame["g"]))


def test_whole_numbers_that_turn_into_fractions_are_no_problem(tmp_path):
    rows = 400_000
    frame = pd.DataFrame(
        {"x": [1] * rows + [1.5], "y": [0.5] * rows + [2], "g": ["7"] * rows + ["b"]}
    )
    frame.to_csv(tmp_path / "long.csv", index=False)
    found = moments_from_files(tmp_path / "long.csv", "g")
    assert found.labels == ("7", "b")
    assert found.means[1] == pytest.approx([1.5, 2.0])


def test_labels_that_read_alike_are_one_group(tmp_path):
    (tmp_path / "a.csv").write_text("x,y,g\n1,2,1.0\n3,5,2\n2,2,1\n")
    (tmp_path / "b.csv").write_text("x,y,g\n4,2,1\n0,5,2\n")
    found = moments_from_files(tmp_path, "g")
    X = np.array([[1, 2], [3, 5], [2, 2], [4, 2], [0, 5.0]])
    expected = GroupMoments.from_arrays(
        pd.DataFrame(X, columns=["x", "y"]), [1.0, 2.0, 1.0, 1.0, 2.0]
    )
    assert_same_route(found, expected)


def test_labels_that_begin_with_zero_are_names(tmp_path):
    (tmp_path / "a.csv").write_text("x,y,g\n1,2,01\n3,5,2\n2,2,1\n")
    assert moments_from_files(tmp_path / "a.csv", "g").labels == ("01", "1", "2")


def test_a_group_without_weight_in_some_batches_is_kept_whole(tmp_path):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.standard_normal((60, 2)), columns=["x", "y"])
    frame["g"], frame["w"] = ["a", "b"] * 30, 1.0
    frame.loc[:29, "w"] = 0.0
    frame.loc[40:, "w"] = np.where(frame.loc[40:, "g"] == "a", 0.0, 2.0)
    frame.to_parquet(tmp_path / "t.parquet")
    found = moments_from_files(tmp_path / "t.parquet", "g", weight="w", batch_rows=10)
    expected = GroupMoments.from_arrays(frame[["x", "y"]], frame["g"], sample_weight=frame["w"])
    assert_same_route(found, expected)
    frame.loc[frame["g"] == "a", "w"] = 0.0
    frame.to_parquet(tmp_path / "t.parquet")
    with pytest.raises(ValueError, match="weight is zero for every row of group 'a'"):
        moments_from_files(tmp_path / "t.parquet", "g", weight="w", batch_rows=10)


def test_a_damaged_file_names_itself(table, tmp_path):
    for kind in ("parquet", "feather", "csv.gz"):
        paths = write_files(table, tmp_path / kind, kind)
        whole = paths[1].read_bytes()
        damages = [whole[: len(whole) // 2], b"no such thing", b""]
        for damaged in damages:
            paths[1].write_bytes(damaged)
            with pytest.raises(ValueError, match=r"part-1.*(cannot be read|is empty)"):
                moments_from_files(paths, "sex", FEATURES)
    np.save(tmp_path / "X.npy", np.eye(3))
    (tmp_path / "X.npy").write_bytes((tmp_path / "X.npy").read_bytes()[:100])
    with pytest.raises(ValueError, match=r"X\.npy.*cannot be read"):
        moments_from_files(tmp_path / "X.npy")


def test_files_with_other_columns_are_refused_with_the_difference(tmp_path):
    (tmp_path / "a.csv").write_text("x,y,g\n1,2,u\n3,5,v\n")
    (tmp_path / "b.csv").write_text("y,x,g,new\n2,1,u,4\n5,3,v,4\n")
    with pytest.raises(ValueError, match=r"b.csv' has other columns .* unexpected: \['new'\]"):
        moments_from_files(tmp_path, "g")
    # The order of columns in a file does not matter where they are named.
    found = moments_from_files(tmp_path, "g", ["x", "y"])
    assert found.means == pytest.approx(np.array([[1.0, 2.0], [3.0, 5.0]]))
    with pytest.raises(ValueError, match=r"a.csv' has other columns .* Missing: \['new'\]"):
        moments_from_files([tmp_path / "b.csv", tmp_path / "a.csv"], "g", ["x", "new"])


MISTAKES = {
    "unknown feature": (
        {"features": ["x", "q"]},
        r"has no column 'q' \(features=.*are 'x', 'y', 'g'",
    ),
    "unknown group": ({"sensitive": "sex"}, r"has no column 'sex' \(sensitive=\.\.\.\)"),
    "unknown weight": ({"weight": "q"}, r"has no column 'q' \(weight=\.\.\.\)"),
    "unknown rule": ({"missing": "mode"}, "missing='mode' is not known; use one of 'raise', 'dr"),
    "unknown option": ({"colour": "red"}, r"Unknown options: \['colour'\]"),
    "unknown engine": ({"engine": "cloud"}, "engine='cloud' is not known"),
    "no rows at once": ({"batch_rows": 0}, "batch_rows=0 must be 1 or more"),
    "features and drop": ({"features": ["x"], "drop": ["y"]}, "not both"),
    "a feature twice": ({"features": ["x", "x"]}, r"features=\.\.\. names the column 'x' twice"),
    "no features": ({"drop": ["x", "y"]}, "has no column left to be a feature"),
    "negative weight": ({"weight": "x"}, "cannot be used: weight='x' has negative values"),
    "one_hot of groups": (
        {"one_hot": ["g"]},
        "one_hot=.* names the column 'g', which has",
    ),
    "a category twice": ({"one_hot": {"x": [1, 1]}}, "must list the column's categories, each"),
    "no separator": ({"separator": "ab"}, "separator='ab' must be one character, or the word"),
    "no encoding": ({"encoding": "klingon"}, "encoding='klingon' is not a known encoding"),
}


@pytest.mark.parametrize(("given", "text"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes_are_named(given, text, tmp_path):
    (tmp_path / "t.csv").write_text("x,y,g\n-1,2,7\n3,5,8\n")
    with pytest.raises((ValueError, TypeError), match=text):
        moments_from_files(tmp_path / "t.csv", **({"sensitive": "g"} | given))


def test_paths_that_are_nothing_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"absent\.csv"):
        moments_from_files(tmp_path / "absent.csv")
    with pytest.raises(ValueError, match="holds no files"):
        moments_from_files(tmp_path)
    (tmp_path / "t.docx").write_text("")
    with pytest.raises(ValueError, match=r"t.docx' is not a known kind of table"):
        moments_from_files(tmp_path / "t.docx")
    (tmp_path / "t.csv").write_text("x,y\n1,2\n")
    (tmp_path / "t.npy").write_text("")
    with pytest.raises(ValueError, match=r"several kinds: \['csv', 'npy'\]"):
        moments_from_files(tmp_path)
    (tmp_path / "twice.csv").write_text("x,x\n1,2\n")
    with pytest.raises(ValueError, match=r"twice\.csv' has columns of the same name: \['x'\]"):
        moments_from_files(tmp_path / "twice.csv")


def test_infinite_values_are_refused_with_the_file(tmp_path):
    frame = pd.DataFrame({"x": [1.0, np.inf, 2.0], "y": [1.0, 2.0, 0.0]})
    frame.to_parquet(tmp_path / "t.parquet")
    with pytest.raises(ValueError, match=r"t.parquet' cannot be used: column 'x' has infinite"):
        moments_from_files(tmp_path / "t.parquet")


def test_a_long_and_awkward_csv_file_is_read_with_one_call(tmp_path):
    rng = np.random.default_rng(0)
    block = pd.DataFrame(
        np.round(rng.standard_normal((10_000, 30)), 3), columns=[f"é{j} ü" for j in range(30)]
    )
    block["name"] = rng.choice(['Ann "the" B', "Ö, K", "line\nbreak"], 10_000)
    block["g"] = rng.choice(["weiß", "x"], 10_000)
    block.loc[rng.random(10_000) < 0.01, "é3 ü"] = np.nan
    text = block.to_csv(index=False).encode()
    header, body = text.split(b"\n", 1)
    with gzip.open(tmp_path / "big.csv.gz", "wb", compresslevel=1) as file:
        file.write(header + b"\n")
        for _ in range(9):
            file.write(body)
    found = moments_from_files(tmp_path / "big.csv.gz", "g", drop=["name"], missing="drop_rows")
    full = block.dropna()
    expected = GroupMoments.from_arrays(full.drop(columns=["name", "g"]), full["g"])
    assert found.counts.tolist() == (9 * expected.counts).tolist()
    assert found.second_moments == pytest.approx(expected.second_moments, abs=1e-12)
    with pytest.raises(ValueError, match=r"not numbers: 'name'"):
        moments_from_files(tmp_path / "big.csv.gz", "g")
    with pytest.raises(ValueError, match=rf"missing values in 'é3 ü' \({9 * (10_000 - len(full))}"):
        moments_from_files(tmp_path / "big.csv.gz", "g", drop=["name"])
