"""Tables say what is ours, what is the paper's, and why they differ."""

from __future__ import annotations

import csv
import xml.etree.ElementTree as ET
from dataclasses import replace

from fairspan.experiments import claims, published, settings
from fairspan.experiments.comparison import compare, means, why
from fairspan.experiments.settings import CHOICES, Settings
from fairspan.experiments.spread import spread
from fairspan.experiments.tables import Table, write_csv
from fairspan.experiments.trials import VALUES as ALL_VALUES

SETTINGS = Settings()
VALUES = ("abdiff", "are")


def row(dataset, method, abdiff, are):
    return {"dataset": dataset, "method": method, "abdiff": abdiff, "are": are}


def test_means_are_over_the_splits_of_each_pair():
    rows = [row("energy", "pca", float(i), 10.0 * i) for i in (1, 2, 6)]
    rows.insert(1, row("energy", "rfpca", 5.0, 7.0))
    assert means(rows, VALUES) == [
        row("energy", "pca", 3.0, 30.0),
        row("energy", "rfpca", 5.0, 7.0),
    ]


def test_the_paper_s_tables_are_whole():
    outside, inside = published.scores("out_of_sample"), published.scores("in_sample")
    assert set(outside) == set(inside)
    assert len(outside) == 14 * 4 + 2
    assert outside["wine_quality", "cfpca-both"] == (3.0451, 10.1001)
    assert inside["lfw", "fairpca"] == (0.53, 7.5127)
    assert published.scores("delta_f_lin")["magic", "rfpca"] == (0.2195,)
    assert published.datasets()["german_credit"][1:3] == (1000, 48)


def test_ours_the_paper_s_and_the_difference_stand_side_by_side():
    ours = [row("energy", "fairpca", 0.0148, 0.2225), row("energy", "pca", 1.0, 2.0)]
    table = compare("A", ours, VALUES, published.scores("out_of_sample"), SETTINGS)
    first, second = table.rows
    assert first[0] == "Energy"
    assert first[2:] == ["0.0148", "0.0138", "+0.0010", "0.2225", "0.2225", "+0.0000"]
    assert second[2:] == ["1.0000", "", "", "2.0000", "", ""]
    assert first[1] == "FairPCA [1]"
    assert table.notes[0].startswith("[1] The published program compares")


def test_reasons_are_given_only_where_they_are_known_and_needed():
    same = row("energy", "fairpca", 0.0138, 0.2225)
    assert why(same, VALUES, (0.0138, 0.2225), SETTINGS) is None
    far = row("magic", "fairpca", 3.34, 3.30)
    assert "solved exactly" in why(far, VALUES, (2.94, 3.38), SETTINGS)
    published_weights = replace(SETTINGS, fairpca="multiplicative-weights")
    assert why(far, VALUES, (2.94, 3.38), published_weights) is None
    both = row("magic", "cfpca-both", 5.58, 4.21)
    assert why(both, VALUES, (8.78, 9.01), SETTINGS) is None
    assert "mu = 1" in why(both, VALUES, (8.78, 9.01), replace(SETTINGS, mu="described"))
    leak = {"dataset": "magic", "method": "cfpca-mean", "delta_f_lin": 0.13}
    assert "basis" in why(leak, ("delta_f_lin",), (0.156,), SETTINGS)
    assert "weights of 0" in why(leak | {"collapsed": 0.4}, ("delta_f_lin",), (0.156,), SETTINGS)
    artefact = row("e_coli", "cfpca-mean", 1.08, 2.91)
    assert "only centred" in why(artefact, VALUES, (1.10, 2.95), SETTINGS)


def test_settings_other_than_the_default_are_stated():
    table = compare("A", [row("energy", "pca", 1.0, 2.0)], VALUES, {}, Settings(mu="described"))
    assert table.notes[-1] == "Settings other than the default: mu = described."


def test_a_table_has_the_same_cells_in_every_shape(tmp_path):
    table = Table("A < B", ["name", "value"], [["x_1 & y", "0.50"], ["z", "1 %"]], 1, ["why <"])
    assert table.markdown().splitlines()[2:6] == [
        "| name | value |",
        "| :-- | --: |",
        "| x_1 & y | 0.50 |",
        "| z | 1 % |",
    ]
    assert r"x\_1 \& y & 0.50 \\" in table.latex()
    assert r"\begin{longtable}{lr}" in table.latex()
    body = table.html().partition("</head>")[2].removesuffix("</html>\n")
    cells = [cell.text for cell in ET.fromstring(body.replace("class=number", "")).iter("td")]
    assert cells == ["x_1 & y", "0.50", "z", "1 %"]
    assert {path.name for path in table.write(tmp_path, "t")} == {"t.md", "t.tex", "t.html"}


def test_csv_keeps_ten_digits_and_the_order(tmp_path):
    path = write_csv(tmp_path / "a.csv", [{"b": 1 / 3, "a": "x"}], ("a", "b"))
    assert list(csv.reader(path.read_text().splitlines())) == [["a", "b"], ["x", "0.3333333333"]]


