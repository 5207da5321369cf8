"""Least values over all X with 0 <= X <= I and trace k (the Fantope), by a dual barrier method.

Every X in question obeys some linear inequalities, each the sum of a constant and an inner product.
Multipliers z >= 0 of them, some sums of which are 1, prove

    value >= constants . z - Λ_k(A(z)),   A(z) = sum_j (spread z)_j K_j,

Λ_k the sum of the k largest eigenvalues. One eigen-solve proves it for whatever z; the Newton
method here only proposes good ones. It maximises, for ever smaller μ,

    constants . z - f_μ(A(z)) + μ sum log z,
    f_μ(A) = max over 0 < X < I, tr X = k of <A, X> + μ log det X + μ log det (I - X),

where X has the eigenvectors of A and its eigenvalues x = 1/2 + (sqrt(t^2 + 4) - 2) / (2 t), with
t = (θ - ν) / μ and ν such that they sum to k.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from scipy.linalg.lapack import dgesv, dposv

from fairspan.certificate.work import Work
from fairspan.ground.types import UNIT, FloatArray
from fairspan.problem.spectrum import whole_spectrum

_SHRINK = 0.03
"""How fast the barrier is lowered."""
_LOWEST = 1e-12
"""The barrier ends at this share of the program's size."""
_CENTRED = 5.0
"""The Newton decrement, in units of μ, from which on the barrier is lowered."""
_LAST = 0.1
"""The same for the last barrier."""
_ITERATIONS = 150


@dataclass(frozen=True)
class Program:
    """Multipliers, and what they prove.

    Attributes
    ----------
    matrices : ndarray of shape (n, d, d)
        The symmetric K_j.
    k : int
        The trace of X.
    constants : ndarray of shape (N,)
        One for each multiplier.
    spread : ndarray of shape (n, N)
        How much of each matrix comes with each multiplier.
    sums : ndarray of shape (q, N)
        Of zeros and ones: sums of multipliers that are 1.
    size : float
        A size of values, for tolerances.
    """

    matrices: FloatArray
    k: int
    constants: FloatArray
    spread: FloatArray
    sums: FloatArray
    size: float
    _flat: FloatArray = field(init=False, repr=False)
    _each: FloatArray = field(init=False, repr=False)
    _most: float = field(init=False, repr=False)

    def __post_init__(self) -> None:
        flat = self.matrices.reshape(len(self.matrices), -1)
        reach = math.sqrt(self.d) * np.linalg.norm(flat, axis=1)
        each = np.abs(self.constants) + reach @ np.abs(self.spread)
        most = float(each[self.sums.any(axis=0)].max(initial=0.0))
        for name, value in (("_flat", flat), ("_each", each), ("_most", most)):
            object.__setattr__(self, name, value)

    @property
    def d(self) -> int:
        """Size of the matrices."""
        return int(self.matrices.shape[1])

    def combination(self, z: FloatArray) -> FloatArray:
        """Give A(z)."""
        return np.asarray(((self.spread @ z) @ self._flat).reshape(self.d, self.d))

    def missed(self, z: FloatArray) -> float:
        """Bound how far multipliers are from some whose sums are 1."""
        return 16 * float(np.abs(self.sums @ z - 1).max(initial=0.0))

    def rounding(self, z: FloatArray, norm: float) -> float:
        """Give what rounding may add to a bound: eigenvalues, sums, and multipliers that miss 1."""
        terms = len(self.matrices) + len(z) + 4
        summed = terms * UNIT * float(self._each @ z)
        return 4 * self.d * UNIT * norm + summed + self.missed(z) * self._most


@dataclass
class Relaxed:
    """The best multipliers found, what they prove, and the relaxed X that goes with them."""

    bound: float
    best: FloatArray
    multipliers: FloatArray
    barrier: float
    values: FloatArray
    vectors: FloatArray

    @property
    def matrix(self) -> FloatArray:
        """The relaxed X."""
        return np.asarray((self.vectors * self.values) @ self.vectors.T)


