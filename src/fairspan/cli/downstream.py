"""``fairspan downstream``: what a model trained on each projection does to the groups."""

from __future__ import annotations

import argparse
import sys
from contextlib import ExitStack
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from fairspan.cli import OK, UsageError, checking_arguments, console, summary
from fairspan.cli.arguments import (
    add_json_argument,
    add_number,
    add_table_arguments,
    check_output,
)
from fairspan.cli.data import Data, load_data, target_of
from fairspan.cli.matrix import check_has_rows
from fairspan.downstream import Choice, DownstreamResult, assess_downstream
from fairspan.downstream.candidates import METHODS
from fairspan.downstream.inputs import holds_classes
from fairspan.downstream.measures import measures, names_of
from fairspan.downstream.reading import against_pca, of_choice, shown_metrics, with_interval
from fairspan.downstream.rule import Rule
from fairspan.ground import defaults
from fairspan.ground.parameters import check_integer
from fairspan.words import plural

_MODELS = ("logistic", "ridge", "boosting")
_PAGE = 100
"""Tables are at most this wide, if one metric does not take more."""
_ENDINGS = (".json", ".csv", ".png", ".svg", ".pdf")
USAGE = "fairspan downstream DATA --sensitive COLUMN --target COLUMN [-k K ...] [options]"
EXAMPLES = """\
examples:
  fairspan downstream people.csv --sensitive sex --target income -k 1 2
  fairspan downstream people.csv -s sex --target income --drop id -k 1 2 --model boosting -o out.png
  fairspan downstream people.csv -s sex --target income -k 2 --rule "best r2"

Scaling, projection and model are fitted on the training rows of each split only, and measured on
the others. Intervals are 95 % over splits, corrected for their overlap. A rule is for instance
"highest accuracy with demographic_parity_difference <= 0.1"."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("data", metavar="DATA", help="csv, xlsx, npy or parquet table")
    add_table_arguments(parser)
    method = parser.add_argument_group("the methods and the model")
    method.add_argument(
        "-k",
        "--components",
        type=int,
        nargs="+",
        metavar="K",
        help="default: 2 and 5, if there are enough columns",
    )
    text = "fairness weights to try"
    method.add_argument("--weights", type=float, nargs="+", default=(1.0,), metavar="W", help=text)
    text = f"which of {', '.join(METHODS)} (default: all)"
    method.add_argument("--methods", nargs="+", metavar="METHOD", help=text)
    text = "trained on the projected rows (default: logistic for classes, ridge for numbers)"
    method.add_argument("--model", choices=_MODELS, help=text)
    text = "metrics of scikit-learn and fairlearn, by name"
    method.add_argument("--metrics", nargs="+", metavar="METRIC", help=text)
    method.add_argument("--rule", help="choose by this rule on training rows; judge on the others")
    add_number(method, "--splits", default=10, metavar="N", help="random splits of the rows")
    add_number(method, "--jobs", default=1, metavar="N", help="number of splits to run at a time")
    add_number(method, "--seed", default=defaults.SEED, help="seed of the splits")
    text = "keep finished splits here, and continue from there"
    method.add_argument("--resume", metavar="FOLDER", help=text)
    text = "all values as json or csv, or the picture as png, svg or pdf (repeat it)"
    parser.add_argument("-o", "--output", action="append", default=[], metavar="OUT", help=text)
    add_json_argument(parser)


def run(options: argparse.Namespace) -> int:
    """Assess the decisions and print what they do."""
    outputs = [check_output(path, [options.data], _ENDINGS) for path in options.output]
    check_has_rows(options.data, "downstream")
    if not options.target:
        raise UsageError("--target is missing: name the column that the model is to predict.")
    with checking_arguments():
        check_integer("jobs", abs(options.jobs), 1)
        check_integer("n_splits", options.splits, 1)
    data = load_data(options, keeps_target=True)
    try:
        result = _assess(options, data)
    except KeyboardInterrupt:
        where = f"{options.resume}; the same command continues from there"
        kept = f"are kept in {where}" if options.resume else "are lost; --resume FOLDER keeps them"
        print(f"Finished splits {kept}.", file=sys.stderr)
        raise
    choice = result.best(options.rule) if options.rule else None
    names = ("method", "n_components", "fairness_weight", "split", "metric", "group", "value")
    outer = [
        {name: row.get(name) for name in names} for row in result.rows if row["stage"] == "outer"
    ]
    for path in outputs:
        console.write_output(path, outer, result.to_json(), lambda axes: result.plot(ax=axes))
    lines = _lines(options, data, result, choice)
    document = {
        "data": options.data,
        "notes": [*data.notes, *result.notes],
        "classes": result.classes,
        "model": result.model,
        "splits": result.n_splits,
        "summary": result.summary(),
        "left_out": result.left_out,
        "choice": None if choice is None else vars(choice),
    }
    console.answer(options.json, "\n".join(lines), document)
    return OK


def _assess(options: argparse.Namespace, data: Data) -> DownstreamResult:
    target = target_of(data, options)
    model = _model(options.model, target)
    if options.rule:
        classifies = holds_classes(target) if model is None else is_classifier(model)
        n_classes = len(np.unique(target)) if classifies else 0
        Rule.parse(options.rule, names_of(measures(options.metrics, n_classes)))
    bars: list[console.Progress] = []
    with ExitStack() as ended:

        def progress(done: int, total: int) -> None:
            """Show a bar once the arguments are checked, and from where earlier runs stopped."""
            if not bars:
                bar = console.Progress(total, "splits", done=done, hidden=options.json)
                bars.append(ended.enter_context(bar))
            bars[0].step(done - bars[0].done)

        return assess_downstream(
            data.X,
            target,
            data.groups,
            methods=options.methods,
            n_components=options.components,
            fairness_weights=options.weights,
            model=model,
            metrics=options.metrics,
            sample_weight=data.weight,
            n_splits=options.splits,
            inner_splits=1 if options.rule else 0,
            random_state=options.seed,
            n_jobs=options.jobs,
            checkpoint=options.resume,
            progress=progress,
        )


def _model(name: str | None, target: Any) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
    from sklearn.linear_model import LogisticRegression, Ridge

    text = target.dtype.kind == "U"
    if (name == "ridge" and text) or (name == "logistic" and not (text or _whole(target))):
        raise UsageError(
            f"--model {name} predicts {'numbers' if text else 'classes'}, but the target has "
            f"values such as {target.tolist()[0]!r}; leave --model out, or use --model boosting."
        )
    boosting = (
        HistGradientBoostingClassifier if holds_classes(target) else HistGradientBoostingRegressor
    )
    return {
        None: None,
        "logistic": LogisticRegression(max_iter=1000),
        "ridge": Ridge(),
        "boosting": boosting(random_state=0),
    }[name]


def _whole(target: Any) -> bool:
    return bool((target == np.round(target)).all())


def _lines(
    options: argparse.Namespace, data: Data, result: DownstreamResult, choice: Choice | None
) -> list[str]:
    target = options.target
    if result.classes is not None and len(result.classes) == 2:
        target += f" ({result.classes[1]!r} is the positive class)"
    lines = [
        *summary.opening(options, data.moments(), data),
        f"  {result.model} of {target}; means over {plural(result.n_splits, 'random split')} "
        f"({result.n_train:,} rows to fit, {result.n_test:,} to judge)",
        "",
        _tables(result),
        "",
    ]
    texts = against_pca(result) + (
        [] if choice is None else [of_choice(choice, shown_metrics(result))]
    )
    return [*lines, *map(console.sentences, texts + result.notes)]


def _tables(result: DownstreamResult) -> str:
    """Set the means in tables that fit a page, each with as many metrics as it has room for."""
    tables: list[str] = []
    metrics: list[str] = []
    for name in shown_metrics(result):
        wider = _table(result, [*metrics, name])
        if metrics and len(wider.splitlines()[1]) <= _PAGE:
            metrics.append(name)
            tables[-1] = wider
        else:
            metrics = [name]
            tables.append(_table(result, metrics))
    return "\n\n".join(tables)


def _table(result: DownstreamResult, metrics: list[str]) -> str:
    rows: dict[tuple[Any, ...], list[str]] = {}
    for name in metrics:
        for row in result.summary(name):
            if row["group"] is None:
                key = row["method"], row["n_components"], row["fairness_weight"]
                first = [
                    f"{part:g}" if isinstance(part, float) else str(part or "") for part in key
                ]
                rows.setdefault(key, first).append(with_interval(row))
    heads = [name.replace("_", " ") for name in metrics]
    return console.table(["method", "k", "weight", *heads], list(rows.values()))
