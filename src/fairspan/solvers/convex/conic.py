"""The convex programs of Olfat and Aswani as conic programs, for the extra ``sdp``.

    minimise over the Fantope  -<C, X> + μ t^2
    subject to  |X f| <= r  and  |L' X| <= t (spectral norm) for each factor L

Clarabel solves them; what it returns is projected on the Fantope and certified by weak duality,
so that neither its status nor its tolerances need to be trusted.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import sparse

from fairspan.ground.extras import needing
from fairspan.ground.types import FloatArray
from fairspan.solvers.convex.isometric_admm import RelaxedSolution, dual_bound, project_fantope
from fairspan.solvers.result import safe_bound

_FEASIBLE = 1e-6
"""How far, as a share of |f|, |X f| <= r may be missed before a solve failed. Smaller radii are met
to this accuracy only; r = 0 needs no solve."""


def solve_conic(
    pooled: FloatArray,
    k: int,
    *,
    direction: FloatArray | None = None,
    radius: float = 0.0,
    factors: FloatArray | None = None,
    mu: float = 1.0,
    tol: float = 1e-6,
) -> RelaxedSolution:
    """Solve the program with Clarabel; raise if it fails.

    Parameters
    ----------
    pooled : ndarray of shape (d, d)
        The matrix C whose inner product with X is maximised.
    k : int
        Trace of X.
    direction : ndarray of shape (d,), optional
        The direction f.
    radius : float
        The positive bound r on the length of X f.
    factors : ndarray of shape (2, d, d), optional
        The factors L.
    mu : float
        Weight of the squared norm.
    tol : float
        The proved gap, relative to the objective, above which the solve has failed.

    Returns
    -------
    RelaxedSolution
        The point found, its objective and the proved bound.
    """
    # Clarabel's tolerances are absolute: the program it sees is of order one, whatever the units.
    size = 1.0 if factors is None else float(np.linalg.norm(factors, 2, axis=(1, 2)).max())
    unit = max(float(np.linalg.eigvalsh(pooled)[-1]), mu * size**2 if factors is not None else 0.0)
    pooled, mu = pooled / unit, mu * size**2 / unit
    factors = None if factors is None else factors / size
    if direction is not None:
        length = float(np.linalg.norm(direction))
        direction, radius = direction / length, radius / length
    program = _Program(len(pooled), with_norm=factors is not None)
    program.add_fantope(k)
    at_direction = program.n_rows
    if direction is not None:
        program.add_length(direction, radius)
    at_factors = program.n_rows
    for factor in () if factors is None else factors:
        program.add_norm(factor)
    solution = program.solve(pooled, mu)
    X = project_fantope(program.matrix(np.array(solution.x)), k)
    dual = np.array(solution.z)
    value, bound, shifted, Z = -float(np.vdot(pooled, X)), 0.0, pooled, None
    if direction is not None:
        missed = float(np.linalg.norm(X @ direction)) - radius
        if not missed <= _FEASIBLE:
            raise RuntimeError(
                f"Clarabel missed the constraint on the means by {missed:.2g} of their distance."
            )
        y = -dual[at_direction + 1 : at_factors]
        shifted = pooled - 0.5 * (np.outer(y, direction) + np.outer(direction, y))
        bound -= radius * float(np.linalg.norm(y))
    if factors is not None:
        norms = np.linalg.svd(factors.transpose(0, 2, 1) @ X, compute_uv=False)
        value += mu * float(norms.max()) ** 2
        Z = program.cross_blocks(dual[at_factors:])
    bound += dual_bound(shifted, k, factors, Z, mu)
    if not value - bound <= tol * abs(value):
        raise RuntimeError(
            f"Clarabel ended with status {solution.status!s} and a duality gap of "
            f"{unit * (value - bound):.2g} for an objective of {unit * value:.6g}; tol={tol} was "
            "asked for."
        )
    bound = safe_bound(bound, value, 0.0)
    # The unit, the projection on the Fantope and the bound.
    return RelaxedSolution(X, unit * value, unit * bound, int(solution.iterations), 3)


class _Program:
    """Rows of a conic program in the upper triangle of X, off-diagonal entries times sqrt 2."""

    def __init__(self, d: int, *, with_norm: bool) -> None:
        with needing("delta > 0 and solver='conic' need the conic solver Clarabel", "sdp"):
            import clarabel  # type: ignore[import-untyped, unused-ignore]
        self._clarabel: Any = clarabel
        self.d = d
        self.n_rows = 0
        self.columns, self.lines = np.tril_indices(d)
        self.n_entries = len(self.lines)
        self.n = self.n_entries + int(with_norm)
        self._parts: list[Any] = []
        self._right: list[FloatArray] = []
        self._cones: list[Any] = []
        # All entries of X, column by column, from the entries of its triangle.
        entry = np.empty((d, d), dtype=np.intp)
        entry[self.lines, self.columns] = entry[self.columns, self.lines] = np.arange(
            self.n_entries
        )
        weight = np.full((d, d), math.sqrt(0.5))
        np.fill_diagonal(weight, 1.0)
        self.full = sparse.csr_array(
            (weight.ravel(), (np.arange(d * d), entry.ravel(order="F"))), shape=(d * d, self.n)
        )

    def add_fantope(self, k: int) -> None:
        """0 <= X <= I and trace k."""
        d = self.d
        diagonal = (self.lines == self.columns).astype(float)
        trace = sparse.csr_array(np.append(diagonal, [0.0] * (self.n - self.n_entries))[None])
        self._add(trace, np.array([float(k)]), self._clarabel.ZeroConeT(1))
        entries = sparse.eye_array(self.n_entries, self.n, format="csr")
        self._add(-entries, np.zeros(self.n_entries), self._clarabel.PSDTriangleConeT(d))
        self._add(entries, diagonal, self._clarabel.PSDTriangleConeT(d))

    def add_length(self, direction: FloatArray, radius: float) -> None:
        """|X f| <= r."""
        image = sparse.kron(sparse.csr_array(direction[None]), sparse.eye_array(self.d)) @ self.full
        rows = sparse.vstack([sparse.csr_array((1, self.n)), -image])
        self._add(
            rows, np.append(radius, np.zeros(self.d)), self._clarabel.SecondOrderConeT(self.d + 1)
        )

    def add_norm(self, factor: FloatArray) -> None:
        """|L' X| <= t, as [[t I, L' X], [X L, t I]] positive semidefinite."""
        d = self.d
        columns, lines = np.tril_indices(2 * d)
        cross = (lines < d) & (columns >= d)
        image = sparse.kron(sparse.eye_array(d), sparse.csr_array(factor.T)) @ self.full
        place = (columns[cross] - d) * d + lines[cross]
        pick = sparse.csr_array(
            (np.full(cross.sum(), math.sqrt(2.0)), (np.flatnonzero(cross), place)),
            shape=(len(lines), d * d),
        )
        on_diagonal = np.flatnonzero(lines == columns)
        norm = sparse.csr_array(
            (np.ones(2 * d), (on_diagonal, np.full(2 * d, self.n - 1))), shape=(len(lines), self.n)
        )
        self._add(
            -(pick @ image + norm), np.zeros(len(lines)), self._clarabel.PSDTriangleConeT(2 * d)
        )

    def cross_blocks(self, dual: FloatArray) -> FloatArray:
        """Turn the multipliers of both norms into the matrices Z of the dual bound."""
        columns, lines = np.tril_indices(2 * self.d)
        cross = (lines < self.d) & (columns >= self.d)
        Z = np.empty((2, self.d, self.d))
        Z[:, lines[cross], columns[cross] - self.d] = (
            -math.sqrt(2.0) * dual.reshape(2, -1)[:, cross]
        )
        return Z

    def matrix(self, x: FloatArray) -> FloatArray:
        """Give X from the solver's variables."""
        return np.asarray((self.full @ x).reshape(self.d, self.d))

    def solve(self, pooled: FloatArray, mu: float) -> Any:
        """Run Clarabel."""
        linear = np.zeros(self.n)
        linear[: self.n_entries] = -pooled[self.lines, self.columns]
        linear[: self.n_entries] *= np.where(self.lines == self.columns, 1.0, math.sqrt(2.0))
        quadratic = np.zeros(self.n)
        quadratic[self.n_entries :] = 2 * mu
        settings = self._clarabel.DefaultSettings()
        settings.verbose = False
        # The data is of order one already; left alone, it ends with a smaller gap.
        settings.equilibrate_enable = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
        return self._clarabel.DefaultSolver(
            sparse.csc_matrix(sparse.diags_array(quadratic)),
            linear,
            sparse.csc_matrix(sparse.vstack(self._parts)),
            np.concatenate(self._right),
            self._cones,
            settings,
        ).solve()

    def _add(self, rows: Any, right: FloatArray, cone: Any) -> None:
        self._parts.append(rows)
        self._right.append(right)
        self._cones.append(cone)
        self.n_rows += len(right)