class _Point:
    """A program and its barrier at some multipliers."""

    def __init__(self, program: Program, z: FloatArray, mu: float, near: float | None) -> None:
        self.z, self.mu = z, mu
        A = program.combination(z)
        self.θ, self.Q = _spectrum(A)
        self.ν = _level(self.θ, mu, program.k, near)
        t = (self.θ - self.ν) / mu
        self.root = np.sqrt(t * t + 4)
        # The distance of x from 0 or 1, whichever is nearer, without cancellation.
        small = (1 + 2 / (self.root + np.abs(t))) / (self.root + 2)
        self.upper = t > 0
        self.part = np.where(self.upper, -small, small)
        self.x = np.where(self.upper, 1 - small, small)
        self.t = t
        constant = float(program.constants @ z)
        log = float(np.log(small).sum() + np.log1p(-small).sum())
        # Through ν, whose rounding leaves the sum of x a little off k: it shows only squared here.
        smooth = mu * (float(t @ self.x) + log) + self.ν * program.k
        self.value = constant - smooth + mu * float(np.log(z).sum())
        kept = float(self.θ[-program.k :].sum())
        norm = float(np.linalg.norm(self.θ))
        self.bound = constant - kept - program.rounding(z, norm)


def _spectrum(A: FloatArray) -> tuple[FloatArray, FloatArray]:
    values, vectors, found = whole_spectrum(A)
    if not found:
        raise np.linalg.LinAlgError("Eigenvalues did not converge")
    return values, vectors


def _level(θ: FloatArray, mu: float, k: int, near: float | None) -> float:
    """Find ν, by Newton steps kept inside a shrinking bracket."""
    d = len(θ)
    low, high = float(θ[0]) - mu * (2 * d + 4), float(θ[-1]) + mu * (2 * d + 4)
    ν = near if near is not None and low < near < high else 0.5 * float(θ[d - k] + θ[d - k - 1])
    for _ in range(80):
        t = (θ - ν) / mu
        root = np.sqrt(t * t + 4)
        excess = float((0.5 * t / (root + 2)).sum()) + 0.5 * d - k
        if abs(excess) < 1e-12 * d:
            break
        low, high = (ν, high) if excess > 0 else (low, ν)
        slope = float((1 / (root * (root + 2))).sum())
        step = ν + excess * mu / slope if slope > 0 else high
        following = step if low < step < high else 0.5 * (low + high)
        if following == ν:
            break
        ν = following
    return ν


def maximise(
    program: Program, z: FloatArray, mu: float, *, enough: float, work: Work, share: float = 0.2
) -> Relaxed:
    """Raise what multipliers prove, until it is enough or plainly never will be.

    Parameters
    ----------
    program : Program
        The program; k below d.
    z : ndarray of shape (N,)
        Positive multipliers to begin with, their sums about 1.
    mu : float
        The barrier to begin with.
    enough : float
        A bound that makes further work needless.
    work : Work
        What may be spent.
    share : float
        The part of what lacks to enough to which the optimum is to be known.

    Returns
    -------
    Relaxed
        The best bound with its multipliers, and the relaxed X at the last ones.
    """
    lowest, slack = _LOWEST * program.size, len(z) + 2 * program.d
    at = _Point(program, z, mu, None)
    best, multipliers = at.bound, z
    for _ in range(_ITERATIONS):
        work.spend(_cost(program))
        try:
            newton, along, decrement = _directions(program, at)
            if not np.isfinite(newton).all() or not np.isfinite(along).all():
                break
            at, moved = _search(program, at, newton, decrement)
        except np.linalg.LinAlgError:
            # Multipliers so far apart that rounding is all there is; what is proved stays proved.
            break
        if at.bound > best:
            best, multipliers = at.bound, at.z
        if best >= enough or work.is_spent():
            break
        hopeless = at.mu * slack < share * (enough - best) < np.inf
        # The last X is what nodes are split by: it is worth a few steps more.
        if decrement > (_LAST if hopeless else _CENTRED) * at.mu and moved:
            continue
        if at.mu <= lowest or hopeless or not np.isfinite(at.value):
            break
        mu = max(_SHRINK * at.mu, 0.5 * lowest)
        ahead = np.clip(at.z + (mu - at.mu) * along, 0.02 * at.z, 50 * at.z)
        at = _Point(program, on_sums(program, ahead), mu, at.ν)
        if at.bound > best:
            best, multipliers = at.bound, at.z
    return Relaxed(best, multipliers, at.z, at.mu, at.x, at.Q)


