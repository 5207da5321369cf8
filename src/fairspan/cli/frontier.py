"""``fairspan frontier``: what closing the gap between groups costs, from PCA to the fairest."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from fairspan import words
from fairspan.cli import OK, console, summary
from fairspan.cli.arguments import (
    add_clip_argument,
    add_json_argument,
    add_model_arguments,
    add_small_group_arguments,
    add_table_arguments,
    check_model_arguments,
    check_output,
    reference_of,
    small_groups_of,
)
from fairspan.cli.data import Data, TableMoments
from fairspan.cli.fit import load, rows_to_clip
from fairspan.cli.matrix import WideData, is_sparse, load_matrix
from fairspan.estimators.clipping import clipped
from fairspan.estimators.robust import RobustFairPCA
from fairspan.frontier.frontier import fairness_frontier
from fairspan.frontier.result import Frontier, columns_of
from fairspan.ground.types import FloatArray
from fairspan.ground.warn import warn
from fairspan.moments.groups import groups_in_gap

_ENDINGS = (".csv", ".json", ".png", ".svg", ".pdf")
_SHOWN = 12
_MOST_GROUPS = 4
"""Points in the printed table, and groups whose errors it shows."""
USAGE = "fairspan frontier DATA --sensitive COLUMN [-k K] [-o OUT] [options]"
EXAMPLES = """\
examples:
  fairspan frontier people.csv --sensitive sex -k 3 --standardize
  fairspan frontier people.csv -s sex -k 3 --standardize -o curve.csv -o curve.png
  fairspan frontier people.csv -s sex --weights 0 0.5 1 2 --radius 0.1 --json
  fairspan frontier words.npz --sensitive labels.npy -k 10   (a sparse matrix of scipy)"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("data", metavar="DATA", help="csv, xlsx, npy or parquet table, or moments")
    add_table_arguments(parser)
    add_model_arguments(parser, weight=False)
    add_clip_argument(parser)
    add_small_group_arguments(parser)
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
    """Find the curve, write it and show the result."""
    check_model_arguments(options)
    outputs = [check_output(path, [options.data], _ENDINGS) for path in options.output]
    if options.bootstrap is not None:
        warn(
            "--bootstrap is deprecated and not used: intervals from the rows of a fit are too "
            "short. The verdict says what holds on new rows.",
            UserWarning,
        )
    if is_sparse(options.data):
        return _run_sparse(options, outputs)
    data, moments, _ = load(options)
    if options.clip is not None:
        data = rows_to_clip(options, data)
        moments = replace(data, X=clipped(data.X, options.clip, data.weight)).moments()
    frontier = _frontier(options, moments, moments.labels)
    pca = RobustFairPCA(
        options.components,
        fairness_weight=0.0,
        radius=0.0,
        standardize=options.standardize,
        clip=options.clip,
        **small_groups_of(options),
    )
    verdict = summary.verdict_on(pca, data, any(frontier.is_hidden))
    document = _document(options, frontier, data)
    document["verdict"] = summary.verdict_document(verdict, data)
    lines = summary.opening(options, moments, data, f", k = {options.components}")
    _answer(options, frontier, outputs, lines, document, verdict, data)
    return OK


def _run_sparse(options: argparse.Namespace, outputs: list[Path]) -> int:
    """The same for sparse rows, which are never filled up and need no moments."""
    data = load_matrix(options)
    frontier = _frontier(options, data.X, list(data.labels()), **data.given)
    data = data._replace(notes=(*data.notes, f"found by {frontier.route}"))
    document = _document(options, frontier, data)
    pca = RobustFairPCA(
        options.components, fairness_weight=0.0, radius=0.0, standardize=options.standardize
    )
    verdict = summary.verdict_on_matrix(pca, data, any(frontier.is_hidden))
    document["verdict"] = summary.verdict_document(verdict, data)
    lines = data.opening(options.data, data.X.shape, len(frontier.group_labels))
    _answer(options, frontier, outputs, lines, document, verdict, data)
    return OK


def _answer(
    options: argparse.Namespace,
    frontier: Frontier,
    outputs: list[Path],
    lines: list[str],
    document: dict[str, Any],
    verdict: words.Verdict | None,
    data: Any,
) -> None:
    """Write the files, and print what the points show."""
    for path in outputs:
        console.write_output(path, document["points"], console.json_text(document), frontier.plot)
    beyond = _references(frontier, options)
    if beyond is not None:
        lines.append(f"  {words.TEMPLATES['compared above'].format(reference=beyond.name)}")
    told = _sentences(frontier, options, verdict, data, beyond)
    lines += ["", _table(frontier, beyond), "", *filter(None, told)]
    lines += [f"Written: {path}" for path in outputs]
    if not outputs:
        lines += ["All points and a picture: add -o curve.csv -o curve.png"]
    console.answer(options.json, "\n".join(lines), document)


