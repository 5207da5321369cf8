"""Warnings point at the line of the user's program that caused them."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np
import pytest
import sklearn
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import fairspan
from fairspan import (
    CollapsedRuleWarning,
    ConvexFairPCA,
    ExactlyFairPCA,
    FairPCA,
    GroupMoments,
    HiddenFeatureWarning,
    NoGroupsWarning,
    NullSpaceFairPCA,
    RobustFairPCA,
    RobustFairPCACV,
    SmallGroupWarning,
    advise,
    certify,
    compare,
    fairness_frontier,
    metrics,
    report,
)

SOURCE = Path(fairspan.__file__).parent
rng = np.random.default_rng(0)
X = rng.normal(size=(90, 5)) * [5, 4, 3, 2, 1]
TWO = np.tile(["a", "b"], 45)
FEW = np.where(np.arange(90) % 20, "a", "b")
NINE = np.tile(list("abcdefghi"), 10)
MIXED, MOST = rng.normal(size=(400, 5)), np.where(np.arange(400) % 5, "a", "b")
HUGE = X * [1e9, 1, 1, 1, 1]
two, few, huge = (GroupMoments.from_arrays(*d) for d in ((X, TWO), (X, FEW), (HUGE, TWO)))
fair, search = RobustFairPCA(2), RobustFairPCACV(2, cv=2, radii=[0.0], fairness_weights=[1.0])
rough = RobustFairPCA(2, solver="subgradient", max_iter=1, tol=1e-15)
pipeline = make_pipeline(StandardScaler(with_std=False), fair)
fitted = RobustFairPCA(2).fit(X, sensitive_features=TWO)
labelled = make_pipeline(StandardScaler(with_std=False), RobustFairPCA(2))
page = {"n_components": 2, "max_components": 2}

CASES = {
    SmallGroupWarning: [
        lambda: fair.fit(X, sensitive_features=FEW),
        lambda: fair.fit_transform(X, sensitive_features=FEW),
        lambda: fair.set_output(transform="default").fit_transform(X, sensitive_features=FEW),
        lambda: fair.fit_moments(few),
        lambda: FairPCA(2).fit(X, sensitive_features=FEW),
        lambda: pipeline.fit(X, sensitive_features=FEW),
        lambda: pipeline.fit_transform(X, sensitive_features=FEW),
        lambda: search.fit(X, sensitive_features=FEW),
        lambda: advise(X, FEW),
        lambda: report.build(X, sensitive_features=FEW, **page),
    ],
    HiddenFeatureWarning: [
        lambda: fair.fit(HUGE, sensitive_features=TWO),
        lambda: fair.fit_transform(HUGE, sensitive_features=TWO),
        lambda: pipeline.fit(HUGE, sensitive_features=TWO),
        lambda: RobustFairPCA(2).partial_fit(HUGE, sensitive_features=TWO),
        lambda: fair.fit_moments(huge),
        lambda: search.fit(HUGE, sensitive_features=TWO),
        lambda: fairness_frontier(huge, 2),
        lambda: certify(np.eye(5)[:2], huge, fairness_weight=1, radius=0),
        lambda: report.build(huge, **page),
    ],
    NoGroupsWarning: [
        lambda: fair.fit(X),
        lambda: fair.fit_transform(X),
        lambda: RobustFairPCA(2).partial_fit(X),
        lambda: pipeline.fit(X),
        lambda: pipeline.fit_transform(X),
        lambda: fair.fit_moments(GroupMoments.from_arrays(X)),
        lambda: search.fit(X),
        lambda: search.fit_moments([GroupMoments.from_arrays(X)] * 2),
        lambda: FairPCA(2).fit(X),
        lambda: ConvexFairPCA(2).fit_transform(X),
        lambda: NullSpaceFairPCA(2).fit(X),
        lambda: ExactlyFairPCA(2).fit(X),
        lambda: fitted.score(X),
        lambda: labelled.fit(X, sensitive_features=TWO).score(X),
        lambda: cross_val_score(labelled, X, cv=2),
    ],
    ConvergenceWarning: [
        lambda: rough.fit(X, sensitive_features=TWO),
        lambda: rough.fit_transform(X, sensitive_features=TWO),
        lambda: rough.fit_moments(two),
        lambda: make_pipeline(rough).fit(X, sensitive_features=TWO),
        lambda: fairness_frontier(X, 2, sensitive_features=NINE, effort=1e-9),
    ],
    CollapsedRuleWarning: [
        lambda: metrics.linear_leakage(fitted, MIXED, MOST, rule="published", n_folds=2),
    ],
    FutureWarning: [
        lambda: metrics.error_gap(fitted, X, TWO, centring="group"),
        lambda: metrics.bootstrap_intervals(fitted, X, TWO, centring="group"),
        lambda: compare([fair], X, TWO, centring="group"),
        lambda: RobustFairPCACV(gap_centring="group"),
        lambda: advise(X, TWO, n_bootstrap=20),
        lambda: advise(X, TWO, level=0.9),
        lambda: fairness_frontier(X, 2, sensitive_features=TWO, n_bootstrap=20),
        lambda: report.build(X, sensitive_features=TWO, n_bootstrap=0, **page),
    ],
}


@pytest.mark.parametrize(
    ("category", "call"), [(category, call) for category, calls in CASES.items() for call in calls]
)
def test_warnings_point_at_the_callers_line(category, call):
    routing = sklearn.config_context(enable_metadata_routing=True)
    with routing, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    found = [one for one in caught if issubclass(one.category, category)]
    assert found
    for one in found:
        assert (one.filename, one.lineno) == (__file__, call.__code__.co_firstlineno)


def test_a_keyword_means_the_same_under_its_old_name():
    with pytest.warns(FutureWarning, match="use centering"):
        old = metrics.group_errors(fitted, X, TWO, centring="group")
    assert old.by_group == metrics.group_errors(fitted, X, TWO, centering="group").by_group
    with pytest.warns(FutureWarning, match="use gap_centering"):
        assert RobustFairPCACV(gap_centring="group").gap_centering == "group"
    with pytest.raises(TypeError, match="give centering only"):
        metrics.group_errors(fitted, X, TWO, centring="group", centering="global")


def test_every_warning_goes_through_the_one_function():
    counted = [
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if re.search(r"warnings\.warn\(|stacklevel", path.read_text(encoding="utf-8"))
    ]
    assert counted == ["ground/warn.py"]
