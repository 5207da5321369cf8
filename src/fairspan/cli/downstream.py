"""``fairspan downstream``: what a model trained on each projection does to the groups."""

from __future__ import annotations

import argparse
import csv
from pathlib import Path
from typing import Any

import numpy as np

from fairspan.cli import OK, UsageError, console
from fairspan.cli.arguments import add_number, check_output
from fairspan.cli.data import (
    Data,
    add_json_argument,
    add_table_arguments,
    is_moments,
    load_data,
    target_of,
)
from fairspan.downstream import Choice, DownstreamResult, assess_downstream
from fairspan.downstream.assess import holds_classes
from fairspan.downstream.candidates import METHODS
from fairspan.downstream.measures import measures, names_of
from fairspan.downstream.reading import against_pca, of_choice, shown_metrics, with_interval
from fairspan.downstream.rule import Rule
from fairspan.ground import defaults
from fairspan.ground.atomic import replacing
from fairspan.ground.parameters import check_integer
from fairspan.plotting._axes import new_figure

_MODELS = ("logistic", "ridge", "boosting")
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
    parser.add_argument("data", metavar="DATA", help="csv, npy or parquet table")
    add_table_arguments(parser)
    method = parser.add_argument_group("the methods and the model")
    method.add_argument(
        "-k", "--components", type=int, nargs="+", default=(2, 5), metavar="K", help="default: 2 5"
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
    add_number(method, "--jobs", default=1, metavar="N", help="splits at a time")
    add_number(method, "--seed", default=defaults.SEED, help="of the splits")
    text = "keep finished splits here, and go on from there"
    method.add_argument("--resume", metavar="FOLDER", help=text)
    text = "all values as json or csv, or the picture as png, svg or pdf (repeat it)"
    parser.add_argument("-o", "--output", action="append", default=[], metavar="OUT", help=text)
    add_json_argument(parser)


def run(options: argparse.Namespace) -> int:
    """Assess the decisions and print what they do."""
    if is_moments(options.data):
        raise UsageError("downstream needs the rows of a table; moments do not hold them.")
    if not options.target:
        raise UsageError("--target is missing: name the column that the model is to predict.")
    outputs = [check_output(path, [options.data], _ENDINGS) for path in options.output]
    check_integer("jobs", abs(options.jobs), 1)
    data = load_data(options, keeps_target=True)
    result = _assess(options, data)
    choice = result.best(options.rule) if options.rule else None
    for path in outputs:
        _write(path, result)
    lines = _lines(options, data, result, choice)
    document = {
        "data": options.data,
        "notes": list(data.notes),
        "classes": result.classes,
        "model": result.model,
        "splits": result.n_splits,
        "summary": result.summary(),
        "choice": None if choice is None else vars(choice),
    }
    console.answer(options.json, "\n".join(lines), document)
    return OK


def _assess(options: argparse.Namespace, data: Data) -> DownstreamResult:
    target = target_of(data, options.target)
    if options.rule:
        n_classes = len(np.unique(target)) if holds_classes(target) else 0
        Rule.parse(options.rule, names_of(measures(options.metrics, n_classes)))
    with console.Progress(options.splits, "splits", hidden=options.json) as bar:
        return assess_downstream(
            data.X,
            target,
            data.groups,
            methods=options.methods,
            n_components=options.components,
            fairness_weights=options.weights,
            model=_model(options.model, target),
            metrics=options.metrics,
            sample_weight=data.weight,
            n_splits=options.splits,
            inner_splits=1 if options.rule else 0,
            random_state=options.seed,
            n_jobs=options.jobs,
            checkpoint=options.resume,
            progress=lambda done, _: bar.step(done - bar.done),
        )


def _model(name: str | None, target: Any) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
    from sklearn.linear_model import LogisticRegression, Ridge

    boosting = HistGradientBoostingClassifier
    if not holds_classes(target):
        boosting = HistGradientBoostingRegressor
    return {
        None: None,
        "logistic": LogisticRegression(max_iter=1000),
        "ridge": Ridge(),
        "boosting": boosting(random_state=0),
    }[name]


def _write(path: Path, result: DownstreamResult) -> None:
    with replacing(path) as place:
        if path.suffix == ".json":
            place.write_text(result.to_json(), encoding="utf-8")
        elif path.suffix == ".csv":
            names = ["method", "n_components", "fairness_weight", "split"]
            names += ["metric", "group", "value"]
            with place.open("w", encoding="utf-8", newline="") as file:
                table = csv.DictWriter(file, names, extrasaction="ignore")
                table.writeheader()
                table.writerows(row for row in result.rows if row["stage"] == "outer")
        else:
            figure = new_figure((9, 5), "The picture needs")
            result.plot(ax=figure.subplots())
            figure.savefig(place, dpi=150, format=path.suffix[1:])


def _lines(
    options: argparse.Namespace, data: Data, result: DownstreamResult, choice: Choice | None
) -> list[str]:
    target = options.target
    if result.classes is not None and len(result.classes) == 2:
        target += f" ({result.classes[1]!r} is the positive class)"
    lines = [console.sentences(note) for note in data.notes]
    lines += [
        f"{options.data}: {len(data.X)} rows, {data.X.shape[1]} features, groups by "
        f"{', '.join(options.sensitive)}: {', '.join(result.group_labels)}",
        f"  {result.model} of {target}; means over {result.n_splits} random splits "
        f"({result.n_train} rows to fit, {result.n_test} to judge)",
        "",
        _table(result),
        "",
    ]
    texts = against_pca(result) + (
        [] if choice is None else [of_choice(choice, shown_metrics(result))]
    )
    return [*lines, *map(console.sentences, texts)]


def _table(result: DownstreamResult) -> str:
    rows: dict[tuple[Any, ...], list[str]] = {}
    for name in shown_metrics(result):
        for row in result.summary(name):
            if row["group"] is None:
                key = row["method"], row["n_components"], row["fairness_weight"]
                first = [str(part) if part is not None else "" for part in key]
                rows.setdefault(key, first).append(with_interval(row))
    heads = [name.replace("_", " ") for name in shown_metrics(result)]
    return console.table(["method", "k", "weight", *heads], list(rows.values()))
