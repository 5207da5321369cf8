"""Rows that are read again in each pass: the fit in memory, whoever reads and adds them."""

from __future__ import annotations

from functools import partial, reduce
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

from fairspan import ExactlyFairPCA, RobustFairPCA, certify, fairness_frontier, report
from fairspan.products import RowParts, moments_of_parts
from fairspan.products.parts import Block
from fairspan.sources import rows_from_files
from tests.products.rows import made, moments_of
from tests.products.test_solve import steep

SETTING = {"fairness_weight": 0.4, "radius": 1.0, "standardize": True}


def in_one_part(X, groups, weight=None):
    """The fit of rows that are one part in memory; that of the rows themselves agrees with it."""
    model = RobustFairPCA(3, **SETTING).fit(in_parts([Block(X, groups, weight)]))
    plain = RobustFairPCA(3, **SETTING, route="products")
    plain.fit(X, sensitive_features=groups, sample_weight=weight)
    # Blocks of a pass are wider where passes are dear: other steps, and fewer, to one optimum.
    assert model.result_.n_passes < plain.result_.n_passes
    assert model.objective_ == pytest.approx(plain.objective_, rel=2e-8)
    projectors = [one.components_.T @ one.components_ for one in (model, plain)]
    np.testing.assert_allclose(*projectors, rtol=0, atol=1e-4)
    return model


def assert_same_fit(model, expected):
    """The same subspace, by the same passes, and the same claims about it."""
    assert model.route_ == "products"
    assert model.result_.status == "optimal"
    assert model.result_.proof == expected.result_.proof
    assert model.result_.n_passes == expected.result_.n_passes
    projectors = [one.components_.T @ one.components_ for one in (model, expected)]
    np.testing.assert_allclose(*projectors, rtol=0, atol=1e-8)
    assert model.objective_ == pytest.approx(expected.objective_, rel=1e-11)
    assert model.lower_bound_ == pytest.approx(expected.lower_bound_, rel=1e-8)
    assert model.group_labels_ == expected.group_labels_
    for name in ("group_counts_", "group_weights_", "mean_", "scale_", "group_errors_"):
        np.testing.assert_allclose(getattr(model, name), getattr(expected, name), rtol=1e-9)


def in_parts(blocks):
    """Blocks in memory, one for each part."""

    def run(step, add):
        return reduce(add, [step([block]) for block in blocks])

    return RowParts(run, lambda step: step(blocks[:1]), blocks[0].X.shape[1])


def cut(n, pieces=3):
    # A part without rows is a part, too.
    ends = [0, *np.sort(np.random.default_rng(0).integers(1, n, pieces - 1)), n, n]
    return [slice(start, stop) for start, stop in pairwise(ends)]


@pytest.fixture(scope="module")
def rows():
    X, codes = steep(0, n=300, d=80)
    X += 0.5
    # Columns without variation in some parts, and one far from zero.
    X[:, 5] += 1e3
    return X, np.array(["b", "a"])[codes], np.random.default_rng(1).integers(0, 4, 300)


@pytest.mark.parametrize("kind", ["npz", "npy"])
def test_matrices_in_files_give_the_fit_in_one_part(tmp_path, rows, kind):
    X, groups, weight = rows
    if kind == "npz":
        X = np.where(np.random.default_rng(2).random(X.shape) < 0.5, 0.0, X)
    for i, some in enumerate(cut(len(X))):
        if kind == "npz":
            sparse.save_npz(tmp_path / f"rows-{i}.npz", sparse.csc_array(X[some]))
        else:
            np.save(tmp_path / f"rows-{i}.npy", X[some])
        np.save(tmp_path / f"groups-{i}.npy", groups[some])
        np.save(tmp_path / f"weight-{i}.npy", weight[some])
    beside = {name: str(tmp_path / f"{name}-*.npy") for name in ("groups", "weight")}
    source = rows_from_files(tmp_path / f"rows-*.{kind}", beside["groups"], weight=beside["weight"])
    model = RobustFairPCA(3, **SETTING).fit(source)
    assert_same_fit(model, in_one_part(X if kind == "npy" else sparse.csr_array(X), groups, weight))
    assert not hasattr(model, "feature_names_in_")
    assert model.transform(X).shape == (300, 3)


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_tables_in_files_give_the_fit_in_one_part(tmp_path, rows, kind):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    X, groups, weight = rows
    # In text, whole numbers; the types of labels show when all of them are known.
    codes = np.where(groups == "a", 7, 12)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    frame = frame.assign(age=codes, often=weight)
    for i, some in enumerate(cut(len(X))[:3]):
        part = frame.iloc[some]
        path = tmp_path / f"part-{i}.{kind}"
        part.to_parquet(path) if kind == "parquet" else part.to_csv(path, index=False)
    source = rows_from_files(tmp_path, "age", weight="often", batch_rows=70)
    model = RobustFairPCA(3, **SETTING).fit(source)
    assert_same_fit(model, in_one_part(X, codes, weight))
    assert list(model.feature_names_in_[:2]) == ["x0", "x1"]


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_rounding_over_parts_is_within_its_bound(kind):
    X, groups = made(4, n=90, d=12, far=0.5)
    blocks = [Block(kind(X[some]), groups[some]) for some in cut(90, 30)]
    operator = moments_of_parts(in_parts(blocks))
    precise = X.astype(np.longdouble)
    centered = precise - precise.mean(axis=0)
    block = np.linalg.qr(np.random.default_rng(5).standard_normal((12, 6)))[0]
    found = operator.images(block)
    assert operator.passes == 2
    # However they are added: as many numbers as there are parts, and those inside one.
    assert operator.rows.depth[0] >= 29 + max(len(X[some]) for some in cut(90, 30)) // 2
    np.testing.assert_allclose(operator.traces, np.einsum("aii->a", moments_of(X, groups)))
    for a in (0, 1):
        members = centered[groups == a]
        exact = members.T @ (members @ block) / len(members)
        off = float(np.linalg.norm((found[a] - exact).astype(float)))
        assert off <= operator.image_error(6)[a] <= 1e-12 * operator.traces[a]


