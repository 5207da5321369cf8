"""``fairspan frontier``: what closing the gap between groups costs, from PCA to the fairest."""

from __future__ import annotations

import argparse
import csv
import json
from pathlib import Path
from typing import Any

import numpy as np

from fairspan import words
from fairspan.cli import OK, console, summary
from fairspan.cli.arguments import add_model_arguments, check_output, reference_of
from fairspan.cli.data import Data, TableMoments, add_json_argument, add_table_arguments
from fairspan.cli.fit import load
from fairspan.estimators.robust import RobustFairPCA
from fairspan.frontier.frontier import Frontier, columns_of, fairness_frontier
from fairspan.ground.atomic import replacing
from fairspan.ground.parameters import check_integer, check_number
from fairspan.ground.warn import warn
from fairspan.moments.group_moments import GroupMoments
from fairspan.plotting._axes import new_figure

_ENDINGS = (".csv", ".json", ".png", ".svg", ".pdf")
_SHOWN = 12
_MOST_GROUPS = 4
"""Points in the printed table, and groups whose errors it shows."""
USAGE = "fairspan frontier DATA --sensitive COLUMN [-k K] [-o OUT] [options]"
EXAMPLES = """\
examples:
  fairspan frontier people.csv --sensitive sex -k 3 --standardize
  fairspan frontier people.csv -s sex -k 3 --standardize -o curve.csv -o curve.png
  fairspan frontier people.csv -s sex --weights 0 0.5 1 2 --radius 0.1 --json"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("data", metavar="DATA", help="csv, npy or parquet table, or moments")
    add_table_arguments(parser)
    add_model_arguments(parser, weight=False)
    text = "fairness weights (default: the complete curve, for two groups and radius 0)"
    parser.add_argument("--weights", type=float, nargs="+", metavar="W", help=text)
    text = "deprecated and not used: intervals from the rows of a fit are too short"
    parser.add_argument("--bootstrap", type=int, metavar="N", help=text)
    parser.add_argument("--seed", type=int, help=argparse.SUPPRESS)
    text = "seconds after which proofs are given up (default: no limit)"
    parser.add_argument("--max-time", type=float, metavar="S", help=text)
    text = "all points as csv or json, or the picture as png, svg or pdf (repeat it)"
    parser.add_argument("-o", "--output", action="append", default=[], metavar="OUT", help=text)
    add_json_argument(parser)


def run(options: argparse.Namespace) -> int:
    """Find the curve, write it and tell what it says."""
    check_integer("n_components", options.components, 1)
    for weight in options.weights or []:
        check_number("fairness_weights", weight)
    check_number("radius", options.radius)
    outputs = [check_output(path, [options.data], _ENDINGS) for path in options.output]
    if options.bootstrap is not None:
        warn(
            "--bootstrap is deprecated and not used: intervals from the rows of a fit are too "
            "short. The verdict says what holds on new rows.",
            UserWarning,
        )
    data, moments, _ = load(options)
    frontier = _frontier(options, moments)
    pca = RobustFairPCA(
        options.components, fairness_weight=0.0, radius=0.0, standardize=options.standardize
    )
    verdict = summary.verdict_on(pca, data, any(frontier.is_hidden))
    document = _document(options, frontier, data)
    document["verdict"] = summary.verdict_document(verdict, data)
    for path in outputs:
        _write(path, frontier, document)
    lines = summary.opening(options, moments, data, f", k = {options.components}")
    told = _sentences(frontier, options.disparity, verdict, data)
    lines += ["", _table(frontier), "", *filter(None, told)]
    lines += [f"Written: {path}" for path in outputs]
    if not outputs:
        lines += ["All points and a picture: add -o curve.csv -o curve.png"]
    console.answer(options.json, "\n".join(lines), document)
    return OK


def _frontier(options: argparse.Namespace, moments: GroupMoments) -> Frontier:
    return fairness_frontier(
        moments,
        options.components,
        fairness_weights=options.weights,
        disparity=options.disparity,
        reference=reference_of(options, moments.labels),
        radius=options.radius,
        standardize=options.standardize,
        effort=options.effort,
        max_time=options.max_time,
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
        "disparity": options.disparity,
        "reference": reference_of(options, frontier.group_labels),
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
            figure = new_figure((7, 5), "the picture needs")
            frontier.plot(figure.subplots())
            figure.savefig(temporary, dpi=150)


def _table(frontier: Frontier) -> str:
    """Show some points, evenly spaced in the gap, the first and the last always."""
    few = len(frontier.group_labels) <= _MOST_GROUPS
    labels = [words.group_name(label) for label in frontier.group_labels] if few else []
    header = ["fairness weight", "gap", "total error", *labels, "proved within"]
    shown = _spread(frontier.gap)
    rows = [
        [
            words.number(frontier.fairness_weight[i]),
            words.number(frontier.gap[i], frontier.total_error[i]),
            words.number(frontier.total_error[i]),
            *map(words.number, frontier.group_errors[i] if few else ()),
            words.share_at_most(frontier.optimality_gap[i]),
        ]
        for i in shown
    ]
    text = console.table(header, rows)
    n_points = len(frontier.gap)
    return text if len(shown) == n_points else f"{text}\n({len(shown)} of {n_points} points)"


def _spread(gap: Any) -> list[int]:
    if len(gap) <= _SHOWN:
        return list(range(len(gap)))
    targets = np.linspace(gap[0], gap[-1], _SHOWN)
    return sorted({int(np.argmin(np.abs(gap - target))) for target in targets} | {0, len(gap) - 1})


def _sentences(
    frontier: Frontier, disparity: str, verdict: words.Verdict | None, data: Any
) -> list[str]:
    """Say how PCA serves the groups, what the points offer and what is proved of them."""
    first = int(np.argmin(frontier.fairness_weight))
    is_pca = frontier.fairness_weight[first] == frontier.radius[first] == 0
    hidden = any(frontier.is_hidden)
    numbers = (frontier.fairness_weight, frontier.gap, frontier.total_error, frontier.dominated)
    offer = "" if hidden else words.trade_off(*(values.tolist() for values in numbers))
    payers = ""
    if is_pca:
        errors, fairest = frontier.group_errors[[first, int(np.argmin(frontier.gap))]].tolist()
        if not hidden:
            method = "the smallest gap"
            payers = words.who_pays(frontier.group_labels, errors, fairest, method)
        pca = words.fitted(frontier.group_labels, errors, frontier.n_components, hidden)
        offer = f"{pca} {offer}"
    proof = words.proof_of_points(
        frontier.status, frontier.optimality_gap.tolist(), frontier.is_hidden
    )
    gaps, marked = frontier.gap.tolist(), frontier.dominated.tolist()
    payers = f"{payers} {words.dominated_points(marked, gaps, disparity)}".strip()
    headline, caveats = (verdict.headline, verdict.caveats) if verdict else ("", "")
    if not isinstance(data, Data) and not hidden:
        caveats = words.TEMPLATES["needs rows"]
    told = [console.sentences(text) for text in (headline, offer, payers, caveats, proof)]
    return [console.paint(told[0], "bold"), *told[1:]]
