"""Transformers that go before a projection."""

from fairspan.estimators.mixed import MixedScaler

__all__ = ["MixedScaler"]
