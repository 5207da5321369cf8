"""Dask collections of every kind: what memory answers they answer, what it refuses they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fairspan import GroupMoments, RobustFairPCA
from fairspan.sources import moments_from_dask
from tests.hardening import inputs
from tests.hardening.law import REFUSED, outcome

pytestmark = pytest.mark.fuzz

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

pd = inputs.pd
X, GROUPS = inputs.good()
MODEL = RobustFairPCA(2).fit(X, sensitive_features=GROUPS)
PARTS = 3


@pytest.fixture(autouse=True)
def one_thread():
    """Tasks run where the test can look at what they raise."""
    with dask.config.set(scheduler="sync"):
        yield


def lazy(values: Any) -> Any:
    """The same in three parts, or None for what Dask does not take."""
    if isinstance(values, pd.DataFrame | pd.Series):
        return dd.from_pandas(values, npartitions=PARTS, sort=False)
    if isinstance(values, np.ndarray) and values.ndim:
        rows = -(-len(values) // PARTS) or 1
        return da.from_array(values, chunks=(rows, *values.shape[1:]))
    return None


def wrapped(kinds: dict[str, Any], make: Any) -> list[str]:
    """Names of those kinds that Dask takes."""
    return [name for name in kinds if _is_taken(make(name))]


def _is_taken(values: Any) -> bool:
    return isinstance(values, pd.DataFrame | pd.Series | np.ndarray) and np.ndim(values) > 0


def assert_same(found: Any, expected: Any) -> None:
    """The same moments up to rounding, or both refused."""
    assert (found is REFUSED) == (expected is REFUSED)
    if found is not REFUSED:
        assert repr(found.labels) == repr(expected.labels)  # A label may be the decimal NaN.
        size = np.abs(expected.scatters).max()
        np.testing.assert_allclose(found.scatters, expected.scatters, rtol=1e-9, atol=1e-9 * size)


@pytest.mark.parametrize("name", wrapped(inputs.TABLES, inputs.table))
def test_a_table_in_parts_gives_the_moments_of_the_whole_or_is_refused_like_it(name):
    table = inputs.table(name)
    n = len(table)
    groups = pd.Series(np.array(["a", "b"] * n)[:n], getattr(table, "index", None))
    labels = lazy(groups) if isinstance(table, pd.DataFrame | pd.Series) else groups.to_numpy()
    expected = outcome(GroupMoments.from_arrays, table, groups)
    assert_same(outcome(GroupMoments.from_arrays, lazy(table), labels), expected)


@pytest.mark.parametrize("name", [name for name in inputs.LABELS if name != "objects"])
def test_labels_beside_a_table_in_parts_are_read_as_beside_the_whole(name):
    expected = outcome(GroupMoments.from_arrays, X, inputs.labels(name))
    assert_same(outcome(GroupMoments.from_arrays, lazy(X), inputs.labels(name)), expected)


@pytest.mark.parametrize("name", wrapped(inputs.LABELS, inputs.labels))
def test_labels_in_parts_are_read_as_the_whole(name):
    labels = inputs.labels(name)
    expected = outcome(GroupMoments.from_arrays, X, labels)
    assert_same(outcome(GroupMoments.from_arrays, lazy(X), lazy(labels)), expected)


@pytest.mark.parametrize("name", inputs.WEIGHTS)
def test_weights_count_as_in_memory(name):
    weights = inputs.WEIGHTS[name](len(X))
    expected = outcome(GroupMoments.from_arrays, X, GROUPS, sample_weight=weights)
    for given in (weights, lazy(weights)):
        if given is not None or weights is None:
            found = outcome(GroupMoments.from_arrays, lazy(X), GROUPS, sample_weight=given)
            assert_same(found, expected)


# Rows are scored one by one in memory, and by their moments here, whose range is smaller.
BEYOND = {"all huge", "squares vanish", "subnormal"}


@pytest.mark.parametrize("name", wrapped(inputs.TABLES, inputs.table))
@pytest.mark.parametrize("method", ["transform", "inverse_transform", "reconstruction_errors"])
def test_a_table_in_parts_is_projected_like_the_whole(name, method):
    table = inputs.table(name)
    expected = outcome(getattr(MODEL, method), table)
    found = outcome(lambda rows: getattr(MODEL, method)(rows).compute(), lazy(table))
    assert (found is REFUSED) == (expected is REFUSED)
    if found is not REFUSED:
        np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize("name", sorted({*wrapped(inputs.TABLES, inputs.table)} - BEYOND))
def test_a_table_in_parts_is_scored_like_the_whole(name):
    table = inputs.table(name)
    expected = outcome(MODEL.score, table)
    found = outcome(MODEL.score, lazy(table))
    assert (found is REFUSED) == (expected is REFUSED)
    if found is not REFUSED:
        assert found == pytest.approx(expected)


def test_a_group_without_weight_is_scored_like_the_whole():
    weight = np.where(GROUPS == "a", 0.0, 1.0)
    expected = MODEL.score(X, sensitive_features=GROUPS, sample_weight=weight)
    for given in (weight, lazy(weight)):
        found = MODEL.score(lazy(X), sensitive_features=GROUPS, sample_weight=given)
        assert found == pytest.approx(expected)
    with pytest.raises(ValueError, match="weight is zero"):
        MODEL.score(lazy(X), sensitive_features=GROUPS, sample_weight=0 * weight)


NAMED = (
    "group", ["group", "other"], "weight", ["text"], ["w"], "w", ("w", "w"), ["w", None],
    ["nothing"], [["w"]], np.array(["w", "x"]), {"text": ["u", "v"]}, {"text": [1, "v"]},
    {"text": "u"}, {"nothing": ["u"]}, {"w": 0.0},
)  # fmt: skip
TABLE = pd.DataFrame(X, columns=list("wxyz")).assign(
    group=GROUPS, other=np.arange(len(X)) % 3, weight=1.0, text=np.array(["u", "v"] * 12)
)
OPTIONS = ["sensitive", "features", "drop", "weight", "one_hot", "missing", "batch_rows", "frame"]


@pytest.mark.parametrize("option", OPTIONS)
def test_an_option_of_any_kind_is_used_or_refused(option):
    usual = {"frame": lazy(TABLE), "sensitive": "group", "features": ["w", "x", "text"]}
    usual["one_hot"] = ["text"]
    for value in (*inputs.ODD, *NAMED):
        found = outcome(moments_from_dask, **{**usual, option: value})
        if found is not REFUSED:
            assert np.isfinite(found.scatters).all()
    assert moments_from_dask(**usual).n_features == 4
