"""Many groups on the paper's tables, and groups that are intersections of several attributes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from fairspan import RobustFairPCA, SmallGroupWarning
from fairspan.objectives.robust import RobustFairObjective
from fairspan.problem.subspace import SubspaceProblem
from fairspan.solvers.many_groups.certified_newton import solve_newton
from tests import reference
from tests.conftest import needs_paper_data
from tests.many_groups import COMPONENTS, RADII, WEIGHTS, grouped_tables

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")


@needs_paper_data
def test_the_papers_grouped_problems_are_proved():
    gaps, index = [], itertools.count()
    for _, X, groups in grouped_tables():
        moments, shares = reference.group_second_moments(X, groups)
        for k, weight, radius in itertools.product(COMPONENTS, WEIGHTS, RADII):
            if k >= X.shape[1] or next(index) % 9:
                continue
            radii = radius / np.sqrt(shares * len(X))
            problem = SubspaceProblem(moments, shares, k)
            objective = RobustFairObjective(shares, weight, radii)
            result = solve_newton(problem, objective)
            gaps.append(result.optimality_gap)
            errors = reference.group_errors(moments, result.components.T)
            value = reference.objective(errors, shares, weight, radii)
            assert result.objective == pytest.approx(value, rel=1e-8)
            pca = np.linalg.eigh(np.tensordot(shares, moments, 1))[1][:, -k:]
            for V in (pca, *(np.linalg.eigh(moment)[1][:, -k:] for moment in moments)):
                other = reference.group_errors(moments, V)
                assert result.lower_bound <= reference.objective(other, shares, weight, radii)
    assert len(gaps) >= 50
    assert max(gaps) <= 1e-8


def people(n=600):
    """Rows with sex and education, where one intersection is rare and another is empty."""
    rng = np.random.default_rng(0)
    sex = rng.choice(["f", "m"], n)
    education = rng.choice([1, 2, 3], n, p=[0.5, 0.45, 0.05])
    sex = np.where((education == 3) & (sex == "f"), "m", sex)
    rare = np.flatnonzero((sex == "m") & (education == 1))[:-4]
    sex[rare] = "f"
    X = rng.standard_normal((n, 5)) * np.where(sex == "f", 1.0, 2.0)[:, None]
    X[:, 0] *= education
    return X, {"sex": sex, "education": education}


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_intersections_are_fitted_end_to_end_with_counts_beside_errors(frame):
    X, attributes = people()
    table = frame({**{f"x{j}": column for j, column in enumerate(X.T)}, **attributes})
    features, sensitive = table[[f"x{j}" for j in range(5)]], table[["sex", "education"]]
    model = RobustFairPCA(2, fairness_weight=0.5, radius=0.1)
    with pytest.warns(SmallGroupWarning, match=r"\('m', 1\): 4"):
        model.fit(features, sensitive_features=sensitive)
    labels = [("f", 1), ("f", 2), ("m", 1), ("m", 2), ("m", 3)]
    assert model.group_labels_ == labels
    centred = X - X.mean(axis=0)
    lost = centred - centred @ model.components_.T @ model.components_
    for label, count, error in zip(labels, model.group_counts_, model.group_errors_, strict=True):
        rows = (attributes["sex"] == label[0]) & (attributes["education"] == label[1])
        assert count == rows.sum()
        assert error == pytest.approx((lost[rows] ** 2).sum(axis=1).mean(), rel=1e-10)
    assert model.group_counts_[2] == 4
    assert model.optimality_gap_ <= 1e-8
    assert list(model.feature_names_in_) == [f"x{j}" for j in range(5)]
    codes = [f"{sex}{education}" for sex, education in zip(*attributes.values(), strict=True)]
    with pytest.warns(SmallGroupWarning, match="'m1': 4"):
        by_name = RobustFairPCA(2, fairness_weight=0.5, radius=0.1).fit(X, sensitive_features=codes)
    assert by_name.objective_ == pytest.approx(model.objective_, rel=1e-10)
