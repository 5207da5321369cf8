"""The main job on two tables that come with scikit-learn: ``fairspan demo``.

For each table it shows how plain PCA serves the groups, how RobustFairPCA does, what that costs in
total error, and what is proved about it; and it draws the same in a picture.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_breast_cancer, load_diabetes

from fairspan._atomic import replacing
from fairspan.cli import console, summary
from fairspan.cli.paths import check_output
from fairspan.estimators.robust import RobustFairPCA

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


def examples() -> list[Example]:
    """The embedded tables: no download is needed."""
    cancer = load_breast_cancer()
    diagnosis = cancer.target_names[cancer.target]
    diabetes = load_diabetes(scaled=False)
    # The two codes of the sex column are not documented; the groups keep their codes.
    sex = np.array([f"sex {code:.0f}" for code in diabetes.data[:, 1]])
    return [
        Example("Breast cancer", "patients", cancer.data, diagnosis),
        Example("Diabetes", "patients", np.delete(diabetes.data, 1, axis=1), sex),
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
    """Draw the errors of all groups under both methods."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(
            'The demo\'s picture needs matplotlib: pip install "fairspan[plot]".'
        ) from error
    figure = Figure(figsize=(9, 4), layout="constrained")
    for axes, (example, plain, fair) in zip(figure.subplots(1, len(results)), results, strict=True):
        labels = [
            f"{a}\n({n})" for a, n in zip(fair.group_labels_, fair.group_counts_, strict=True)
        ]
        places = np.arange(len(labels))
        for shift, name, model, colour in (
            (-0.2, "PCA", plain, "#bbbbbb"),
            (0.2, "RobustFairPCA", fair, "#0072b2"),
        ):
            bars = axes.bar(places + shift, model.group_errors_, 0.38, label=name, color=colour)
            axes.bar_label(bars, fmt="%.2f", padding=2)
        axes.set_xticks(places, labels)
        axes.set_title(f"{example.title}, {_COMPONENTS} components")
        axes.set_ylabel("mean squared reconstruction error")
        axes.set_ylim(0, 1.25 * plain.group_errors_.max())
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, loc="upper left", ncols=2)
    figure.savefig(path, dpi=150)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the demo can be told."""
    parser.epilog = _EXAMPLES
    parser.add_argument(
        "--picture",
        type=Path,
        default=Path("fairspan-demo.png"),
        metavar="FILE.png",
        help="where to draw the same (default: fairspan-demo.png)",
    )


def run(options: argparse.Namespace) -> int:
    """Print the tables and draw the picture."""
    check_output(options.picture)
    results = [(example, *fit_both(example)) for example in examples()]
    for example, plain, fair in results:
        headline = console.paint(console.sentences(summary.sentence(plain, fair)), "bold")
        print(table(example, plain, fair), "", headline, summary.proof(fair), "\n", sep="\n")
    try:
        with replacing(options.picture) as temporary:
            draw(results, temporary)
        print(f"The same as a picture: {options.picture}")
    except ImportError as error:
        print(f"No picture was drawn. {error}")
    print("Your own table:  fairspan fit people.csv --sensitive sex -k 3 --standardize")
    return 0
