"""The pages about samples show the figures that the benchmarks stored."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from fairspan.words.writing import pvalue

ROOT = Path(__file__).parent.parent.parent
TITLES = {
    "wine_quality": "Wine",
    "skillcraft": "SkillCraft",
    "german_credit": "German Credit",
    "default_credit": "Default Credit",
    "taiwan_credit": "Taiwan Credit",
    "e_coli": "E. Coli",
}
KINDS = {"gaussian": ", Gaussian copy", "clipped": ", clipped at 3 deviations"}


def stored(name: str) -> dict:
    return json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text())


def table(page: str, header: str) -> list[list[str]]:
    """The rows of a table by the start of its header, as lists of cells."""
    lines = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8").splitlines()
    (first,) = [i for i, line in enumerate(lines) if line.startswith(header)]
    rows = []
    for line in lines[first + 2 :]:
        if not line.startswith("|"):
            return rows
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


def prose(page: str) -> str:
    return " ".join((ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8").split())


def population(label: str) -> str:
    name, *rest = label.split()
    words = [TITLES.get(name, name.capitalize())]
    words += [KINDS.get(word, f" {word}") for word in rest]
    return "".join(words).replace(" clip=2.5", ", `clip=2.5`")


def test_coverage_of_intervals_is_the_stored_one():
    found = stored("coverage")["intervals"]
    expected = [
        [
            population(label),
            f"{cell['total']:g}",
            f"{cell['group 0']:g}, {cell['group 1']:g}",
            f"{cell['difference']:g}",
            f"{cell['gap']:g}",
            f"{cell['gap_in_sample']:.2f}",
            f"{cell['true_gap']:.2f}",
        ]
        for label, cell in found.items()
    ]
    assert table("inference", "| population, rows | total | groups") == expected
    # Six of them are to hold at least 88 % of the time, and 93 % on average.
    required = [c for label, c in found.items() if "clip=" not in label]
    shares = [[c[key] for key in ("total", "group 0", "group 1", "gap")] for c in required]
    assert np.min(shares) >= 88
    assert np.mean(shares) >= 93


def test_bounds_hold_as_often_as_stored():
    expected = [
        [
            population(label),
            *(f"{cell['fixed'][key]:g}" for key in ("total", "gap", "sum")),
            ", ".join(f"{cell['chosen'][key]:g}" for key in ("total", "gap", "sum")),
            f"{cell['bound_over_truth']:.2f}",
        ]
        for label, cell in stored("coverage")["certificates"].items()
    ]
    assert table("inference", "| population, rows | total | gap | total plus gap") == expected


def test_verdicts_on_whole_tables_are_the_stored_ones():
    expected = []
    for name, cell in stored("coverage")["tables"].items():
        low, high = cell["interval"]
        mark = " (low support)" if cell["low_support"] else ""
        expected.append(
            [
                population(name),
                f"{cell['rows']:,}",
                f"{cell['difference']:.2f} ({low:.2f} to {high:.2f}){mark}",
                pvalue(cell["pvalue"]).removeprefix("p ").removeprefix("= "),
                cell["verdict"],
            ]
        )
    assert table("inference", "| table | rows | PCA's difference") == expected
    noise = sum(cell["pvalue"] > 0.05 for cell in stored("coverage")["tables"].values())
    assert f"On {noise} of these {len(expected)} tables" in prose("inference")


def test_what_sentences_say_of_sizes_and_power_is_stored():
    found, told = stored("coverage"), prose("inference")
    sizes = found["sizes"].values()
    low, high = min(sizes), max(sizes)
    assert f"it rejects {low:g} to {high:.3g} % of random labels ({len(sizes)} cells" in told
    chance = [c for label, c in found["reductions"].items() if "random" in label]
    claims = max(c["reduced"] + c["widened"] for c in chance)
    assert f"it claims a change in at most {claims:g} % of samples" in told
    real = [c for label, c in found["reductions"].items() if label.endswith("real")]
    for cell, name in zip(real, ("Magic", "Biodeg", "Wine", "German"), strict=True):
        assert f"{cell['reduced']:g} % ({name}" in told
    assert f"was wrong in at most {max(c['wrong'] for c in real):g} %" in told
    named = [f"{share:g} %" for share in found["warnings_of_support"].values()]
    assert all(share in told for share in named)
    for kind in ("weighted", "clusters"):
        shares = [
            [cell[kind][key] for key in ("total", "group 0", "group 1", "difference", "gap")]
            for cell in found["weights_and_clusters"].values()
        ]
        low, high = np.min(shares), np.max(shares)
        assert f"{low:g} to {high:g} %" in told
    band = [cell["all"] for cell in found["six_groups"].values()]
    assert f"all pairs at once in {min(band):g} to {max(band):g} % of samples" in told


def signed(value: float) -> str:
    return f"{value:+.1f}"


def ranged(values: list[float]) -> str:
    return f"({signed(min(values))} to {signed(max(values))})"


RULES = {
    "alpha = 0.1": "alpha 0.1",
    "alpha = 1": "alpha 1",
    "alpha = 10": "alpha 10",
    "bootstrap": "bootstrap",
    "cross-validated alpha": "cross-validated",
    "cross-validated alpha (0 included)": "cross-validated",
    "plain PCA": "PCA",
}


def helped(cells: list[dict], least: float) -> str:
    beyond = [
        np.sign(c["per_cent"]) * (abs(c["per_cent"]) > max(2 * c["standard_error"], least))
        for c in cells
    ]
    return f"{beyond.count(-1)} / {beyond.count(1)}"


@pytest.mark.parametrize("size", ["60 training rows", "30 % of the rows"])
def test_rules_for_the_radius_did_on_tables_what_is_stored(size):
    found = stored("robustness_study")[size]
    place = 1 if size.startswith("60") else 3
    for name, *cells in table("robustness-study", "| rule | 60 rows"):
        values = [cell[RULES[name]] for cell in found.values()]
        assert cells[place - 1] == helped(values, 0.01)
        changes = [value["per_cent"] for value in values]
        assert cells[place] == f"{signed(min(changes))} to {signed(max(changes))} %"


def test_rules_for_the_radius_did_under_shift_what_is_stored():
    found = stored("robustness_study")["scenarios"]
    for name, *cells in table("robustness-study", "| rule | alike"):
        values = {scenario: row[RULES[name]] for scenario, row in found.items()}
        alike = [v["per_cent"] for scenario, v in values.items() if scenario.endswith("alike")]
        other = [v["per_cent"] for scenario, v in values.items() if not scenario.endswith("alike")]
        expected = [f"{signed(float(np.mean(part)))} {ranged(part)}" for part in (alike, other)]
        assert cells == [*expected, helped(list(values.values()), 0.0)]


def test_the_toy_figures_are_the_stored_ones():
    found = stored("robustness_study")["toy"]
    names = ("first group 0", "first group 0.1 / sqrt(n)", "first group 1 / sqrt(n)")
    for row, name in zip(table("robustness-study", "| radius of the first"), names, strict=True):
        mean = found["mean"][name]
        best = found["alphas"][int(np.argmin(mean))]
        assert row[1:] == [f"{mean[0]:.2f}", f"{min(mean):.2f} (alpha {best:g})", f"{mean[-1]:.2f}"]
    rules = table("robustness-study", "| rule | score")
    for (_, score, change), rule in zip(rules, found["rules"].values(), strict=True):
        assert score == f"{rule['score']:.2f}"
        if rule["standard_error"]:
            assert change.startswith(f"{signed(rule['per_cent'])} %")
            assert f"{rule['standard_error']:.1f})" in change
