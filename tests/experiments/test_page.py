"""The numbers of docs/reproduction.md are those of the stored files."""

from __future__ import annotations

import json
import re

import pytest

from fairspan.experiments import published
from fairspan.experiments.methods import _LARGE_STEPS, TITLES
from fairspan.experiments.settings import CHOICES
from tests.experiments.stored import DOCS, NAMES, PAGE, PAPER, STORED, WORDS, read


def two_digits(percent):
    return f"{percent:.0f}" if percent >= 9.95 else f"{percent:#.2g}"


def lines_of(title):
    """The rows of the table in a section, as lists of cells; links are reduced to their text."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", PAGE.split(f"## {title}\n")[1].split("\n## ")[0])
    return [line.strip("| ").split("|") for line in text.splitlines() if line.startswith("|")]


def cells(title):
    return [[cell.strip() for cell in line] for line in lines_of(title)[2:]]


@pytest.mark.parametrize("target", PAPER)
def test_rows_that_agree_and_largest_differences(target):
    expected = []
    for method in ("rfpca", "fairpca", "cfpca-mean", "cfpca-both"):
        close, differences = 0, {"abdiff": [], "are": []}
        for row in read(f"{target}.csv"):
            if row["method"] != method:
                continue
            theirs = dict(zip(differences, PAPER[target][row["dataset"], method], strict=True))
            close += all(abs(float(row[key]) - theirs[key]) <= 5e-4 for key in theirs)
            for key, value in theirs.items():
                share = abs(float(row[key]) - value) / value
                differences[key].append((share, NAMES[row["dataset"]]))
        largest = [max(differences[key]) for key in ("abdiff", "are")]
        shown = [f"{two_digits(100 * share)} % ({name})" for share, name in largest]
        expected.append([TITLES[method], f"{close} of 14", *shown])
    rows = cells("RFPCA solved exactly, and the other methods")
    half = rows[:4] if target == "table1" else rows[4:]
    assert [row[-4:] for row in half] == expected


def test_single_differences():
    for target, name, percent in (
        ("table-insample", "image", 118),
        ("table-insample", "letter", 48),
        ("table-insample", "steel", 36),
        ("table1", "letter", 36),
        ("table1", "statlog", 16),
        ("table1", "image", 14),
    ):
        (row,) = (
            r for r in read(f"{target}.csv") if (r["dataset"], r["method"]) == (name, "rfpca")
        )
        ours, theirs = float(row["abdiff"]), PAPER[target][name, "rfpca"][0]
        assert round(100 * abs(ours - theirs) / theirs) == percent
        assert f"{percent} % on {NAMES[name]} ({ours:.4f} against {theirs:.4f})" in WORDS
    ratios = {
        row["dataset"]: (float(row["abdiff"]) + float(row["are"]))
        / sum(PAPER["table1"][row["dataset"], "rfpca"])
        for row in read("table1.csv")
        if row["method"] == "rfpca"
    }
    worst = max(ratios, key=ratios.get)
    assert f"at most {ratios[worst]:.3f} times the paper's out of sample ({NAMES[worst]})" in WORDS


def test_the_time_of_the_published_column_is_the_measured_one():
    stored = DOCS.parent / "benchmarks" / "results" / "published_column.json"
    minutes, rest = divmod(round(json.loads(stored.read_text())["cpu_seconds"]), 60)
    assert f"The column took {minutes} min {rest} s of processor time" in WORDS


def test_another_candidate_is_what_moves_abdiff():
    largest = []
    for target in PAPER:
        exact, descent = (
            {(r["dataset"], r["seed"]): r for r in read(name) if r["method"] == "rfpca"}
            for name in (f"{target}_seeds.csv", f"published/{target}_seeds.csv")
        )
        same = [key for key, row in exact.items() if row["chosen"] == descent[key]["chosen"]]
        changed = len(exact) - len(same)
        moves = (abs(float(exact[key]["abdiff"]) - float(descent[key]["abdiff"])) for key in same)
        largest.append(max(moves))
    assert f"In {changed} of the {len(exact)} splits" in WORDS
    assert f"differs by at most {max(largest):.2f}" in WORDS


def test_claims_are_those_counted():
    counts = read("claims.csv")
    own = [row for row in counts if row["methods"] == "the paper's"]
    expected = [[row["ours"], row["paper"], row["datasets"]] for row in own]
    assert [row[1:] for row in cells("The paper's claims")] == expected
    assert expected[:3] == [["10", "11", "15"], ["8", "9", "15"], ["4", "5", "15"]]
    abdiff, are, *_ = (row for row in counts if row["methods"] == "with PCA")
    text = f"out-of-sample ABDiff on {abdiff['ours']} of the {abdiff['datasets']} data sets"
    assert text in WORDS
    assert f"smallest out-of-sample ARE on {are['ours']}." in WORDS


def test_the_commands_on_the_page_made_the_stored_files():
    block = PAGE.split("```sh")[1].split("```")[0].replace("\\\n", " ")
    found = {}
    for line in re.findall(r"fairspan reproduce \$table (.*)", block):
        words = [part.split() for part in re.split(r" --| *--(?=methods)", line) if part]
        options = {name: values for name, *values in words}
        folder = options["output"][0].removeprefix("docs/reproduction/")
        found[folder] = options["methods"], options.get("datasets", [*published.datasets()][:-1])
    assert set(found) == {"published", "published/fairpca", "published/cfpca"}
    for folder, (methods, datasets) in found.items():
        for target in PAPER:
            rows = read(f"{folder}/{target}.csv")
            expected = {(name, method) for name in datasets for method in methods}
            assert {(row["dataset"], row["method"]) for row in rows} == expected


def test_pca_has_the_smallest_in_sample_are():
    rows = read("table-insample.csv")
    least = {row["dataset"]: float(row["are"]) for row in rows if row["method"] == "pca"}
    assert len(least) == 14
    for row in rows:
        assert float(row["are"]) >= least[row["dataset"]] * (1 - 1e-9)


def test_angles_on_the_page_are_those_of_figure_1():
    angles = {
        (row["method"], row["fairness_weight"]): float(row["angle"])
        for row in read("figure1.csv")
        if row["source"] == "population"
    }
    equal, between = angles["rfpca", "1"], angles["rfpca", "0.25"]
    assert f"from {angles['pca', '0']:.1f} degrees (PCA) to {equal:.1f} degrees" in WORDS
    assert f"FairPCA is at {angles['fairpca', '0']:.1f}." in WORDS
    assert f"0.25 is at {between:.1f} degrees, and weight 1 reaches {equal:.1f}." in WORDS


def test_sizes_are_the_paper_s():
    assert len(read("table-datasets.csv")) == 15
    for row in read("table-datasets.csv"):
        assert (int(row["n"]), int(row["d"])) == published.datasets()[row["dataset"]][1:3]


def test_leakage_on_the_page_is_the_stored_one():
    paper = published.scores("delta_f_lin")
    rows = {(row["dataset"], row["method"]): row for row in read("table-leakage.csv")}
    for method in ("rfpca", "fairpca", "cfpca-mean", "cfpca-both"):
        mine = [row for (_, name), row in rows.items() if name == method]
        count = sum(float(row["collapsed"]) > 0 for row in mine)
        title = re.escape(TITLES[method])
        assert re.search(rf"on {count} (of the 14 data sets )?for {title}", WORDS)
    gaps = {key: abs(float(rows[key]["delta_f_lin"]) - paper[key][0]) for key in paper}
    own = sorted((gap, name) for (name, method), gap in gaps.items() if method == "rfpca")
    assert f"RFPCA is within {own[-2][0]:.4f} of the paper on 13 data sets" in WORDS
    last, key = own[-1][1], (own[-1][1], "rfpca")
    ours, theirs = float(rows[key]["delta_f_lin"]), paper[key][0]
    assert f"the exception is {NAMES[last]} ({ours:.4f} against {theirs:.4f})" in WORDS
    assert float(rows[key]["collapsed"]) == 1.0  # "collapses in all splits"
    for method in ("fairpca", "cfpca-mean", "cfpca-both"):
        gap, name = max((gap, name) for (name, other), gap in gaps.items() if other == method)
        assert f"{gap:.3f} ({TITLES[method]}, {NAMES[name]})" in WORDS


def test_kernels_move_cfpca_around_the_paper_s_numbers():
    run = {row["method"]: row for row in read("published/cfpca/table1.csv")}
    for method, row in run.items():
        shown = f"{float(row['abdiff']):.4f} and {float(row['are']):.4f}"
        title = re.escape(TITLES[method])
        assert re.search(rf"{shown} (\(ABDiff and ARE, out of sample\) )?for {title}", WORDS)
    assert len({row["kernel"] for row in read("published/cfpca/kernels.csv")}) == 4
    for method in ("cfpca-mean", "cfpca-both"):
        mine = [row for row in read("published/cfpca/kernels.csv") if row["method"] == method]
        for key, theirs in zip(("abdiff", "are"), PAPER["table1"]["e_coli", method], strict=True):
            values = [float(row[key]) for row in mine]
            assert min(values) < theirs < max(values)
            assert f"{min(values):.4f} to {max(values):.4f}" in WORDS


def test_the_leakage_table_marks_rules_that_collapsed():
    splits = read("table-leakage_seeds.csv")
    text = (STORED / "table-leakage.md").read_text(encoding="utf-8")
    for row in read("table-leakage.csv"):
        mine = [s for s in splits if (s["dataset"], s["method"]) == (row["dataset"], row["method"])]
        collapsed = sum(int(one["collapsed"]) for one in mine)
        line = next(
            line
            for line in text.splitlines()
            if line.startswith(f"| {NAMES[row['dataset']]} | {TITLES[row['method']]}")
        )
        assert f"| {collapsed} of 10 |" in line


def test_faces_on_the_page_are_the_stored_ones():
    stored = {row["method"]: row for row in read("lfw.csv")}
    titles = {title: name for name, title in TITLES.items()}
    for title, abdiff, _, are, _ in cells("Faces (LFW)"):
        row = stored[titles[title]]
        assert (abdiff, are) == (f"{float(row['abdiff']):.4f}", f"{float(row['are']):.4f}")
    for title, _, abdiff, _, are in cells("Faces (LFW)"):
        theirs = PAPER["table1"].get(("lfw", titles[title]))
        assert (abdiff, are) == (tuple(f"{v:.4f}" for v in theirs) if theirs else ("none", "none"))
    splits = read("lfw_seeds.csv")
    mine = [float(r["abdiff"]) for r in splits if r["method"] == "rfpca"]
    assert f"RFPCA's ranges from {min(mine):.2f} to {max(mine):.2f}" in WORDS
    abdiff, are = (float(stored["rfpca"][f"{name}_in_sample"]) for name in ("abdiff", "are"))
    theirs = PAPER["table-insample"]["lfw", "rfpca"]
    assert f"In sample, RFPCA's ABDiff is {abdiff:.4f} (paper {theirs[0]:.4f})" in WORDS
    assert f"an ARE {100 * (are / theirs[1] - 1):.1f} % above the paper's" in WORDS
    assert f"stopped after {_LARGE_STEPS} steps" in WORDS
    gaps = [float(r["gap"]) for r in splits if r["method"] == "cfpca-both"]
    assert f"gap is between {min(gaps):.1g} and {max(gaps):.2g}" in WORDS


def test_the_radius_figure_says_what_the_page_says():
    rows = read("figure-radius.csv")
    text = WORDS.split("- Radius:")[1].split("##")[0]
    for base in ("0.1", "0", "1", "5"):
        mine = [(float(row["alpha"]), float(row["mean"])) for row in rows if row["base"] == base]
        alpha, least = min(mine, key=lambda one: one[1])
        numbers = f"{mine[0][1]:.2f} {least:.2f} {alpha:.1f} {mine[-1][1]:.2f}"
        # The page has the first value, the least, where it is, and the last, in this order.
        assert re.search(numbers.replace(".", r"\.").replace(" ", r"\D+"), text), numbers


def test_delta_does_not_move_cfpca_in_the_figure_of_trade_offs():
    points = {}
    for row in read("figure-pareto.csv"):
        if row["method"] == "cfpca-mean":
            points.setdefault(row["dataset"], []).append((row["abdiff"], row["are"]))
    assert [len(mine) for mine in points.values()] == [8, 8, 8]
    assert all(len(set(mine)) == 1 for mine in points.values())


def test_the_options_on_the_page_are_those_of_the_command():
    rows = cells("Differences between the published experiment and the paper's text")
    shown = [re.findall(r"[\w-]+", row[0].replace("`", "")) for row in rows]
    expected = [[f"--{name.replace('_', '-')}", *choices] for name, choices in CHOICES.items()]
    assert shown == expected
