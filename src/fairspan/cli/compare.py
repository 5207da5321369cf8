"""``fairspan compare``: every method on the same table, all judged by one function."""

from __future__ import annotations

import argparse
import re
import warnings
from collections.abc import Iterable
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedShuffleSplit

from fairspan import words
from fairspan.cli import OK, UsageError, console, in_options, summary
from fairspan.cli.arguments import (
    add_clip_argument,
    add_json_argument,
    add_model_arguments,
    add_number,
    add_small_group_arguments,
    add_table_arguments,
    check_enough,
    check_model_arguments,
    check_output,
    clip_note,
    small_groups_of,
)
from fairspan.cli.data import Data, load_data
from fairspan.cli.fit import estimator
from fairspan.cli.matrix import check_has_rows
from fairspan.estimators.convex import ConvexFairPCA
from fairspan.estimators.exact import ExactlyFairPCA
from fairspan.estimators.nullspace import NullSpaceFairPCA
from fairspan.estimators.samadi import FairPCA
from fairspan.ground import defaults
from fairspan.judging.compare import OWN_PCA, compare
from fairspan.moments.groups import encode_groups, relabelled
from fairspan.moments.small_groups import treated_groups

_NOTIONS = (("gap", "none"), ("largest", "none"), ("largest", "own"))
"""What is always compared, in addition to what was asked for."""
_ENDINGS = (".csv", ".json")
_NUMBERS = ("error_gap", "total_error", "largest_error", "optimality_gap", "seconds")
_HEADINGS = ("gap", "total error", "largest group error", "proved within", "seconds")
USAGE = "fairspan compare DATA --sensitive COLUMN [-k K] [--seeds N] [-o OUT] [options]"
EXAMPLES = """\
examples:
  fairspan compare people.csv --sensitive sex -k 3 --standardize
  fairspan compare people.csv -s sex -k 3 --standardize --seeds 10 -o methods.csv

With --seeds N, every method is fitted to N random parts of the rows and judged on the others; the
table shows the mean and, in brackets, the range of 95 % of the splits."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("data", metavar="DATA", help="csv, xlsx, npy or parquet table")
    add_table_arguments(parser)
    add_model_arguments(parser)
    add_small_group_arguments(parser, ("keep", "pool"))
    add_clip_argument(parser)
    parser.add_argument("--seeds", type=int, default=0, metavar="N", help="random splits of rows")
    add_number(parser, "--test-share", default=0.3, metavar="P", help="share of rows to judge on")
    text = "all numbers as csv or json (repeat it)"
    parser.add_argument("-o", "--output", action="append", default=[], metavar="OUT", help=text)
    add_json_argument(parser)


def run(options: argparse.Namespace) -> int:
    """Fit all methods and print who does what."""
    outputs = [check_output(path, [options.data], _ENDINGS) for path in options.output]
    check_has_rows(options.data, "compare")
    if options.weight is not None:
        raise UsageError("compare counts every row once; leave out --weight.")
    if options.seeds < 0 or not 0 < options.test_share < 1:
        raise UsageError("--seeds must be 0 or more, and --test-share between 0 and 1.")
    check_model_arguments(options)
    data = load_data(options)
    data = replace(data, notes=(*data.notes, *clip_note(options)))
    groups = treated_groups(encode_groups(data.groups, len(data.X)), **small_groups_of(options))
    if options.small_groups != "keep":
        # Before rows are split, so that every part has the same groups.
        data = replace(data, groups=relabelled(groups, ()))
    moments = data.moments()
    if options.seeds:
        check_enough(moments, 2, "both fitted to and judged on")
    chosen = methods(options, moments.labels)
    results, failures = _compare(options, data, groups.codes, chosen)
    if not results:
        raise ValueError(f"no method can be fitted: {next(iter(failures.values()))}")
    sample = "rows not fitted to" if options.seeds else "the fitted rows"
    lines = summary.opening(options, moments, data, f", k = {options.components}")
    if options.seeds > 1:
        sample += f": means over {options.seeds} splits, and in brackets where 95 % of these lie"
    lines += [f"  mean squared errors on {sample}", "", _table(results), ""]
    own = next(name for name in chosen if name.startswith("RobustFairPCA"))
    hidden, payers = any(row["hidden"] for row in results.values()), []
    if not options.seeds and {"PCA", own} <= results.keys():
        payers = _payers(options, data, {name: chosen[name] for name in ("PCA", own)})
        lines += [] if hidden else [_groups_table(payers, own), ""]
    lines += [
        console.sentences(f"{', '.join(names)}: not fitted. {why}")
        for why, names in _by_value(failures).items()
    ]
    verdict = summary.verdict_on(estimator(options, moments.labels), data, hidden)
    if verdict is not None:
        bold = console.sentences(verdict.headline, verdict.effect)
        lines += [console.paint(bold, "bold"), console.sentences(verdict.caveats)]
    said = _sentences(results, sample)
    if payers and not hidden:
        keys = ("label", "rows", "PCA", own)
        labels, counts, before, after = ([row[key] for row in payers] for key in keys)
        paid = words.who_pays(words.with_rows(labels, counts), before, after, own)
        said[0] = f"{said[0]} {paid}".strip()
    lines += map(console.sentences, said)
    document = {
        "data": options.data,
        "seeds": options.seeds,
        "notes": list(data.notes),
        "methods": results,
        "groups": payers,
        "not_fitted": failures,
        "verdict": summary.verdict_document(verdict, data),
    }
    for path in outputs:
        rows = [_flat(name, row) for name, row in results.items()]
        console.write_rows(path, rows, console.json_text(document))
        lines.append(f"Written: {path}")
    console.answer(options.json, "\n".join(lines), document)
    return OK


def _by_value(given: dict[str, str]) -> dict[str, list[str]]:
    """Give the names of each value together."""
    found: dict[str, list[str]] = {}
    for name, value in given.items():
        found.setdefault(value, []).append(name)
    return found


def _flat(name: str, row: dict[str, Any]) -> dict[str, Any]:
    """Give the numbers of a method as a row of a table, the ends of a range apart."""
    flat: dict[str, Any] = {"method": name}
    for key, value in row.items():
        ends = zip(("low", "high"), value, strict=True) if isinstance(value, list) else ()
        flat |= {f"{key}_{end}": one for end, one in ends} or {key: value}
    return flat


def methods(options: argparse.Namespace, labels: Iterable[Any]) -> dict[str, Any]:
    """Every method, with the components and parameters of the options."""
    k = options.components
    # Rows are clipped and scaled alike for all.
    robust = estimator(options, labels).set_params(standardize=False, clip=None)
    notions = [(robust.disparity, robust.reference), *_NOTIONS]
    return {
        "PCA": PCA(k),
        **{
            _named(*notion): clone(robust).set_params(disparity=notion[0], reference=notion[1])
            for notion in notions
        },
        "ExactlyFairPCA": ExactlyFairPCA(k),
        "FairPCA": FairPCA(k),
        "ConvexFairPCA (mean)": ConvexFairPCA(k),
        "ConvexFairPCA (mean+covariance)": ConvexFairPCA(k, constraint="mean+covariance"),
        "NullSpaceFairPCA": NullSpaceFairPCA(k),
    }


def _named(disparity: str, reference: Any) -> str:
    """Name the method by what its fairness weight counts, as far as that is not the default."""
    parts = [disparity] * (disparity != "gap")
    if reference != "none":
        parts.append(reference if isinstance(reference, str) else "given references")
    return f"RobustFairPCA ({', '.join(parts)})" if parts else "RobustFairPCA"


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
                    for row in _rows(name, chosen[name], data, train, test, options):
                        found.setdefault(row["method"], []).append(row)
                except (ValueError, ImportError) as error:
                    failures[name] = _why(error)
            progress.step()
    results = {name: _numbers(rows) for name, rows in found.items() if name not in failures}
    return dict(sorted(results.items(), key=lambda item: item[0] == OWN_PCA)), failures


def _why(error: Exception) -> str:
    """Say why a method cannot be fitted, by what this command can change."""
    text = re.sub(r" Set max_gap above [^,]*, or keep more", " Keep more", str(error))
    return in_options(text.replace("max_gap=", ""))


def _rows(
    name: str, method: Any, data: Data, train: Any, test: Any, options: argparse.Namespace
) -> list[dict[str, Any]]:
    """Fit one method, apart from the others, which may fit where it cannot."""
    split: dict[str, Any] = {}
    if test is not None:
        split = {"X_test": data.X[test], "sensitive_features_test": _take(data.groups, test)}
    with warnings.catch_warnings():
        # What is not proved shows in the table's own column.
        warnings.simplefilter("ignore", ConvergenceWarning)
        groups = _take(data.groups, train)
        units = {"standardize": options.standardize, "clip": options.clip}
        table = compare({name: method}, data.X[train], groups, **units, **split)
    rows: list[dict[str, Any]] = table if isinstance(table, list) else table.to_dict("records")
    sample = "train" if test is None else "test"
    kept = {name, OWN_PCA} if name == "RobustFairPCA" else {name}
    return [row for row in rows if row["sample"] == sample and row["method"] in kept]


def _payers(options: argparse.Namespace, data: Data, both: dict[str, Any]) -> list[dict[str, Any]]:
    """Give each group's error with PCA and with the method of the options."""
    units = {"standardize": options.standardize, "clip": options.clip}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        table = compare(both, data.X, data.groups, by="group", **units)
    found: dict[Any, dict[str, Any]] = {}
    for row in table if isinstance(table, list) else table.to_dict("records"):
        one = found.setdefault(row["group"], {"label": row["group"], "rows": row["rows"]})
        one[row["method"]] = row["error"]
    return list(found.values())


