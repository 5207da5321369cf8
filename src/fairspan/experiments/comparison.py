"""Our numbers next to the paper's: means over splits, differences and their reasons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

import numpy as np

from fairspan.experiments import published
from fairspan.experiments.methods import NEGLIGIBLE, TITLES
from fairspan.experiments.settings import Settings
from fairspan.experiments.store import Row
from fairspan.experiments.tables import Table

SPLITS = 10
"""The number of splits behind the paper's means."""
VISIBLE = 5e-3
"""Relative differences from the paper beyond this are explained, where the reason is known."""

_DESCENT = (
    "The paper's descent ends above the minimum, and cross-validation then selects other "
    "parameters; here every problem is solved to a proved optimum."
)
_WEIGHTS = (
    "The published program compares its two candidates by a matrix product where an elementwise "
    "one is meant, and on most data sets some of its step sizes are above the limit of stability; "
    "here FairPCA's problem is solved exactly."
)
_ROUNDING = (
    "One training split has a column that is constant up to rounding. The published row comes from "
    "dividing it by its deviation of about 1e-17; here such a column is only centred."
)
_NOISE = (
    "One training split has a column that is constant up to rounding. Centring leaves noise in it "
    "that is scaled to variance 1, as published; it depends on the linear algebra library."
)
_GRID = (
    "mu is chosen from the grid of the paper's text; the published rows come from mu = 1, which a "
    "misplaced argument of the published program fixes."
)
_BASIS = (
    "Delta F_Lin depends on the basis of the subspace, because each projected column is scaled: "
    "here it is PCA's; the paper does not state its own. Differences between the fits matter too."
)
_COLLAPSED = (
    "In some splits the best published rule has weights of 0: it assigns every row to one group, "
    "and the distance is read off what rounding leaves of them, here as in the paper. The balanced "
    "rule counts both groups alike and cannot collapse."
)
_FACES = "The paper's choice of faces is unknown; its scores vary much with the faces drawn."
_STOPPED = (
    "CFPCA (both) on the faces was stopped early; the rows per seed hold the proved relative gap."
)


def means(
    rows: Sequence[Row], names: Sequence[str], keys: Sequence[str] = ("dataset", "method")
) -> list[Row]:
    """Average rows over splits.

    Parameters
    ----------
    rows : sequence of dict
        Rows of each split.
    names : sequence of str
        The values to average.
    keys : sequence of str
        What distinguishes the averages.

    Returns
    -------
    list of dict
        A row for each combination of the keys' values, in order of appearance.
    """
    groups: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in keys), []).append(row)
    return [
        dict(zip(keys, key, strict=True))
        | {name: float(np.mean([row[name] for row in group])) for name in names}
        for key, group in groups.items()
    ]


def compare(
    title: str,
    rows: Sequence[Row],
    values: Sequence[str],
    paper: dict[published.Key, tuple[float, ...]],
    settings: Settings,
    n_splits: int = SPLITS,
) -> Table:
    """Return our means next to the paper's.

    Parameters
    ----------
    title : str
        Title of the table.
    rows : sequence of dict
        Means by data set and method.
    values : sequence of str
        Which values, in the order of the paper's figures.
    paper : dict
        The paper's figures by data set and method.
    settings : Settings
        The protocol, which decides on notes.
    n_splits : int
        Splits behind our means. Differences are explained only where there are the paper's.

    Returns
    -------
    Table
        Ours, the paper's and the difference, with notes.
    """
    columns = ["data set", "method"]
    for name in values:
        columns += [f"{LABELS[name]}, ours", "paper", "difference"]
    extras = {name: label for name, label in _EXTRAS.items() if name in rows[0]}
    columns += extras.values()
    notes: list[str] = []
    lines = []
    for row in rows:
        theirs = paper.get((row["dataset"], row["method"]))
        mark = ""
        reason = why(row, values, theirs, settings) if n_splits == SPLITS else None
        if reason is not None:
            if reason not in notes:
                notes.append(reason)
            mark = f" [{notes.index(reason) + 1}]"
        cells = [titles()[row["dataset"]], TITLES[row["method"]] + mark]
        for i, name in enumerate(values):
            ours = row[name]
            cells.append(f"{ours:.4f}")
            cells += (
                ["", ""] if theirs is None else [f"{theirs[i]:.4f}", f"{ours - theirs[i]:+.4f}"]
            )
        lines.append(cells + [_extra(name, row[name], n_splits) for name in extras])
    numbered = [f"[{i}] {note}" for i, note in enumerate(notes, 1)]
    counted = f"{n_splits} split{'' if n_splits == 1 else 's'}"
    title = f"{title}, means over {counted}"
    if n_splits != SPLITS:
        title += f" (the paper's: {SPLITS})"
        numbered.append("Differences from the paper include those between the splits.")
    return Table(title, columns, lines, 2, [*numbered, *_about(rows, settings)])


