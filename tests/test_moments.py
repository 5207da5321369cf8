"""Group moments: the same numbers for any chunking, order, layout and thread count."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from fairspan import GroupMoments


def reference_moments(X, groups, weights=None):
    """Weights, means, scatters around the group's mean, in extended precision, row by row."""
    X = np.asarray(X, dtype=np.longdouble)
    weights = np.ones(len(X)) if weights is None else np.asarray(weights)
    result = {}
    for label in sorted(set(np.asarray(groups).tolist())):
        rows = np.flatnonzero(np.asarray(groups) == label)
        total = weights[rows].sum()
        mean = sum(weights[i] * X[i] for i in rows) / total
        scatter = np.zeros((X.shape[1], X.shape[1]), dtype=np.longdouble)
        for i in rows:
            scatter += weights[i] * np.outer(X[i] - mean, X[i] - mean)
        result[label] = total, mean, scatter
    return result


def assert_close(found, expected, tolerance: float = 1e-12):
    """Equal up to a share of the largest entry."""
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * np.abs(expected).max())


def assert_equal_moments(left: GroupMoments, right: GroupMoments, tolerance: float = 1e-12):
    assert left.labels == right.labels
    assert np.array_equal(left.counts, right.counts)
    assert left.weights == pytest.approx(right.weights, rel=tolerance)
    assert left.squared_weights == pytest.approx(right.squared_weights, rel=tolerance)
    size = np.sqrt(np.abs(right.second_moments).max()) or 1.0
    assert left.means == pytest.approx(right.means, rel=tolerance, abs=tolerance * size)
    assert_close(left.scatters, right.scatters, tolerance)
    assert_close(left.second_moments, right.second_moments, tolerance)


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((403, 6)) @ rng.standard_normal((6, 6)) + 5 * rng.standard_normal(6)
    return X, rng.choice(["a", "b", "c"], 403, p=[0.6, 0.35, 0.05])


def test_moments_are_those_of_a_loop_over_rows(table):
    X, groups = table
    moments = GroupMoments.from_arrays(X, groups)
    assert moments.labels == ("a", "b", "c")
    grand_mean = X.mean(axis=0)
    for a, (total, mean, scatter) in enumerate(reference_moments(X, groups).values()):
        assert moments.weights[a] == moments.counts[a] == moments.squared_weights[a] == total
        assert moments.shares[a] == pytest.approx(total / len(X))
        assert moments.means[a] == pytest.approx(mean.astype(float), rel=1e-12)
        assert moments.scatters[a] == pytest.approx(scatter.astype(float), abs=1e-10)
        rows = X[groups == moments.labels[a]] - grand_mean
        assert moments.second_moments[a] == pytest.approx(rows.T @ rows / total, abs=1e-11)
    assert moments.mean == pytest.approx(grand_mean, rel=1e-12)
    assert moments.variances == pytest.approx(X.var(axis=0), rel=1e-12)
    pooled = np.einsum("a,aij->ij", moments.shares, moments.second_moments)
    assert pooled == pytest.approx(np.cov(X.T, ddof=0), abs=1e-11)


@pytest.mark.parametrize("sizes", [[1] * 403, [403], [1, 402], [7] * 57 + [4], [200, 3, 200]])
def test_any_chunking_in_any_order_gives_the_same_moments(table, sizes):
    X, groups = table
    ends = np.cumsum(sizes)
    assert ends[-1] == len(X)
    chunks = [
        GroupMoments.from_arrays(X[end - size : end], groups[end - size : end])
        for size, end in zip(sizes, ends, strict=True)
    ]
    whole = GroupMoments.from_arrays(X, groups)
    assert_equal_moments(sum(chunks), whole)
    assert_equal_moments(sum(reversed(chunks)), whole)


@pytest.mark.parametrize("d", [3, 64, 255, 256, 530])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_layout_gives_the_same_moments(d, dtype, tmp_path):
    rng = np.random.default_rng(d)
    n_rows = 3001
    X = (rng.standard_normal((n_rows, d)) * 3 + rng.standard_normal(d) * 40).astype(dtype)
    groups = rng.integers(0, 3, n_rows)
    centred = X.astype(float) - X.mean(axis=0, dtype=float)
    parts = [centred[groups == a] for a in range(3)]
    expected = np.array([part.T @ part / len(part) for part in parts])
    mapped = np.memmap(tmp_path / "X", dtype=dtype, mode="w+", shape=X.shape)
    mapped[:] = X
    wide = np.zeros((n_rows, 2 * d), dtype=dtype)
    wide[:, ::2] = X
    layouts = {"C": X, "F": np.asfortranarray(X), "map": mapped, "strided": wide[:, ::2]}
    layouts["backwards"] = X[::-1].copy()[::-1]
    for layout in layouts.values():
        found = GroupMoments.from_arrays(layout, groups)
        assert_close(found.second_moments, expected)
        assert np.array_equal(found.scatters, found.scatters.transpose(0, 2, 1))
    assert np.array_equal(X, wide[:, ::2])


