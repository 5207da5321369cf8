"""The main job on two tables that come with scikit-learn: ``fairspan demo``.

For each table it shows how plain PCA serves the groups, how RobustFairPCA does, what that costs in
total error, and what is proved about it; it draws the same in a picture, and ends with a report to
play with.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes

from fairspan.cli import console, summary
from fairspan.cli.arguments import check_output
from fairspan.estimators.robust import RobustFairPCA
from fairspan.ground.atomic import replacing
from fairspan.inference import verdict
from fairspan.plotting import plot_group_errors
from fairspan.plotting._axes import new_figure
from fairspan.report import write_report

_SETTING: dict[str, Any] = {"n_components": 3, "standardize": True}
EXAMPLES = """\
examples:
  fairspan demo
  fairspan demo --picture demo.png"""


class Example(NamedTuple):
    """A table with a sensitive column."""

    name: str
    X: Any
    groups: Any
    feature_names: list[str]

    @property
    def title(self) -> str:
        """What the table is."""
        return f"{self.name}: {len(self.X)} patients, {self.X.shape[1]} features"


def examples() -> list[Example]:
    """The embedded tables: no download is needed."""
    cancer, diabetes = load_breast_cancer(), load_diabetes(scaled=False)
    # The two codes of the sex column are not documented; the groups keep their codes.
    sex = np.array([f"sex {code:.0f}" for code in diabetes.data[:, 1]])
    others = [name for name in diabetes.feature_names if name != "sex"]
    diagnosis = cancer.target_names[cancer.target]
    return [
        Example("Breast cancer", cancer.data, diagnosis, list(cancer.feature_names)),
        Example("Diabetes", np.delete(diabetes.data, 1, axis=1), sex, others),
    ]


def fit_both(example: Example) -> dict[str, RobustFairPCA]:
    """Fit plain PCA (no fairness weight, no radius) and RobustFairPCA."""
    fair = RobustFairPCA(**_SETTING).fit(example.X, sensitive_features=example.groups)
    return {summary.PCA: summary.plain_pca(fair, fair.moments_), "RobustFairPCA": fair}


def draw(results: list[tuple[Example, dict[str, RobustFairPCA]]], path: Path) -> None:
    """Draw the errors of all groups under both methods."""
    figure = new_figure((9, 4), "The demo's picture needs")
    for axes, (example, models) in zip(figure.subplots(1, len(results)), results, strict=True):
        plot_group_errors(models, example.X, example.groups, n_bootstrap=0, ax=axes)
        axes.set_title(f"{example.name}, 3 components, on the fitted rows")
    figure.savefig(path, dpi=150)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    for name, kind in (("picture", "png"), ("report", "html")):
        file, text = f"fairspan-demo.{kind}", f"where the {name} goes (default: %(default)s)"
        shape = f"FILE.{kind}"
        parser.add_argument(f"--{name}", type=Path, default=Path(file), metavar=shape, help=text)


def run(options: argparse.Namespace) -> int:
    """Print the tables, draw the picture and write the report."""
    for path in (options.picture, options.report):
        check_output(path)
    results = [(example, fit_both(example)) for example in examples()]
    for example, models in results:
        found = verdict(
            RobustFairPCA(**_SETTING),
            example.X,
            sensitive_features=example.groups,
            feature_names=example.feature_names,
        )
        text = console.paragraph(
            summary.findings(models[summary.PCA], models["RobustFairPCA"], found)
        )
        print(f"{example.title}, 3 components", "", summary.errors_table(models), sep="\n")
        print("", text, "\n", sep="\n")
    try:
        with replacing(options.picture) as temporary:
            draw(results, temporary)
        print(f"The same as a picture: {options.picture}")
    except ImportError as error:
        print(f"No picture was drawn. {error}")
    print("Your own table:  fairspan fit people.csv --sensitive sex -k 3 --standardize")
    try:
        first, *_ = examples()
        about = {"feature_names": first.feature_names, "title": first.title}
        groups = first.groups
        write_report(options.report, first.X, sensitive_features=groups, **about, **_SETTING)
        print(f"A report to play with, open it in a browser: {options.report.resolve()}")
    except ImportError as error:
        print(f"No report was written. {error}")
    return 0