LABELS = {
    "abdiff": "ABDiff",
    "are": "ARE",
    "abdiff_in_sample": "ABDiff in sample",
    "are_in_sample": "ARE in sample",
    "delta_f_lin": "Delta F_Lin",
}
_EXTRAS = {"collapsed": "collapsed splits", "balanced": "balanced rule"}
"""What the table of leakage says about each of our figures."""


def _extra(name: str, value: float, n_splits: int) -> str:
    return f"{value * n_splits:.0f} of {n_splits}" if name == "collapsed" else f"{value:.4f}"


def titles() -> dict[str, str]:
    """Return the paper's titles of data sets by name."""
    return {name: entry[0] for name, entry in published.datasets().items()}


def why(
    row: Row, values: Sequence[str], theirs: tuple[float, ...] | None, settings: Settings
) -> str | None:
    """Explain why a row differs from the paper's, if the reason is known.

    Parameters
    ----------
    row : dict
        Means of a data set and a method.
    values : sequence of str
        The compared values.
    theirs : tuple of float or None
        The paper's.
    settings : Settings
        The protocol.

    Returns
    -------
    str or None
        The reason; None where there is no visible difference or no known reason.
    """
    method, dataset = row["method"], row["dataset"]
    if dataset == "lfw":
        return _STOPPED if method == "cfpca-both" else (_FACES if theirs else None)
    if row.get("collapsed"):
        return _COLLAPSED
    if theirs is None:
        return None
    pairs = [(row[name], figure) for name, figure in zip(values, theirs, strict=True)]
    # Figures are printed with four decimals, which for small ones is all that differs.
    if all(abs(a - b) <= max(VISIBLE * b, 1.5e-4) for a, b in pairs):
        return None
    if "delta_f_lin" in values:
        return _BASIS
    if method.startswith("cfpca") and dataset == "e_coli":
        return _ROUNDING if settings.cfpca_centering == "exact" else _NOISE
    reasons = {
        "rfpca": _DESCENT if settings.solver == "exact" else None,
        "fairpca": _WEIGHTS if settings.fairpca == "exact" else None,
        "cfpca-both": _GRID if settings.mu == "described" else None,
    }
    return reasons.get(method)


def _about(rows: Sequence[Row], settings: Settings) -> list[str]:
    present = {row["method"] for row in rows}
    notes = [f"Paper: {published.CITATION}. Its tables have no row of plain PCA."]
    if "cfpca-both" in present and settings.mu == "published":
        notes.append("CFPCA (both): mu = 1 as in the published rows; the text describes a grid.")
    if "cfpca-mean" in present:
        notes.append(
            "CFPCA (mean): a delta that provably cannot lower the training error by more than "
            f"{NEGLIGIBLE:g} of it is solved as delta = 0, in closed form."
        )
    chosen = [(field, getattr(settings, field.name)) for field in fields(settings)]
    changed = [f"{field.name} = {value}" for field, value in chosen if value != field.default]
    if changed:
        text = ", ".join(changed)
        notes.append(f"Settings other than the default: {text}.")
    return notes
