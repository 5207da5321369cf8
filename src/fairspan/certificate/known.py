"""What a proof is about: the best subspace known, whoever found it."""

from __future__ import annotations

from typing import Protocol

from fairspan.certificate.closed_form import Leading
from fairspan.ground.types import FloatArray
from fairspan.objectives.mixture import Mixture


class Known(Protocol):
    """A subspace with its value, and a mixture of pieces that is stationary there."""

    @property
    def subspace(self) -> FloatArray:
        """Orthonormal columns."""

    @property
    def errors(self) -> FloatArray:
        """Its group errors."""

    @property
    def value(self) -> float:
        """Its objective."""

    @property
    def mixture(self) -> Mixture:
        """The mixture."""

    @property
    def touch(self) -> FloatArray | None:
        """Errors at which the mixture's tangent proves most; None for the subspace's own."""

    @property
    def leading(self) -> Leading | None:
        """The eigen-solve for the mixture's slopes there, where it is known."""

    @property
    def history(self) -> list[float]:
        """Values on the way to it."""
