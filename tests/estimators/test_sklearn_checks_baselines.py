"""Scikit-learn's own checks of the compared methods, all of them."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from fairspan.estimators.convex import ConvexFairPCA
from fairspan.estimators.nullspace import NullSpaceFairPCA
from fairspan.estimators.samadi import FairPCA


# The checks fit without groups, which these estimators rightly complain about.
@pytest.mark.filterwarnings("ignore::fairspan.NoGroupsWarning")
@parametrize_with_checks(
    [
        FairPCA(),
        FairPCA(solver="multiplicative_weights", max_iter=5),
        ConvexFairPCA(),
        ConvexFairPCA(constraint="mean+covariance"),
        NullSpaceFairPCA(),
        NullSpaceFairPCA(1, standardize=True),
    ]
)
def test_scikit_learn_estimator_checks(estimator, check):
    check(estimator)
