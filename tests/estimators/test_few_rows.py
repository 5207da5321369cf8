"""Far fewer rows than features: solved in the space of the rows, with room outside it."""

from __future__ import annotations

import numpy as np
import pytest

from fairspan import GroupMoments, RobustFairPCA, SmallGroupWarning, fairness_frontier


def few_rows():
    rng = np.random.default_rng(0)
    X = np.vstack([0.3 * rng.normal(size=(17, 300)), rng.normal(size=(3, 300))])
    return X, np.repeat([0, 1], [17, 3])


@pytest.mark.filterwarnings("ignore::fairspan.SmallGroupWarning")
@pytest.mark.parametrize(
    ("weight", "radius"), [(1.0, {0: 0.0, 1: 200.0}), (2.0, {0: 0.1, 1: 100.0}), (0.3, 0.1)]
)
def test_components_may_be_spent_on_directions_without_data(weight, radius):
    """Where a group counts negatively, leaving its directions out can be worth more."""
    X, groups = few_rows()
    model = RobustFairPCA(10, fairness_weight=weight, radius=radius)
    few = model.fit(X, sensitive_features=groups).objective_
    dense = model.fit_moments(GroupMoments.from_arrays(X, groups).dense())
    assert few == pytest.approx(dense.objective_, rel=1e-9)


def test_the_region_of_few_rows_holds_subspaces_outside_their_span():
    X, groups = few_rows()
    with pytest.warns(SmallGroupWarning):
        model = RobustFairPCA(10).fit(X, sensitive_features=groups)
    with pytest.warns(SmallGroupWarning):
        region = fairness_frontier(X, 10, sensitive_features=groups).region
    errors = model.moments_.second_moments.trace(axis1=1, axis2=2)
    largest = np.asarray(region.outer).max(axis=0)
    assert (largest >= errors * (1 - 1e-6)).all()


def test_groups_without_any_preferred_direction_are_solved():
    X = np.vstack([np.eye(3), -np.eye(3)] * 6)
    model = RobustFairPCA(1).fit(X, sensitive_features=np.repeat([0, 1, 2], 12))
    assert model.group_errors_ == pytest.approx([2 / 3] * 3)
    assert model.optimality_gap_ <= 1e-8
