"""Tables as people have them: every dialect read alike, nothing left out in silence."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from fairspan import RobustFairPCA, load_model
from fairspan.tables import columns as reader

from .conftest import NAMES, write_csv

FIT = "-s sex --features age income height debt -k 2 --json"


@pytest.fixture
def expected(people) -> float:
    return RobustFairPCA(2).fit(people.X, sensitive_features=people.sex).objective_


@pytest.mark.parametrize(
    ("dialect", "option", "note"),
    [
        ({"delimiter": ";"}, "", "separated by semicolons (detected)"),
        ({"delimiter": "\t"}, "", "separated by tabs (detected)"),
        ({"delimiter": "\t"}, "--separator tab", None),
        ({"delimiter": "|"}, "--separator |", None),
        ({"encoding": "utf-8-sig"}, "", None),
        ({"encoding": "latin-1"}, "--encoding latin-1", None),
        ({"encoding": "utf-16"}, "--encoding utf-16", None),
        ({"quoting": 1}, "", None),
        ({"lineterminator": "\r"}, "", None),
    ],
    ids=str,
)
def test_a_csv_file_is_read_in_every_dialect(
    dialect, option, note, fairspan, people, expected, folder, monkeypatch
):
    # Pieces much smaller than the table must not show in the result.
    monkeypatch.setattr(reader, "batch_rows", lambda n: 7)
    columns = [people.X[:, j].tolist() for j in range(4)]
    rows = list(map(list, zip(*columns, people.sex, people.region, strict=True)))
    name = "région; or land" if "lineterminator" in dialect else "région; or\nland"
    write_csv(folder / "table.csv", [*NAMES, "sex", name], rows, **dialect)
    quoted = option.replace("|", "'|'")
    answer = fairspan(f"fit table.csv {FIT} {quoted}")
    assert answer.code == 0, answer
    assert answer.json["fit"]["objective"] == pytest.approx(expected, rel=1e-12)
    assert answer.json["notes"] == ([f"columns are {note}"] if note else [])


def test_gzip_parquet_and_feather_give_the_same(fairspan, expected, folder):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    data = (folder / "people.csv").read_bytes()
    (folder / "people.csv.gz").write_bytes(gzip.compress(data))
    frame = pd.read_csv(folder / "people.csv")
    frame.to_parquet("people.parquet")
    frame.assign(sex=frame["sex"].astype("category")).to_feather("people.feather")
    for name in ("people.csv.gz", "people.parquet", "people.feather"):
        assert fairspan(f"fit {name} {FIT}").json["fit"]["objective"] == expected, name


def test_labels_have_the_type_that_all_of_them_share(fairspan, folder):
    rows = [[i % 7, i % 5, i % 3, ["007", "8"][i % 2], i % 2, i % 2 + 0.5] for i in range(60)]
    write_csv(folder / "t.csv", ["a", "b", "c", "zeros", "whole", "half"], rows)
    for column, labels in (("zeros", ["007", "8"]), ("whole", [0, 1]), ("half", [0.5, 1.5])):
        answer = fairspan(f"fit t.csv -s {column} --features a b c --json")
        assert [group["label"] for group in answer.json["fit"]["groups"]] == labels


def test_text_becomes_indicators_that_the_model_remembers(fairspan, people, folder):
    line = "fit people.csv -s sex --drop id count --one-hot region -k 2 -o model.npz --json"
    answer = fairspan(line)
    assert answer.json["notes"] == ["column 'region' became 3 columns of zeros and ones"]
    ones = (people.region[:, None] == np.array(["east", "west", "öst"])).astype(float)
    X = np.hstack([people.X, ones])
    expected = RobustFairPCA(2).fit(X, sensitive_features=people.sex)
    model = load_model("model.npz")
    names = ["region=east", "region=west", "region=öst"]
    assert model.feature_names_in_.tolist() == [*NAMES, *names]
    np.testing.assert_array_equal(model.components_, expected.components_)
    assert fairspan("transform model.npz people.csv -o out.npy").code == 0
    np.testing.assert_array_equal(np.load("out.npy"), expected.transform(X))
    text = (folder / "people.csv").read_text().replace(",east,", ",mars,")
    (folder / "new.csv").write_text(text)
    answer = fairspan("transform model.npz new.csv -o out.npy")
    assert answer.code == 1
    assert "values that are not among its categories: 'mars'" in answer.err
    named = "--one-hot region=east,west,öst,mars"
    assert fairspan(f"fit people.csv -s sex --drop id count {named} -o model.npz").code == 0
    assert fairspan("transform model.npz new.csv -o out.npy").code == 0


@pytest.mark.parametrize("cell", ["", "NA", "nan", "#N/A", "NULL"])
def test_missing_values_are_refused_or_left_out_with_their_count(
    cell, fairspan, refused, people, folder
):
    lines = (folder / "people.csv").read_text().splitlines()
    for row in (3, 9):
        cells = lines[row].split(",")
        cells[2] = cell
        lines[row] = ",".join(cells)
    cells = lines[20].split(",")
    lines[20] = ",".join([*cells[:5], "", *cells[6:]])
    (folder / "people.csv").write_text("\n".join(lines))
    text = refused(f"fit people.csv {FIT}")
    assert "missing values in 'income' (2), 'sex' (1) of 120 rows" in text
    assert "--missing drop-rows" in text
    answer = fairspan(f"fit people.csv {FIT} --missing drop-rows").json
    assert answer["notes"] == ["3 of 120 rows left out: missing values in 'income' (2), 'sex' (1)"]
    keep = np.delete(np.arange(120), [2, 8, 19])
    expected = RobustFairPCA(2).fit(people.X[keep], sensitive_features=people.sex[keep])
    assert answer["fit"]["objective"] == expected.objective_


def test_what_filled_blanks_is_kept_by_the_model_and_used_by_transform(
    fairspan, refused, people, folder
):
    lines = [line.split(",") for line in (folder / "people.csv").read_text().splitlines()]
    for row, column in ((3, 2), (9, 2), (9, 6), (20, 4)):
        lines[row][column] = ""
    (folder / "holes.csv").write_text("\n".join(map(",".join, lines)))
    line = "fit holes.csv -s sex --drop id count --one-hot region --missing median -k 2 -o m.npz"
    (note,) = fairspan(f"{line} --json").json["notes"][1:]
    X, region = people.X.copy(), people.region.copy()
    X[[2, 8], 1], X[19, 3] = (
        np.median(np.delete(X[:, 1], [2, 8])),
        np.median(np.delete(X[:, 3], 19)),
    )
    labels, counts = np.unique(np.delete(region, 8), return_counts=True)
    region[8] = labels[counts.argmax()]
    assert note == (
        f"4 missing values filled in: 'income' (2) by {X[2, 1]}, 'debt' (1) by {X[19, 3]}, "
        f"'region' (1) by '{region[8]}'"
    )
    X = np.hstack([X, region[:, None] == ["east", "west", "öst"]])
    expected = RobustFairPCA(2).fit(X, sensitive_features=people.sex).transform(X)
    answer = fairspan("transform m.npz holes.csv -o out.npy")
    assert f"  {note}" in answer.out.splitlines()
    np.testing.assert_allclose(np.load("out.npy"), expected, atol=1e-9)
    # Another column without blanks in the fit is filled in, too; or all are refused, or left out.
    lines[1][1] = "NA"
    (folder / "holes.csv").write_text("\n".join(map(",".join, lines)))
    assert "'age' (1) by" in fairspan("transform m.npz holes.csv -o out.npy").out
    assert "has missing values in 'age' (1)" in refused(
        "transform m.npz holes.csv -o out.npy --missing refuse"
    )
    assert fairspan("transform m.npz holes.csv -o out.npy --missing drop-rows").code == 0
    assert np.load("out.npy").shape == (116, 2)


def test_sites_that_fill_in_differently_merge_without_what_they_filled_in(fairspan, folder):
    for site in ("north", "south"):
        text = (folder / f"{site}.csv").read_text().splitlines()
        text[1] = "," + text[1].partition(",")[2]
        (folder / f"{site}.csv").write_text("\n".join(text))
        assert fairspan(f"moments {site}.csv -s sex --missing mean -o {site}.npz").code == 0
    answer = fairspan("merge north.npz south.npz -o all.npz")
    assert "sites filled in missing values by different values" in answer.out
    assert fairspan("fit all.npz -k 2 -o m.npz").code == 0
    assert "missing values in 'age' (1)" in fairspan("transform m.npz north.csv -o out.csv").err


def test_the_model_keeps_where_a_column_was_cut_and_sites_must_cut_alike(
    fairspan, refused, people, folder
):
    line = "--features income height debt -s age --bin age:3"
    answer = fairspan(f"fit people.csv {line} -k 2 -o m.npz --json").json
    cuts = np.sort(people.X[:, 0])[[39, 79]].tolist()
    assert fairspan("info m.npz --json").json["columns"]["bins"] == {"age": cuts}
    assert [group["rows"] for group in answer["fit"]["groups"]] == [40, 40, 40]
    names = [f"{cuts[0]:g} or less", f"{cuts[0]:g} to {cuts[1]:g}", f"over {cuts[1]:g}"]
    assert sorted(group["label"] for group in answer["fit"]["groups"]) == sorted(names)
    for site in ("north", "south"):
        assert fairspan(f"moments {site}.csv {line} -o {site}.npz").code == 0
    text = refused("merge north.npz south.npz -o all.npz")
    assert "the column 'age' was cut at other numbers; use the same at every site, for" in text
    same = line.replace(":3", text.rpartition("age")[2].rstrip("."))
    for site in ("north", "south"):
        assert fairspan(f"moments {site}.csv {same} -o {site}.npz").code == 0
    assert fairspan("merge north.npz south.npz -o all.npz").code == 0
    assert "'sex', which is not --sensitive" in refused("fit people.csv -s age --bin sex:2")


def test_a_column_that_counts_the_rows_is_pointed_out(fairspan):
    answer = fairspan("fit people.csv -s sex --drop region")
    assert "column 'id' just counts the rows" in answer.out


def table(folder, text):
    (folder / "table.csv").write_text(text)


ROWS = "".join(
    f"{i % 7},{i % 5},{['True', 'False'][i % 2]},{'M' if i % 3 else 'F'}\n" for i in range(40)
)


def test_labels_that_differ_by_spaces_only_are_one_group_and_it_is_told(fairspan, folder):
    table(folder, "a,b,c,sex\n" + ROWS + '1,2,True, M\n3,1,False,"M "\n')
    answer = fairspan("fit table.csv -s sex -k 1 --json").json
    assert [group["label"] for group in answer["fit"]["groups"]] == ["F", "M"]
    assert "column 'sex': spaces around labels removed (2)" in answer["notes"]
    table(folder, ("a,b,c,sex\n" + ROWS).replace(",", ", "))
    answer = fairspan("fit table.csv -s sex -k 1 --json").json
    assert not any("spaces" in note for note in answer["notes"])


def test_true_and_false_are_read_as_1_and_0_and_it_is_told(fairspan, folder):
    table(folder, "a,b,c,sex\n" + ROWS)
    words = fairspan("fit table.csv -s sex -k 1 --json").json
    assert words["notes"] == ["column 'c': true and false are read as 1 and 0"]
    table(folder, ("a,b,c,sex\n" + ROWS).replace("True", "1").replace("False", "0"))
    numbers = fairspan("fit table.csv -s sex -k 1 --json").json
    assert words["fit"] == numbers["fit"]


def test_the_ways_out_fit_the_text(refused, folder):
    rows = "".join(f"{i};{i},5;2026-01-{i:02};{'xy'[i % 2]};{'mf'[i % 2]}\n" for i in range(1, 29))
    table(folder, "a;price;day;kind;sex\n" + rows)
    text = refused("fit table.csv -s sex")
    assert "columns that are not numbers: 'price' ('1,5' in line 2), 'day' ('2026-01-01'" in text
    assert "Numbers in 'price' have a comma: use --decimal , if it is a decimal comma" in text
    assert "Dates in 'day' cannot be features: derive a number" in text
    assert "--drop day kind" in text
    assert "--one-hot kind, or" in text
    header = ",".join(f"c{i}" for i in range(23))
    table(folder, f"{header},sex\n" + "".join(f"{'x,' * 23}{s}\n" for s in "mfmf"))
    text = refused("fit table.csv -s sex")
    assert "'c5' ('x' in line 2) and 17 more" in text
    assert "c18 c19 and 3 more" in text


def test_transform_advises_what_it_has(fairspan, refused, folder):
    rows = "".join(f"{i},{i * i % 7},{'ab'[i % 2]}\n" for i in range(20))
    (folder / "whole.csv").write_text("x,y,sex\n" + rows)
    (folder / "blank.csv").write_text("x,y,sex\n" + rows.replace("3,2,b", "3,,b"))
    assert fairspan("fit whole.csv -s sex -k 1 -o model.npz").code == 0
    advice = refused("transform model.npz blank.csv -o out.csv")
    assert "with --missing drop-rows; a model that is fitted with --missing mean" in advice
    assert "--drop" not in advice
    kept = fairspan("transform model.npz blank.csv -o out.csv --missing drop-rows")
    assert "\n19 rows" in kept.out


def test_a_column_of_groups_is_no_weight(refused, people):
    advice = refused("fit people.csv -s sex --weight sex --drop id region")
    assert advice.endswith("--weight sex must be a column of numbers.")
    assert "--bin" not in advice