@pytest.mark.parametrize("n_groups", [1, 2, 4, 7])
@pytest.mark.parametrize("layout", [np.ascontiguousarray, np.asfortranarray])
def test_rows_stay_with_their_weights_when_they_are_arranged_by_group(n_groups, layout):
    rng = np.random.default_rng(n_groups)
    # Several blocks, the last of another size; the last block has no row of the last group.
    X, codes = layout(rng.standard_normal((9001, 64))), rng.integers(0, n_groups, 9001)
    codes[8192:] = np.minimum(codes[8192:], max(n_groups - 2, 0))
    weight, before = rng.random(9001), X.copy()
    found = GroupMoments.from_arrays(X, codes, sample_weight=weight)
    for a in range(n_groups):
        rows = X[codes == a]
        mean = np.average(rows, axis=0, weights=weight[codes == a])
        scatter = ((rows - mean) * weight[codes == a, None]).T @ (rows - mean)
        assert_close(found.means[a], mean)
        assert_close(found.scatters[a], scatter)
    assert np.array_equal(X, before)


@pytest.mark.parametrize("d", [20, 300])
def test_the_number_of_threads_does_not_change_the_moments(d):
    rng = np.random.default_rng(d)
    X, groups = rng.standard_normal((5000, d)), rng.integers(0, 2, 5000)
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            found.append(GroupMoments.from_arrays(X, groups))
    assert_equal_moments(*found)


@pytest.mark.parametrize("d", [4, 260])
@pytest.mark.parametrize("order", ["C", "F"])
def test_integer_weights_equal_repeated_rows(d, order):
    rng = np.random.default_rng(1)
    X, groups = rng.standard_normal((600, d)) + 7, rng.choice(["u", "v"], 600)
    repeats = rng.integers(0, 4, 600)
    weighted = GroupMoments.from_arrays(np.asarray(X, order=order), groups, sample_weight=repeats)
    repeated = GroupMoments.from_arrays(np.repeat(X, repeats, axis=0), np.repeat(groups, repeats))
    assert weighted.weights == pytest.approx(repeated.weights)
    assert weighted.shares == pytest.approx(repeated.shares)
    assert weighted.mean == pytest.approx(repeated.mean)
    assert_close(weighted.scatters, repeated.scatters)
    assert weighted.squared_weights == pytest.approx(
        [np.sum(repeats[groups == label] ** 2) for label in ("u", "v")]
    )


def test_fractional_weights_are_those_of_a_loop(table):
    X, groups = table
    weights = np.random.default_rng(3).exponential(1.0, len(X))
    moments = GroupMoments.from_arrays(X, groups, sample_weight=weights)
    for a, (total, mean, scatter) in enumerate(reference_moments(X, groups, weights).values()):
        assert moments.weights[a] == pytest.approx(float(total))
        assert moments.means[a] == pytest.approx(mean.astype(float), rel=1e-12)
        assert moments.scatters[a] == pytest.approx(scatter.astype(float), abs=1e-10)


@pytest.mark.parametrize("n_chunks", [1, 1000])
def test_a_feature_offset_of_1e8_costs_no_digits(n_chunks):
    # Multiples of 2^-20 below 2^26 are exact beside 1e8, so the moments must be those of the
    # data without the offset; every chunk has a different shift.
    rng = np.random.default_rng(5)
    near = np.round(rng.standard_normal((20_000, 4)) * 2**18) / 2**20
    groups = rng.integers(0, 2, len(near))
    near[groups == 1] += np.array([2.0, 0.0, -1.0, 0.5])
    far = near + 1e8 * np.array([1.0, -1.0, 1.0, 0.0])
    assert np.array_equal(far - 1e8 * np.array([1.0, -1.0, 1.0, 0.0]), near)
    parts = np.array_split(np.arange(len(near)), n_chunks)
    found = sum(GroupMoments.from_arrays(far[rows], groups[rows]) for rows in parts)
    exact = near.astype(np.longdouble)
    exact -= exact.mean(axis=0)
    for a in (0, 1):
        rows = exact[groups == a]
        expected = np.einsum("ni,nj->ij", rows, rows) / len(rows)
        error = np.abs(found.second_moments[a] - expected).max() / np.abs(expected).max()
        assert error <= 1e-13


