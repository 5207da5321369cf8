"""``fairspan compare``: every method on the same table, all judged by one function."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterable
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedShuffleSplit

from fairspan import words
from fairspan.cli import OK, UsageError, console, in_options, summary
from fairspan.cli.arguments import add_model_arguments, add_number, check_model_arguments
from fairspan.cli.data import Data, add_json_argument, add_table_arguments, is_moments, load_data
from fairspan.cli.fit import estimator
from fairspan.estimators.convex import ConvexFairPCA
from fairspan.estimators.exact import ExactlyFairPCA
from fairspan.estimators.nullspace import NullSpaceFairPCA
from fairspan.estimators.samadi import FairPCA
from fairspan.ground import defaults
from fairspan.judging.compare import OWN_PCA, compare
from fairspan.moments.groups import encode_groups

_NUMBERS = ("error_gap", "total_error", "largest_error", "optimality_gap", "seconds")
_HEADINGS = ("gap", "total error", "largest group error", "proved within", "seconds")
USAGE = "fairspan compare DATA --sensitive COLUMN [-k K] [--seeds N] [options]"
EXAMPLES = """\
examples:
  fairspan compare people.csv --sensitive sex -k 3 --standardize
  fairspan compare people.csv -s sex -k 3 --standardize --seeds 10 --json

With --seeds N, every method is fitted to N random parts of the rows and judged on the others; the
table shows the mean and, in brackets, the range of 95 % of the splits."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("data", metavar="DATA", help="csv, npy or parquet table")
    add_table_arguments(parser)
    add_model_arguments(parser)
    parser.add_argument("--seeds", type=int, default=0, metavar="N", help="random splits of rows")
    add_number(parser, "--test-share", default=0.3, metavar="P", help="judged on")
    add_json_argument(parser)


def run(options: argparse.Namespace) -> int:
    """Fit all methods and print who does what."""
    if is_moments(options.data):
        raise UsageError("compare needs the rows of a table; moments do not hold them.")
    if options.weight is not None:
        raise UsageError("compare counts every row once; leave out --weight.")
    if options.seeds < 0 or not 0 < options.test_share < 1:
        raise UsageError("--seeds must be 0 or more, and --test-share between 0 and 1.")
    check_model_arguments(options)
    data = load_data(options)
    codes = encode_groups(data.groups, len(data.X)).codes
    if options.seeds and np.bincount(codes).min() < 2:
        raise ValueError("a group has one row only, which cannot be both fitted to and judged on.")
    moments = data.moments()
    results, failures = _compare(options, data, codes, methods(options, moments.labels))
    if not results:
        raise ValueError(f"no method can be fitted: {next(iter(failures.values()))}")
    sample = "rows not fitted to" if options.seeds else "the fitted rows"
    lines = summary.opening(options, moments, data, f", k = {options.components}")
    lines += [f"  mean squared errors on {sample}", "", _table(results), ""]
    lines += [console.sentences(f"{name}: not fitted. {why}") for name, why in failures.items()]
    hidden = any(row["hidden"] for row in results.values())
    verdict = summary.verdict_on(estimator(options, moments.labels), data, hidden)
    if verdict is not None:
        bold = console.sentences(verdict.headline, verdict.effect)
        lines += [console.paint(bold, "bold"), console.sentences(verdict.caveats)]
    lines += map(console.sentences, _sentences(results, sample))
    document = {
        "data": options.data,
        "seeds": options.seeds,
        "notes": list(data.notes),
        "methods": results,
        "not_fitted": failures,
        "verdict": summary.verdict_document(verdict, data),
    }
    console.answer(options.json, "\n".join(lines), document)
    return OK


def methods(options: argparse.Namespace, labels: Iterable[Any]) -> dict[str, Any]:
    """Every method, with the components and parameters of the options."""
    k = options.components
    robust = estimator(options, labels).set_params(standardize=False)
    largest = clone(robust).set_params(disparity="largest", reference="none")
    return {
        "PCA": PCA(k),
        "RobustFairPCA": robust,
        "RobustFairPCA (largest)": largest,
        "RobustFairPCA (largest, own)": clone(largest).set_params(reference="own"),
        "ExactlyFairPCA": ExactlyFairPCA(k),
        "FairPCA": FairPCA(k),
        "ConvexFairPCA (mean)": ConvexFairPCA(k),
        "ConvexFairPCA (mean+covariance)": ConvexFairPCA(k, constraint="mean+covariance"),
        "NullSpaceFairPCA": NullSpaceFairPCA(k),
    }


