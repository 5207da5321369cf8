"""What a first visitor meets: advice that works as typed, and words that agree between commands."""

from __future__ import annotations

import csv
import json
import re
import shlex

import numpy as np
import pytest

from fairspan import GroupMoments
from fairspan.cli import main
from fairspan.moments.groups import sort_labels
from tests.cli.conftest import write_csv


@pytest.fixture
def call(folder, capsys):
    """Run a command as it is typed; give its exit code, its answer and its complaints."""

    def run(line):
        code = main(shlex.split(line))
        told = capsys.readouterr()
        return code, told.out, told.err

    return run


def rows_of(n=120, scale=1.0):
    random = np.random.default_rng(3)
    wide = np.arange(n) % 2
    X = random.normal(size=(n, 3)) * (1 + wide[:, None] * [0.1, 0.9, 0.4])
    return X * [1, 1, scale], wide


def test_a_label_spelled_as_missing_is_typed_as_advised(folder, call):
    X, wide = rows_of()
    colours = ["N/A", "red", "blue"]
    rows = [[*x, colours[i % 3], "fm"[g]] for i, (x, g) in enumerate(zip(X, wide, strict=True))]
    write_csv(folder / "t.csv", ["a", "b", "c", "colour", "sex"], rows)
    code, _, err = call("fit t.csv -s sex --one-hot all")
    advice = re.search(r"use (--missing \S+)\.", err)[1]
    assert (code, advice) == (1, "--missing colour=N/A")
    code, out, _ = call(f"fit t.csv -s sex --one-hot all {advice}")
    assert code == 0
    assert "'colour' became 3 columns" in out


def test_what_comes_next_reads_the_table_as_the_fit_did(folder, call):
    X, wide = rows_of(40)
    cells = [
        [*(f"{v:.3f}".replace(".", ",") for v in x), "fm"[g]] for x, g in zip(X, wide, strict=True)
    ]
    lines = ["a;b;c;sex", ";;;f", *(";".join(row) for row in cells)]
    (folder / "t.csv").write_text("\n".join(lines), encoding="utf-16")
    _, out, _ = call("fit t.csv -s sex -k 1 --decimal , --missing drop-rows -o m.npz")
    line = out.split("Next:  fairspan ")[1].strip()
    assert line == "transform m.npz t.csv --decimal , --missing drop-rows -o projected.csv"
    assert call(line)[0] == 0


def test_one_large_feature_does_not_make_groups_equal(folder, call):
    X, wide = rows_of(scale=1e5)
    rows = [[*x, "fm"[g]] for x, g in zip(X, wide, strict=True)]
    write_csv(folder / "t.csv", ["a", "b", "c", "sex"], rows)
    told = {name: call(f"{name} t.csv -s sex -k 1")[1] for name in ("advise", "fit", "frontier")}
    shown = {
        re.search(r"PCA reconstructs m [0-9.]+ % worse", " ".join(t.split()))[0]
        for t in told.values()
    }
    assert len(shown) == 1


def test_a_comparison_is_written_and_pools_small_groups(folder, call):
    X, wide = rows_of()
    rows = [[*x, "fm"[g] if i else "x"] for i, (x, g) in enumerate(zip(X, wide, strict=True))]
    write_csv(folder / "t.csv", ["a", "b", "c", "sex"], rows)
    pooled = "--small-groups pool --min-rows 60"
    code, out, err = call(f"compare t.csv -s sex -k 1 --seeds 2 {pooled} -o m.csv -o m.json")
    assert code == 0
    assert "are pooled into one group, 'small groups'" in err
    assert "Written: m.csv" in out
    document = json.loads((folder / "m.json").read_text())["methods"]
    with (folder / "m.csv").open() as file:
        for row in csv.DictReader(file):
            found = document[row["method"]]
            assert float(row["error_gap"]) == found["error_gap"]
            assert float(row["error_gap_range_high"]) == found["error_gap_range"][1]
    assert "small groups, 60 rows:" in call(f"advise t.csv -s sex -k 1 {pooled}")[1]


def test_groups_that_are_cut_come_in_the_order_of_their_numbers(folder, call):
    X, wide = rows_of()
    ages = np.arange(120) % 110
    rows = [[*x, age, "fm"[g]] for x, age, g in zip(X, ages, wide, strict=True)]
    write_csv(folder / "t.csv", ["a", "b", "c", "age", "sex"], rows)
    _, out, _ = call("fit t.csv -s age --drop sex --bin age:9,18,100 -k 1 --json")
    labels = [group["label"] for group in json.loads(out)["fit"]["groups"]]
    assert labels == ["9 or less", "9 to 18", "18 to 100", "over 100"]
    mixed = ["over 2", "b", 3, "-1.5 to 2", "1e3 to 2e3", "-1.5 or less", "10 to"]
    told = (3, "-1.5 or less", "-1.5 to 2", "over 2", "1e3 to 2e3", "10 to", "b")
    assert sort_labels(mixed) == told
    assert sort_labels(reversed(mixed)) == told


