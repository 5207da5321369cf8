"""The main job on two tables that come with scikit-learn: ``fairspan demo``.

For each table it shows how plain PCA serves the groups, how RobustFairPCA does, what that costs in
total error, and what is proved about it; it draws the same in a picture, and ends with a report to
play with.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_breast_cancer, load_diabetes

from fairspan.cli import summary
from fairspan.cli.arguments import check_output
from fairspan.estimators.robust import RobustFairPCA
from fairspan.ground.atomic import replacing
from fairspan.plotting import plot_group_errors
from fairspan.report import Report, write_report

_COMPONENTS, _WEIGHT, _RADIUS = 3, 1.0, 0.1
_EXAMPLES = """\
examples:
  fairspan demo
  fairspan demo --picture demo.png"""


@dataclass(frozen=True)
class Example:
    """A table with a sensitive column."""

    title: str
    unit: str
    X: npt.NDArray[Any]
    groups: npt.NDArray[Any]
    feature_names: list[str]


def examples() -> list[Example]:
    """The embedded tables: no download is needed."""
    cancer = load_breast_cancer()
    diagnosis = cancer.target_names[cancer.target]
    diabetes = load_diabetes(scaled=False)
    # The two codes of the sex column are not documented; the groups keep their codes.
    sex = np.array([f"sex {code:.0f}" for code in diabetes.data[:, 1]])
    others = [name for name in diabetes.feature_names if name != "sex"]
    return [
        Example("Breast cancer", "patients", cancer.data, diagnosis, list(cancer.feature_names)),
        Example("Diabetes", "patients", np.delete(diabetes.data, 1, axis=1), sex, others),
    ]


def fit_both(example: Example) -> tuple[RobustFairPCA, RobustFairPCA]:
    """Fit plain PCA (no fairness weight, no radius) and RobustFairPCA."""
    plain = RobustFairPCA(_COMPONENTS, fairness_weight=0.0, radius=0.0, standardize=True)
    fair = RobustFairPCA(_COMPONENTS, fairness_weight=_WEIGHT, radius=_RADIUS, standardize=True)
    data = {"sensitive_features": example.groups}
    return plain.fit(example.X, **data), fair.fit(example.X, **data)


def table(example: Example, plain: RobustFairPCA, fair: RobustFairPCA) -> str:
    """Errors of every group under both methods, as text."""
    title = f"{example.title}: {len(example.X)} {example.unit}, {example.X.shape[1]} features"
    errors = summary.errors_table({summary.PCA: plain, "RobustFairPCA": fair})
    return f"{title}, {_COMPONENTS} components\n\n{errors}"


def draw(results: list[tuple[Example, RobustFairPCA, RobustFairPCA]], path: Path) -> None:
    """Draw the errors of all groups under both methods, with bootstrap intervals."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(
            'The demo\'s picture needs matplotlib: pip install "fairspan[plot]".'
        ) from error
    figure = Figure(figsize=(9, 4), layout="constrained")
    for axes, (example, plain, fair) in zip(figure.subplots(1, len(results)), results, strict=True):
        models = {"PCA": plain, "RobustFairPCA": fair}
        plot_group_errors(models, example.X, example.groups, ax=axes)
        axes.set_title(f"{example.title}, {_COMPONENTS} components")
    figure.savefig(path, dpi=150)


def write_page(example: Example, path: Path) -> Report:
    """Write the report of a table."""
    return write_report(
        path,
        example.X,
        sensitive_features=example.groups,
        n_components=_COMPONENTS,
        fairness_weight=_WEIGHT,
        radius=_RADIUS,
        standardize=True,
        feature_names=example.feature_names,
        title=f"{example.title}: {len(example.X)} {example.unit}, {example.X.shape[1]} features",
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the demo can be told."""
    parser.epilog = _EXAMPLES
    for name, kind in (("picture", "png"), ("report", "html")):
        parser.add_argument(
            f"--{name}",
            type=Path,
            default=Path(f"fairspan-demo.{kind}"),
            metavar=f"FILE.{kind}",
            help=f"where the {name} goes (default: fairspan-demo.{kind})",
        )


def run(options: argparse.Namespace) -> int:
    """Print the tables, draw the picture and write the report."""
    for path in (options.picture, options.report):
        check_output(path)
    results = [(example, *fit_both(example)) for example in examples()]
    for example, plain, fair in results:
        told = summary.told(summary.findings(plain, fair))
        print(table(example, plain, fair), "", told, "\n", sep="\n")
    try:
        with replacing(options.picture) as temporary:
            draw(results, temporary)
        print(f"The same as a picture: {options.picture}")
    except ImportError as error:
        print(f"No picture was drawn. {error}")
    print("Your own table:  fairspan fit people.csv --sensitive sex -k 3 --standardize")
    try:
        write_page(results[0][0], options.report)
        print(f"A report to play with, open it in a browser: {options.report.resolve()}")
    except ImportError as error:
        print(f"No report was written. {error}")
    return 0
