"""Mistakes that a checker of types must find; each line says by which kind of error."""

from __future__ import annotations

from typing import assert_type

import fairspan
from fairspan import GroupMoments, RobustFairPCA, certify, fairness_frontier, load_model

moments = GroupMoments.load("moments.npz")
number: int = moments  # expected: assignment
load_model(1)  # expected: arg-type
fairness_frontier(moments, "two")  # expected: arg-type
certify([[1.0, 0.0]], moments, fairness_weight=1.0)  # expected: call-arg
RobustFairPCA(2).fit_moments([[1.0]])  # expected: arg-type
fairspan.metrics.error_gap(no_such_option=1)  # expected: call-arg
assert_type(fairspan.certify, int)  # expected: assert-type
moments.no_such_method()  # expected: attr-defined
