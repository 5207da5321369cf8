"""A linear support vector machine with a free intercept, solved exactly in few features.

    minimise |b|^2 / 2 + C sum_i max(0, 1 - y_i (z_i . b + c))

An interior-point method on the dual (0 <= α <= C, y . α = 0): each step solves a system of the
size of (b, c), so that its cost is linear in the rows, and the duality gap proves the result.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fairspan.ground.types import FloatArray

_BACK_OFF = 0.995
_STEPS = 200
_ROUNDING = 1e-15
_SOLVED, _FAILED = 1e-10, 1e-6
"""The relative duality gap to reach, and the one from which on it is an error."""


class Margin(NamedTuple):
    """The weights b, the intercept c, and the duality gap relative to the objective."""

    weights: FloatArray
    intercept: float
    gap: float


def linear_svm(Z: FloatArray, y: FloatArray, cost: float) -> Margin:
    """Fit the machine; raise an error if it does not converge.

    Parameters
    ----------
    Z : ndarray of shape (n_rows, n_features)
        Features.
    y : ndarray of shape (n_rows,)
        Labels, -1 or 1, both of them present.
    cost : float
        The price C of a row inside the margin.

    Returns
    -------
    Margin
        The solution.
    """
    A = np.column_stack([Z * y[:, None], y])
    penalised = np.append(np.ones(Z.shape[1]), 0.0)
    # In units of the cost 0 <= α <= 1; 1 - α is kept apart, where subtraction would lose it.
    alpha, rest, lower, upper = (np.full(len(y), start) for start in (0.5, 0.5, 1.0, 1.0))
    v = np.zeros(A.shape[1])
    best = Margin(v[:-1], 0.0, np.inf)
    for _ in range(_STEPS):
        image = A.T @ alpha
        gap = _gap(A, v, cost, alpha, penalised * image)
        if gap < best.gap:
            best = Margin(v[:-1], float(v[-1]), gap)
        # Products of the size of rounding carry no information any more.
        if best.gap <= _SOLVED or lower @ alpha + upper @ rest <= _ROUNDING * len(y):
            break
        newton = _Newton(A, penalised / cost, v, alpha, rest, lower, upper, image)
        try:
            predicted = newton.step(0.0)
            step = newton.step(newton.target(predicted), predicted)
        except np.linalg.LinAlgError:
            # Weights of rows have underflown: no step is left, and the gap so far is the result's.
            break
        length = _BACK_OFF * newton.longest(step)
        dv, da, dl, du = (length * part for part in step)
        v, alpha, rest, lower, upper = v + dv, alpha + da, rest - da, lower + dl, upper + du
    if not best.gap <= _FAILED:
        raise RuntimeError(
            f"The linear rule with cost={cost} did not converge; its duality gap is {best.gap:.2g}."
        )
    return best


def _gap(A: FloatArray, v: FloatArray, cost: float, alpha: FloatArray, b: FloatArray) -> float:
    """Return the relative distance between the primal value at v and the dual value at α."""
    primal = 0.5 * float(v[:-1] @ v[:-1]) + cost * float(np.maximum(1 - A @ v, 0.0).sum())
    # With y . α not quite 0 the dual value is no bound; the price of that is the intercept.
    feasibility = cost * abs(float(A[:, -1] @ alpha) * float(v[-1]))
    dual = cost * float(alpha.sum()) - 0.5 * cost**2 * float(b @ b)
    return (abs(primal - dual) + feasibility) / primal


Step = tuple[FloatArray, FloatArray, FloatArray, FloatArray]


@dataclass(eq=False)
class _Newton:
    """The Newton system at one point; each right side costs one pass over the rows."""

    A: FloatArray
    penalty: FloatArray
    v: FloatArray
    alpha: FloatArray
    rest: FloatArray
    lower: FloatArray
    upper: FloatArray
    image: FloatArray

    def __post_init__(self) -> None:
        self.inverse = 1.0 / (self.lower / self.alpha + self.upper / self.rest)
        self.residual = self.A @ self.v - 1.0 - self.lower + self.upper
        self.balance = self.penalty * self.v - self.image
        self.weighted = self.A * self.inverse[:, None]
        self.matrix = self.A.T @ self.weighted + np.diag(self.penalty)

    def step(self, target: float, predicted: Step | None = None) -> Step:
        """Aim at complementarity products of a size, corrected for a predicted step."""
        low_product = np.full_like(self.alpha, target)
        high_product = low_product.copy()
        if predicted is not None:
            low_product -= predicted[1] * predicted[2]
            high_product += predicted[1] * predicted[3]
        low, high = low_product / self.alpha - self.lower, high_product / self.rest - self.upper
        right = low - high - self.residual
        dv: FloatArray = np.asarray(
            np.linalg.solve(self.matrix, self.weighted.T @ right - self.balance), dtype=np.float64
        )
        da = self.inverse * (right - self.A @ dv)
        dl = low - (self.lower / self.alpha) * da
        du = high + (self.upper / self.rest) * da
        return dv, da, dl, du

    def target(self, predicted: Step) -> float:
        """Choose the next size of the products by how far the predicted step gets (Mehrotra)."""
        now = float(self.lower @ self.alpha + self.upper @ self.rest)
        length = self.longest(predicted)
        da, dl, du = (length * part for part in predicted[1:])
        after = float((self.lower + dl) @ (self.alpha + da) + (self.upper + du) @ (self.rest - da))
        return now / (2 * len(self.alpha)) * (max(after, 0.0) / now) ** 3

    def longest(self, step: Step) -> float:
        """Return the longest step, up to 1, that stays feasible."""
        _, da, dl, du = step
        pairs = ((self.alpha, da), (self.rest, -da), (self.lower, dl), (self.upper, du))
        shares = [float((-change / value).max()) for value, change in pairs]
        return min(1.0, 1.0 / max(*shares, 1e-300))
