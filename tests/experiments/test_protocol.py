"""The protocol on moments is the protocol on rows, which the tests state again by themselves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.model_selection import KFold

from fairspan import RobustFairPCA
from fairspan.experiments.methods import method
from fairspan.experiments.protocol import Judge, Part, Trial, recentred, split_rows, standardized
from fairspan.experiments.settings import Settings
from tests import protocol as reference
from tests.conftest import needs_paper_data, paper_table

SETTINGS = Settings()


@pytest.fixture
def whole(rng):
    # The second column is constant, the groups differ in size, mean and shape.
    groups = (rng.random(120) < 0.3).astype(np.intp)
    X = rng.normal(size=(120, 6)) * np.where(groups, 2.0, 1.0)[:, None] + groups[:, None]
    X[:, 1] = 3.0
    return Part(X, groups)


@pytest.fixture
def rng():
    return np.random.default_rng(5)


@pytest.mark.parametrize("seed", range(3))
def test_splits_are_those_of_the_reference(whole, seed):
    train, test = split_rows(whole.groups, seed)
    assert sorted(np.concatenate([train, test])) == list(range(len(whole.X)))
    ours = Trial.of(whole, seed, SETTINGS)
    theirs = reference.split(whole.X, whole.groups, seed)
    np.testing.assert_array_equal(ours.train.X, theirs.train.X)
    np.testing.assert_array_equal(ours.test.X, theirs.test.X)
    np.testing.assert_array_equal(ours.test.groups, theirs.test.groups)


@pytest.mark.parametrize("seed", range(3))
def test_scores_from_moments_are_those_of_rows(whole, seed, rng):
    trial = Trial.of(whole, seed, SETTINGS)
    root = rng.normal(size=(6, 6))
    P = root @ root.T / 20
    train, test = reference.split(whole.X, whole.groups, seed)
    for judge, part in ((trial.inside, train), (trial.outside, test)):
        found = judge.scores(P)
        assert found.are == pytest.approx(reference.total_error(P, part.X), rel=1e-12)
        assert found.abdiff == pytest.approx(reference.error_gap(P, train, part), rel=1e-9)
        assert abs(found.group_errors[0] - found.group_errors[1]) == found.abdiff


def test_folds_fit_and_judge_the_rows_of_the_reference(whole, rng):
    root = rng.normal(size=(6, 6))
    P = root @ root.T / 20
    train = reference.split(whole.X, whole.groups, 2).train
    cuts = KFold(3, shuffle=True, random_state=2).split(train.X)
    for stage, (inside, outside) in zip(Trial.of(whole, 2, SETTINGS).folds, cuts, strict=True):
        raw = train.take(inside), train.take(outside)
        fold = reference.standardised(*raw)
        np.testing.assert_array_equal(stage.train.X, fold.train.X)
        # Only ARE is about rows that the fold has standardised again.
        found = stage.judge.scores(P)
        assert found.are == pytest.approx(reference.total_error(P, fold.test.X), rel=1e-12)
        assert found.abdiff == pytest.approx(reference.error_gap(P, *raw), rel=1e-9)


def test_abdiff_on_globally_centred_rows_is_the_difference_of_plain_group_errors(whole, rng):
    trial = Trial.of(whole, 0, replace(SETTINGS, gap_centering="global"))
    V = np.linalg.qr(rng.normal(size=(6, 2)))[0]
    errors = [np.sum((R - R @ V @ V.T) ** 2, axis=1).mean() for R in map(trial.test.of, (0, 1))]
    found = trial.outside.scores(V @ V.T)
    assert found.group_errors == pytest.approx(errors, rel=1e-12)
    assert found.abdiff != pytest.approx(Trial.of(whole, 0, SETTINGS).outside.scores(V @ V.T)[0])


def test_without_scaling_rows_are_only_centred(whole):
    train, test = standardized(whole, whole, scale=False)
    np.testing.assert_allclose(train.X, whole.X - whole.X.mean(axis=0))
    np.testing.assert_allclose(test.X.std(axis=0), whole.X.std(axis=0))


@needs_paper_data
@pytest.mark.parametrize("name", ["energy", "e_coli"])
def test_the_same_parameters_are_chosen_as_by_the_reference(name):
    X, groups, _ = paper_table(name)
    robust = method("rfpca", SETTINGS)
    estimators = [RobustFairPCA(3, **candidate) for candidate in robust.grid]

    by_estimator = [
        lambda moments, model=model: (V := model.fit_moments(moments).components_).T @ V
        for model in estimators
    ]
    trial = Trial.of(Part(X, groups), 1, SETTINGS)
    theirs = reference.select(by_estimator, reference.split(X, groups, 1).train, 1)
    assert trial.select(robust) == by_estimator.index(theirs)


def test_the_first_of_equal_candidates_is_chosen(whole):
    trial = Trial.of(whole, 0, SETTINGS)
    same = method("pca", SETTINGS)._replace(grid=({},) * 3)
    assert trial.select(same) == 0


def test_published_methods_are_fitted_to_the_rows_the_published_programs_see(whole):
    published = Settings(solver="published", fairpca="published", cfpca_centering="published")
    stage = Trial.of(whole, 0, published).folds[0]
    expected = {
        "rfpca": stage.train,
        "fairpca": stage.raw,  # not standardised again in folds
        "cfpca-mean": recentred(stage.train),
        "cfpca-both": recentred(stage.train),
    }
    assert not np.allclose(stage.train.moments.scatters, stage.raw.moments.scatters)
    for name, rows in expected.items():
        seen = []
        spy = method(name, published)._replace(
            fit=lambda moments, _, seen=seen: seen.append(moments)
        )
        stage.fits(spy, [0])
        np.testing.assert_array_equal(seen[0].scatters, rows.moments.scatters)


def test_judges_of_two_dimensions_by_hand():
    judge = Judge(np.diag([3.0, 1.0]), np.array([np.diag([2.0, 1.0]), np.diag([5.0, 4.0])]))
    assert judge.scores(np.diag([1.0, 0.0])) == (3.0, 1.0, (1.0, 4.0))