def _frontier(
    options: argparse.Namespace, data: Any, labels: Sequence[Any], **groups: Any
) -> Frontier:
    return fairness_frontier(
        data,
        options.components,
        fairness_weights=options.weights,
        disparity=options.disparity,
        reference=reference_of(options, labels),
        radius=options.radius,
        standardize=options.standardize,
        effort=options.effort,
        max_time=options.max_time,
        **small_groups_of(options),
        **groups,
    )


def _references(frontier: Frontier, options: argparse.Namespace) -> words.References | None:
    if frontier.references is None:
        return None
    return words.References(frontier.references.tolist(), options.reference == ["own"])


def points(frontier: Frontier) -> list[dict[str, Any]]:
    """Give one dict for each point."""
    columns = {name: np.asarray(of).tolist() for name, of in columns_of(frontier).items()}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _document(
    options: argparse.Namespace, frontier: Frontier, data: Data | TableMoments | WideData | None
) -> dict[str, Any]:
    return {
        "data": options.data,
        "n_components": frontier.n_components,
        "groups": list(frontier.group_labels),
        "standardize": options.standardize,
        "disparity": options.disparity,
        "reference": reference_of(options, frontier.group_labels),
        "references": frontier.references,
        "route": frontier.route,
        "proof": frontier.proof,
        "notes": [] if data is None else list(data.notes),
        "points": points(frontier),
    }


def _gaps(frontier: Frontier) -> Any:
    """Give the gaps that are compared: above references, if there are any."""
    above = frontier.gap_above_references
    return frontier.gap if above is None else above


def _table(frontier: Frontier, beyond: words.References | None) -> str:
    """Show some points, evenly spaced in the gap, the first and the last always."""
    above = [] if beyond is None else [f"gap above {beyond.heading}"]
    few = len(frontier.group_labels) <= _MOST_GROUPS
    labels = [words.group_name(label) for label in frontier.group_labels] if few else []
    header = ["fairness weight", "gap", *above, "total error", *labels, "proved within"]
    shown = _spread(_gaps(frontier))
    rows = [
        [
            words.number(frontier.fairness_weight[i]),
            words.difference(frontier.gap[i], frontier.group_errors[i]),
            *(words.difference(_gaps(frontier)[i], frontier.group_errors[i]) for _ in above),
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
    frontier: Frontier,
    options: argparse.Namespace,
    verdict: words.Verdict | None,
    data: Any,
    beyond: words.References | None,
) -> list[str]:
    """Say how PCA serves the groups, what the points offer and what is proved of them."""
    first = int(np.argmin(frontier.fairness_weight))
    is_pca = frontier.fairness_weight[first] == frontier.radius[first] == 0
    hidden = any(frontier.is_hidden)
    gaps = _gaps(frontier)
    marked, weights = frontier.dominated.tolist(), frontier.fairness_weight.tolist()
    what = "gap" if beyond is None else f"gap above {beyond.name}"
    offer = ""
    if not hidden:
        totals = frontier.total_error.tolist()
        offer = words.trade_off(weights, gaps.tolist(), totals, marked, what)
    payers = ""
    if is_pca:
        both = frontier.group_errors[[first, int(np.argmin(gaps))]]
        pca, above, payers = _compared_with_pca(frontier, both, options, verdict, beyond)
        offer = " ".join(filter(None, [pca, offer, above]))
    proof = words.proof_of_points(
        frontier.status,
        frontier.optimality_gap.tolist(),
        frontier.is_hidden,
        frontier.failure_probability,
    )
    payers = f"{payers} {words.dominated_points(marked, gaps.tolist(), options.disparity)}".strip()
    headline, caveats = (verdict.headline, verdict.caveats) if verdict else ("", "")
    if verdict is None and not isinstance(data, Data) and not hidden:
        caveats = words.TEMPLATES["too wide" if isinstance(data, WideData) else "needs rows"]
    told = [console.sentences(text) for text in (headline, offer, payers, caveats, proof)]
    return [console.paint(told[0], "bold"), *told[1:]]


def _compared_with_pca(
    frontier: Frontier,
    both: FloatArray,
    options: argparse.Namespace,
    verdict: words.Verdict | None,
    beyond: words.References | None,
) -> tuple[str, str, str]:
    """Say how PCA serves the groups, what the smallest gap is above references, and who pays."""
    rule, method = small_groups_of(options)["small_groups"], "the smallest gap"
    compared = groups_in_gap(frontier.group_labels, "raise", rule)
    names = words.with_rows(frontier.group_labels, frontier.group_counts)
    labels = [a for a, one in zip(names, compared, strict=True) if one]
    first, last = both[:, compared].tolist()
    hidden = any(frontier.is_hidden)
    pca = words.fitted(labels, first, frontier.n_components, hidden, verdict)
    if hidden:
        return pca, "", ""
    above = ""
    if beyond is not None:
        values = np.array(beyond.values)[compared].tolist()
        above = replace(beyond, values=values).sentence(labels, first, last, method)
    # Groups that are not compared pay or gain as well.
    before, after = both.tolist()
    return pca, above, words.who_pays(names, before, after, method, compared=labels)
