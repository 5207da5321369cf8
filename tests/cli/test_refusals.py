"""Bad input gets one sentence, an exit code, and no traceback; files stay as they were."""

from __future__ import annotations

import os
import pickle
import random
from pathlib import Path

import numpy as np
import pytest

from fairspan import GroupMoments, RobustFairPCA
from fairspan.cli import main

from .conftest import write_csv

FIT = "fit people.csv -s sex --drop id region count -o model.npz"


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("fit absent.csv -s sex", "there is no file 'absent.csv'"),
        ("fit . -s sex", "'.' is a folder"),
        ("fit people.xlsx -s sex", "there is no file 'people.xlsx'"),
        ("fit people.csv -s gender", "has no column 'gender' (--sensitive); its columns are 'id'"),
        ("fit people.csv -s sx", "Did you mean 'sex'?"),
        ("fit people.csv -s sex", "has columns that are not numbers: 'region' ('öst' in line 2)"),
        ("fit people.csv -s sex -s sex", "names the column 'sex' twice"),
        (
            "fit people.csv -s sex --drop region -k 40",
            "-k 40 must be at most the number of",
        ),
        (
            "report people.csv -s sex --drop region -k 6",
            "use at most the number of features - 1 = 5",
        ),
        ("fit people.csv -s sex --drop region -o no/model.npz", "folder 'no' of the output"),
        ("fit people.csv -s sex --drop region -o people.csv", "is also an input"),
        ("fit people.csv -s sex --drop region -o .", "is a folder; name a file"),
        ("fit people.csv -s sex --drop region -o /dev/null", "is not a regular file"),
        ("fit people.csv -s sex --drop region -o model.txt", "must end in .npz; that sets its"),
        ("fit people.csv -s sex --drop region -o /proc/x.npz", "cannot write to '/proc/x.npz': no"),
        ("moments people.csv -s sex --drop region -o m.txt", "must end in .npz"),
        ("fit array.npy -s 9", "its columns are numbered 0 to 4"),
        ("fit array.npy -s sex", "its columns are numbered 0 to 4"),
        ("frontier people.csv -s sex --drop region -o curve.xlsx", "must end in .csv or"),
        ("transform people.csv people.csv -o out.csv", "cannot be read as a model: it is not an"),
        ("transform absent.npz people.csv -o out.csv", "there is no file 'absent.npz'"),
        ("merge people.csv -o all.npz", "cannot be read as group moments"),
        ("certify people.csv", "cannot be read as a model"),
        ("info array.npy", "it is a single .npy array"),
        ("info .", "is a folder"),
        ("demo --picture no/demo.png", "folder 'no' of the output"),
        ("report people.csv -s sex -o page.txt", "must end in .html or"),
    ],
)
def test_a_bad_call_is_refused_with_one_sentence(line, text, refused, folder):
    before = sorted(path.name for path in folder.iterdir())
    assert text in refused(line)
    assert sorted(path.name for path in folder.iterdir()) == before


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("fit people.csv", "--sensitive is missing: name the column"),
        ("fit people.csv -s sex --separator ab", "--separator ab must be one character"),
        ("fit people.csv -s sex --decimal ';'", "--decimal ';' is not known; use one of '.', ','"),
        ("fit people.csv -s sex --missing guess", "--missing guess: give one of refuse, drop-rows"),
        ("fit people.csv -s sex --missing mean --missing median", "--missing median: give one"),
        ("fit people.csv -s age --bin age", "--bin age: write COLUMN:4, or COLUMN:A,B,.."),
        ("fit people.csv -s sex --encoding klingon", "--encoding klingon is not a known encoding"),
        ("compare people.csv -s sex --weight count", "counts every row once"),
        ("compare people.csv -s sex --seeds -1", "--seeds must be 0 or more"),
        ("fit people.csv -s sex --features age --drop debt", "give --features or --drop, not both"),
        ("fit people.csv -s sex --drop region -k 0", "-k 0 must be 1 or more"),
        ("fit absent.csv -s sex --fairness-weight -1", "--fairness-weight -1.0 must"),
        ("fit people.csv -s sex --drop region --radius nan", "--radius nan must be finite"),
        ("fit absent.csv -s sex -k 0", "-k 0 must be 1 or more"),
        ("frontier absent.csv -s sex --weights -1", "--weights -1.0 must be finite and 0 or more"),
        ("advise absent.csv -s sex -k 0", "-k 0 must be 1 or more"),
        ("fit absent.csv -s sex --clip -1", "--clip -1.0 must be"),
        ("downstream people.csv -s sex --target age --splits 0", "--splits 0 must be 1 or more"),
    ],
)
def test_arguments_that_do_not_go_together_are_wrong_usage(line, text, refused):
    assert text in refused(line, code=2)