def test_the_deepest_sums_of_any_pass_count():
    # An engine may add fewer blocks in a later pass than in one whose sums are kept.
    X, groups = made(4, n=90, d=12)
    passes = []

    def run(step, add):
        passes.append(step)
        some = np.array_split(np.arange(90), 90 if len(passes) == 1 else 10)
        return reduce(add, [step([Block(X[i], groups[i])]) for i in some])

    rows = RowParts(run, lambda step: step([Block(X, groups)]), 12)
    operator = moments_of_parts(rows)
    deepest, stated = operator.rows.depth, operator.image_error(3)
    operator.images(np.eye(12)[:, :3])
    assert len(passes) == 2
    assert operator.rows.depth == deepest
    np.testing.assert_array_less(0.999 * stated, operator.image_error(3))


@pytest.mark.parametrize("changed", ["value", "signs", "label", "weight", "zeros", "row"])
@pytest.mark.parametrize("kind", [np.array, sparse.csr_array])
def test_rows_that_change_between_passes_are_refused(changed, kind):
    X, groups = steep(5, n=100, d=20)
    weight, calls = np.ones(100), []
    X[5] = 0.0

    def run(step, add):
        calls.append(step)
        rows, labels, counted = X.copy(), groups.copy(), weight.copy()
        if len(calls) > 1:
            if changed == "value":
                rows[17, 3] *= 1 + 1e-15
            elif changed == "signs":
                rows[:, [3, 4]] *= -1
            elif changed == "zeros":
                labels[5] = 1 - labels[5]
            elif changed == "label":
                labels[[17, 18]] = [1, 0] if groups[17] == 0 else [0, 1]
                assert (labels != groups).any()
            elif changed == "weight":
                counted[[17, 18]] = [0.5, 1.5]
            else:
                rows, labels, counted = rows[1:], labels[1:], counted[1:]
        return step([Block(kind(rows), labels, counted)])

    source = RowParts(run, lambda step: step([Block(kind(X), groups, weight)]), 20)
    with pytest.raises(RuntimeError, match="rows changed between two passes"):
        RobustFairPCA(2, fairness_weight=0.5).fit(source)


def test_the_order_of_rows_and_parts_is_free():
    X, groups = steep(6, n=200, d=60)
    rng, calls = np.random.default_rng(0), []

    def run(step, add):
        calls.append(step)
        order = rng.permutation(200)
        some = np.array_split(order, rng.integers(1, 6))
        return reduce(add, [step([Block(X[i], groups[i])]) for i in some])

    source = RowParts(run, lambda step: step([Block(X, groups)]), 60)
    model = RobustFairPCA(3, **SETTING).fit(source)
    assert_same_fit(model, in_one_part(X, groups))
    assert len(calls) == model.result_.n_passes