def _groups_table(payers: list[dict[str, Any]], own: str) -> str:
    """Set each group's error with PCA and with the method of the options side by side."""
    both = ("PCA", own)
    shown = words.folded(*([row[name] for row in payers] for name in both))
    rows = [
        [words.group_name(payers[a]["label"]), *(words.number(payers[a][name]) for name in both)]
        for a in shown
    ]
    if len(shown) < len(payers):
        rows.append([f"and {len(payers) - len(shown)} more ({console.ALL})", "", ""])
    return console.table(["error of each group", *both], rows)


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

        def written(value: float) -> str:
            gap = name == "error_gap"
            return words.difference(value, [row["largest_error"]]) if gap else words.number(value)

        low_high = row.get(f"{name}_range")
        if not low_high:
            return written(row[name])
        return f"{written(row[name])} [{', '.join(map(written, low_high))}]"

    rows = [[name, *(cell(row, key) for key in _NUMBERS)] for name, row in results.items()]
    return console.table(["method", *_HEADINGS], rows)


def _sentences(results: dict[str, Any], sample: str) -> list[str]:
    """Say who is the fairest and at what price, and of which methods too little is proved."""
    single = {name: row for name, row in results.items() if name != OWN_PCA}
    gaps, totals = (
        {name: row[key] for name, row in single.items()} for key in ("error_gap", "total_error")
    )
    unproved = {
        name: words.proof(row["status"], row["optimality_gap"], row["hidden"])
        for name, row in single.items()
        if row["status"] not in ("optimal", None)
    }
    proofs = [f"{', '.join(names)}: {proof}" for proof, names in _by_value(unproved).items()]
    # Gaps that rounding hides are not compared.
    hidden = any(row["hidden"] for row in single.values())
    if hidden:
        return proofs
    dominated = [name for name, row in single.items() if words.visible_gain(row["gain_for_all"])]
    return [
        f"On {sample}, {words.fairest(gaps, totals)}",
        *filter(None, [words.dominated_methods(dominated, "RobustFairPCA" in dominated)]),
        *proofs,
    ]
