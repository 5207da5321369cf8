"""What an objective is: a function of the group errors, and what it promises about itself.

A solver cannot see whether a function is convex; the objective says so, in ``promises``, and a
solver names the promises that its proof rests on. The door, :func:`fairspan.solvers.solve`, refuses
every combination whose promises do not suffice.

==============================  ===================================================================
promise                         what it means
==============================  ===================================================================
``"convex"``                    convex in the errors; ``gradient`` gives a (sub)gradient
``"increasing"``                never falls when an error grows: no gradient has a negative entry
``"total error alone"``         grows with the total error and depends on nothing else
``"concave pieces"``            the largest of separable, concave pieces, one for each ordered pair
                                of groups, as in :class:`~fairspan.objectives.RobustFairObjective`
``"largest loss"``              the largest error beyond given offsets
``"total error within a gap"``  the total error where the errors differ by at most ``max_gap``
==============================  ===================================================================

An objective of your own subclasses :class:`ConvexObjective`, or has the same four members.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Protocol

from fairspan.ground.types import FloatArray


class Objective(Protocol):
    """A function of the vector of group errors m that a solver can minimise."""

    @property
    def promises(self) -> Collection[str]:
        """What holds for all errors from 0 to the group's total variance."""

    @property
    def lowest(self) -> float:
        """No value is below this: 0 for most, minus infinity where nothing is known."""

    def value(self, m: FloatArray, /) -> float:
        """Give the value for group errors m; perhaps infinite at the edge, never minus infinity."""


class ConvexObjective(Objective, Protocol):
    """An objective that promises to be convex and increasing."""

    @property
    def promises(self) -> Collection[str]:
        """Convex and increasing."""
        return ("convex", "increasing")

    @property
    def lowest(self) -> float:
        """Nothing is known; a subclass may say more."""
        return -math.inf

    def gradient(self, m: FloatArray, /) -> FloatArray:
        """Give a (sub)gradient g where the value is finite: value(x) >= value(m) + g . (x - m)."""