@pytest.mark.parametrize("line", ["", "fly", "fit", "fit people.csv -k three", "transform a b"])
def test_wrong_arguments_end_with_code_2_and_the_usage(line, fairspan):
    answer = fairspan(line)
    assert answer.code == 2
    assert answer.err.startswith("usage: fairspan")


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"", "is empty"),
        (b"\n\n", "is empty"),
        (b"a,b,sex\n", "has no rows"),
        (b"1,2,3\n4,5,6\n", "holds numbers (1, 2, 3, ...), not column names"),
        (b"a,,sex\n1,2,f\n", "column 2 of 'bad.csv' has no name; name it in the first line"),
        (b"a,a,sex\n1,2,f\n", "columns of the same name: ['a']"),
        (b"a,b,sex\n1,2,f\n1,2\n", "3 columns, but line 3 has another number of cells (2)"),
        (b"a,b,sex\n1,2,f\n1,2,f,4\n", "3 columns, but line 3 has another number of cells (4)"),
        (b"a,b,sex\n1,2,f\n1,inf,f\n", "'bad.csv' cannot be used: column 'b' has infinite values"),
        (b"a,b,sex\n,,\n,,\n", "missing values in 'a' (2), 'b' (2), 'sex' (2) of 2 rows"),
        (b"a,b,sex\n1,2,f\n", "the table has one row"),
        (b"a;b;sex\n1,5;2,5;f\n1;2;m\n", "not numbers: 'a' ('1,5' in line 2), 'b' ('2,5'"),
        (b"a,b,s\xe9x\n1,2,f\n", "is not text in utf-8"),
        (bytes(range(256)) * 20, "'bad.csv' "),
        (b"\x00" * 1000, "'bad.csv' "),
        (pickle.dumps({"a": 1}), "'bad.csv' "),
        (b'a,b,sex\n1,2,"f\n' + b"x" * 200_000, "'bad.csv' "),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_bad_csv_file_is_refused_with_one_sentence(content, text, refused, folder):
    (folder / "bad.csv").write_bytes(content)
    assert text in refused("fit bad.csv -s sex")


@pytest.mark.parametrize("ending", ["npy", "parquet", "feather", "csv.gz", "npz"])
@pytest.mark.parametrize("content", [b"", b"hello", bytes(range(256)) * 20, b"PK\x03\x04" * 50])
def test_files_that_are_not_what_their_ending_says_are_refused(ending, content, refused, folder):
    (folder / f"bad.{ending}").write_bytes(content)
    assert f"'bad.{ending}'" in refused(
        f"fit bad.{ending} -s sex" if ending != "npz" else "fit bad.npz"
    )


TOKENS = [b",", b'"', b"\n", b"\r", b"\0", b"nan", b"inf", b"1e400", b";", b"\xff", b"9" * 400]


@pytest.mark.parametrize("ending", ["csv", "npy", "parquet"])
def test_mutated_tables_are_read_or_refused_with_one_sentence(ending, fairspan, folder):
    if ending == "parquet":
        pytest.importorskip("pyarrow")
        table = pytest.importorskip("pandas").read_csv("people.csv")
        table.drop(columns=["id", "region"]).to_parquet("table.parquet")
    (folder / "table.csv").write_bytes((folder / "people.csv").read_bytes())
    np.save("table.npy", np.load("array.npy"))
    whole, rng = (folder / f"table.{ending}").read_bytes(), random.Random(ending)
    column = "0" if ending == "npy" else "sex"
    codes = set()
    for _ in range(25):
        data = bytearray(whole)
        for _ in range(rng.choice([1, 2, 5])):
            at = rng.randrange(rng.choice([len(data), 200]))
            data[at : at + 1] = rng.choice(TOKENS) if ending == "csv" else rng.randbytes(1)
        (folder / f"mutated.{ending}").write_bytes(data)
        drop = "--drop id region" if ending == "csv" else ""
        answer = fairspan(f"moments mutated.{ending} -s {column} {drop} -o out.npz")
        codes.add(answer.code)
        assert "please report" not in answer.err
        assert len(answer.err.splitlines()) == answer.code
    assert codes == {0, 1}


