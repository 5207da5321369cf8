"""Settings of experiments: the paper's protocol, and where its program deviates."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass

from fairspan import __version__

CHOICES = {
    "solver": ("exact", "published", "subgradient"),
    "fairpca": ("exact", "published", "multiplicative-weights"),
    "cfpca_centering": ("exact", "published"),
    "mu": ("published", "described"),
    "gap_centering": ("group", "global"),
    "column_rule": ("published", "text"),
}
"""Named switches, the default first; see the help of ``fairspan reproduce``."""


@dataclass(frozen=True)
class Settings:
    """How rows are made. Rows of different settings never mix.

    Attributes
    ----------
    solver : {"exact", "published", "subgradient"}
        How RFPCA is solved: exactly, by the published program number for number, or by the
        algorithm of the paper's text from random starts of our own.
    fairpca : {"exact", "published", "multiplicative-weights"}
        How FairPCA is solved: exactly, by the published loop with its slip, or by that loop without
        it, both over the paper's grid.
    cfpca_centering : {"exact", "published"}
        Whether CFPCA sees rows as they are, or centred again by a matrix product that turns a
        column which is constant up to rounding into noise of variance 1.
    mu : {"published", "described"}
        CFPCA's weight of the covariances: 1 as in the published rows, or the grid of the text.
    gap_centering : {"group", "global"}
        Whether ABDiff is about groups centred by their own training means, as published.
    column_rule : {"published", "text"}
        Which columns are left out: those that give the (N, d) the paper lists, or those its text
        names (standard deviation at most 1e-5 or at least 1000).
    n_components : int
        Number of components.
    n_folds : int
        Folds that choose parameters.
    scale : bool
        Whether columns are divided by their standard deviation.
    descent_steps : int
        Steps of each descent.
    """

    solver: str = "exact"
    fairpca: str = "exact"
    cfpca_centering: str = "exact"
    mu: str = "published"
    gap_centering: str = "group"
    column_rule: str = "published"
    n_components: int = 3
    n_folds: int = 3
    scale: bool = True
    descent_steps: int = 1000

    @property
    def key(self) -> str:
        """A short name of these settings, and of this version, for folders."""
        text = json.dumps([__version__, asdict(self)], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]
