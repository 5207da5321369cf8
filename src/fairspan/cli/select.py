"""``fairspan select``: weight, radius and number of components by cross-validation."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from fairspan import words
from fairspan.cli import OK, UsageError, console, summary
from fairspan.cli.arguments import (
    add_comparison_arguments,
    add_count_argument,
    add_json_argument,
    add_number,
    add_scale_arguments,
    add_small_group_arguments,
    add_table_arguments,
    check_enough,
    check_output,
    reference_of,
    small_groups_of,
)
from fairspan.cli.data import Data, load_data
from fairspan.cli.matrix import check_has_rows
from fairspan.ground import defaults
from fairspan.moments.file import check_counts
from fairspan.moments.small_groups import treated
from fairspan.selection.robust_cv import RobustFairPCACV
from fairspan.solvers.ordering import ORDERS
from fairspan.storage.model_file import WITHOUT, save_model

_SHOWN = 8
USAGE = "fairspan select DATA --sensitive COLUMN [-k K ...] [-o MODEL.npz] [options]"
EXAMPLES = """\
examples:
  fairspan select people.csv --sensitive sex -k 2 --standardize -o model.npz
  fairspan select people.csv -s sex -k 1 2 3 --standardize --gap-budget 0.5
  fairspan select people.csv -s sex -k 2 --weights 0 0.5 1 --radii 0 --folds 5 --json

The winner has the least total error plus gap on held-out rows; with --gap-budget the least total
error among those within it, with --total-budget the least gap. More components nearly always
have less error: compare several k with a budget."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    usual = RobustFairPCACV()
    parser.add_argument("data", metavar="DATA", help="csv, xlsx, npy or parquet table")
    add_table_arguments(parser)
    method = parser.add_argument_group("the candidates")
    text = "numbers of components (default: 2)"
    only = (defaults.N_COMPONENTS,)
    method.add_argument("-k", "--sizes", type=int, nargs="+", default=only, metavar="K", help=text)
    weights, radii = tuple(usual.fairness_weights), tuple(usual.radii)
    text = f"fairness weights (default: {' '.join(map(str, weights))})"
    method.add_argument("--weights", type=float, nargs="+", default=weights, metavar="W", help=text)
    text = f"radii (default: {' '.join(map(str, radii))})"
    method.add_argument("--radii", type=float, nargs="+", default=radii, metavar="R", help=text)
    add_comparison_arguments(method, disparity="gap")
    add_scale_arguments(method)
    add_small_group_arguments(method)
    text = "order of the winner's components: nested and greedy make the first j good for every j"
    method.add_argument("--order", choices=ORDERS, default="variance", help=text)
    add_number(method, "--folds", default=3, metavar="N", help="number of folds")
    text = "the largest gap that the winner may have"
    method.add_argument("--gap-budget", type=float, metavar="GAP", help=text)
    text = "the largest total error that the winner may have"
    method.add_argument("--total-budget", type=float, metavar="ERROR", help=text)
    add_number(method, "--seed", default=defaults.SEED, help="seed of the folds")
    parser.add_argument("-o", "--output", metavar="MODEL.npz", help="where to save the winner")
    add_count_argument(parser)
    add_json_argument(parser)


