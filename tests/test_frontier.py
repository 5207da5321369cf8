"""The trade-off curve and the attainable region: complete, enclosed, and drawn."""

from __future__ import annotations

import itertools
import math
import sys

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning

from fairspan import GroupMoments, RobustFairPCA
from fairspan.estimators.exact import ExactlyFairPCA
from fairspan.frontier.frontier import fairness_frontier
from tests import reference
from tests.conftest import PAPER_FILES, needs_paper_data, paper_table, standardised


@pytest.fixture(scope="module")
def cancer():
    data = load_breast_cancer()
    return data.data, data.target_names[data.target]


@pytest.fixture(scope="module")
def frontier(cancer):
    X, groups = cancer
    return fairness_frontier(X, 3, sensitive_features=groups, standardize=True)


def moments_of(second_moments, weights) -> GroupMoments:
    """Group moments around a common mean of zero."""
    weights = np.asarray(weights, float)
    d = second_moments.shape[1]
    return GroupMoments(
        labels=("a", "b"),
        counts=weights.astype(int),
        weights=weights,
        squared_weights=weights,
        shift=np.zeros(d),
        offsets=np.zeros((2, d)),
        scatters=second_moments * weights[:, None, None],
    )


def some_moments(seed):
    rng = np.random.default_rng(seed)
    d = 2 if seed % 4 == 0 else int(rng.integers(3, 8))
    second = reference.random_moments(rng, 2, d)
    if seed % 4 == 1:
        second = np.array([np.diag(np.diag(moment)) for moment in second])
    sizes = rng.integers(20, 400, 2)
    return moments_of(second, sizes), second, sizes / sizes.sum(), d


def outside(polygon, points):
    """How far points lie outside a convex polygon whose corners run counterclockwise."""
    length = np.linalg.norm(np.roll(polygon, -1, axis=0) - polygon, axis=1)
    # Edges as short as rounding have no direction.
    start = polygon[length > 1e-9 * np.abs(polygon).max()]
    edge = np.roll(start, -1, axis=0) - start
    edge /= np.linalg.norm(edge, axis=1)[:, None]
    apart = points[:, None, :] - start
    return (apart[..., 0] * edge[:, 1] - apart[..., 1] * edge[:, 0]).max(axis=1)


def below(curve, gap, total):
    """How far points lie below a path of gaps and total errors, from PCA to the smallest gap."""
    x, y = curve[::-1].T
    # Beyond PCA's gap the least total error is PCA's.
    return np.interp(gap, x, y) - total


def attained_by_commuting(second, k):
    """Errors of all coordinate subspaces, which every other subspace mixes."""
    diagonals = np.array([np.diag(moment) for moment in second])
    d = diagonals.shape[1]
    lost = itertools.combinations(range(d), d - k)
    return np.array([diagonals[:, list(rest)].sum(axis=1) for rest in lost])


def attained_errors(rng, second, k, n=400):
    """Errors of random subspaces and of those close to eigenspaces of mixed moments."""
    d = second.shape[1]
    found = [reference.random_subspace(rng, d, k) for _ in range(n)]
    for t in rng.uniform(0, 2 * np.pi, n):
        V = np.linalg.eigh(np.cos(t) * second[0] + np.sin(t) * second[1])[1][:, -k:]
        found.append(np.linalg.qr(V + rng.choice([0, 1e-2]) * rng.standard_normal((d, k)))[0])
    return np.array([reference.group_errors(second, V) for V in found])


@pytest.mark.parametrize("seed", range(16))
def test_no_subspace_leaves_the_region_or_lies_below_the_curve(seed):
    moments, second, shares, d = some_moments(seed)
    rng = np.random.default_rng(100 + seed)
    for k in range(1, d):
        found = fairness_frontier(moments, k)
        errors = attained_errors(rng, second, k)
        rounding = 1e-9 * np.trace(second.sum(axis=0))
        assert outside(found.region.outer, errors).max() <= rounding
        assert outside(found.region.outer, found.region.inner).max() <= rounding
        gap, total = np.abs(errors[:, 0] - errors[:, 1]), errors @ shares
        assert gap.min() >= found.gap[-1] - rounding
        assert below(found.curve.outer, gap, total).max() <= rounding


@pytest.mark.parametrize("seed", range(16))
def test_polygons_and_paths_differ_by_no_more_than_stated(seed):
    moments, second, shares, d = some_moments(seed)
    for k in range(1, d):
        found = fairness_frontier(moments, k)
        scale = shares @ np.trace(second, axis1=1, axis2=2)
        assert found.region.accuracy <= 1.01e-3 * scale
        assert outside(found.region.inner, found.region.outer).max() <= (
            found.region.accuracy + 1e-9 * scale
        )
        ends = np.linalg.norm(found.group_errors[0] - found.group_errors[-1])
        assert found.curve.accuracy <= 2e-4 * ends + 1e-9 * scale
        inner, outer = found.curve.inner, found.curve.outer
        expected = np.column_stack([found.gap, found.total_error])
        assert inner == pytest.approx(expected, abs=1e-9 * scale)
        assert np.all(np.diff(outer[:, 1]) >= -1e-9 * scale)


