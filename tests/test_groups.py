"""Groups: any description of who belongs where becomes codes and sorted labels."""

from __future__ import annotations

import datetime

import numpy as np
import pytest

from fairspan import GroupMoments, RobustFairPCA, RobustFairPCACV, SmallGroupWarning, advise
from fairspan.moments.groups import Groups, encode_groups, sort_labels
from fairspan.sources import moments_from_files

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

SEX = ["f", "m", "m", "f", "m"]
AGE = [30, 30, 7, 30, 30]


def labels_of_rows(groups: Groups) -> list:
    return [groups.labels[code] for code in groups.codes]


@pytest.mark.parametrize(
    "column",
    [
        ["b", "a", "b", "c"],
        ("b", "a", "b", "c"),
        np.array(["b", "a", "b", "c"]),
        np.array(["b", "a", "b", "c"], dtype=object),
        np.array(["b", "a", "b", "c"], dtype=np.dtypes.StringDType()),
        pd.Series(["b", "a", "b", "c"], index=[9, 8, 7, 6]),
        pd.Series(["b", "a", "b", "c"], dtype="string"),
        pd.Categorical(["b", "a", "b", "c"], categories=["c", "b", "a", "never seen"]),
        pd.Series(["b", "a", "b", "c"], dtype="category"),
        pd.DataFrame({"only": ["b", "a", "b", "c"]}),
        pl.Series(["b", "a", "b", "c"]),
        pl.DataFrame({"only": ["b", "a", "b", "c"]}),
        {"only": ["b", "a", "b", "c"]},
        np.array([["b"], ["a"], ["b"], ["c"]]),
        [["b"], ["a"], ["b"], ["c"]],
    ],
    ids=lambda column: type(column).__name__,
)
def test_every_container_of_one_column_gives_the_same_groups(column):
    groups = encode_groups(column, 4)
    assert groups.labels == ("a", "b", "c")
    assert groups.codes.tolist() == [1, 0, 1, 2]


@pytest.mark.parametrize(
    ("column", "labels"),
    [
        ([3, 1, 2, 1], (1, 2, 3)),
        (np.array([3, 1, 2, 1], dtype=np.uint8), (1, 2, 3)),
        (np.array([0.5, -1.0, 0.5]), (-1.0, 0.5)),
        ([True, False, True], (False, True)),
        (np.array([True, False, True]), (False, True)),
        (np.array([10, 9, 100]), (9, 10, 100)),
        (["10", "9", "100"], ("10", "100", "9")),
        (["x", 2, "a", 1], (1, 2, "a", "x")),
        ([("x", 2), ("x", 1), ("a", 9)], (("a", 9), ("x", 1), ("x", 2))),
        ([b"z", b"y"], (b"y", b"z")),
        (
            [datetime.date(2024, 5, 1), datetime.date(1999, 1, 1)],
            (datetime.date(1999, 1, 1), datetime.date(2024, 5, 1)),
        ),
        (
            np.array(["2024-05-01", "1999-01-01"], dtype="datetime64[D]"),
            (np.datetime64("1999-01-01"), np.datetime64("2024-05-01")),
        ),
        (["same"] * 5, ("same",)),
    ],
    ids=str,
)
def test_labels_are_the_users_own_values_in_sorted_order(column, labels):
    groups = encode_groups(column)
    assert groups.labels == labels
    assert [type(label) for label in groups.labels] == [type(label) for label in labels]
    assert labels_of_rows(groups) == list(column)


@pytest.mark.parametrize("n_labels", [31, 32, 33, 300, 70_000])
@pytest.mark.parametrize("kind", [int, str])
def test_any_number_of_groups_keeps_every_row_in_its_group(n_labels, kind):
    rng = np.random.default_rng(n_labels)
    values = np.concatenate([np.arange(n_labels), rng.integers(0, n_labels, 1000)])
    values = rng.permutation(values)
    column = values.astype(kind) if kind is int else np.array([f"{v:06d}" for v in values])
    groups = encode_groups(column)
    assert len(groups.labels) == n_labels
    assert list(groups.labels) == sorted(groups.labels)
    assert labels_of_rows(groups) == column.tolist()


def test_the_order_of_rows_does_not_change_the_order_of_groups():
    rng = np.random.default_rng(0)
    column = np.array(["u", "v", "w"])[rng.integers(0, 3, 200)]
    order = rng.permutation(200)
    before, after = encode_groups(column), encode_groups(column[order])
    assert before.labels == after.labels
    assert np.array_equal(before.codes[order], after.codes)


@pytest.mark.parametrize(
    "features",
    [
        {"sex": SEX, "age": AGE},
        pd.DataFrame({"sex": SEX, "age": AGE}, index=list("vwxyz")),
        pl.DataFrame({"sex": SEX, "age": AGE}),
        np.array([SEX, AGE], dtype=object).T,
        [list(row) for row in zip(SEX, AGE, strict=True)],
        list(zip(SEX, AGE, strict=True)),
    ],
    ids=["dict", "pandas", "polars", "array", "rows", "tuples"],
)
def test_several_columns_are_intersected_into_tuples(features):
    groups = encode_groups(features, 5)
    assert groups.labels == (("f", 30), ("m", 7), ("m", 30))
    assert labels_of_rows(groups) == list(zip(SEX, AGE, strict=True))


def test_only_intersections_that_occur_are_groups():
    groups = encode_groups({"a": [0, 1, 2], "b": [0, 1, 2], "c": ["x", "x", "y"]})
    assert groups.labels == ((0, 0, "x"), (1, 1, "x"), (2, 2, "y"))