def _cost(program: Program) -> float:
    """Work of a Newton iteration in eigen-solves, from the sizes of its matrices."""
    n, d, N = len(program.matrices), program.d, len(program.constants)
    return 0.1 + 2 * Work.eigensolve(d) + Work.flops(4 * n * d**3 + 2 * n * n * d**2 + N**3)


def _directions(program: Program, at: _Point) -> tuple[FloatArray, FloatArray, float]:
    """The Newton step, the derivative of the centre in μ, and the Newton decrement."""
    z, mu, n = at.z, at.mu, len(program.matrices)
    turned = _turned(program, at.Q)
    diagonal = np.einsum("jaa->ja", turned)
    slope = 1 / (at.root * (at.root + 2)) / mu
    apart = at.θ[:, None] - at.θ
    close = np.abs(apart) < 1e-6 * mu
    upper = at.upper.astype(float)
    rise = (upper[:, None] - upper) + (at.part[:, None] - at.part)
    ratio = rise / np.where(close, 1.0, apart)
    divided = np.where(close, 0.5 * (slope[:, None] + slope), ratio)
    flat = turned.reshape(n, -1)
    hessian = (flat * divided.ravel()) @ flat.T
    trace = diagonal @ slope
    hessian -= np.outer(trace, trace) / slope.sum()
    E = program.spread
    gradient = program.constants - E.T @ (diagonal @ at.x) + mu / z
    # How x moves with μ, its sum held.
    drift = -slope * at.t
    drift -= slope * (drift.sum() / slope.sum())
    turning = 1 / z - E.T @ (diagonal @ drift)
    # In units of the multipliers, and solved as one system: eliminating the sums would cancel.
    N, rows = len(z), program.sums * z
    system = np.zeros((N + len(rows), N + len(rows)))
    system[:N, :N] = (E.T @ hessian @ E) * np.outer(z, z)
    system[np.arange(N), np.arange(N)] += mu
    size = float(np.trace(system)) / N
    system[:N, :N] /= size
    system[N:, :N], system[:N, N:] = rows, rows.T
    aim = np.zeros((len(system), 2))
    aim[:N, 0], aim[:N, 1] = z * gradient / size, z * turning / size
    solved, info = dgesv(system, aim, overwrite_a=1, overwrite_b=1)[2:]
    if info != 0:
        raise np.linalg.LinAlgError("Singular matrix")
    steps = z[:, None] * solved[:N]
    return steps[:, 0], steps[:, 1], float(steps[:, 0] @ gradient)


def _turned(program: Program, Q: FloatArray) -> FloatArray:
    """Give Q' K_j Q for all j, by two large products: many small ones would be slow."""
    n, d = len(program.matrices), program.d
    half = (program.matrices.reshape(-1, d) @ Q).reshape(n, d, d).transpose(0, 2, 1)
    return np.asarray((half.reshape(-1, d) @ Q).reshape(n, d, d))


def _search(
    program: Program, at: _Point, step: FloatArray, decrement: float
) -> tuple[_Point, bool]:
    """Go along the Newton step as far as it raises the barrier's value; say if that was far."""
    falling = step < 0
    length = 1.0
    if falling.any():
        length = min(1.0, 0.9 * float((-at.z[falling] / step[falling]).min()))
    for tries in range(12):
        found = _Point(program, on_sums(program, at.z + length * step, 1), at.mu, at.ν)
        if found.value >= at.value + 0.05 * length * decrement - 1e-13 * abs(at.value):
            return found, tries < 8
        length *= 0.4
    return at, False


def on_sums(program: Program, z: FloatArray, rounds: int = 3) -> FloatArray:
    """Bring multipliers back to their sums by changes in proportion to them."""
    for _ in range(rounds):
        rows = program.sums * z
        missing = 1 - program.sums @ z
        prices, info = dposv(rows @ rows.T, missing)[1:]
        if info != 0:
            prices = np.linalg.lstsq(rows @ rows.T, missing, rcond=None)[0]
        z = np.maximum(z + z * (rows.T @ prices), 0.1 * z)
    return z