def test_what_parts_cannot_do_is_refused():
    X, groups = steep(7, n=60, d=20)
    source = in_parts([Block(X[:30], groups[:30]), Block(X[30:], groups[30:])])
    fit = partial(RobustFairPCA(2, fairness_weight=0.5).fit, source)
    assert fit().n_samples_ == 60
    with pytest.raises(ValueError, match="where they are opened"):
        fit(sensitive_features=groups)
    for other in ({"route": "moments"}, {"order": "nested"}, {"small_groups": "pool"}):
        with pytest.raises(ValueError, match=r"not possible with .*use moments"):
            RobustFairPCA(2, **other).fit(source)
    with pytest.raises(TypeError, match=r"RobustFairPCA\.fit, fairness_frontier, certify"):
        ExactlyFairPCA(2).fit(source)
    with pytest.raises(ValueError, match="A part has 19 features, but the first has 20"):
        moments_of_parts(in_parts([Block(X, groups), Block(X[:, 1:], groups)]))
    with pytest.raises(ValueError, match="no rows to fit"):
        moments_of_parts(in_parts([Block(X[:0], groups[:0])]))
    with pytest.raises(ValueError, match="zero for every row of group 1"):
        moments_of_parts(in_parts([Block(X, groups, 1.0 - groups)]))
    X[3, 2] = np.nan
    with pytest.raises(ValueError, match=r"NaN or infinity \(columns with such values: 2\)"):
        moments_of_parts(in_parts([Block(X, groups)]))


def test_files_that_do_not_fit_together_are_refused(tmp_path):
    X, groups = steep(8, n=40, d=20)
    path, labels = str(tmp_path / "rows.npz"), str(tmp_path / "groups.npy")
    sparse.save_npz(path, sparse.csr_array(X))
    np.save(labels, groups[:-1])
    with pytest.raises(ValueError, match=r"shape \(39,\).* has 40 rows"):
        RobustFairPCA(2).fit(rows_from_files(path, labels))
    other = str(tmp_path / "more.npz")
    sparse.save_npz(other, sparse.csr_array(X))
    with pytest.raises(ValueError, match="sensitive has 1 files, but there are 2 matrices"):
        rows_from_files([path, other], [labels])
    with pytest.raises(ValueError, match="holds a file twice"):
        rows_from_files([path, path], [labels, labels])
    with pytest.raises(ValueError, match="no columns to choose from"):
        rows_from_files(path, labels, missing="drop_rows")
    np.savez(tmp_path / "other.npz", a=X)
    with pytest.raises(ValueError, match="cannot be read as a sparse matrix"):
        rows_from_files(tmp_path / "other.npz", labels)


def test_frontiers_and_certificates_of_files_are_those_in_memory(rows, tmp_path):
    X, groups = rows[0], rows[1]
    for i, some in enumerate(np.array_split(np.arange(len(X)), 3)):
        sparse.save_npz(tmp_path / f"rows-{i}.npz", sparse.csr_array(X[some]))
        np.save(tmp_path / f"groups-{i}.npy", groups[some])
    source = rows_from_files(tmp_path / "rows-*.npz", tmp_path / "groups-*.npy")
    weights = {"fairness_weights": (0.0, 0.3, 2.0), "standardize": True}
    found = fairness_frontier(source, 3, **weights)
    known = fairness_frontier(X, 3, sensitive_features=groups, route="products", **weights)
    assert found.route == "products"
    assert (found.group_labels, found.status) == (known.group_labels, known.status)
    for name in ("objective", "lower_bound", "total_error"):
        np.testing.assert_allclose(getattr(found, name), getattr(known, name), rtol=3e-8)
    fitted = in_one_part(X, groups)
    components = fitted.components_
    judged = certify(components, source, **SETTING)
    expected = certify(components, X, sensitive_features=groups, **SETTING)
    assert judged.status == "optimal"
    assert judged.proof == fitted.result_.proof
    assert judged.lower_bound == pytest.approx(expected.lower_bound, rel=2e-8)
    assert judged.objective == pytest.approx(expected.objective, rel=1e-10)
    with pytest.raises(ValueError, match=r"give sensitive=\.\.\. and weight=\.\.\. where"):
        certify(components, source, sensitive_features=groups, **SETTING)
    with pytest.raises(ValueError, match=r"A report needs moments .* fairness_frontier"):
        report.build(source)


def test_frontiers_of_dask_collections_are_those_in_memory(rows):
    da = pytest.importorskip("dask.array")
    dask = pytest.importorskip("dask")
    X, groups = rows[0], rows[1]
    given = {"sensitive_features": groups, "fairness_weights": 0.5, "route": "products"}
    with dask.config.set(scheduler="synchronous"):
        found = fairness_frontier(da.from_array(X, chunks=(90, 20)), 2, **given)
    known = fairness_frontier(X, 2, **given)
    np.testing.assert_allclose(found.objective, known.objective, rtol=1e-10)
    np.testing.assert_allclose(found.lower_bound, known.lower_bound, rtol=1e-8)