def test_claims_are_counted_over_data_sets_with_all_methods():
    rows = []
    for dataset, best in (("energy", 0.5), ("magic", 2.0)):
        rows += [row(dataset, "rfpca", best, 1.0)]
        rows += [row(dataset, name, 1.0, 1.5) for name in claims.COMPARED[1:]]
    rows.append(row("steel", "rfpca", 0.0, 0.0))
    counts = [count for count in claims.count(rows) if count["table"] == "out of sample"]
    assert [(count["ours"], count["datasets"]) for count in counts[:3]] == [(1, 2), (2, 2), (1, 2)]
    # Without rows of PCA nothing is said about the five methods.
    assert [count["datasets"] for count in counts[3:]] == [0, 0, 0]


def test_the_paper_s_own_numbers_are_counted_on_all_fifteen_data_sets():
    rows = [row(name, method, 1.0, 1.0) for name, method in published.scores("out_of_sample")]
    counts = claims.count(rows)[:3]
    assert [count["paper"] for count in counts] == [11, 9, 5]
    assert [(count["ours"], count["datasets"]) for count in counts] == [(15, 15)] * 3


def test_claims_are_about_means_over_splits_and_each_table_about_its_own_numbers():
    splits = [(0.0, 1.0), (3.0, 1.0), (0.5, 1.0)]  # RFPCA is better in two splits, not on average
    rows = []
    for ours, others in splits:
        rows.append(row("energy", "rfpca", ours, 1.0))
        rows += [row("energy", name, others, 1.0) for name in claims.COMPARED[1:]]
    assert claims.count(rows)[0]["ours"] == 0
    inside = [
        {"dataset": name, "method": method, "abdiff_in_sample": abdiff, "are_in_sample": are}
        for (name, method), (abdiff, are) in published.scores("in_sample").items()
    ]
    counts = [count for count in claims.count(inside) if count["table"] == "in sample"][:3]
    assert [(count["ours"], count["paper"]) for count in counts] == [(15, 15), (7, 7), (7, 7)]


def test_the_spread_is_the_range_of_the_means_of_runs():
    # One run and two perturbed ones on three splits; their means are 4, 2 and 5.
    runs = [[3.0, 1.0, 4.0], [3.0, 1.0, 4.0], [6.0, 4.0, 7.0]]
    rows = [
        dict.fromkeys(ALL_VALUES, one)
        | {"dataset": "energy", "method": "fairpca", "perturbed": [[r] * 4 for r in others]}
        for one, *others in runs
    ]
    rows.append(dict.fromkeys(ALL_VALUES, 9.0) | {"dataset": "energy", "method": "rfpca"})
    found = spread(rows)
    assert [one["value"] for one in found] == list(ALL_VALUES)
    for one in found:
        assert [one[key] for key in ("ours", "smallest", "largest")] == [4.0, 2.0, 5.0]
    assert [one["paper"] for one in found] == [0.0138, 0.2225, 0.0153, 0.2273]
    low = spread([one | {"abdiff": 0.0} for one in rows])[0]
    assert (low["ours"], low["smallest"], low["largest"]) == (0.0, 0.0, 5.0)


def test_rows_of_other_settings_or_versions_have_another_key(monkeypatch):
    changed = [
        replace(SETTINGS, **{name: value})
        for name, choices in CHOICES.items()
        for value in choices[1:]
    ]
    changed += [Settings(n_components=2), Settings(n_folds=2), Settings(scale=False)]
    keys = {one.key for one in (SETTINGS, *changed, Settings(descent_steps=500))}
    assert len(keys) == len(changed) + 2
    monkeypatch.setattr(settings, "__version__", "another")
    assert Settings().key not in keys


def test_leakage_is_counted_where_there_are_rows_of_it():
    rows = [
        {"dataset": name, "method": method, "delta_f_lin": value}
        for (name, method), (value,) in published.scores("delta_f_lin").items()
    ]
    (count,) = (c for c in claims.count(rows) if c["table"] == "leakage" and c["paper"] != "")
    assert count["ours"] == count["paper"]
    assert count["datasets"] == 14


def test_fewer_splits_than_the_paper_s_are_told_and_explain_nothing():
    ours = [row("energy", "rfpca", 1.0, 2.0)]
    paper = published.scores("out_of_sample")
    whole, few = (compare("A", ours, VALUES, paper, SETTINGS, n) for n in (10, 2))
    assert whole.title == "A, means over 10 splits"
    assert any(note.startswith("[1]") for note in whole.notes)
    assert few.title == "A, means over 2 splits (the paper's: 10)"
    assert not any(note.startswith("[1]") for note in few.notes)
    assert "[1]" not in few.markdown()
    assert few.notes[0] == "Differences from the paper include those between the splits."