def test_the_curve_leads_from_pca_to_equal_errors_and_every_point_is_proved(cancer, frontier):
    X, groups = cancer
    data = {"sensitive_features": groups}
    pca = RobustFairPCA(3, fairness_weight=0.0, radius=0.0, standardize=True).fit(X, **data)
    fair = ExactlyFairPCA(3, standardize=True).fit(X, **data)
    assert frontier.group_errors[0] == pytest.approx(pca.group_errors_)
    assert frontier.group_errors[-1] == pytest.approx(fair.group_errors_)
    assert frontier.fairness_weight[0] == 0
    assert frontier.fairness_weight[-1] == pytest.approx(fair.fairness_weight_threshold_)
    assert np.all(np.diff(frontier.fairness_weight) > 0)
    assert np.all(np.diff(frontier.gap) < 0)
    assert np.all(np.diff(frontier.total_error) > -1e-12)
    assert np.all(frontier.optimality_gap <= 1e-8)
    assert frontier.group_labels == ("benign", "malignant")
    assert len(frontier.gap) <= 200


def test_points_of_the_curve_are_what_the_estimator_finds(cancer, frontier):
    X, groups = cancer
    for i in range(0, len(frontier.gap), 15):
        model = RobustFairPCA(
            3, fairness_weight=frontier.fairness_weight[i], radius=0.0, standardize=True
        ).fit(X, sensitive_features=groups)
        assert model.objective_ == pytest.approx(frontier.objective[i], rel=1e-8)
        assert frontier.lower_bound[i] <= model.objective_


def test_without_a_fair_subspace_the_curve_ends_at_the_smallest_gap(cancer):
    X, groups = cancer
    found = fairness_frontier(X, 1, sensitive_features=groups, standardize=True)
    assert found.gap[-1] == pytest.approx(6.1697, abs=5e-5)
    assert found.fairness_weight[-1] == math.inf
    assert found.optimality_gap.max() <= 1e-8
    assert np.all(np.diff(found.gap) < 0)


@pytest.mark.parametrize("seed", range(2, 60, 5))
def test_curves_with_straight_parts_end_inside_them(seed):
    """Moments that commute: every part of the curve is straight, and the end lies inside one."""
    rng = np.random.default_rng(seed)
    second = np.array([np.diag(np.round(4 * rng.exponential(1.0, 5)) / 4) for _ in range(2)])
    Q = np.linalg.qr(rng.standard_normal((5, 5)))[0]
    for k in (1, 2, 3):
        found = fairness_frontier(moments_of(Q @ second @ Q.T, [30, 70]), k)
        assert found.optimality_gap.max() <= 1e-8
        assert np.all(np.diff(found.gap) <= 1e-9)
        corners = attained_by_commuting(second, k)
        gap, total = np.abs(corners[:, 0] - corners[:, 1]), corners @ [0.3, 0.7]
        assert below(found.curve.outer, gap, total).max() <= 1e-9
        reached = np.interp(gap, *found.curve.inner[::-1].T)
        assert np.abs(reached - total).min() <= 1e-9


def test_groups_of_equal_moments_have_a_curve_of_one_point():
    M = reference.random_moments(np.random.default_rng(0), 1, 4)[0]
    found = fairness_frontier(moments_of(np.array([M, M]), [10, 30]), 2)
    assert len(found.gap) == 1
    assert found.gap[0] <= 1e-12
    assert found.total_error[0] == pytest.approx(np.linalg.eigvalsh(M)[:2].sum())


def test_all_components_leave_no_error(cancer):
    X, groups = cancer
    found = fairness_frontier(X[:, :4], 4, sensitive_features=groups, fairness_weights=[0, 1])
    assert found.group_errors == pytest.approx(np.zeros((2, 2)), abs=1e-9)


def test_a_grid_shares_eigen_solves_and_is_certified(cancer):
    X, groups = cancer
    weights, radii = np.linspace(0, 2, 15), [0.0, 0.1, 1.0]
    found = fairness_frontier(
        X,
        3,
        sensitive_features=groups,
        fairness_weights=weights,
        radius=radii,
        standardize=True,
    )
    assert found.fairness_weight == pytest.approx(np.tile(weights, 3))
    assert found.radius == pytest.approx(np.repeat(radii, 15))
    assert found.optimality_gap.max() <= 1e-8
    assert found.n_eigensolves <= 4 * 45
    for i in (3, 20, 44):
        model = RobustFairPCA(
            3,
            fairness_weight=found.fairness_weight[i],
            radius=found.radius[i],
            standardize=True,
        ).fit(X, sensitive_features=groups)
        assert found.objective[i] == pytest.approx(model.objective_, rel=1e-8)


