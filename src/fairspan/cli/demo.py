"""The main job on the census table that ships with the package: ``fairspan demo``.

It shows how plain PCA serves women and men, how RobustFairPCA does with the gap and with the
largest error, what that costs, who pays and what is proved; it draws the same in a picture, and
ends with a report to play with.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

from fairspan import datasets
from fairspan.cli import console, summary
from fairspan.cli.arguments import check_output
from fairspan.datasets import Dataset
from fairspan.datasets.adult import adult_bytes
from fairspan.estimators.robust import RobustFairPCA, pca_of
from fairspan.frontier.frontier import fairness_frontier
from fairspan.ground.atomic import replacing
from fairspan.inference import verdict
from fairspan.plotting import plot_frontier, plot_group_errors
from fairspan.plotting._axes import new_figure
from fairspan.report import write_report

_SETTING: dict[str, Any] = {"n_components": 2, "standardize": True}
_TITLE = "Adult census table (a sample)"
_GAP, _LARGEST = "RobustFairPCA", "RobustFairPCA, largest"
EXAMPLES = """\
examples:
  fairspan demo
  fairspan demo --picture demo.png --table adult.csv"""


def fit_all(data: Dataset) -> dict[str, RobustFairPCA]:
    """Fit plain PCA, and RobustFairPCA with both notions of disparity."""
    fair = RobustFairPCA(**_SETTING).fit(data.X, sensitive_features=data.sensitive_features)
    largest = RobustFairPCA(disparity="largest", **_SETTING).fit_moments(fair.moments_)
    return {summary.PCA: pca_of(fair), _GAP: fair, _LARGEST: largest}


def draw(data: Dataset, models: dict[str, RobustFairPCA], path: Path) -> None:
    """Draw the errors of both groups under all methods, and the price of equal errors."""
    figure = new_figure((14, 5), "The demo's picture needs")
    left, right = figure.subplots(1, 2, width_ratios=(4, 7))
    plot_group_errors(models, data.X, data.sensitive_features, n_bootstrap=0, ax=left)
    left.set_title("Adult by sex, 2 components, on the fitted rows")
    moments = models[_GAP].moments_
    plot_frontier(fairness_frontier(moments, **_SETTING), ax=right)
    figure.savefig(path, dpi=150)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    for name, kind in (("picture", "png"), ("report", "html")):
        file, text = f"fairspan-demo.{kind}", f"where the {name} goes (default: %(default)s)"
        shape = f"FILE.{kind}"
        parser.add_argument(f"--{name}", type=Path, default=Path(file), metavar=shape, help=text)
    text = "also write the table, to try the other commands with"
    parser.add_argument("--table", type=Path, metavar="FILE.csv", help=text)


def run(options: argparse.Namespace) -> int:
    """Print the errors, draw the picture and write the report."""
    for path in filter(None, (options.picture, options.report, options.table)):
        check_output(path)
    data = datasets.load("adult")
    models = fit_all(data)
    about = {"sensitive_features": data.sensitive_features, "feature_names": data.feature_names}
    found = verdict(RobustFairPCA(**_SETTING), data.X, **about)
    print(
        f"{_TITLE}: {len(data.X):,} people, {data.X.shape[1]} features, 2 components", "", sep="\n"
    )
    print(summary.errors_table(models), "", sep="\n")
    plain, fair, largest = models.values()
    told = console.paragraph(summary.findings(plain, fair, found))
    # The demo takes no such option; the command that it leads to does.
    print(told.replace("--disparity", "fairspan fit --disparity"), "", sep="\n")
    named = 'RobustFairPCA(disparity="largest")'
    other = replace(summary.findings(plain, largest, None), method=named)
    print(console.sentences(other.effect.removeprefix("There, "), other.payers), "", sep="\n")
    try:
        with replacing(options.picture) as temporary:
            draw(data, models, temporary)
        print(f"The same as a picture: {options.picture}")
    except ImportError as error:
        print(f"No picture was drawn. {error}")
    if options.table is not None:
        with replacing(options.table) as temporary:
            temporary.write_bytes(adult_bytes())
        print(f"The table: {options.table}")
    print("Your own table:  fairspan fit people.csv --sensitive sex -k 2 --standardize")
    try:
        write_report(options.report, data.X, title=_TITLE, **about, **_SETTING)
        print(f"A report to play with, open it in a browser: {options.report.resolve()}")
    except ImportError as error:
        print(f"No report was written. {error}")
    return 0
