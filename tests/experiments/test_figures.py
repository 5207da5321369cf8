"""Figures: their rows say what the paper says, and the same rows give the same bytes."""

from __future__ import annotations

import numpy as np
import pytest

from fairspan.cli import OK, main
from fairspan.experiments import figures, toy
from fairspan.experiments.curves import components, pareto
from fairspan.experiments.settings import Settings
from fairspan.experiments.sources import resampling, rows_of
from tests.conftest import data_directory, needs_paper_data

pytest.importorskip("matplotlib")


def test_arrows_sweep_from_pca_to_equal_errors_half_a_degree_from_samadi_s():
    rows = toy.arrows("population", 0)
    angles = [row["angle"] for row in rows]
    assert [row["method"] for row in rows] == ["pca", *["rfpca"] * 10, "fairpca"]
    assert angles == sorted(angles)
    assert (angles[0], angles[1]) == pytest.approx((3.4, 3.4), abs=0.05)
    assert angles[-3:] == pytest.approx([29.2, 37.2, 37.7], abs=0.05)
    # The last fairness weight arrives at equal errors.
    assert rows[-2]["error_majority"] == pytest.approx(rows[-2]["error_minority"], rel=1e-6)


def test_radius_rows_cover_all_radii_and_start_at_one_point():
    rows = toy.radius(0, Settings())
    assert len(rows) == len(toy.BASES) * len(toy.ALPHAS)
    scores = np.array([row["score"] for row in rows]).reshape(len(toy.BASES), -1)
    assert np.isfinite(scores).all()
    # A growing radius of the minority moves the direction, and so the score.
    assert np.ptp(scores, axis=1).min() > 0.01


def test_the_same_rows_give_the_same_bytes(tmp_path):
    for name in ("one", "two"):
        folder = tmp_path / name
        words = ["reproduce", "figure1", "--output", str(folder), "--workers", "1"]
        assert main(words) == OK
    first, second = (tmp_path / "one", tmp_path / "two")
    names = sorted(path.name for path in first.glob("figure1.*"))
    assert names == ["figure1.csv", "figure1.png", "figure1.svg"]
    for name in names:
        assert (first / name).read_bytes() == (second / name).read_bytes()


@needs_paper_data
def test_errors_against_components_fall_and_are_drawn():
    rows = components("e_coli", 0, Settings())
    assert sorted({row["k"] for row in rows}) == [2, 4, 6]
    mine = [row for row in rows if row["method"] == "pca" and row["group"] == 0]
    errors = [row["error_in_sample"] for row in mine]
    assert errors == sorted(errors, reverse=True)
    assert len(figures.draw_components(rows).axes) == 2


@needs_paper_data
def test_trade_offs_cover_each_grid_and_are_drawn():
    names = ("pca", "rfpca", "cfpca-mean", "fairpca")
    rows = [row for name in names for row in pareto("e_coli", name, Settings())]
    assert len(rows) == 1 + 18 + 8 + 1
    # Plain PCA has the least error of all on the data it is fitted to.
    assert min(row["are"] for row in rows) == pytest.approx(rows[0]["are"], rel=1e-9)
    axes = figures.draw_pareto(rows).axes[0]
    assert (axes.get_xscale(), axes.get_xlabel()) == ("log", "ARE (log scale)")
    # Ticks can be read on every panel, however narrow its range.
    low, high = axes.get_xlim()
    assert len([tick for tick in axes.get_xticks() if low <= tick <= high]) >= 2


def test_points_are_dominated_by_better_ones_only():
    rows = [{"are": are, "abdiff": abdiff} for are, abdiff in ((1.0, 2.0), (2.0, 1.0), (2.5, 2.5))]
    found = [figures._is_dominated((row["are"], row["abdiff"]), rows) for row in rows]
    assert found == [False, False, True]


def test_arrows_carry_their_weights_and_groups_their_markers():
    arrows = toy.arrows("population", 0) + toy.arrows("sample", 0)
    figure = figures.draw_toy(toy.points(0), arrows)
    for axes in figure.axes:
        texts = {text.get_text() for text in axes.texts}
        assert {f"{weight:g}" for weight in toy.WEIGHTS} <= texts
        assert axes.get_xlabel() == "first feature"
        first, second = (points.get_paths()[0].vertices for points in axes.collections)
        assert first.shape != second.shape


def test_resampling_keeps_constants_and_the_mean_brightness():
    for n in (49, 36):
        weights = resampling(n, 24)
        np.testing.assert_allclose(weights.sum(axis=1), 1.0)
        # Each old pixel counts about as much as any other.
        np.testing.assert_allclose(weights.sum(axis=0)[4:-4], 24 / n, rtol=0.06)
    np.testing.assert_allclose(resampling(24, 24), np.eye(24), atol=1e-12)


@pytest.mark.skipif(
    data_directory() is None or not (data_directory() / "lfw_faces_49x36.npz").exists(),
    reason="needs the faces in FAIRSPAN_DATA",
)
def test_faces_are_two_thousand_of_each_sex_at_24_by_24():
    faces = rows_of("lfw", 3, Settings())
    assert faces.X.shape == (4000, 576)
    assert np.bincount(faces.groups).tolist() == [2000, 2000]
    assert -0.2 < faces.X.min() < 0.1
    assert 0.9 < faces.X.max() < 1.3
    assert not np.array_equal(faces.X, rows_of("lfw", 4, Settings()).X)