def test_arrays_that_are_no_tables_are_refused(refused, folder):
    np.save("objects.npy", np.array([{}, 1], dtype=object), allow_pickle=True)
    assert "cannot be read as an .npy array" in refused("fit objects.npy -s 0")
    np.save("line.npy", np.ones(3))
    assert "a table is a 2-dimensional numeric array" in refused("fit line.npy -s 0")


def test_too_many_features_for_the_memory_get_one_piece_of_advice(refused, folder):
    names = [f"x{j}" for j in range(60_000)]
    write_csv(folder / "wide.csv", [*names, "g"], [[1] * 60_000 + ["u"], [2] * 60_000 + ["v"]])
    text = refused("moments wide.csv -s g -o m.npz")
    assert text.count("fewer features") == 1
    assert "--features" not in text


def test_a_column_of_measurements_is_not_taken_for_groups(refused, folder):
    rows = [[i * 0.5, i % 3, i % 5] for i in range(500)]
    write_csv(folder / "t.csv", ["a", "b", "c"], rows)
    text = refused("fit t.csv -s a")
    assert "'a' has more than 20 different values; cut it into groups with --bin a:4, or" in text
    write_csv(folder / "t.csv", ["a", "b", "c"], [[i, *row[1:]] for i, row in enumerate(rows)])
    assert "'a' has more than 200 different values; cut it into groups with --bin a:4, or" in (
        refused("fit t.csv -s a")
    )
    write_csv(folder / "t.csv", ["a", "b", "c"], [[f"n{row[0]}", *row[1:]] for row in rows])
    assert "'a' has more than 200 different values; choose another column" in (
        refused("fit t.csv -s a")
    )


def test_missing_columns_are_named_when_projecting(fairspan, refused, folder):
    fairspan(FIT)
    write_csv(folder / "few.csv", ["age", "other"], [[1, 2]])
    text = refused("transform model.npz few.csv -o out.csv")
    assert "no column 'income', 'height', 'debt' (which the model needs)" in text


def test_moments_that_do_not_fit_are_named(fairspan, refused, folder):
    fairspan("moments north.csv -s sex -o north.npz")
    fairspan("moments south.csv -s sex --drop debt -o south.npz")
    assert "'south.npz' does not fit 'north.npz': Moments of 4 and of 3" in refused(
        "merge north.npz south.npz -o all.npz"
    )
    assert "--sensitive chooses columns of a table" in refused("fit north.npz -s sex", code=2)
    fairspan(FIT)
    fairspan("moments people.csv -s sex --features age income -o two.npz")
    assert "has other features than the model" in refused("certify model.npz --moments two.npz")


def test_models_of_other_versions_and_damaged_models_are_refused(fairspan, refused, folder):
    fairspan(FIT)
    whole = (folder / "model.npz").read_bytes()
    wide = '"version": 1'.encode("utf-32-le")
    assert wide in whole
    (folder / "model.npz").write_bytes(whole[:-50])
    assert "truncated or damaged" in refused("info model.npz")
    (folder / "model.npz").write_bytes(whole.replace(wide, '"version": 9'.encode("utf-32-le")))
    assert "damaged" in refused("certify model.npz")


