"""``fairspan frontier``: what closing the gap between groups costs, from PCA to the fairest."""

from __future__ import annotations

import argparse
import csv
import json
from pathlib import Path
from typing import Any

import numpy as np

from fairspan import words
from fairspan.cli import OK, UsageError, console, summary
from fairspan.cli.arguments import check_output
from fairspan.cli.data import (
    Data,
    TableMoments,
    add_json_argument,
    add_table_arguments,
    is_moments,
    load_data,
    load_moments,
    load_table_moments,
)
from fairspan.frontier.frontier import Frontier, columns_of, fairness_frontier
from fairspan.ground import defaults
from fairspan.ground.atomic import replacing
from fairspan.ground.parameters import check_integer, check_number
from fairspan.moments.group_moments import GroupMoments

_ENDINGS = (".csv", ".json", ".png", ".svg", ".pdf")
_SHOWN = 12
_MOST_GROUPS = 4
"""Points in the printed table, and groups whose errors it shows."""
_EXAMPLES = """\
examples:
  fairspan frontier people.csv --sensitive sex -k 3 --standardize
  fairspan frontier people.csv -s sex -k 3 --standardize -o curve.csv -o curve.png
  fairspan frontier people.csv -s sex --weights 0 0.5 1 2 --radius 0.1 --bootstrap 20 --json"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.usage, parser.epilog = (
        "fairspan frontier DATA --sensitive COLUMN [-k K] [-o OUT] [options]",
        _EXAMPLES,
    )
    parser.add_argument("data", metavar="DATA", help="csv, npy or parquet table, or moments")
    add_table_arguments(parser)
    parser.add_argument(
        "-k",
        "--components",
        type=int,
        default=defaults.N_COMPONENTS,
        help="how many (default: %(default)s)",
    )
    parser.add_argument(
        "--weights",
        type=float,
        nargs="+",
        metavar="W",
        help="fairness weights (default: the complete curve, for two groups and radius 0)",
    )
    parser.add_argument(
        "--radius", type=float, default=defaults.RADIUS, metavar="R", help="default: %(default)g"
    )
    parser.add_argument("--standardize", action="store_true", help="divide by standard deviations")
    parser.add_argument(
        "--bootstrap", type=int, default=0, metavar="N", help="resample N times for intervals"
    )
    parser.add_argument(
        "--seed", type=int, default=defaults.SEED, help="of the resampling (default: %(default)s)"
    )
    parser.add_argument(
        "--max-time",
        type=float,
        default=defaults.MAX_TIME,
        help="seconds for all points, where there are more than two groups (default: %(default)s)",
    )
    parser.add_argument(
        "-o",
        "--output",
        action="append",
        default=[],
        metavar="OUT",
        help="all points as csv or json, or the picture as png, svg or pdf (repeat it)",
    )
    add_json_argument(parser)


def run(options: argparse.Namespace) -> int:
    """Find the curve, write it and tell what it says."""
    check_integer("n_components", options.components, 1)
    for weight in options.weights or []:
        check_number("fairness_weights", weight)
    check_number("radius", options.radius)
    outputs = [check_output(path, [options.data], _ENDINGS) for path in options.output]
    data, moments = _load(options)
    frontier = _frontier(options, data, moments)
    document = _document(options, frontier, data)
    for path in outputs:
        _write(path, frontier, document)
    by = "" if data is None else data.columns.by
    lines = [f"{summary.data_line(Path(options.data).name, moments, by)}, k = {options.components}"]
    lines += [f"  {note}" for note in ([] if data is None else data.notes)]
    lines += ["", _table(frontier), "", *filter(None, _sentences(frontier))]
    lines += [f"Written: {path}" for path in outputs]
    if not outputs:
        lines += ["All points and a picture: add -o curve.csv -o curve.png"]
    console.answer(options.json, "\n".join(lines), document)
    return OK


def _load(options: argparse.Namespace) -> tuple[Data | TableMoments | None, GroupMoments]:
    if not is_moments(options.data):
        if not options.bootstrap:
            table = load_table_moments(options)
            return table, table.moments
        if options.weight is not None:
            raise UsageError("--bootstrap resamples rows that count once; leave out --weight.")
        data = load_data(options)
        return data, data.moments()
    if options.bootstrap:
        raise UsageError("--bootstrap needs the rows of a table; moments do not hold them.")
    return None, load_moments(options)[0]


def _frontier(
    options: argparse.Namespace, data: Data | TableMoments | None, moments: GroupMoments
) -> Frontier:
    rows: Any = moments
    groups = None
    if isinstance(data, Data):
        rows, groups = data.X, data.groups
    return fairness_frontier(
        rows,
        options.components,
        sensitive_features=groups,
        fairness_weights=options.weights,
        radius=options.radius,
        n_bootstrap=options.bootstrap,
        standardize=options.standardize,
        max_time=options.max_time,
        random_state=options.seed,
    )


def points(frontier: Frontier) -> list[dict[str, Any]]:
    """Give one dict for each point."""
    columns = {name: np.asarray(of).tolist() for name, of in columns_of(frontier).items()}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _document(
    options: argparse.Namespace, frontier: Frontier, data: Data | TableMoments | None
) -> dict[str, Any]:
    return {
        "data": options.data,
        "n_components": frontier.n_components,
        "groups": list(frontier.group_labels),
        "standardize": options.standardize,
        "notes": [] if data is None else list(data.notes),
        "points": points(frontier),
    }


def _write(path: Path, frontier: Frontier, document: dict[str, Any]) -> None:
    with replacing(path) as temporary:
        if path.suffix.lower() == ".csv":
            with open(temporary, "w", newline="", encoding="utf-8") as file:
                writer = csv.DictWriter(file, list(document["points"][0]), lineterminator="\n")
                writer.writeheader()
                writer.writerows(document["points"])
        elif path.suffix.lower() == ".json":
            text = json.dumps(console.plain(document), indent=2, ensure_ascii=False)
            temporary.write_text(text + "\n", encoding="utf-8")
        else:
            _draw(temporary, frontier)


def _draw(path: Path, frontier: Frontier) -> None:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError('the picture needs matplotlib: pip install "fairspan[plot]".') from error
    figure = Figure(figsize=(7, 5), layout="constrained")
    frontier.plot(figure.subplots())
    figure.savefig(path, dpi=150)


def _table(frontier: Frontier) -> str:
    """Show some points, evenly spaced in the gap, the first and the last always."""
    few = len(frontier.group_labels) <= _MOST_GROUPS
    labels = [words.group_name(label) for label in frontier.group_labels] if few else []
    header = ["fairness weight", "gap", "total error", *labels, "proved within"]
    shown = _spread(frontier.gap)
    rows = []
    for i in shown:
        errors = frontier.group_errors[i] if few else ()
        rows.append(
            [
                words.number(frontier.fairness_weight[i]),
                _cell(frontier, "gap", i),
                _cell(frontier, "total_error", i),
                *map(words.number, errors),
                words.share_at_most(frontier.optimality_gap[i]),
            ]
        )
    text = console.table(header, rows)
    n_points = len(frontier.gap)
    return text if len(shown) == n_points else f"{text}\n({len(shown)} of {n_points} points)"


def _spread(gap: Any) -> list[int]:
    if len(gap) <= _SHOWN:
        return list(range(len(gap)))
    targets = np.linspace(gap[0], gap[-1], _SHOWN)
    return sorted({int(np.argmin(np.abs(gap - target))) for target in targets} | {0, len(gap) - 1})


def _cell(frontier: Frontier, name: str, i: int) -> str:
    text = words.number(getattr(frontier, name)[i], frontier.total_error[i])
    interval = getattr(frontier, f"{name}_interval")
    if interval is None:
        return text
    low, high = map(words.number, interval[i])
    return f"{text} [{low}, {high}]"


def _sentences(frontier: Frontier) -> list[str]:
    """Say how PCA serves the groups, what the points offer and what is proved of them."""
    first = int(np.argmin(frontier.fairness_weight))
    is_pca = frontier.fairness_weight[first] == frontier.radius[first] == 0
    hidden = any(frontier.is_hidden)
    numbers = (frontier.fairness_weight, frontier.gap, frontier.total_error)
    offer = "" if hidden else words.trade_off(*(values.tolist() for values in numbers))
    if is_pca:
        errors = frontier.group_errors[first].tolist()
        pca = words.headline(frontier.group_labels, errors, frontier.n_components, hidden)
        offer = f"{pca} {offer}"
    proof = words.proof_of_points(
        frontier.status, frontier.optimality_gap.tolist(), frontier.is_hidden
    )
    return [console.paint(console.sentences(offer), "bold"), console.sentences(proof)]
