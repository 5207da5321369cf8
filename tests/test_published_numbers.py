"""Figures of the paper's Table 1 and appendix, on the paper's own splits."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from fairspan import GroupMoments, RobustFairPCA
from fairspan.estimators.convex import ConvexFairPCA
from fairspan.estimators.samadi import FairPCA
from fairspan.experiments.published import scores
from fairspan.metrics import linear_leakage
from tests import protocol, published
from tests.conftest import needs_paper_data, paper_table
from tests.protocol import COMPONENTS

pytestmark = needs_paper_data

CLOSE = 5e-4
PAPER, LEAKAGE = scores("out_of_sample"), scores("delta_f_lin")
TABLES = [name for name, method in PAPER if method == "cfpca-mean"]
# One training split of E. Coli has a column that is constant up to rounding. The paper divides it
# by 1e-17; we leave it alone and arrive elsewhere.
ARTEFACT = "e_coli"


def projection(estimator, moments: GroupMoments) -> np.ndarray:
    V = estimator.fit_moments(moments).components_
    return V.T @ V


def measured(name: str, *estimators, seeds=protocol.SEEDS) -> tuple[float, float]:
    X, groups, _ = paper_table(name)
    fits = [partial(projection, estimator) for estimator in estimators]
    return protocol.out_of_sample(fits, X, groups, seeds)


@pytest.mark.parametrize("name", published.FAIRPCA_EXACT)
def test_fair_pca_exact(name):
    expected = published.FAIRPCA_EXACT[name]
    assert measured(name, FairPCA(COMPONENTS)) == pytest.approx(expected, abs=1e-4)


def test_fair_pca_on_energy_is_the_paper_s():
    expected = PAPER["energy", "fairpca"]
    assert measured("energy", FairPCA(COMPONENTS)) == pytest.approx(expected, abs=5.1e-5)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("iterate", ["best", "average", "last"])
def test_multiplicative_weights_on_energy_are_the_paper_s(iterate):
    estimator = FairPCA(COMPONENTS, solver="multiplicative_weights", iterate=iterate)
    X, groups, _ = paper_table("energy")

    def relaxed(moments):
        return estimator.fit_moments(moments).relaxation_

    found = protocol.out_of_sample([relaxed], X, groups)
    assert found == pytest.approx(PAPER["energy", "fairpca"], abs=5.1e-5)


@pytest.mark.parametrize("name", [n for n in TABLES if n not in (ARTEFACT, "energy")])
def test_convex_mean_in_closed_form(name):
    expected = PAPER[name, "cfpca-mean"]
    assert measured(name, ConvexFairPCA(COMPONENTS)) == pytest.approx(expected, abs=CLOSE)


def test_convex_mean_without_the_rounding_artefact():
    found = measured(ARTEFACT, ConvexFairPCA(COMPONENTS))
    assert found == pytest.approx((1.0755, 2.9079), abs=CLOSE)


def test_convex_mean_on_energy_needs_its_grid():
    pytest.importorskip("clarabel")
    deltas = (0.0, 0.1, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9)
    found = measured("energy", *(ConvexFairPCA(COMPONENTS, delta=delta) for delta in deltas))
    assert found == pytest.approx(PAPER["energy", "cfpca-mean"], abs=CLOSE)


@pytest.mark.parametrize("name", [n for n in TABLES if n != ARTEFACT])
def test_convex_mean_and_covariance_as_published(name):
    found = measured(name, ConvexFairPCA(COMPONENTS, constraint="mean+covariance"))
    assert found == pytest.approx(PAPER[name, "cfpca-both"], abs=CLOSE)


def test_convex_mean_and_covariance_as_described_lands_near_the_mean_alone():
    grid = [
        ConvexFairPCA(COMPONENTS, constraint="mean+covariance", mu=mu)
        for mu in (1e-4, 1e-3, 1e-2, 0.05, 0.5)
    ]
    # All ten splits give 4.21 where the paper, with mu = 1, reports 9.01.
    _, total = measured("magic", *grid, seeds=range(3))
    _, mean_alone = measured("magic", ConvexFairPCA(COMPONENTS), seeds=range(3))
    assert total == pytest.approx(mean_alone, abs=0.02)
    assert total < PAPER["magic", "cfpca-both"][1] / 2


@pytest.mark.filterwarnings("ignore::fairspan.CollapsedRuleWarning")
@pytest.mark.parametrize(
    "name", ["e_coli", "energy", "wine_quality", "biodeg", "german_credit", "magic"]
)
def test_linear_leakage_of_robust_fair_pca(name):
    X, groups, _ = paper_table(name)
    grid = [
        RobustFairPCA(COMPONENTS, fairness_weight=weight, radius=radius)
        for radius in (0.05, 0.1, 0.15)
        for weight in (0.0, 0.5, 1.0, 1.5, 2.0, 2.5)
    ]
    fits = [partial(projection, estimator) for estimator in grid]
    found = []
    for seed in protocol.SEEDS:
        train, test = protocol.split(X, groups, seed)
        chosen = grid[fits.index(protocol.select(fits, train, seed))]
        model = chosen.fit_moments(train.moments)
        options = {"rule": "published", "random_state": seed}
        found.append(linear_leakage(model, test.X, test.groups, **options))
    assert np.mean(found) == pytest.approx(LEAKAGE[name, "rfpca"][0], abs=0.006)