def test_a_feature_of_zeros_stays_at_zero_where_others_are_far_from_it():
    rng = np.random.default_rng(6)
    X, groups = rng.normal(1e3, 1.0, (500, 3)), rng.integers(0, 2, 500)
    X[:, 0] = 0.0
    moments = GroupMoments.from_arrays(X, groups)
    for a, (_, mean, scatter) in enumerate(reference_moments(X, groups).values()):
        assert moments.means[a] == pytest.approx(mean.astype(float), rel=1e-12)
        assert moments.scatters[a] == pytest.approx(scatter.astype(float), abs=1e-8)


def test_groups_beyond_256_are_not_mixed_up():
    rng = np.random.default_rng(7)
    groups = rng.permutation(np.repeat(np.arange(600), 4))
    X = rng.standard_normal((len(groups), 3)) + groups[:, None]
    means = GroupMoments.from_arrays(X, groups).means
    assert_close(means, np.array([X[groups == a].mean(axis=0) for a in range(600)]))


def test_a_group_that_appears_late_is_added_in_its_place(table):
    X, groups = table
    parts = [GroupMoments.from_arrays(X[groups == g], groups[groups == g]) for g in ("c", "a", "b")]
    assert_equal_moments(sum(parts), GroupMoments.from_arrays(X, groups))


def test_scaled_moments_are_those_of_scaled_rows(table):
    X, groups = table
    scale = np.array([0.1, 1.0, 2.0, 30.0, 4.0, 0.5])
    scaled = GroupMoments.from_arrays(X, groups).scaled(scale)
    assert_equal_moments(scaled, GroupMoments.from_arrays(X / scale, groups))


def test_one_group_holds_all_rows_without_sensitive_features(table):
    X, _ = table
    moments = GroupMoments.from_arrays(X)
    assert moments.n_groups == 1
    assert moments.second_moments[0] == pytest.approx(np.cov(X.T, ddof=0), abs=1e-11)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_give_their_feature_names_and_integers_are_converted(library):
    frame = pytest.importorskip(library).DataFrame
    X = {"height": [1, 2, 4], "weight": [3, 5, 9]}
    moments = GroupMoments.from_arrays(frame(X), ["a", "b", "b"])
    assert moments.feature_names == ("height", "weight")
    assert moments.means == pytest.approx(np.array([[1.0, 3.0], [3.0, 7.0]]))
    assert repr(moments) == "GroupMoments(2 groups, 3 rows, 2 features)"


def test_moments_of_other_features_cannot_be_added():
    pd = pytest.importorskip("pandas")
    one = GroupMoments.from_arrays(pd.DataFrame({"a": [1.0, 2.0], "b": [0.0, 3.0]}))
    other = GroupMoments.from_arrays(pd.DataFrame({"b": [1.0, 2.0], "a": [0.0, 3.0]}))
    with pytest.raises(ValueError, match="feature 0 is 'a' on the left and 'b' on the right"):
        one + other
    with pytest.raises(ValueError, match="2 and of 3 features"):
        one + GroupMoments.from_arrays(np.ones((2, 3)))
    with pytest.raises(TypeError, match="unsupported operand"):
        one + 1


LABELS = [
    ("a", "b"),
    (0, 1),
    (False, True),
    (1.5, 2.5),
    (("f", 1), ("m", 2)),
    (np.datetime64("2020-01"), np.datetime64("2021-02")),
    (b"a", b"b"),
    (date(2020, 1, 1), date(2021, 1, 1)),
    (datetime(2020, 1, 1, 12), datetime(2021, 1, 1, tzinfo=UTC)),
]


@pytest.mark.parametrize("labels", LABELS, ids=str)
def test_saved_moments_are_read_back_in_every_bit(labels, tmp_path):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, 50)
    X = pd.DataFrame(rng.standard_normal((50, 3)) + 1e6, columns=["x", "y", "z"])
    moments = GroupMoments.from_arrays(X, [labels[code] for code in codes])
    moments.save(tmp_path / "moments")
    back = GroupMoments.load(tmp_path / "moments")
    assert [path.name for path in tmp_path.iterdir()] == ["moments"]
    assert back.labels == moments.labels == labels
    assert [type(label) for label in back.labels] == [type(label) for label in labels]
    assert back.feature_names == ("x", "y", "z")
    for name in ("counts", "weights", "squared_weights", "shift", "offsets", "scatters"):
        assert np.array_equal(getattr(back, name), getattr(moments, name))
        assert getattr(back, name).dtype == getattr(moments, name).dtype