@pytest.mark.parametrize(
    ("cell", "options", "told"),
    [
        ("8 070", "", "have marks between thousands: remove these"),
        ("-3.5%", "", "have signs such as % or $: remove these"),
        ("$12", "", "have signs such as % or $: remove these"),
        ("\u22121.5", "", "Minus signs in 'a' are not hyphens: write - in the file."),
        ("?", "", "stand for missing values, leave those cells blank"),
        ("1.5", "--decimal ,", "have a point: leave out --decimal , if it is"),
        ("1.5", "--bin sex:4", "--bin cuts numbers only: leave it out for 'sex'"),
        ("inf", "", "infinite values: correct them, or leave it out with --drop a."),
    ],
)
def test_a_cell_that_is_no_number_is_met_with_what_to_do(folder, call, cell, options, told):
    write_csv(folder / "t.csv", ["a", "b", "sex"], [[cell, 2, "f"], [cell, 3, "m"], [cell, 1, "f"]])
    code, _, err = call(f"fit t.csv -s sex -k 1 {options}")
    assert code == 1
    assert told in err
    assert "--one-hot" not in err


@pytest.mark.parametrize(
    ("cells", "told"),
    [
        (["total"], "Most cells of 'a' are numbers: correct the others, or leave them blank."),
        (["low"] * 9, "turn each category into a column of zeros and ones with --one-hot a"),
    ],
)
def test_a_word_among_numbers_is_no_category(folder, call, cells, told):
    rows = [[cell, i % 7, "fm"[i % 2]] for i, cell in enumerate([*range(40), *cells])]
    write_csv(folder / "t.csv", ["a", "b", "sex"], rows)
    code, _, err = call("fit t.csv -s sex -k 1")
    assert code == 1
    assert told in err
    assert ("Most cells" in err) != ("--one-hot" in err)


def test_a_file_without_names_is_asked_for_them(folder, call):
    rows = [[3.5, 1.5, "f"], [2.5, 0.5, "m"], [1.5, 2.5, "f"]]
    write_csv(folder / "t.csv", rows[0], rows[1:])
    code, _, err = call("fit t.csv -s sex -k 1")
    assert code == 1
    assert "its columns are '3.5', '1.5', 'f'. If its first line holds values, add a line" in err


def test_what_is_not_defined_is_neither_higher_nor_lower(folder, call):
    X, wide = rows_of()
    # The R squared of one row is not defined.
    rows = [[*x, "fm"[g] if i > 3 else "x"] for i, (x, g) in enumerate(zip(X, wide, strict=True))]
    write_csv(folder / "t.csv", ["a", "b", "c", "sex"], rows)
    line = "downstream t.csv -s sex --target a -k 1 --methods FairPCA --splits 5 --seed 3"
    code, out, _ = call(line)
    assert code == 0
    told = " ".join(out.split())
    assert "nan" not in told
    assert "The r2 difference, compared" not in told
    why = "a group has too few held-out rows."
    assert f"The r2 difference is not compared with PCA: {why}" in told


def write_many(path, n_groups=40):
    """A table of many groups, of which the first has a single row."""
    random = np.random.default_rng(0)
    groups = np.append(np.arange(1, n_groups).repeat(12), 0)
    X = random.normal(size=(len(groups), 3)) * (1 + 0.1 * groups[:, None])
    write_csv(
        path, ["a", "b", "c", "site"], [[*x, f"s{g}"] for x, g in zip(X, groups, strict=True)]
    )


@pytest.mark.parametrize("command", ["fit", "advise"])
def test_many_groups_are_folded_in_the_terminal_but_not_for_programs(folder, call, command):
    write_many(folder / "many.csv")
    _, out, _ = call(f"{command} many.csv -s site -k 1")
    lines = [line for line in out.splitlines() if re.match(r" *s\d+[, ]", line)]
    assert 10 <= len(lines) <= 20
    assert f"and {40 - len(lines)} more (--json lists all)" in out
    document = json.loads(call(f"{command} many.csv -s site -k 1 --json")[1])
    assert len(document["fit"]["groups"] if command == "fit" else document["pca_errors"]) == 40


