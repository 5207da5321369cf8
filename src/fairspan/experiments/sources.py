"""Data of the experiments: the paper's tables, and its faces at 24 x 24 pixels."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import numpy as np

from fairspan import datasets
from fairspan.experiments.protocol import GROUPS, Part
from fairspan.experiments.settings import Settings
from fairspan.ground.types import FloatArray

FACES = "lfw"
TABLES = tuple(name for name in datasets.names() if name != FACES)
FACES_OF_EACH_SEX = 2000
SIDE = 24
"""Pixels along each side of the faces."""


def check_available(names: Iterable[str]) -> None:
    """Load data sets once, so that missing ones are fetched or reported before any work.

    Parameters
    ----------
    names : iterable of str
        Names of data sets.
    """
    for name in names:
        datasets.load(name)


def rows_of(name: str, seed: int, settings: Settings) -> Part:
    """Return a data set as the paper uses it.

    Parameters
    ----------
    name : str
        Name of the data set.
    seed : int
        Number of the split; it also draws the faces.
    settings : Settings
        The protocol.

    Returns
    -------
    Part
        Rows and groups.
    """
    if name == FACES:
        return _faces(seed)
    return _table(name, settings.column_rule)


@lru_cache(maxsize=1)
def _table(name: str, column_rule: str) -> Part:
    data = datasets.load(name, column_rule=column_rule)
    return Part(data.X, np.asarray(data.sensitive_features, dtype=np.intp))


@lru_cache(maxsize=1)
def _all_faces() -> tuple[FloatArray, Part]:
    data = datasets.load(FACES)
    assert data.image_shape is not None
    pixels = data.X.reshape(-1, *data.image_shape)
    return pixels, Part(data.X, np.asarray(data.sensitive_features, dtype=np.intp))


def _faces(seed: int) -> Part:
    """Draw 2,000 women and 2,000 men, and rescale them to 24 x 24 pixels with values in [0, 1]."""
    pixels, whole = _all_faces()
    rng = np.random.default_rng(seed)
    drawn = [
        rng.choice(np.flatnonzero(whole.groups == a), FACES_OF_EACH_SEX, replace=False)
        for a in GROUPS
    ]
    rows = np.sort(np.concatenate(drawn))
    down, across = (resampling(n, SIDE) for n in pixels.shape[1:])
    small = down @ pixels[rows] @ across.T / 255
    return Part(small.reshape(len(rows), SIDE * SIDE), whole.groups[rows])


def resampling(n: int, m: int) -> FloatArray:
    """Return the matrix that rescales n pixels to m <= n (bicubic, antialiased).

    The kernel is Keys' cubic (a = -1/2), stretched to the size of the new pixels, as imaging
    libraries do by default.

    Parameters
    ----------
    n, m : int
        Number of pixels before and after.

    Returns
    -------
    ndarray of shape (m, n)
        Weights; rows sum to 1.
    """
    ratio = n / m
    centers = (np.arange(m)[:, None] + 0.5) * ratio - 0.5
    x = np.abs(np.arange(n) - centers) / ratio
    near, far = 1.5 * x**3 - 2.5 * x**2 + 1, -0.5 * x**3 + 2.5 * x**2 - 4 * x + 2
    weights = np.where(x < 1, near, np.where(x < 2, far, 0.0))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))
