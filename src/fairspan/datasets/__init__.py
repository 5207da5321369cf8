"""Adult, the data sets of the paper, the toy data of its Figure 1, and data with a known optimum.

``load("adult")`` reads a sample of the census table that ships with fairspan. ``names()`` lists the
paper's data sets, ``load(name)`` loads one. Files are looked for in the data directory
(argument ``data_home``, environment variable ``FAIRSPAN_DATA``, or a cache of the user) and fetched
where they are absent, with their digests checked.
"""

from fairspan.datasets.faces import build_lfw
from fairspan.datasets.files import data_directory
from fairspan.datasets.loading import load
from fairspan.datasets.registry import Dataset, DatasetInfo, describe, info, names
from fairspan.datasets.synthetic import (
    FIGURE1_COVARIANCES,
    KnownOptimum,
    make_figure1_toy,
    make_known_optimum,
)

__all__ = [
    "FIGURE1_COVARIANCES",
    "Dataset",
    "DatasetInfo",
    "KnownOptimum",
    "build_lfw",
    "data_directory",
    "describe",
    "info",
    "load",
    "make_figure1_toy",
    "make_known_optimum",
    "names",
]
__dir__ = __all__.copy