def test_more_than_two_groups_give_points_for_each_weight(cancer):
    X, _ = cancer
    groups = np.digitize(X[:, 0], np.quantile(X[:, 0], [0.33, 0.66]))
    weights = [0.0, 0.2, 0.5]
    found = fairness_frontier(
        X[:, 1:], 3, sensitive_features=groups, fairness_weights=weights, standardize=True
    )
    assert found.group_errors.shape == (3, 3)
    assert found.optimality_gap.max() <= 1e-8
    assert np.all(np.diff(found.gap) <= 1e-6)
    assert found.curve is None
    assert found.region is None
    assert len(fairness_frontier(X[:, 1:5], 1, sensitive_features=groups).gap) == 26


def test_points_that_are_not_proved_are_warned_of(cancer, monkeypatch):
    X, groups = cancer
    monkeypatch.setattr("fairspan.solvers.door.SolverOptions.tol", 1e-16)
    monkeypatch.setattr("fairspan.problem.subspace.SubspaceProblem.resolution", lambda *_: 0.0)
    with pytest.warns(ConvergenceWarning, match="not proved optimal"):
        fairness_frontier(X, 3, sensitive_features=groups, standardize=True)


def test_a_frontier_has_no_intervals_from_the_rows_of_its_fits(cancer):
    X, groups = cancer
    with pytest.warns(FutureWarning, match=r"n_bootstrap is deprecated .* fairspan\.inference"):
        found = fairness_frontier(X, 1, sensitive_features=groups, n_bootstrap=30)
    assert found.gap_interval is found.total_error_interval is found.group_error_interval is None
    assert not any(name.endswith(("_low", "_high")) for name in found.to_frame().columns)


def test_the_table_has_a_row_for_each_point(frontier, monkeypatch):
    pytest.importorskip("pandas")
    table = frontier.to_frame()
    assert list(table.columns) == [
        "fairness_weight",
        "radius",
        "error_benign",
        "error_malignant",
        "total_error",
        "gap",
        "objective",
        "lower_bound",
        "optimality_gap",
        "status",
        "hidden",
        "dominated",
    ]
    assert len(table) == len(frontier.gap)
    assert (table["error_malignant"] - table["error_benign"]).to_numpy() == pytest.approx(
        frontier.gap, abs=1e-9
    )
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        frontier.to_frame()


def test_the_picture_names_the_groups(cancer, frontier):
    figure = pytest.importorskip("matplotlib.figure")
    X, groups = cancer
    axes = figure.Figure().subplots()
    assert frontier.plot(axes) is axes
    assert axes.get_xlabel() == "gap: error of malignant minus error of benign"
    texts = [text.get_text() for text in axes.texts]
    assert "PCA" in texts
    assert any(text.startswith("equal errors: +4.5 %") for text in texts)
    grid = fairness_frontier(X, 1, sensitive_features=groups, standardize=True, radius=[0, 1.0])
    axes = grid.plot(figure.Figure().subplots())
    assert any(text.get_text().startswith("smallest gap 6.17") for text in axes.texts)
    many = fairness_frontier(
        X, 2, sensitive_features=np.arange(len(X)) % 3, fairness_weights=[0, 0.1], standardize=True
    )
    assert "3 groups" in many.plot(figure.Figure().subplots()).get_xlabel()


def test_drawing_without_matplotlib_names_the_extra(frontier, monkeypatch):
    for name in ("matplotlib", "matplotlib.pyplot"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r"fairspan\[plot\]"):
        frontier.plot()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"sensitive_features": ["a", "b"]}, ValueError, "their own groups"),
        ({"fairness_weights": []}, ValueError, "fairness_weights is empty"),
        ({"fairness_weights": [-1.0]}, ValueError, "fairness_weights=-1.0"),
        ({"radius": "small"}, TypeError, "radius='small'"),
        ({"radius": {"a": 1.0}}, ValueError, "missing groups: 'b'"),
        ({"standardize": "yes"}, TypeError, "standardize='yes'"),
    ],
)
def test_what_moments_cannot_do_and_bad_parameters_are_named(options, error, message):
    moments, *_ = some_moments(2)
    with pytest.raises(error, match=message):
        fairness_frontier(moments, 1, **options)


def test_one_group_has_no_trade_off(cancer):
    with pytest.raises(ValueError, match="needs at least 2"):
        fairness_frontier(cancer[0], 2)