def _compare(
    options: argparse.Namespace, data: Data, codes: Any, chosen: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, str]]:
    """Give mean and range of each method's numbers, and why some methods cannot be fitted."""
    splits: list[Any] = [(slice(None), None)]
    if options.seeds:
        shuffle = StratifiedShuffleSplit(
            options.seeds, test_size=options.test_share, random_state=0
        )
        splits = list(shuffle.split(data.X, codes))
    found: dict[str, list[dict[str, float]]] = {}
    failures: dict[str, str] = {}
    total, hidden = len(splits) * len(chosen), not options.seeds or options.json
    with console.Progress(total, "fits", hidden=hidden) as progress:
        for (train, test), name in product(splits, chosen):
            if name not in failures:
                try:
                    for row in _rows(name, chosen[name], data, train, test, options.standardize):
                        found.setdefault(row["method"], []).append(row)
                except (ValueError, ImportError) as error:
                    failures[name] = in_options(str(error))
            progress.step()
    results = {name: _numbers(rows) for name, rows in found.items() if name not in failures}
    return dict(sorted(results.items(), key=lambda item: item[0] == OWN_PCA)), failures


def _rows(
    name: str, method: Any, data: Data, train: Any, test: Any, standardize: bool
) -> list[dict[str, Any]]:
    """Fit one method, apart from the others, which may fit where it cannot."""
    split: dict[str, Any] = {}
    if test is not None:
        split = {"X_test": data.X[test], "sensitive_features_test": _take(data.groups, test)}
    with warnings.catch_warnings():
        # What is not proved shows in the table's own column.
        warnings.simplefilter("ignore", ConvergenceWarning)
        groups = _take(data.groups, train)
        table = compare({name: method}, data.X[train], groups, standardize=standardize, **split)
    rows: list[dict[str, Any]] = table if isinstance(table, list) else table.to_dict("records")
    sample = "train" if test is None else "test"
    kept = {name, OWN_PCA} if name == "RobustFairPCA" else {name}
    return [row for row in rows if row["sample"] == sample and row["method"] in kept]


def _take(groups: Any, rows: Any) -> Any:
    if isinstance(groups, dict):
        return {name: column[rows] for name, column in groups.items()}
    return groups[rows]


def _numbers(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Give mean and, over several splits, the range of 95 % of them."""
    numbers: dict[str, Any] = {}
    for name in _NUMBERS:
        values = np.array([row[name] for row in rows])
        # Of proofs the worst counts.
        numbers[name] = float(values.max() if name == "optimality_gap" else values.mean())
        if len(rows) > 1 and name not in ("optimality_gap", "seconds"):
            numbers[f"{name}_range"] = np.quantile(values, defaults.INTERVAL).tolist()
    worst = next((row for row in rows if row["status"] != "optimal"), rows[0])
    # Over several splits, the one where all could gain most.
    last = max(rows, key=lambda row: row["gain_for_all"])
    return (
        numbers
        | {key: worst[key] for key in ("status", "hidden")}
        | {key: last[key] for key in ("dominated", "gain_for_all")}
    )


def _table(results: dict[str, Any]) -> str:
    def cell(row: dict[str, Any], name: str) -> str:
        if not np.isfinite(row[name]):
            return ""
        if name == "optimality_gap":
            return words.share_at_most(row[name])
        if name == "seconds":
            return f"{row[name]:.3f}"
        text = words.number(row[name], row["total_error"])
        low_high = row.get(f"{name}_range")
        return f"{text} [{', '.join(map(words.number, low_high))}]" if low_high else text

    rows = [[name, *(cell(row, key) for key in _NUMBERS)] for name, row in results.items()]
    return console.table(["method", *_HEADINGS], rows)


def _sentences(results: dict[str, Any], sample: str) -> list[str]:
    """Say who is the fairest and at what price, and of which methods too little is proved."""
    single = {name: row for name, row in results.items() if name != OWN_PCA}
    gaps, totals = (
        {name: row[key] for name, row in single.items()} for key in ("error_gap", "total_error")
    )
    unproved: dict[str, list[str]] = {}
    for name, row in single.items():
        if row["status"] not in ("optimal", None):
            proof = words.proof(row["status"], row["optimality_gap"], row["hidden"])
            unproved.setdefault(proof, []).append(name)
    proofs = [f"{', '.join(names)}: {proof}" for proof, names in unproved.items()]
    # Gaps that rounding hides are not compared.
    hidden = any(row["hidden"] for row in single.values())
    if hidden:
        return proofs
    dominated = [name for name, row in single.items() if words.visible_gain(row["gain_for_all"])]
    return [
        f"On {sample}, {words.fairest(gaps, totals)}",
        *filter(None, [words.dominated_methods(dominated)]),
        *proofs,
    ]
