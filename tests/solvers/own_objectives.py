"""Objectives that a user might write: convex and increasing, each in a few lines."""

from __future__ import annotations

import math

import numpy as np


class CVaR:
    """Mean error of the worst-served share of the rows (conditional value at risk)."""

    promises = ("convex", "increasing")
    lowest = 0.0

    def __init__(self, shares, level=0.5):
        self.shares, self.level = np.asarray(shares), level

    def gradient(self, errors):
        order = np.argsort(-errors, kind="stable")
        reached = np.minimum(np.cumsum(self.shares[order]), self.level)
        weights = np.zeros(len(errors))
        weights[order] = np.diff(reached, prepend=0.0) / self.level
        return weights

    def value(self, errors):
        return float(self.gradient(errors) @ errors)


class PNorm:
    """The p-norm of the group errors."""

    promises = ("convex", "increasing")
    lowest = 0.0

    def __init__(self, p):
        self.p = p

    def value(self, errors):
        return float(np.linalg.norm(errors, self.p))

    def gradient(self, errors):
        norm = self.value(errors)
        # At 0 any vector of dual norm up to 1 will do.
        return (errors / norm) ** (self.p - 1) if norm > 0 else np.zeros(len(errors))


class NashWelfare:
    """Minus the sum of the logarithms of the variances kept."""

    promises = ("convex", "increasing")
    lowest = -math.inf

    def __init__(self, variances):
        self.variances = np.asarray(variances)

    def value(self, errors):
        kept = self.variances - errors
        return float(-np.log(kept).sum()) if kept.min() > 0 else math.inf

    def gradient(self, errors):
        return 1 / (self.variances - errors)


def all_objectives(moments, shares):
    """One of each kind for given groups."""
    variances = np.trace(moments, axis1=1, axis2=2)
    return [CVaR(shares), CVaR(shares, 0.1), PNorm(4), PNorm(1.5), NashWelfare(variances)]
