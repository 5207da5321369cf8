"""Commands say what the library says."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array, save_npz
from sklearn.base import clone

import fairspan as library
from fairspan import (
    GroupMoments,
    RobustFairPCA,
    RobustFairPCACV,
    advise,
    certify,
    fairness_frontier,
    load_model,
)
from fairspan.cli import COMMANDS, _parser, console

from .conftest import write_csv

FIT = "fit people.csv -s sex --drop id region count -k 2 --standardize -o model.npz"

FIT_KEYS = {
    "class",
    "parameters",
    "n_features",
    "n_rows",
    "groups",
    "gap",
    "total_error",
    "objective",
    "lower_bound",
    "optimality_gap",
    "status",
    "hidden",
    "proof",
    "explained_variance_ratio",
    "variance_kept",
}
"""What programs rely on."""


@pytest.fixture
def fitted(people) -> RobustFairPCA:
    return RobustFairPCA(2, standardize=True).fit(people.X, sensitive_features=people.sex)


def test_fit_saves_the_model_and_tells_its_numbers_exactly(fairspan, people, fitted):
    answer = fairspan(f"{FIT} --json")
    assert answer.code == 0
    model = load_model("model.npz")
    np.testing.assert_array_equal(model.components_, fitted.components_)
    fit = answer.json["fit"]
    assert fit["objective"] == fitted.objective_
    assert fit["status"] == "optimal"
    assert [group["label"] for group in fit["groups"]] == ["female", "male"]
    assert [group["error"] for group in fit["groups"]] == fitted.group_errors_.tolist()
    about = {"fairspan", "data", "notes", "model", "report"}
    assert answer.json.keys() == {*about, "fit", "pca", "dominating", "verdict"}
    assert fit.keys() == FIT_KEYS
    plain = RobustFairPCA(2, fairness_weight=0, radius=0, standardize=True)
    plain.fit(people.X, sensitive_features=people.sex)
    assert answer.json["pca"]["gap"] == plain.error_gap_


def test_fit_speaks_to_people(fairspan):
    answer = fairspan(FIT)
    assert answer.out.startswith("people.csv: 120 rows, 4 features, 2 groups by sex\n")
    assert "With 2 components, PCA reconstructs " in answer.out
    assert "\nProved optimal within " in answer.out
    assert "Next:  fairspan transform model.npz people.csv" in answer.out
    assert answer.err == ""
    assert "\x1b" not in answer.out


def test_transform_finds_columns_by_name_in_any_order(fairspan, people, fitted, folder):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    fairspan(FIT)
    shuffled = ["debt", "extra", "age", "height", "income"]
    frame = pd.DataFrame(people.X, columns=["age", "income", "height", "debt"]).assign(extra="x")
    frame[shuffled].to_csv("new.csv", index=False)
    frame[shuffled].to_parquet("new.parquet")
    frame[shuffled].to_feather("new.feather")
    expected = fitted.transform(people.X)
    for source in ("new.csv", "new.parquet", "new.feather"):
        for target in ("out.csv", "out.npy", "out.parquet", "out.feather"):
            answer = fairspan(f"transform model.npz {source} -o {target}")
            assert answer.code == 0, answer
            np.testing.assert_array_equal(read(target), expected)
    assert pd.read_csv("out.csv").columns.tolist() == ["robustfairpca0", "robustfairpca1"]
    assert pd.read_parquet("out.parquet").columns.tolist() == ["robustfairpca0", "robustfairpca1"]


def read_frame(path: str):
    pd = pytest.importorskip("pandas")
    if path.endswith(".csv"):
        # Before 3.0, pandas rounds the last digit unless it is told not to; after, it may not be.
        exact = {} if int(pd.__version__[0]) >= 3 else {"float_precision": "round_trip"}
        return pd.read_csv(path, **exact)
    return {"parquet": pd.read_parquet, "feather": pd.read_feather}[path.split(".")[1]](path)


def read(path: str) -> np.ndarray:
    return np.load(path) if path.endswith(".npy") else read_frame(path).to_numpy()


def test_transform_keeps_columns_beside_rows_that_stay(fairspan, fitted, people, folder):
    pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    fairspan(FIT)
    text = (folder / "people.csv").read_text().replace(f"\n1,{people.X[1, 0]},", "\n1,,")
    (folder / "people.csv").write_text(text)
    for target in ("out.csv", "out.parquet"):
        line = f"transform model.npz people.csv -o {target} --keep id sex --missing drop-rows"
        answer = fairspan(f"{line} --json").json
        assert answer["columns"] == ["id", "sex", "robustfairpca0", "robustfairpca1"]
        assert answer["notes"] == ["1 of 120 rows left out: missing values in 'age' (1)"]
        frame = read_frame(target)
        keep = np.delete(np.arange(120), 1)
        assert frame["id"].tolist() == keep.tolist()
        assert frame["sex"].tolist() == people.sex[keep].tolist()
        expected = fitted.transform(people.X)[keep]
        np.testing.assert_array_equal(frame.iloc[:, 2:].to_numpy(), expected)
    assert fairspan("transform model.npz people.csv -o out.npy --keep id").code == 2


def test_models_made_in_python_project_tables_too(fairspan, people, fitted, folder):
    pd = pytest.importorskip("pandas")
    fitted.save("python.npz")
    np.save("plain.npy", people.X)
    assert fairspan("transform python.npz plain.npy -o out.npy").code == 0
    np.testing.assert_array_equal(np.load("out.npy"), fitted.transform(people.X))
    assert fairspan("transform python.npz array.npy -o out.npy").code == 1
    names = pd.DataFrame(people.X, columns=["age", "income", "height", "debt"])
    RobustFairPCA(2).fit(names, sensitive_features=people.sex).save("python.npz")
    assert fairspan("transform python.npz people.csv -o out.csv").code == 0


def test_sites_merged_give_the_model_of_all_rows(fairspan, people, folder):
    for site in ("north", "south"):
        assert fairspan(f"moments {site}.csv -s sex -o {site}.npz").code == 0
    assert fairspan("merge north.npz south.npz -o all.npz").code == 0
    assert fairspan("fit all.npz -k 2 --standardize -o merged.npz").code == 0
    assert fairspan(FIT).code == 0
    merged, whole = load_model("merged.npz"), load_model("model.npz")
    np.testing.assert_allclose(merged.components_, whole.components_, atol=1e-7)
    assert merged.feature_names_in_.tolist() == ["age", "income", "height", "debt"]
    assert fairspan("transform merged.npz people.csv -o out.npy").code == 0
    fairspan("transform model.npz people.csv -o whole.npy")
    np.testing.assert_allclose(np.load("out.npy"), np.load("whole.npy"), atol=1e-6)
    info = fairspan("info all.npz --json").json
    assert info["kind"] == "moments"
    assert info["n_rows"] == 120


def test_several_sensitive_columns_are_intersected_and_weights_count(fairspan, people):
    answer = fairspan(
        "fit people.csv -s sex -s region --weight count --drop id -k 2 --json -o model.npz"
    )
    groups = {"sex": people.sex, "region": people.region}
    expected = RobustFairPCA(2).fit(
        people.X, sensitive_features=groups, sample_weight=people.weight
    )
    labels = [tuple(group["label"]) for group in answer.json["fit"]["groups"]]
    assert labels == expected.group_labels_
    assert answer.json["fit"]["objective"] == pytest.approx(expected.objective_, rel=1e-9)
    assert "female / east" in fairspan("info model.npz").out


def test_arrays_are_read_by_column_number(fairspan, people, folder):
    answer = fairspan("fit array.npy -s 0 -k 2 -o model.npz --json")
    assert [group["label"] for group in answer.json["fit"]["groups"]] == [0, 1]
    expected = RobustFairPCA(2).fit(people.X, sensitive_features=people.sex == "male")
    assert answer.json["fit"]["objective"] == expected.objective_
    assert fairspan("transform model.npz array.npy -o out.npy").code == 0
    np.testing.assert_array_equal(np.load("out.npy"), expected.transform(people.X))
    assert fairspan("fit array.npy -s -5 -k 2").code == 0


def test_the_frontier_is_written_in_full(fairspan, people, folder):
    pytest.importorskip("matplotlib")
    line = "frontier people.csv -s sex --drop id region count -k 2 --standardize"
    answer = fairspan(f"{line} -o curve.csv -o curve.json -o curve.png -o curve.svg")
    assert answer.code == 0
    assert "The gap can be closed for" in " ".join(answer.out.split())
    assert "Every point is proved optimal within" in answer.out
    expected = fairness_frontier(people.X, 2, sensitive_features=people.sex, standardize=True)
    with open("curve.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["gap"]) for row in rows] == expected.gap.tolist()
    assert [float(row["error_male"]) for row in rows] == expected.group_errors[:, 1].tolist()
    points = json.loads((folder / "curve.json").read_text())["points"]
    assert [point["total_error"] for point in points] == expected.total_error.tolist()
    assert (folder / "curve.png").read_bytes().startswith(b"\x89PNG")
    grid = fairspan(f"{line} --weights 0 1 --radius 0.1 --json").json["points"]
    assert [point["fairness_weight"] for point in grid] == [0, 1]
    old = fairspan(f"{line} --bootstrap 20")
    assert old.code == 0
    assert "warning: --bootstrap is deprecated" in old.err


def test_compare_judges_every_method_and_says_who_cannot_be_fitted(fairspan, people):
    pytest.importorskip("pandas")
    line = "compare people.csv -s sex --drop id region count -k 2 --standardize"
    answer = fairspan(f"{line} --json").json
    assert len(answer["methods"]) == 10
    table = library.compare(
        {"RobustFairPCA": RobustFairPCA(2)}, people.X, people.sex, standardize=True
    )
    expected = table.set_index("method").loc["RobustFairPCA"]
    assert answer["methods"]["RobustFairPCA"]["error_gap"] == pytest.approx(expected["error_gap"])
    for row, label in zip(answer["groups"], ("female", "male"), strict=True):
        assert row["label"] == label
    errors = [row["RobustFairPCA"] for row in answer["groups"]]
    assert np.ptp(errors) == pytest.approx(expected["error_gap"])
    first = answer["groups"][0]
    change = 100 * (first["RobustFairPCA"] / first["PCA"] - 1)
    told = " ".join(fairspan(line).out.split())
    shown = re.search(r"Errors compared with PCA: female ([-+][\d.]+) %", told)
    assert float(shown[1]) == pytest.approx(change, rel=0.06)
    table = fairspan(line).out.partition("error of each group")[2].splitlines()[2:4]
    for row, text in zip(answer["groups"], table, strict=True):
        assert text.split() == [
            row["label"],
            *(f"{row[name]:.4g}" for name in ("PCA", "RobustFairPCA")),
        ]
    split = fairspan(f"{line} --seeds 3")
    assert "[" in split.out
    heading = "mean squared errors on rows not fitted to: means over 3 splits, and in brackets"
    assert split.out.splitlines()[1].strip() == f"{heading} where 95 % of these lie"
    assert "fits: 27/27" in split.err
    several = fairspan("compare people.csv -s region --drop id sex count -k 2 --json")
    assert "needs 2 groups" in several.json["not_fitted"]["ExactlyFairPCA"]
    assert "PCA" in several.json["methods"]


def test_where_every_group_could_be_served_better_it_is_said_what_to_type(fairspan, folder):
    pytest.importorskip("pandas")
    assert fairspan("demo --table adult.csv").code == 0
    columns = "age education_num capital_gain capital_loss hours_per_week"
    line = f"adult.csv -s sex -k 2 --standardize --features {columns}"
    instead = "--disparity largest makes no group worse to look more equal."
    answers = [f"fit {line} -o model.npz", "certify model.npz", f"compare {line}"]
    answers += [f"frontier {line}", f"report {line} -o page.html"]
    for command in answers:
        told = " ".join(fairspan(command).out.split())
        assert "another projection serves every group better" in told.lower()
        assert told.count(instead) == 1
    for command in (f"fit {line} --disparity largest -o model.npz", "certify model.npz"):
        told = " ".join(fairspan(command).out.split())
        assert "Proved: no projection lowers the error of every group by more than" in told
        assert instead not in told


def test_the_disparity_and_references_are_those_of_the_library(fairspan, people, fitted):
    line = FIT.replace("-o model.npz", "--disparity largest -o model.npz")
    answer = fairspan(f"{line} --reference own --json").json["fit"]
    options = {"disparity": "largest", "reference": "own"}
    expected = clone(fitted).set_params(**options).fit_moments(fitted.moments_)
    assert answer["objective"] == expected.objective_
    assert answer["parameters"]["reference"] == "own"
    proved = fairspan("certify model.npz --json")
    assert (proved.code, proved.json["disparity"], proved.json["reference"]) == (
        0,
        *options.values(),
    )
    assert proved.json["objective"] == pytest.approx(expected.objective_)
    other = fairspan("certify model.npz --disparity gap --reference none --json").json
    assert other["objective"] != pytest.approx(expected.objective_)
    numbers = {"female": 0.5, "male": 0.25}
    given = " ".join(f"--reference {name}={number}" for name, number in numbers.items())
    answer = fairspan(f"{line} {given} --json").json["fit"]
    expected.set_params(reference=numbers).fit_moments(fitted.moments_)
    assert answer["objective"] == expected.objective_
    refused = fairspan(f"{line} --reference woman=1")
    assert refused.code == 1
    assert "there is no group 'woman'; the groups are 'female', 'male'" in refused.err
    points = fairspan("frontier people.csv -s sex --drop id region count -k 2 --disparity largest")
    assert points.code == 0


def test_certify_proves_anew_and_its_exit_code_tells(fairspan, people, fitted, folder):
    pd = pytest.importorskip("pandas")
    fairspan(FIT)
    answer = fairspan("certify model.npz --json")
    assert answer.code == 0
    moments = fitted.moments_.scaled(fitted.scale_)
    expected = certify(fitted.components_, moments, fairness_weight=1.0, radius=0.0)
    assert answer.json["lower_bound"] == expected.lower_bound
    rng = np.random.default_rng(0)
    other = pd.DataFrame(rng.normal(size=(60, 4)), columns=["age", "income", "height", "debt"])
    GroupMoments.from_arrays(other, ["a", "b"] * 30).save("other.npz")
    answer = fairspan("certify model.npz --moments other.npz")
    assert answer.code == 3
    assert "Not proved optimal: another projection may lower the objective" in answer.out
    assert fairspan("certify model.npz --moments other.npz --tolerance 10").code == 0
    fitted.save("small.npz", moments=False)
    assert fairspan("certify small.npz").code == 2
    assert fairspan("certify small.npz --moments other.npz").code == 3
    exact = library.ExactlyFairPCA(2, standardize=True).fit(people.X, sensitive_features=people.sex)
    exact.save("exact.npz")
    assert fairspan("certify exact.npz").code == 2
    assert fairspan("certify exact.npz --fairness-weight 1 --radius 0").code in (0, 3)


def test_certify_judges_a_model_by_what_it_was_asked_to_count(fairspan, people, folder):
    groups = people.sex
    for setting in ({"group_weights": "equal"}, {"radius": "bootstrap", "random_state": 0}):
        model = RobustFairPCA(2, standardize=True, **setting)
        model.fit(people.X, sensitive_features=groups).save("counted.npz")
        answer = fairspan("certify counted.npz --json")
        assert answer.code == 0
        assert answer.json["objective"] == pytest.approx(model.objective_, rel=1e-9)
    assert answer.json["radius"] is None
    assert [group["radius"] for group in answer.json["groups"]] == model.group_radii_.tolist()
    assert "radii by group" in fairspan("certify counted.npz").out


def test_info_tells_what_a_model_is(fairspan):
    fairspan(FIT)
    text = fairspan("info model.npz").out
    assert "RobustFairPCA: 4 features -> 2 components, fitted on 120 rows" in text
    assert "age, income, height, debt" in text
    document = fairspan("info model.npz --json").json
    assert document["versions"]["fairspan"] == library.__version__
    assert document["columns"]["sensitive"] == ["sex"]
    assert len(document["sha256"]) == 64


def test_the_report_is_about_the_rows_and_the_setting(fairspan, people, folder):
    pytest.importorskip("bokeh")
    line = "people.csv -s sex --drop id region count -k 3 --fairness-weight 0.5 --radius 0"
    more = "--standardize -o page.html --title Us --card card.md --numbers page.json"
    told = fairspan(f"report {line} {more}")
    assert told.code == 0
    expected = library.report.build(
        people.X,
        sensitive_features=people.sex,
        n_components=3,
        fairness_weight=0.5,
        radius=0.0,
        standardize=True,
        feature_names=["age", "income", "height", "debt"],
        title="Us",
    )
    shown = console.sentences(expected.summary)
    assert " ".join(told.out.split()).startswith(" ".join(shown.split()))
    assert json.loads((folder / "page.json").read_text()) == json.loads(expected.to_json())
    assert (folder / "card.md").read_text() == expected.model_card()
    assert "<title>" in (folder / "page.html").read_text()
    answer = fairspan(f"fit {line} --report fit.html")
    assert answer.code == 0
    assert "Report: fit.html" in answer.out


def test_a_report_takes_weights_and_moments(fairspan, folder):
    pytest.importorskip("bokeh")
    line = "people.csv -s sex --drop id region"
    assert fairspan(f"report {line} --weight count -o rows.html --numbers rows.json").code == 0
    assert fairspan(f"moments {line} --weight count -o site.npz").code == 0
    assert fairspan("report site.npz -o sums.html --numbers sums.json").code == 0
    rows, sums = (json.loads((folder / f"{name}.json").read_text()) for name in ("rows", "sums"))
    assert rows["groups"] == sums["groups"]


def test_a_report_of_many_settings_shows_that_it_lives(fairspan):
    pytest.importorskip("bokeh")
    columns = "people.csv --drop id sex count -k 1"
    answer = fairspan(f"report {columns} -s region -o page.html")
    assert answer.code == 0
    last = answer.err.splitlines()[-1]
    assert re.fullmatch(r"settings solved: (\d+)/\1, \d+:\d\d taken", last)
    assert fairspan(f"report {columns} -s region -o page.html --json").err == ""


def test_all_components_leave_nothing_to_choose(fairspan):
    answer = fairspan("fit people.csv -s sex --drop id region count -k 4")
    told = "All components are kept: nothing is lost, and there is nothing to choose."
    assert told in answer.out
    assert "optimal" not in answer.out
    fairspan("fit people.csv -s sex --drop id region count -k 4 -o all.npz")
    assert told in fairspan("info all.npz").out


@pytest.mark.parametrize(
    ("ours", "theirs", "named"),
    [
        ("12", "12?", "group 1 of one and '1' of the other"),
        (["true", "false"], "01", "group False of one and 0 of the other"),
    ],
)
def test_sites_that_read_their_groups_as_different_kinds_are_not_merged(
    ours, theirs, named, fairspan, refused, folder
):
    for name, labels in (("one", ours), ("other", theirs)):
        rows = [f"{i},{i % 5},{labels[i % len(labels)]}" for i in range(30)]
        (folder / f"{name}.csv").write_text("\n".join(["x,y,g", *rows]))
        assert fairspan(f"moments {name}.csv -s g -o {name}.npz").code == 0
    text = refused("merge one.npz other.npz -o both.npz")
    assert named in text
    assert "differ in kind" in text
    assert not (folder / "both.npz").exists()


def test_a_comparison_says_how_far_each_method_is_proved(fairspan, people):
    found = fairspan("compare people.csv -s sex --drop id region count -k 2 --json").json["methods"]
    assert found["RobustFairPCA"]["optimality_gap"] <= 1e-8
    assert found["PCA"]["optimality_gap"] is None
    text = fairspan("compare people.csv -s sex --drop id region count -k 2").out
    assert "proved within" in text


def test_a_label_that_the_terminal_cannot_show_stops_nothing(folder):
    command = [sys.executable, "-m", "fairspan", "moments", "people.csv", "-s", "region"]
    found = subprocess.run(
        [*command, "--drop", "id", "sex", "-o", "m.npz"],
        env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
        capture_output=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    assert rb"\xf6st" in found.stdout


def test_a_target_is_no_feature_of_any_command(fairspan, folder):
    for command in ("fit", "frontier", "compare", "moments"):
        more = "-o all.npz" if command == "moments" else ""
        answer = fairspan(
            f"{command} people.csv -s sex --target income --drop id region count {more}"
        )
        assert answer.code == 0, answer
        assert "3 features" in answer.out
    answer = fairspan("fit people.csv -s sex --target sex --drop id region")
    assert (answer.code, "one role only" in answer.err) == (2, True)
    assert "'wages'" in fairspan("fit people.csv -s sex --target wages --drop id region").err


def test_downstream_predicts_the_target_and_says_what_that_does(fairspan, folder):
    pytest.importorskip("fairlearn")
    line = "downstream people.csv -s sex --target region --drop id --metrics accuracy -k 1 2"
    told = fairspan(f"{line} --splits 2 --methods FairPCA --json -o all.csv").json
    assert told["classes"] == ["east", "west", "öst"]
    methods = {row["method"] for row in told["summary"]}
    assert methods == {"no reduction", "PCA", "FairPCA"}
    rows = (folder / "all.csv").read_text(encoding="utf-8").splitlines()
    # Five candidates, two splits: overall, two groups and their difference.
    assert len(rows) == 1 + 5 * 2 * 4
    answer = fairspan(f"{line} --splits 2 --rule 'highest accuracy'")
    assert "The accuracy difference, compared with PCA of the same size, is" in answer.out
    assert "Rule: highest accuracy. Chosen on training rows:" in answer.out
    assert fairspan("downstream people.csv -s sex --drop id region").code == 2
    assert "is not understood" in fairspan(f"{line} --rule 'most of all'").err
    table = (folder / "people.csv").read_text(encoding="utf-8").replace("east", "NA")
    (folder / "people.csv").write_text(table, encoding="utf-8")
    assert "'region' is missing in" in fairspan(line).err


def test_extreme_values_are_cut_off_where_asked_for(fairspan, people, fitted):
    answer = fairspan(f"{FIT} --clip 1.5 --json").json
    expected = clone(fitted).set_params(clip=1.5).fit(people.X, sensitive_features=people.sex)
    assert answer["fit"]["objective"] == expected.objective_ != fitted.objective_
    model = load_model("model.npz")
    assert model.clip_limits_ == pytest.approx(expected.clip_limits_)
    assert answer["notes"][-1].startswith("features clipped at 1.5 standard deviations")
    pca = clone(expected).set_params(fairness_weight=0).fit(people.X, sensitive_features=people.sex)
    errors = [group["error"] for group in answer["pca"]["groups"]]
    assert errors == pytest.approx(pca.group_errors_)
    line = "people.csv -s sex --drop id region count -k 2 --standardize --clip 1.5"
    curve = fairspan(f"frontier {line} --weights 0 1 --json").json["points"]
    assert curve[0]["total_error"] == pytest.approx(pca.total_error_)
    told = fairspan(f"advise {line} --json").json
    assert told["pca_errors"] == pytest.approx(pca.group_errors_)
    methods = fairspan(f"compare {line} --json").json["methods"]
    assert methods["PCA"]["total_error"] == pytest.approx(pca.total_error_)
    pytest.importorskip("bokeh")
    assert fairspan(f"report {line} --card card.md --numbers page.json").code == 0
    content = json.loads(Path("page.json").read_text())
    chosen = content["by_components"][1]["chosen"]
    assert chosen["objective"] == pytest.approx(expected.objective_)
    card = Path("card.md").read_text()
    assert "clip=1.5," in card
    assert "features clipped: at 1.5 standard deviations" in card
    assert fairspan("moments people.csv -s sex --drop id region -o all.npz").code == 0
    for command in ("fit", "report", "frontier"):
        assert "needs the rows" in fairspan(f"{command} all.npz --clip 3").err


def test_a_method_is_compared_once(fairspan):
    line = "compare people.csv -s sex --drop id region count -k 2 --json"
    usual = ["RobustFairPCA", "RobustFairPCA (largest)", "RobustFairPCA (largest, own)"]
    for options, more in (
        ("", []),
        (" --disparity largest", []),
        (" --reference own", ["RobustFairPCA (own)"]),
        (" --reference female=1 --reference male=2", ["RobustFairPCA (given references)"]),
    ):
        methods = fairspan(line + options).json["methods"]
        assert sorted(name for name in methods if "Robust" in name) == sorted(usual + more)
        assert "each group's own PCA" in methods


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("--target region --model ridge", "--model ridge predicts numbers, but the target has"),
        ("--target region --methods ICA", "--methods 'ICA' is not known"),
        ("--target region --metrics good", "--metrics: 'good' is known neither"),
        ("--target region --jobs 0", "--jobs 0 must be"),
        ("--target region --resume people.csv", "--resume 'people.csv' is a file"),
        ("--target region --missing mean", "--missing mean learns from all rows"),
        ("--target nowhere", "has no column 'nowhere' (--target)"),
    ],
)
def test_downstream_refuses_in_the_words_of_its_options(fairspan, options, says):
    pytest.importorskip("fairlearn")
    answer = fairspan(f"downstream people.csv -s sex --drop id -k 1 {options}")
    assert (answer.code != 0, says in answer.err) == (True, True), answer.err


def test_what_a_model_is_judged_on_is_neither_filled_nor_advised_to_be(fairspan, folder):
    """What downstream and report would refuse for a target is not what they advise."""
    table = (folder / "people.csv").read_text(encoding="utf-8").splitlines()
    table[3] = ",".join(["", *table[3].split(",")[1:]])
    (folder / "people.csv").write_text("\n".join(table) + "\n", encoding="utf-8")
    line = "people.csv -s sex --target region"
    for command, fills in (("downstream", False), ("report", False), ("fit", True)):
        answer = fairspan(f"{command} {line}")
        assert answer.code != 0
        assert "--missing drop-rows" in answer.err
        assert ("--missing mean" in answer.err) == fills, answer.err


def test_downstream_shows_progress_from_where_it_stopped_and_tables_fit_a_page(fairspan):
    pytest.importorskip("fairlearn")
    line = "downstream people.csv -s sex --target income --drop id region -k 1 --model boosting"
    line += " --methods FairPCA --resume done --splits"
    assert "splits: 0/2, time left unknown" in fairspan(f"{line} 2").err
    assert "splits: 2/2" in fairspan(f"{line} 2").err
    wrong = fairspan(f"{line} 2 --weights -1")
    assert (wrong.code != 0, "splits:" in wrong.err) == (True, False)
    answer = fairspan(f"{line} 2")
    heads = [one for one in answer.out.splitlines() if one.startswith("method ")]
    assert len(heads) > 1
    assert max(map(len, heads)) <= 100
    for name in (
        "r2 difference",
        "root mean squared error difference",
        "mean prediction difference",
    ):
        assert sum(name in one for one in heads) == 1


def test_rules_of_downstream_go_by_the_metrics_of_the_model(fairspan):
    # A few whole numbers are classes by default, but not for a ridge regression.
    ridge = "downstream people.csv -s sex --target count --drop id region -k 1 --splits 2"
    answer = fairspan(f"{ridge} --methods PCA --model ridge --rule 'best r2' --json")
    assert answer.json["choice"]["rule"] == "best r2"


def test_advise_and_select_say_what_the_library_says(fairspan, people, folder):
    told = fairspan("advise people.csv -s sex --drop id region count -k 2 --json").json
    expected = advise(people.X, people.sex)
    assert told["pca_errors"] == pytest.approx(expected.pca_errors)
    assert told["weight_for_target"] == pytest.approx(expected.weight_for_target)
    assert expected.verdict.headline in " ".join(
        fairspan("advise people.csv -s sex --drop id region count -k 2").out.split()
    )
    line = (
        "select people.csv -s sex --drop id region count -k 1 2 --gap-budget 9 -o best.npz --json"
    )
    told = fairspan(line).json
    search = RobustFairPCACV(
        [1, 2], scoring="total_within_budget", gap_budget=9.0, random_state=0
    ).fit(people.X, sensitive_features=people.sex)
    assert told["best"] == search.best_params_
    saved = load_model(folder / "best.npz")
    np.testing.assert_allclose(saved.components_, search.best_estimator_.components_)
    for command in ("advise", "select"):
        assert fairspan("moments people.csv -s sex --drop id region -o all.npz").code == 0
        assert "needs the rows" in fairspan(f"{command} all.npz").err
    assert fairspan("select people.csv -s sex --gap-budget 1 --total-budget 1").code == 2


@pytest.mark.parametrize("rule", ["pool", "total-only"])
def test_small_groups_are_treated_alike_by_fit_and_certify(rule, fairspan, folder):
    rng = np.random.default_rng(0)
    labels = ["a"] * 40 + ["b"] * 40 + ["c"] * 12 + ["d"] * 11
    rows = [[*map(float, rng.normal(size=3) * (1 + i % 3)), a] for i, a in enumerate(labels)]
    write_csv(folder / "t.csv", ["x", "y", "z", "group"], rows)
    answer = fairspan(
        f"fit t.csv -s group -k 1 --small-groups {rule} --min-rows 15 -o model.npz --json"
    )
    found = answer.json["fit"]
    assert "Groups with fewer than 15 rows ('c': 12, 'd': 11)" in answer.err
    assert [group["label"] for group in found["groups"]] == ["a", "b", "small groups"]
    fairspan("moments t.csv -s group -o all.npz")
    for line in ("certify model.npz --json", "certify model.npz --moments all.npz --json"):
        again = fairspan(line).json
        assert again["objective"] == pytest.approx(found["objective"], rel=1e-9)
        assert again["status"] == "optimal"


def test_groups_that_count_in_the_total_alone_are_not_compared_but_pay_or_gain(fairspan, folder):
    rng = np.random.default_rng(3)
    sizes = {"a": (60, 1.0), "b": (60, 1.5), "tiny": (4, 6.0)}
    parts = [
        rng.normal(size=(n, 4)) @ rng.normal(size=(4, 4)) * scale for n, scale in sizes.values()
    ]
    labels = np.repeat(list(sizes), [n for n, _ in sizes.values()])
    rows = [[*row, label] for row, label in zip(np.vstack(parts).tolist(), labels, strict=True)]
    write_csv(folder / "t.csv", [*"wxyz", "group"], rows)
    options = "t.csv -s group -k 1 --small-groups total-only --reference own"
    said = [
        " ".join(fairspan(line).out.split())
        for line in (f"fit {options}", f"frontier {options} --weights 0 1")
    ]
    changes = [re.search(r"Errors compared with PCA: (a .*? %)\. ", text)[1] for text in said]
    assert "'small groups' (4 rows) +" in changes[0]
    assert changes[0] == changes[1]
    for text in said:
        assert "the worst-served group is a: error" in text, "of those that are compared"
        assert "PCA reconstructs a 82 % worse than b on the fitted rows." in text
        # What is compared, and the gap between them, are those of the other groups.
        compared = re.search(r"Errors are compared above .*?\(gap 0\)\.", text)[0]
        assert "small groups" not in compared
        gap = re.search(r"gap above own best ([\d.]+) 0 ", text) or re.search(
            r" 0 7.351 ([\d.]+) ", text
        )
        assert f"(gap {gap[1]}), with" in compared


def test_heavy_tails_are_described_by_columns_and_options_that_a_reader_can_type(fairspan):
    rng = np.random.default_rng(5)
    X, groups = rng.standard_t(1.3, (300, 3)), np.where(np.arange(300) % 3, "A", "B")
    lines = [f"{x:.6f},{y:.6f},{z:.6f},{g}" for (x, y, z), g in zip(X, groups, strict=True)]
    Path("tails.csv").write_text("\n".join(["x,y,z,g", *lines]))
    told = " ".join(fairspan("advise tails.csv -s g -k 1").out.split())
    assert "column" not in told
    assert "; --clip 3 limits such rows." in told
    told = " ".join(fairspan("fit tails.csv -s g -k 1 --clip 3").out.split())
    assert "limits such rows" not in told
    found = fairspan("advise tails.csv -s g -k 1 --json").json["verdict"]
    assert min(low for low, _ in found["intervals"]) >= 0


def options_of(command):
    """Give the options that a command takes."""
    (commands,) = (a for a in _parser([command])._actions if isinstance(a.choices, dict))
    return commands.choices[command]._option_string_actions


def written_options(command, told):
    """Give the options that a text names, each with the command that it is for."""
    for sentence in re.split(r"[.;] |\n\n", told):
        other = re.search(rf"fairspan ({'|'.join(COMMANDS)})\b", sentence)
        for option in re.findall(r"(?<![\w-])--[a-z][a-z-]*", sentence):
            yield other[1] if other else command, option


@pytest.mark.parametrize(
    "line",
    [
        "advise tails.csv -s g -k 1",
        "compare tails.csv -s g -k 1",
        "demo",
        "fit tails.csv -s g -k 1",
        "fit tails.npy -s g.npy -k 1",
        "fit tails.npz -s g.npy -k 1",
        "frontier tails.csv -s g -k 1 --weights 0 1",
        "frontier tails.npz -s g.npy -k 1 --weights 0 1",
        "report tails.csv -s g -k 1",
        "select tails.csv -s g -k 1",
    ],
)
def test_every_option_that_a_command_suggests_is_one_of_its_own(fairspan, line):
    rng = np.random.default_rng(5)
    X, groups = rng.standard_t(1.3, (300, 3)), np.where(np.arange(300) % 3, "A", "B")
    lines = [f"{x:.6f},{y:.6f},{z:.6f},{g}" for (x, y, z), g in zip(X, groups, strict=True)]
    Path("tails.csv").write_text("\n".join(["x,y,z,g", *lines]))
    np.save("tails.npy", X)
    np.save("g.npy", groups)
    save_npz("tails.npz", csr_array(X))
    found = fairspan(line)
    told = f"{found.out}\n\n{found.err}"
    for command, option in set(written_options(line.split()[0], told)):
        assert option in options_of(command), told
    # A search, and rows that are no table, cannot be clipped.
    clips = ".csv" in line and "select" not in line
    assert ("; --clip 3 limits such rows." in " ".join(told.split())) == clips
    if clips:
        assert fairspan(f"{line} --clip 3").code == 0
