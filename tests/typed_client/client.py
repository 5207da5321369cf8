"""A program of a user who checks types strictly: every public name has the type that it has."""

from __future__ import annotations

from pathlib import Path
from typing import assert_type

import numpy as np

import fairspan
from fairspan import (
    ConvexFairPCA,
    ExactlyFairPCA,
    FairPCA,
    Frontier,
    GroupMoments,
    NullSpaceFairPCA,
    RobustFairPCA,
    RobustFairPCACV,
    certify,
    fairness_frontier,
    gelbrich_divergence,
    load_model,
    metrics,
    sources,
)
from fairspan.datasets import DatasetInfo
from fairspan.estimators.base import BaseFairPCA
from fairspan.judging.certify import CertifiedResult
from fairspan.report import Report


def rows() -> tuple[np.ndarray[tuple[int, ...], np.dtype[np.float64]], list[str]]:
    return np.random.default_rng(0).standard_normal((40, 4)), ["a", "b"] * 20


def fits() -> list[BaseFairPCA]:
    X, groups = rows()
    model = assert_type(RobustFairPCA(2).fit(X, sensitive_features=groups), RobustFairPCA)
    assert_type(model.objective_, float)
    assert_type(model.fit_moments(model.moments_), RobustFairPCA)
    chosen = RobustFairPCACV(2, fairness_weights=(0.0, 1.0), radii=(0.1,))
    others = [ExactlyFairPCA(2), FairPCA(2), ConvexFairPCA(2), NullSpaceFairPCA(2)]
    return [model, assert_type(chosen.fit(X, sensitive_features=groups), RobustFairPCACV), *others]


def files(folder: Path) -> GroupMoments:
    X, groups = rows()
    moments = assert_type(GroupMoments.from_arrays(X, groups), GroupMoments)
    moments.save(folder / "moments.npz")
    again = assert_type(GroupMoments.load(folder / "moments.npz"), GroupMoments)
    RobustFairPCA(2).fit_moments(moments + again).save(folder / "model.npz")
    assert_type(load_model(folder / "model.npz"), BaseFairPCA)
    np.savetxt(folder / "rows.csv", X, delimiter=",", header="x,y,z,group", comments="")
    assert_type(sources.moments_from_files(folder / "rows.csv", "group"), GroupMoments)
    return assert_type(moments + again, GroupMoments)


def judgements(moments: GroupMoments) -> float:
    X, groups = rows()
    frontier = assert_type(fairness_frontier(moments, 2), Frontier)
    proof = certify(np.eye(2, 4), moments, fairness_weight=1.0, radius=0.1, max_time=0.5)
    assert_type(proof, CertifiedResult)
    assert_type(proof.lower_bound, float)
    model = RobustFairPCA(2).fit(X, sensitive_features=groups)
    assert_type(metrics.error_gap(model, X, groups), float)
    assert_type(metrics.total_error(model, X, groups), float)
    assert_type(metrics.group_errors(model, X, groups), metrics.GroupValues)
    assert_type(gelbrich_divergence(X[0], np.eye(4), X[1], np.eye(4)), float)
    return proof.optimality_gap + len(frontier.gap)


def lazy_modules() -> None:
    X, groups = rows()
    assert_type(fairspan.__version__, str)
    assert_type(fairspan.datasets.info("energy"), DatasetInfo)
    assert_type(fairspan.report.build(X, sensitive_features=groups), Report)
