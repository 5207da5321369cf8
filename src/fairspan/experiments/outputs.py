"""Files from rows: csv, tables and figures of each target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fairspan.experiments import claims, figures, published
from fairspan.experiments.comparison import compare, means
from fairspan.experiments.methods import TITLES
from fairspan.experiments.settings import Settings
from fairspan.experiments.spread import COLUMNS as SPREAD_COLUMNS
from fairspan.experiments.spread import spread, spread_table
from fairspan.experiments.store import Row
from fairspan.experiments.tables import Table, write_csv

_SCORES = ("abdiff", "are")


@dataclass(frozen=True)
class Request:
    """A request; None means a target's own default.

    Attributes
    ----------
    output : Path
        The output folder.
    settings : Settings
        The protocol.
    datasets, methods : sequence of str or None
        Names.
    seeds : int or None
        Number of splits or simulations.
    """

    output: Path
    settings: Settings
    datasets: Sequence[str] | None = None
    methods: Sequence[str] | None = None
    seeds: int | None = None

    @property
    def method_names(self) -> list[str]:
        """The requested methods, all by default."""
        return list(self.methods or TITLES)


def write_sizes(rows: list[Row], request: Request) -> list[Path]:
    """Write the sizes of the data sets."""
    lines = []
    for row in rows:
        title, n, d, attribute = published.datasets()[row["dataset"]]
        lines.append([title, attribute, str(row["n"]), str(n), str(row["d"]), str(d)])
    columns = ["data set", "sensitive attribute", "N, ours", "paper", "d, ours", "paper"]
    table = Table("Data sets", columns, lines, 2, [f"Paper: {published.CITATION}."])
    path = request.output / "table-datasets.csv"
    return [write_csv(path, rows, ("dataset", "n", "d")), *table.write(path.parent, path.stem)]


def write_table1(rows: list[Row], request: Request) -> list[Path]:
    """Write the out-of-sample scores."""
    title = "Table 1: out of sample, three components"
    paper = published.scores("out_of_sample")
    files = _write_scores("table1", title, rows, _SCORES, paper, request)
    return files + _write_spread(rows, request)


def write_in_sample(rows: list[Row], request: Request) -> list[Path]:
    """Write the in-sample scores."""
    title = "In sample, three components"
    renamed = [row | {name: row[f"{name}_in_sample"] for name in _SCORES} for row in rows]
    paper = published.scores("in_sample")
    files = _write_scores("table-insample", title, renamed, _SCORES, paper, request)
    return files + _write_spread(rows, request)


def write_leakage(rows: list[Row], request: Request) -> list[Path]:
    """Write how well groups can be separated."""
    title = "Delta F_Lin: how far a linear rule separates the groups after the projection"
    paper = published.scores("delta_f_lin")
    extras = ("collapsed", "balanced")
    return _write_scores("table-leakage", title, rows, ("delta_f_lin",), paper, request, extras)


def write_faces(rows: list[Row], request: Request) -> list[Path]:
    """Write the scores on faces, out of sample and in sample."""
    title = "LFW: 2,000 women and 2,000 men drawn for each split, 24 x 24 pixels by bicubic filter"
    values = (*_SCORES, *(f"{name}_in_sample" for name in _SCORES))
    outside, inside = published.scores("out_of_sample"), published.scores("in_sample")
    paper = {key: scores + inside[key] for key, scores in outside.items()}
    return _write_scores("lfw", title, rows, values, paper, request)


def write_claims(rows: list[Row], request: Request) -> list[Path]:
    """Write how often RFPCA is the best, on our figures and on the paper's."""
    counts = claims.count(rows)
    path = request.output / "claims.csv"
    table = claims.table(counts)
    return [write_csv(path, counts, claims.COLUMNS), *table.write(path.parent, path.stem)]


def write_toy(rows: list[Row], request: Request) -> list[Path]:
    """Write Figure 1 and its angles."""
    points, arrows = [r for r in rows if "x" in r], [r for r in rows if "angle" in r]
    columns = ("source", "method", "fairness_weight", "angle", "error_majority", "error_minority")
    return _write_figure("figure1", figures.draw_toy(points, arrows), arrows, columns, request)


def write_pareto(rows: list[Row], request: Request) -> list[Path]:
    """Write the trade-offs."""
    columns = ("dataset", "method", "parameters", *_SCORES)
    return _write_figure("figure-pareto", figures.draw_pareto(rows), rows, columns, request)


def write_components(rows: list[Row], request: Request) -> list[Path]:
    """Write errors against the number of components."""
    keys, values = ("dataset", "k", "method", "group"), ("error_in_sample", "error")
    averages = means(rows, values, keys)
    figure = figures.draw_components(averages)
    return _write_figure("figure-components", figure, averages, (*keys, *values), request)


def write_radius(rows: list[Row], request: Request) -> list[Path]:
    """Write scores against the minority's radius."""
    groups: dict[tuple[float, float], list[float]] = {}
    for row in rows:
        groups.setdefault((row["base"], row["alpha"]), []).append(row["score"])
    averages: list[Row] = [
        {"base": base, "alpha": alpha, "mean": float(np.mean(s)), "deviation": float(np.std(s))}
        for (base, alpha), s in groups.items()
    ]
    columns = ("base", "alpha", "mean", "deviation")
    figure = figures.draw_radius(averages)
    return _write_figure("figure-radius", figure, averages, columns, request)


def _write_figure(
    name: str, figure: Any, rows: list[Row], columns: Sequence[str], request: Request
) -> list[Path]:
    path = write_csv(request.output / f"{name}.csv", rows, columns)
    return [path, *figures.save(figure, request.output, name)]


def _write_scores(
    name: str,
    title: str,
    rows: list[Row],
    values: tuple[str, ...],
    paper: dict[published.Key, tuple[float, ...]],
    request: Request,
    extras: tuple[str, ...] = (),
) -> list[Path]:
    """Write means, rows of each split, and the comparison with the paper."""
    # Tasks run split by split; tables go method by method.
    datasets, methods = list(dict.fromkeys(r["dataset"] for r in rows)), request.method_names
    place = {key: i for i, key in enumerate((d, m) for d in datasets for m in methods)}
    rows = sorted(rows, key=lambda row: place[row["dataset"], row["method"]])
    averages = means(rows, (*values, *extras))
    keys = ("dataset", "method")
    splits = [*keys, "seed", *values, *extras]
    splits += [extra for extra in ("chosen", "gap") if extra in rows[0]]
    files = [
        write_csv(
            request.output / f"{name}.csv", averages, ("dataset", "method", *values, *extras)
        ),
        write_csv(request.output / f"{name}_seeds.csv", rows, splits),
    ]
    n_splits = len({row["seed"] for row in rows})
    table = compare(title, averages, values, paper, request.settings, n_splits)
    return files + table.write(request.output, name)


def _write_spread(rows: list[Row], request: Request) -> list[Path]:
    """Write how far perturbations of the size of rounding move FairPCA, if it is the published."""
    found = spread(rows)
    if not found:
        return []
    path = request.output / "fairpca-spread.csv"
    table = spread_table(found)
    return [write_csv(path, found, SPREAD_COLUMNS), *table.write(path.parent, path.stem)]