def test_groups_too_small_to_resample_are_refused(cancer, monkeypatch):
    X, _ = cancer
    groups = np.where(np.arange(len(X)) < 2, "tiny", "rest")
    monkeypatch.setattr("fairspan.moments.resampling._DRAWS", 1)
    with pytest.raises(ValueError, match="too few rows to resample"):
        RobustFairPCA(1, radius="bootstrap", n_bootstrap=50, random_state=1).fit(
            X, sensitive_features=groups
        )


@needs_paper_data
@pytest.mark.parametrize("name", PAPER_FILES)
def test_the_papers_curves_are_complete_and_no_scanned_point_is_below_them(name):
    X, groups, _ = paper_table(name)
    second, shares = reference.group_second_moments(standardised(X), groups)
    scan = reference.scan_boundary(second[0], second[1], n_angles=400)
    for k in (k for k in (1, 3, 10) if k < X.shape[1]):
        found = fairness_frontier(X, k, sensitive_features=groups, standardize=True)
        assert found.optimality_gap.max() <= 1e-8
        gap, total = np.abs(scan[:, k, 0] - scan[:, k, 1]), scan[:, k] @ shares
        rounding = 1e-9 * X.shape[1]
        assert below(found.curve.outer, gap, total).max() <= rounding
        assert outside(found.region.outer, scan[:, k]).max() <= rounding


@pytest.mark.parametrize("n_groups", [2, 3])
@pytest.mark.parametrize("radius", [0.0, 0.5])
def test_points_are_the_fits_that_count_groups_in_the_same_way(n_groups, radius):
    rng = np.random.default_rng(n_groups)
    groups = np.array(["a", "b", "c"])[np.minimum(rng.integers(0, 6, 240), n_groups - 1)]
    X = rng.standard_normal((240, 5)) @ rng.standard_normal((5, 5))
    X[groups == "a"] *= [0.5, 1, 2, 1, 1]
    labels = groups if n_groups == 2 else np.where(groups == "c", None, groups)
    counting = {"group_weights": "equal", "missing_groups": "total_only"}
    grid = {"fairness_weights": [0.0, 0.1], "radius": radius}
    frontier = fairness_frontier(X, 2, sensitive_features=labels, **grid, **counting)
    for point, weight in enumerate(grid["fairness_weights"]):
        model = RobustFairPCA(2, fairness_weight=weight, radius=radius, **counting)
        model.fit(X, sensitive_features=labels)
        assert frontier.objective[point] == pytest.approx(model.objective_, rel=1e-7)
        assert frontier.group_errors[point] == pytest.approx(model.group_errors_, rel=1e-4)
        assert frontier.gap[point] == pytest.approx(model.error_gap_, abs=1e-3)
        total = model.total_weights_ @ frontier.group_errors[point]
        assert frontier.weighted_error[point] == pytest.approx(total)
        assert frontier.total_error[point] == pytest.approx(model.total_error_, rel=1e-4)


def test_the_whole_curve_counts_groups_as_it_is_told():
    data = load_breast_cancer()
    groups = data.target_names[data.target]
    table = {"sensitive_features": groups, "standardize": True}
    frontier = fairness_frontier(data.data, 3, **table, group_weights="equal")
    assert frontier.weighted_error == pytest.approx(frontier.group_errors.mean(axis=1))
    usual = fairness_frontier(data.data, 3, **table)
    # Equal errors are the same whoever counts; the best total before that is not.
    assert frontier.total_error[-1] == pytest.approx(usual.total_error[-1], rel=1e-7)
    assert frontier.gap[0] < 0.9 * usual.gap[0]


def test_one_group_beside_rows_without_a_label_has_no_trade_off():
    X = np.random.default_rng(0).standard_normal((40, 3))
    with pytest.raises(ValueError, match="at least 2 groups to compare, but there are 1"):
        fairness_frontier(X, 1, sensitive_features=["a", None] * 20, missing_groups="total_only")


def test_a_frontier_introduces_itself_in_a_line():
    data = load_breast_cancer()
    found = fairness_frontier(data.data, 3, sensitive_features=data.target, standardize=True)
    text = repr(found)
    assert "\n" not in text
    assert "n_components=3, groups 0, 1, gap 1.614 to" in text


def test_the_gap_leaves_out_rows_without_a_label():
    rng = np.random.default_rng(0)
    labels = np.array(["a", "b", None], dtype=object)[rng.integers(0, 3, 300)]
    X = rng.standard_normal((300, 4))
    X[[label is None for label in labels]] *= 10
    found = fairness_frontier(
        X,
        1,
        sensitive_features=labels,
        missing_groups="total_only",
        fairness_weights=[0.0],
    )
    # Rows without a label lose a hundred times as much; the gap of the others is small.
    assert found.group_errors[0, 2] > 100
    assert found.gap[0] < 5
