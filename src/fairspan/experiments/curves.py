"""Rows of the figures on data: trade-offs over grids, and errors against components."""

from __future__ import annotations

from dataclasses import replace

from fairspan.experiments.methods import Method, method
from fairspan.experiments.protocol import Trial, judge, standardized
from fairspan.experiments.settings import Settings
from fairspan.experiments.sources import rows_of
from fairspan.experiments.store import Row

PARETO_TABLES = ("default_credit", "biodeg", "german_credit")
PARETO_METHODS = ("pca", "rfpca", "fairpca", "fairpca-grid", "cfpca-mean")
COMPONENT_TABLES = ("biodeg", "default_credit", "e_coli", "magic", "steel", "wine_quality")
COMPONENT_METHODS = ("pca", "fairpca", "rfpca")
SPLITS = 5
_FIXED = {"radius": 0.15, "fairness_weight": 0.5}


def pareto(dataset: str, name: str, settings: Settings) -> list[Row]:
    """Fit a method's whole grid to a whole data set.

    Parameters
    ----------
    dataset : str
        Name of the data set.
    name : str
        Name of the method; "fairpca-grid" is its multiplicative weights over the paper's grid.
    settings : Settings
        The protocol.

    Returns
    -------
    list of dict
        A row for each candidate.
    """
    whole = rows_of(dataset, 0, settings)
    train, _ = standardized(whole, whole, scale=settings.scale)
    judges = judge(train.X, train, train, settings.gap_centering)
    if name == "fairpca-grid":
        candidates = method("fairpca", replace(settings, fairpca="multiplicative-weights"))
    else:
        candidates = method(name, settings)
    rows = []
    everything = range(len(candidates.grid))
    for i, fit in enumerate(candidates.fits(train.moments, everything)):
        found = judges.scores(fit.matrix)
        row: Row = {"dataset": dataset, "method": name, "parameters": candidates.label(i)}
        rows.append(row | {"abdiff": found.abdiff, "are": found.are})
    return rows


def components(dataset: str, split: int, settings: Settings) -> list[Row]:
    """Fit methods with fixed parameters for growing numbers of components, on halves of the data.

    Parameters
    ----------
    dataset : str
        Name of the data set.
    split : int
        Number of the split.
    settings : Settings
        The protocol.

    Returns
    -------
    list of dict
        Errors of both groups, in both halves, for each number of components and method.
    """
    whole = rows_of(dataset, split, settings)
    trial = Trial.of(whole, split, settings, share=0.5)
    rows = []
    for k in range(2, min(20, whole.X.shape[1] - 1) + 1, 2):
        for name in COMPONENT_METHODS:
            fit = trial.fit(_fixed(name, replace(settings, n_components=k)), 0)
            inside = trial.inside.scores(fit.matrix).group_errors
            outside = trial.outside.scores(fit.matrix).group_errors
            for group, errors in enumerate(zip(inside, outside, strict=True)):
                row: Row = {"dataset": dataset, "split": split, "k": k, "method": name}
                row |= {"group": group, "error_in_sample": errors[0], "error": errors[1]}
                rows.append(row)
    return rows


def _fixed(name: str, settings: Settings) -> Method:
    found = method(name, settings)
    return found if name != "rfpca" else found._replace(grid=(_FIXED,))