def test_a_group_of_one_row_gets_no_estimate_for_new_rows(folder, call):
    write_many(folder / "few.csv", 4)
    _, out, _ = call("advise few.csv -s site -k 1")
    told = {line.split(",")[0].strip(): line for line in out.splitlines() if " row" in line[:12]}
    assert "on new rows" not in told["s0"]
    assert "on new rows" in told["s1"]
    assert "No statement about 's0' (1)" in out
    call("report few.csv -s site -k 1 --card card.md -o page.html")
    assert "| s0 | 1\\* | too few rows |" in (folder / "card.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "line",
    [
        "fit t.csv -s site -k 1",
        "fit m.npz -k 1",
        "frontier t.csv -s site -k 1 --weights 0 1",
        "advise t.csv -s site -k 1",
        "compare t.csv -s site -k 1",
    ],
)
def test_a_sentence_that_names_a_group_of_one_row_says_so(folder, call, line):
    X, wide = rows_of()
    rows = [[*x, "ab"[g]] for x, g in zip(X, wide, strict=True)]
    write_csv(folder / "t.csv", ["x", "y", "z", "site"], [*rows, [9, -8, 7, "s0"]])
    named = [row[-1] for row in rows]
    moments = GroupMoments.from_arrays(np.vstack([X, [9, -8, 7]]), [*named, "s0"])
    moments.save(folder / "m.npz", min_count=1)
    code, out, _ = call(line)
    said = " ".join(out.split())
    assert code == 0
    assert "worst-served group is 's0' (1 row)" in said
    assert ("PCA reconstructs 's0' (1 row) " in said) == ("compare" not in line)
    served = said[said.index("worst-served") :]
    assert served.count("'s0'") == served.count("'s0' (1")


def test_a_method_without_a_direction_left_says_why(folder, call):
    X, _ = rows_of()
    rows = [[*x, "abcd"[i % 4]] for i, x in enumerate(X)]
    write_csv(folder / "t.csv", ["x", "y", "z", "site"], rows)
    said = " ".join(call("compare t.csv -s site -k 1")[1].split())
    left = "no direction is left for -k 1: all 3 are removed because of group means."
    assert f"NullSpaceFairPCA: not fitted. {left}" in said


@pytest.mark.parametrize("command", ["report", "frontier"])
def test_one_group_is_not_asked_for_again(folder, call, command):
    X, _ = rows_of(30)
    write_csv(folder / "t.csv", ["a", "b", "c", "sex"], [[*x, "f"] for x in X])
    code, _, err = call(f"{command} t.csv -s sex -k 1")
    assert code == 1
    assert "The only group to compare is 'f'; choose a column with more values." in err
    assert "--sensitive" not in err


def test_the_default_sizes_are_those_that_exist(folder, call):
    X, wide = rows_of(60)
    rows = [[*x, "fm"[g], int(x[0] > 0)] for x, g in zip(X, wide, strict=True)]
    write_csv(folder / "t.csv", ["a", "b", "c", "sex", "y"], rows)
    code, out, err = call("downstream t.csv -s sex --target y --splits 2 --json")
    assert (code, "warning" in err) == (0, False)
    assert {row["n_components"] for row in json.loads(out)["summary"]} == {None, 2}


def test_info_names_what_fills_missing_values(folder, call):
    X, wide = rows_of(60)
    rows = [[*x, "fm"[g]] for x, g in zip(X.round(2).tolist(), wide, strict=True)]
    rows[0][1] = ""
    write_csv(folder / "t.csv", ["a", "b", "c", "sex"], rows)
    call("fit t.csv -s sex -k 1 --missing b=1.5 -o m.npz")
    assert "filled      missing values with b = 1.5" in call("info m.npz")[1]
    call("fit t.csv -s sex -k 1 --drop b -o whole.npz")
    assert "filled" not in call("info whole.npz")[1]


def test_options_that_take_columns_may_be_repeated(folder, call):
    X, wide = rows_of(60)
    write_csv(
        folder / "t.csv",
        ["a", "b", "c", "sex"],
        [[*x, "fm"[g]] for x, g in zip(X, wide, strict=True)],
    )
    both = [
        call(f"fit t.csv -s sex -k 1 --features {given} --json")[1]
        for given in ("a b", "a --features b")
    ]
    assert both[0] == both[1]


def test_groups_that_are_all_small_leave_pca_and_say_so(folder, call):
    rows = [[i % 7, (3 * i) % 5, f"g{i // 2:02d}"] for i in range(40)]
    write_csv(folder / "t.csv", ["a", "b", "g"], rows)
    code, out, err = call("fit t.csv -s g -k 1 --small-groups total-only")
    assert code == 0
    assert "There are fewer than two groups to compare, so the result is PCA." in out
    assert "lower --min-rows, or leave out --small-groups" in " ".join(err.split())
