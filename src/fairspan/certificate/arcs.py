"""Arcs: an inequality that projectors obey and mixtures of them do not.

Split an orthonormal basis as [V (k - 1 columns), e1, e2, R (the others)]. For 0 <= X <= I put
u = (k - 1) - <VV', X>, v = <RR', X>, Z the block of X on (e1, e2), z = (Z11 - Z22, 2 Z12). Every
projector of rank k has

    |z| >= 1 - u - v.

(Its range holds a unit vector orthogonal to V, so that Z has an eigenvalue of at least 1 - v; the
same for I - X gives one of at most u.) Where the angle of z lies in [a, b], narrower than 180
degrees, with middle f and half width h, this becomes linear:

    (cos f, sin f) . z >= cos h (1 - u - v),   (-sin a, cos a) . z >= 0,   (sin b, -cos b) . z >= 0.

Arcs that cover the circle cover all projectors.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace

import numpy as np

from fairspan.ground.types import FloatArray

_FIRST = 3
"""Arcs of a new circle."""
_EDGE = 0.1
"""An arc is never cut nearer to its ends than this share of it."""


class Frame:
    """A split basis, and the linear functions of X behind its arcs.

    Parameters
    ----------
    basis : ndarray of shape (d, d)
        Orthonormal columns in the order V, e1, e2, R.
    k : int
        Rank of the projectors.
    """

    def __init__(self, basis: FloatArray, k: int) -> None:
        first, last = basis[:, k - 1], basis[:, k]
        before, behind = basis[:, : k - 1], basis[:, k + 1 :]
        self.basis, self.k = basis, k
        self.cosine = np.outer(first, first) - np.outer(last, last)
        self.sine = np.outer(first, last) + np.outer(last, first)
        # u + v = (k - 1) + <outer, X>.
        self.outer = behind @ behind.T - before @ before.T

    def read(self, X: FloatArray) -> tuple[float, float]:
        """Give the angle of z at X and by how much |z| falls short of 1 - u - v."""
        c, s = float(np.vdot(self.cosine, X)), float(np.vdot(self.sine, X))
        least = 1 - (self.k - 1) - float(np.vdot(self.outer, X))
        return math.atan2(s, c), least - math.hypot(c, s)

    def arcs(self) -> list[Arc]:
        """Cover the circle, with a border at the angle 0."""
        ends = np.linspace(0.0, 2 * math.pi, _FIRST + 1).tolist()
        return [Arc(self, low, high) for low, high in itertools.pairwise(ends)]


@dataclass(frozen=True, eq=False)
class Arc:
    """The projectors whose z has its angle in an interval."""

    frame: Frame
    low: float
    high: float

    def rows(self) -> tuple[FloatArray, FloatArray]:
        """Give matrices H and numbers h with <H_i, X> >= h_i for every projector of the arc."""
        frame, a, b = self.frame, self.low, self.high
        f, cos_h = 0.5 * (a + b), math.cos(0.5 * (b - a))
        middle = math.cos(f) * frame.cosine + math.sin(f) * frame.sine + cos_h * frame.outer
        first = -math.sin(a) * frame.cosine + math.cos(a) * frame.sine
        last = math.sin(b) * frame.cosine - math.cos(b) * frame.sine
        limit = cos_h * (1 - (frame.k - 1))
        return np.array([middle, first, last]), np.array([limit, 0.0, 0.0])

    def slack(self) -> FloatArray:
        """Give how far inside the rows a disc of mixtures reaches: the scale of multipliers."""
        h = 0.5 * (self.high - self.low)
        sides = math.sin(min(h, 1.5))
        return np.array([max(1 - math.cos(h), 1e-12), sides, sides])

    def holds(self, X: FloatArray) -> bool:
        """Say whether X obeys the rows, up to rounding."""
        matrices, limits = self.rows()
        return bool((np.einsum("ide,de->i", matrices, X) >= limits - 1e-9).all())

    def split(self, X: FloatArray) -> list[Arc]:
        """Cut the arc at the angle of X, or near it."""
        middle, width = 0.5 * (self.low + self.high), self.high - self.low
        angle = self.frame.read(X)[0]
        angle = middle + (angle - middle + math.pi) % (2 * math.pi) - math.pi
        cut = min(max(angle, self.low + _EDGE * width), self.high - _EDGE * width)
        return [replace(self, high=cut), replace(self, low=cut)]


def relaxed_frame(vectors: FloatArray, k: int) -> Frame:
    """Frame of a relaxed X, from its eigenvectors in ascending order: the pair around place k."""
    return Frame(vectors[:, ::-1], k)


def incumbent_frame(V: FloatArray, C: FloatArray, X: FloatArray) -> tuple[Frame, float]:
    """Frame in which a known projector lies on the border of two arcs, where the row is tight.

    Parameters
    ----------
    V : ndarray of shape (d, k)
        Orthonormal columns of the projector.
    C : ndarray of shape (d, d)
        Chooses the bases inside and outside: its eigenvectors there.
    X : ndarray of shape (d, d)
        A relaxed solution; of the last directions inside and the first outside, the pair at which
        it falls short most is taken.

    Returns
    -------
    tuple of Frame and float
        The frame and by how much X falls short.
    """
    d, k = V.shape
    basis = np.linalg.qr(V, mode="complete")[0]
    turned = basis.T @ C @ basis
    inside = basis[:, :k] @ np.linalg.eigh(turned[:k, :k])[1][:, ::-1]
    outside = basis[:, k:] @ np.linalg.eigh(turned[k:, k:])[1][:, ::-1]
    order = np.arange(d)
    best: tuple[Frame, float] | None = None
    for i in range(max(0, k - 3), k):
        for j in range(min(3, d - k)):
            order = np.r_[np.delete(np.arange(k), i), i, k + j, k + np.delete(np.arange(d - k), j)]
            frame = Frame(np.hstack([inside, outside])[:, order], k)
            short = frame.read(X)[1]
            if best is None or short > best[1]:
                best = frame, short
    assert best is not None
    return best
