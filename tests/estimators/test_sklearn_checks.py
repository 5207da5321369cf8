"""Scikit-learn's own checks of an estimator, all of them."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from fairspan import RobustFairPCA


# The checks fit without groups, which this estimator rightly complains about.
@pytest.mark.filterwarnings("ignore::fairspan.NoGroupsWarning")
@parametrize_with_checks(
    [
        RobustFairPCA(),
        RobustFairPCA(fairness_weight=0.0, radius=0.0),
        RobustFairPCA(1, standardize=True),
    ]
)
def test_scikit_learn_estimator_checks(estimator, check):
    check(estimator)
