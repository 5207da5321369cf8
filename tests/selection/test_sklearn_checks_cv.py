"""Scikit-learn's own checks of the cross-validated estimator."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from fairspan import RobustFairPCACV


@pytest.mark.filterwarnings("ignore::fairspan.NoGroupsWarning")
@parametrize_with_checks([RobustFairPCACV(fairness_weights=(0, 1), radii=(0.1,))])
def test_scikit_learn_estimator_checks(estimator, check):
    check(estimator)