def test_labels_that_cannot_be_saved_are_refused_and_the_old_file_stays(tmp_path):
    pd = pytest.importorskip("pandas")
    path = tmp_path / "moments"
    path.write_text("old")
    stamps = [pd.Timestamp("2020-01-01"), pd.Timestamp("2021-01-01")] * 2
    with pytest.raises(TypeError, match="is a Timestamp, which cannot be saved; use strings"):
        GroupMoments.from_arrays(np.eye(4)[:, :2], stamps).save(path, min_count=1)
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["moments"]


def test_wide_moments_are_saved_in_their_basis(tmp_path):
    X = np.random.default_rng(0).standard_normal((20, 300))
    moments = GroupMoments.from_arrays(X, ["a", "b"] * 10)
    moments.save(tmp_path / "moments")
    back = GroupMoments.load(tmp_path / "moments")
    assert back.basis is not None
    assert np.array_equal(back.basis, moments.basis)
    assert np.array_equal(back.second_moments, moments.second_moments)
    assert (tmp_path / "moments").stat().st_size < 300 * 300 * 8


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"weights": np.array([1.0, -1.0])}, "have no weight"),
        ({"weights": np.array([1.0])}, "array 'weights' has shape"),
        ({"offsets": np.full((2, 2), np.nan)}, "array 'offsets' has values that are not finite"),
        ({"scatters": np.arange(8.0).reshape(2, 2, 2)}, "not symmetric"),
        ({"labels": (1, 1)}, "listed twice"),
        ({"feature_names": ("x",)}, "1 feature names for 2 features"),
        ({"shift": None}, "cannot be read as group moments"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_moments_that_no_data_has_are_refused_with_a_sentence(change, text, tmp_path):
    path = tmp_path / "moments.npz"
    moments = GroupMoments.from_arrays(np.eye(4)[:, :2], [0, 0, 1, 1])
    replace(moments, **change).save(path, min_count=1)
    with pytest.raises(ValueError, match=text):
        GroupMoments.load(path)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"content.moments.weights": np.array([3.0, 2.0])}, "does not match its hash"),
        ({"header": np.array('{"format": "other"}')}, "an .npz file that fairspan did not write"),
        ({"header": np.array("not json")}, "cannot be read as group moments"),
        ({"header": np.array([{}], dtype=object)}, "not numbers or text"),
        ({"header": None}, "an .npz file that fairspan did not write"),
        ({"content.moments.shift": None}, "does not match its hash"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_an_edited_file_is_refused_with_a_sentence(change, text, tmp_path):
    path = tmp_path / "moments.npz"
    GroupMoments.from_arrays(np.eye(4)[:, :2], [0, 0, 1, 1]).save(path, min_count=1)
    with np.load(path) as file:
        fields = dict(file) | change
    np.savez(path, **{name: value for name, value in fields.items() if value is not None})
    with pytest.raises(ValueError, match=text):
        GroupMoments.load(path)


def test_what_is_not_a_file_of_moments_is_refused(tmp_path):
    (tmp_path / "text").write_text("hello")
    with pytest.raises(ValueError, match=r"read as group moments: it is not an \.npz file"):
        GroupMoments.load(tmp_path / "text")
    with pytest.raises(FileNotFoundError):
        GroupMoments.load(tmp_path / "absent")


def test_moments_with_and_without_names_are_not_added():
    pd = pytest.importorskip("pandas")
    X, groups = np.eye(3), [0, 0, 1]
    named = GroupMoments.from_arrays(pd.DataFrame(X, columns=["x", "y", "z"]), groups)
    plain = GroupMoments.from_arrays(X, groups)
    for left, right in ((named, plain), (plain, named)):
        with pytest.raises(ValueError, match=r"with feature names .* and moments without"):
            left + right


def test_weights_that_are_no_weights_are_refused_in_words():
    X = np.eye(3)
    with pytest.raises(ValueError, match="sample_weight=2 is a single number"):
        GroupMoments.from_arrays(X, [0, 0, 1], sample_weight=2)
    dates = np.array(["2020-01-01"] * 3, "datetime64[D]")
    with pytest.raises(ValueError, match="convert dates and durations to numbers"):
        GroupMoments.from_arrays(np.array([[date] * 2 for date in dates], object), [0, 0, 1])
    pl = pytest.importorskip("polars")
    with pytest.raises(ValueError, match="sample_weight has dtype Date, which is not numeric"):
        GroupMoments.from_arrays(X, [0, 0, 1], sample_weight=pl.Series(dates))
