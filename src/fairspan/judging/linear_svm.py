"""A linear support vector machine with a free intercept, solved exactly in few features.

    minimise |b|^2 / 2 + C sum_i w_i max(0, 1 - y_i (z_i . b + c))

An interior-point method on the dual (0 <= α <= C w, y . α = 0): each step solves a system of the
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
_COLLAPSED = 1e-6
"""Weights below this share of what a cost allows, or of the margin, are 0 up to rounding."""


class Margin(NamedTuple):
    """The weights b, the intercept c, and the duality gap relative to the objective.

    The machine is collapsed if b is 0 up to rounding: then it assigns every row to one class, and
    the direction of what is left of b is a property of the solver, not of the data.
    """

    weights: FloatArray
    intercept: float
    gap: float
    is_collapsed: bool = False


def linear_svm(
    Z: FloatArray, y: FloatArray, cost: float, row_weights: FloatArray | None = None
) -> Margin:
    """Fit the machine; raise an error if it does not converge.

    Parameters
    ----------
    Z : ndarray of shape (n_rows, n_features)
        Features.
    y : ndarray of shape (n_rows,)
        Labels, -1 or 1, both of them present.
    cost : float
        The price C of a row inside the margin.
    row_weights : ndarray of shape (n_rows,), optional
        Factors of the price for each row, 1 if not given.

    Returns
    -------
    Margin
        The solution.
    """
    A = np.column_stack([Z * y[:, None], y])
    penalised = np.append(np.ones(Z.shape[1]), 0.0)
    prices = np.ones(len(y)) if row_weights is None else row_weights
    # In units of the cost 0 <= α <= w; w - α is kept apart, where subtraction would lose it.
    alpha, rest = prices / 2, prices / 2
    lower, upper = np.ones(len(y)), np.ones(len(y))
    v = np.zeros(A.shape[1])
    best = Margin(v[:-1], 0.0, np.inf)
    for _ in range(_STEPS):
        image = A.T @ alpha
        gap = _gap(A, v, cost, prices, alpha, penalised * image)
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
    allowed = cost * float(prices @ np.linalg.norm(Z, axis=1))
    size = float(np.linalg.norm(best.weights))
    return best._replace(is_collapsed=size <= _COLLAPSED * min(allowed, 1.0))


def _gap(
    A: FloatArray,
    v: FloatArray,
    cost: float,
    prices: FloatArray,
    alpha: FloatArray,
    b: FloatArray,
) -> float:
    """Return the relative distance between the primal value at v and the dual value at α."""
    primal = 0.5 * float(v[:-1] @ v[:-1]) + cost * float(prices @ np.maximum(1 - A @ v, 0.0))
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