def test_labels_of_many_types_have_one_order():
    labels = ["b", 2, ("a", 1), 1.5, b"x", ("a", 0), "a"]
    expected = sort_labels(labels)
    for seed in range(5):
        shuffled = [labels[i] for i in np.random.default_rng(seed).permutation(len(labels))]
        assert sort_labels(shuffled) == expected
    assert expected[:2] == (1.5, 2)


@pytest.mark.parametrize(
    "column",
    [
        ["a", "b", None, None],
        ["a", "b", float("nan"), None],
        np.array([1.0, 2.0, np.nan, np.nan]),
        np.array(["2024", "2025", "NaT", "NaT"], dtype="datetime64[Y]"),
        pd.Series(["a", "b", pd.NA, pd.NA], dtype="string"),
        pd.Series([1, 2, None, None], dtype="Int64"),
        pd.Series(pd.Categorical(["a", "b", None, None])),
        pd.Series(pd.to_datetime(["2024-01-01", "2025-01-01", None, None])),
        pl.Series(["a", "b", None, None]),
        pl.Series([1, 2, None, None]),
        [("a", 1), ("b", 2), ("a", None), ("b", float("nan"))],
    ],
    ids=lambda column: f"{type(column).__name__}-{getattr(column, 'dtype', '')}",
)
def test_missing_labels_raise_and_say_how_many_and_where(column):
    with pytest.raises(ValueError, match=r"sensitive_features has 2 missing values.*row 2"):
        encode_groups(column)


@pytest.mark.parametrize("frame", [dict, pd.DataFrame, pl.DataFrame])
def test_a_missing_label_in_a_column_is_reported_with_the_columns_name(frame):
    features = frame({"sex": ["f", "m", "f"], "race": ["x", None, "y"]})
    with pytest.raises(ValueError, match=r"sensitive_features\['race'\] has 1 missing.*row 1"):
        encode_groups(features)


@pytest.mark.parametrize(
    ("features", "error", "text"),
    [
        (["a", "b"], ValueError, "sensitive_features has 2 rows but X has 3"),
        ({"sex": ["f", "m"]}, ValueError, r"sensitive_features\['sex'\] has 2 rows but X has 3"),
        (np.zeros((3, 0)), ValueError, "sensitive_features has no columns"),
        ({}, ValueError, "sensitive_features has no columns"),
        ("abc", TypeError, "sensitive_features is a str"),
        (7, TypeError, "sensitive_features is a int"),
        (np.zeros((3, 2, 2)), ValueError, "sensitive_features has 3 dimensions"),
        ([{}, {}, {}], TypeError, "sensitive_features has labels that cannot be compared"),
    ],
    ids=str,
)
def test_what_is_not_one_label_a_row_raises_with_a_sentence(features, error, text):
    with pytest.raises(error, match=text):
        encode_groups(features, 3)


def test_columns_of_different_lengths_raise():
    with pytest.raises(ValueError, match="differ in length"):
        encode_groups({"a": [1, 2, 3], "b": [1, 2]})


def test_labels_under_a_mask_are_missing():
    labels = np.ma.array(["a", "b", "a", "b"], mask=[False, False, False, True])
    with pytest.raises(ValueError, match=r"1 .*missing"):
        encode_groups(labels, 4)
    groups = Groups.of(labels, 4, "own_group")
    assert groups.labels == ("a", "b", "missing")
    assert encode_groups(np.ma.array([1, 2, 1], mask=False), 3).labels == (1, 2)


def test_a_column_that_numbers_the_rows_is_refused_with_how_to_bin_it(tmp_path):
    rng = np.random.default_rng(0)
    X, ages = rng.standard_normal((200, 3)), rng.permutation(200) / 2
    refused = pytest.raises(ValueError, match=r"200 different values in 200 rows.*qcut")
    with refused:
        GroupMoments.from_arrays(X, ages)
    with refused:
        RobustFairPCA(2).fit(X, sensitive_features=ages)
    with refused:
        RobustFairPCACV(2).fit(X, sensitive_features=ages)
    with refused:
        advise(X, ages)
    table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(age=ages)
    table.to_csv(tmp_path / "table.csv", index=False)
    with refused:
        moments_from_files(tmp_path / "table.csv", "age")
    # Groups that are many and large enough, or small and few, are welcome; so are all on request.
    GroupMoments.from_arrays(X, np.arange(200) % 100)
    GroupMoments.from_arrays(X[:40], ages[:40])
    moments = GroupMoments.from_groups(X, encode_groups(ages))
    with pytest.warns(SmallGroupWarning):
        model = RobustFairPCA(2).fit_moments(moments)
    assert len(model.group_errors_) == 200


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("rule", ["raise", "own_group", "total_only"])
@pytest.mark.parametrize("values", [["b", "a", "c"], [3, 1, 2], [2.5, 0.5, 1.5]])
def test_columns_that_pandas_holds_as_codes_are_read_as_their_values(values, rule, missing):
    rows = np.random.default_rng(0).choice(3, 40)
    labels = [values[row] for row in rows]
    if missing:
        labels[7] = None
    kinds = [pd.CategoricalDtype([*values, values[0] * 3])]  # the last never occurs
    kinds += ["str", "string"] if isinstance(values[0], str) else []
    for kind in kinds:
        column = pd.Series(labels, dtype=kind)
        if missing and rule == "raise":
            with pytest.raises(ValueError, match=r"1 missing values \(first at row 7\)"):
                encode_groups(column, 40, rule)
            continue
        found, plain = (encode_groups(one, 40, rule) for one in (column, labels))
        assert found.labels == plain.labels
        if not missing:  # pandas turns integers into floats where some are missing
            assert list(map(type, found.labels)) == list(map(type, plain.labels))
        np.testing.assert_array_equal(found.codes, plain.codes)
        assert found.codes.dtype == plain.codes.dtype
