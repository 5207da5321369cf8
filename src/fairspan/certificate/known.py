"""What a proof is about: the best subspace known, whoever found it."""

from __future__ import annotations

from typing import Protocol

from fairspan.ground.types import FloatArray
from fairspan.objectives.mixture import Mixture


class Known(Protocol):
    """A subspace, its errors and value, and a mixture of pieces that is stationary there."""

    @property
    def subspace(self) -> FloatArray: ...
    @property
    def errors(self) -> FloatArray: ...
    @property
    def value(self) -> float: ...
    @property
    def mixture(self) -> Mixture: ...
