"""Linear functions that are nowhere above a convex objective, and its promises put to the test."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linprog

from fairspan.ground.types import UNIT, FloatArray
from fairspan.objectives.objective import ConvexObjective

_BROKEN, _RECENT = 1e-9, 20
"""A linearisation above the objective by more than this share of its size breaks the promise; this
many of the latest are checked."""


@dataclass(frozen=True, eq=False)
class Cut:
    """A linear function that is nowhere above the objective; its size tells its rounding."""

    constant: float
    slope: FloatArray
    size: float

    def at(self, m: FloatArray) -> float:
        """Value for group errors."""
        return self.constant + float(self.slope @ m)


class Cuts:
    """An objective and the places where it was linearised.

    Parameters
    ----------
    objective : ConvexObjective
        The objective; an answer that breaks its promises raises.
    traces : ndarray of shape (n_groups,)
        The largest errors there can be.
    """

    def __init__(self, objective: ConvexObjective, traces: FloatArray) -> None:
        self.objective, self.traces = objective, traces
        self.name = type(objective).__name__
        self.kept: list[Cut] = []

    def value(self, m: FloatArray) -> float:
        """Give the objective, a number or infinity."""
        value = float(self.objective.value(m))
        if not value > -math.inf:
            raise ValueError(
                f"{self.name}.value gives {value} for the errors {m.tolist()}; it must be a "
                "number, or infinity."
            )
        return value

    def slope(self, m: FloatArray) -> FloatArray:
        """Give the gradient where the objective is finite."""
        slope = np.asarray(self.objective.gradient(m), dtype=np.float64)
        if slope.shape != m.shape or not np.isfinite(slope).all() or slope.min() < 0:
            raise ValueError(
                f"{self.name} promises to be increasing, but its gradient at the errors "
                f"{m.tolist()} is {slope.tolist()}; it must be {len(m)} finite numbers, none of "
                "them negative."
            )
        return slope

    def add(self, m: FloatArray) -> Cut | None:
        """Linearise the objective; None where it is infinite."""
        value = self.value(m)
        if value == math.inf:
            return None
        slope = self.slope(m)
        size = abs(value) + float(slope @ self.traces)
        for cut in self.kept[-_RECENT:]:
            if cut.at(m) - value > _BROKEN * (size + cut.size):
                raise ValueError(
                    f"{self.name} promises to be convex, but at the errors {m.tolist()} a "
                    f"linearisation gives {cut.at(m)}, above the value {value}: the objective is "
                    "not convex, or its gradient is wrong."
                )
        self.kept.append(Cut(value - float(slope @ m), slope, size))
        return self.kept[-1]

    def check_bound(self, bound: float, value: float, size: float) -> None:
        """Refuse a bound above a value that is attained: some promise does not hold."""
        if bound > value + _BROKEN * size:
            raise ValueError(
                f"{self.name} promises to be convex and increasing, but its gradients prove that "
                f"no subspace has a value below {bound}, and one has {value}: its gradient is "
                "wrong, or it is not convex."
            )

    def forget(self, m: FloatArray, most: int, used: list[Cut]) -> None:
        """Keep the cuts that are highest at given errors, and those in use."""
        highest = sorted(self.kept, key=lambda cut: -cut.at(m))[:most]
        self.kept = highest + [cut for cut in used if cut not in highest]


class Around:
    """The objective around given errors, as a Newton step asks for it: cuts made on demand."""

    def __init__(self, cuts: Cuts, m: FloatArray, value: float) -> None:
        self.cuts, self.m, self.base = cuts, m, value

    def largest(self, dm: FloatArray) -> Cut:
        """Linearise after a change of the errors, but not where all variance is lost."""
        most = self.m + 0.9 * (self.cuts.traces - self.m)
        cut = self.cuts.add(np.clip(self.m + dm, 0.0, most))
        return cut or max(self.cuts.kept, key=lambda known: known.at(self.m + dm))

    def piece(self, piece: Cut) -> float:
        """Value before the change."""
        return piece.at(self.m)

    def slope(self, piece: Cut) -> FloatArray:
        """Gradient of a cut."""
        return piece.slope


def least_largest(
    cuts: list[Cut], points: FloatArray
) -> tuple[float, FloatArray, FloatArray] | None:
    """Mix points so that the largest cut is least: a linear program.

    Parameters
    ----------
    cuts : list of Cut
        The cuts.
    points : ndarray of shape (n_points, n_groups)
        Group errors.

    Returns
    -------
    tuple or None
        The least value, the shares of the points and the weights of the cuts; None if the program
        fails. All three are only proposals.
    """
    values = np.array([cut.slope for cut in cuts]) @ points.T
    values += np.array([cut.constant for cut in cuts])[:, None]
    middle = float(values.max(axis=0).min())
    values -= middle
    scale = float(np.abs(values).max()) or 1.0
    # Each cut in units of its own: steep ones are far from where it matters.
    rows = np.maximum(np.abs(values).max(axis=1), UNIT * scale)
    n = len(points)
    found: Any = linprog(
        np.append(np.zeros(n), 1.0),
        A_ub=np.column_stack([values / rows[:, None], -scale / rows]),
        b_ub=np.zeros(len(cuts)),
        A_eq=np.append(np.ones(n), 0.0)[None],
        b_eq=[1.0],
        bounds=[(0, None)] * n + [(None, None)],
        method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if not found.success:
        return None
    shares = np.maximum(found.x[:-1], 0.0)
    weights = np.maximum(-found.ineqlin.marginals, 0.0) / rows
    return middle + scale * float(found.fun), shares / shares.sum(), weights / weights.sum()