def run(options: argparse.Namespace) -> int:
    """Search, save the winner, and show it."""
    if options.output is not None:
        check_output(options.output, [options.data], (".npz",))
    check_has_rows(options.data, "select")
    if options.gap_budget is not None and options.total_budget is not None:
        raise UsageError("give --gap-budget or --total-budget, not both.")
    if options.folds < 2:
        raise UsageError(f"--folds {options.folds} must be 2 or more.")
    data = load_data(options)
    moments = data.moments()
    # Small groups that are merged are checked when they are saved.
    kept = options.small_groups == "keep" and not options.no_moments
    if options.output is not None and kept:
        check_counts(moments, options.min_count, WITHOUT)
    if options.small_groups != "total-only":
        compared = treated(moments, **small_groups_of(options))
        check_enough(compared, options.folds, f"held out in {options.folds} parts")
    search = _search(options, data, moments.labels)
    if options.output is not None:
        columns = data.columns.to_json()
        save_model(
            search.best_estimator_,
            options.output,
            moments=not options.no_moments,
            columns=columns,
            min_count=options.min_count,
        )
    lines = summary.opening(options, moments, data)
    lines += [f"  means over {search.n_splits_} held-out parts", "", _table(search), ""]
    best = search.best_estimator_
    # The winner was chosen on these rows, so that nothing is tested but PCA.
    pca = clone(best).set_params(fairness_weight=0.0, radius=0.0)
    verdict = summary.verdict_on(pca, data, best.result_.is_hidden)
    if verdict is not None:
        # A search does not clip.
        verdict = replace(verdict, can_clip=False)
        bold = console.paint(console.sentences(verdict.headline), "bold")
        lines += [bold, *filter(None, [console.sentences(verdict.caveats)])]
    lines += [console.sentences(_winner(search))]
    saved = f"Model: {options.output}" if options.output else "Add -o model.npz to keep the winner."
    document = {
        "data": options.data,
        "notes": list(data.notes),
        "verdict": summary.verdict_document(verdict, data),
        "best": search.best_params_,
        "candidates": [
            {**candidate, "total_error": total, "gap": gap, "rank": int(rank)}
            for candidate, total, gap, rank in _rows(search)
        ],
        "fit": summary.model_document(search.best_estimator_),
        "model": options.output,
    }
    console.answer(options.json, "\n".join([*lines, saved]), document)
    return OK


def _search(options: argparse.Namespace, data: Data, labels: Any) -> RobustFairPCACV:
    scoring = "total_plus_gap"
    if options.gap_budget is not None:
        scoring = "total_within_budget"
    elif options.total_budget is not None:
        scoring = "gap_within_budget"
    sizes = list(options.sizes)
    search = RobustFairPCACV(
        sizes[0] if len(sizes) == 1 else sizes,
        fairness_weights=options.weights,
        radii=options.radii,
        cv=options.folds,
        scoring=scoring,
        gap_budget=options.gap_budget,
        total_budget=options.total_budget,
        disparity=options.disparity,
        reference=reference_of(options, labels),
        standardize=options.standardize,
        order=options.order,
        random_state=options.seed,
        **small_groups_of(options),
    )
    return search.fit(data.X, sensitive_features=data.groups, sample_weight=data.weight)


def _rows(search: RobustFairPCACV) -> list[tuple[dict[str, Any], float, float, int]]:
    """Every candidate with its mean total error, its mean gap and its rank."""
    found = search.cv_results_
    names = ("params", "mean_test_total_error", "mean_test_error_gap", "rank_test_score")
    return list(zip(*(np.asarray(found[name]).tolist() for name in names), strict=True))


def _table(search: RobustFairPCACV) -> str:
    rows = sorted(_rows(search), key=lambda row: row[3])
    cells = [
        [
            f"{params['n_components']}",
            f"{params['fairness_weight']:g}",
            f"{params['radius']:g}",
            words.number(total),
            words.number(gap, total),
        ]
        for params, total, gap, _ in rows[:_SHOWN]
    ]
    table = console.table(["k", "weight", "radius", "total error", "gap"], cells)
    return table + f"\n({_SHOWN} of {len(rows)} candidates)" * (len(rows) > _SHOWN)


def _winner(search: RobustFairPCACV) -> str:
    best, params = search.best_estimator_, search.best_params_
    size = words.plural(params["n_components"], "component")
    proof = words.proof(
        best.result_.status,
        best.optimality_gap_,
        best.result_.is_hidden,
        best.result_.failure_probability,
    )
    return (
        f"The winner has {size}, fairness weight {params['fairness_weight']:g} and radius "
        f"{params['radius']:g}, and was fitted to all rows. {proof}"
    )