def test_debug_shows_where_an_error_arose(folder, capsys):
    assert main(["fit", "absent.csv", "-s", "sex", "--debug"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_warnings_are_one_line_each(fairspan, folder):
    rows = [[i % 7, i % 5, "f" if i < 4 else "m"] for i in range(60)]
    write_csv(folder / "t.csv", ["a", "b", "sex"], rows)
    answer = fairspan("fit t.csv -s sex -k 1")
    assert answer.code == 0
    (line,) = answer.err.splitlines()
    assert line.startswith("warning: 1 of 2 groups has fewer than 10 rows ('f': 4)")
    write_csv(folder / "t.csv", ["a", "b", "sex"], [[*row[:2], "f"] for row in rows])
    (line,) = fairspan("fit t.csv -s sex -k 1").err.splitlines()
    assert line.startswith("warning: ")


def test_moments_of_small_groups_do_not_leave_the_house_unasked(fairspan, refused, folder):
    rows = [[i % 7, i % 5, i % 3, "a" if i == 0 else "b" if i < 10 else "c"] for i in range(40)]
    write_csv(folder / "t.csv", ["x", "y", "z", "g"], rows)
    for line in ("moments t.csv -s g", "fit t.csv -s g -k 1", "select t.csv -s g -k 1 --folds 2"):
        text = refused(f"{line} -o out.npz")
        assert "Groups of fewer than 10 rows: 'a' (1), 'b' (9). Their moments may reveal" in text
        assert "use --min-count 1 to write them all the same." in text
        assert ("--no-moments" in text) == ("moments" not in line)
        assert not (folder / "out.npz").exists()
    assert fairspan("fit t.csv -s g -k 1 -o out.npz --no-moments").code == 0
    assert "moments     not kept" in fairspan("info out.npz").out
    assert fairspan("transform out.npz t.csv -o out.csv").code == 0
    assert fairspan("fit t.csv -s g -k 1").code == 0
    assert fairspan("moments t.csv -s g -o out.npz --min-count 1").code == 0
    with pytest.raises(ValueError, match=r"'b' \(9\)\. .* use min_count=1 to write them all the"):
        GroupMoments.load("out.npz").save("new.npz")
    (folder / "out.npz").chmod(0o600)
    assert fairspan("moments t.csv -s g -o out.npz --min-count 1").code == 0
    assert (folder / "out.npz").stat().st_mode & 0o777 == 0o600


def test_a_group_of_one_row_that_cannot_be_split_is_named(folder, refused):
    rows = [[i % 7, i % 5, "f" if i % 2 else "m"] for i in range(30)] + [[1, 2, "x"]]
    write_csv(folder / "t.csv", ["a", "b", "sex"], rows)
    told = refused("compare t.csv -s sex -k 1 --seeds 2")
    assert "judged on: x (1). Use --small-groups pool --min-rows 16" in told
    told = refused("select t.csv -s sex -k 1 --folds 4")
    assert "held out in 4 parts: x (1). Use --small-groups pool --min-rows 16" in told


@pytest.mark.parametrize(
    ("line", "output"),
    [
        (FIT, "model.npz"),
        ("transform old.npz people.csv -o out.csv", "out.csv"),
        ("moments people.csv -s sex --drop region -o site.npz", "site.npz"),
        ("frontier people.csv -s sex --drop region -o curve.json", "curve.json"),
        ("demo --picture demo.png", "demo.png"),
    ],
)
def test_a_write_that_fails_leaves_the_old_file_whole(line, output, folder, monkeypatch):
    pd = pytest.importorskip("pandas")
    people = np.loadtxt("people.csv", delimiter=",", skiprows=1, usecols=(1, 2, 3, 4))
    frame = pd.DataFrame(people, columns=["age", "income", "height", "debt"])
    RobustFairPCA(2).fit(frame, sensitive_features=["a", "b"] * 60).save("old.npz")
    (folder / output).write_text("old")

    def full(number):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    before = sorted(path.name for path in folder.iterdir())
    code = main(line.split())
    assert code == 1
    assert (folder / output).read_text() == "old"
    assert sorted(path.name for path in folder.iterdir()) == before


def test_advice_can_be_typed_as_it_is_printed(fairspan, folder):
    columns = [f"x{j}" for j in range(14)]
    rows = [",".join([*columns, "home town", "group"])]
    rows += [",".join([*map(str, range(14)), "a b", group]) for group in "abab"]
    Path("wide.csv").write_text("\n".join(rows) + "\n")
    answer = fairspan("fit wide.csv")
    assert "and 4 more, the last 'group'" in answer.err.replace("\n", " ")
    answer = fairspan("fit wide.csv -s group")
    assert "--drop 'home town'" in answer.err.replace("\n", " ")


def test_one_site_is_not_counted_twice(fairspan, folder):
    assert fairspan("moments north.csv -s sex -o north.npz").code == 0
    answer = fairspan("merge north.npz ./north.npz -o all.npz")
    assert answer.code == 2
    assert "is given more than once" in answer.err.replace("\n", " ")


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("select people.csv -s sex --drop region --gap-budget -1", "--gap-budget -1.0 must be"),
        ("fit people.csv -s sex --drop region --min-rows 0", "--min-rows 0 must be 1 or more"),
    ],
)
def test_errors_name_options_and_not_parameters(line, text, refused):
    assert text in refused(line)
