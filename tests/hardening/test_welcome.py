"""What is not quite a plain array of numbers, but means one, is fitted as that array is."""

from __future__ import annotations

import decimal
import tempfile
from typing import Any

import numpy as np
import pytest

from fairspan import GroupMoments, RobustFairPCA
from tests.hardening import inputs

pd, pl, pa = inputs.pd, inputs.pl, inputs.pa
X = np.round(np.random.default_rng(0).normal(0, 8, (40, 4)))
GROUPS = np.array(["a", "b"] * 20)
NAMES = list("wxyz")


def on_disk(values: np.ndarray) -> np.memmap:
    with tempfile.NamedTemporaryFile() as file:
        mapped = np.memmap(file, dtype=values.dtype, shape=values.shape, mode="w+")
        mapped[:] = values
        return mapped


def frame(**columns: Any) -> Any:
    return pd.DataFrame(X, columns=NAMES).assign(**columns)


WELCOME = {
    "list": X.tolist(),
    "integers": X.astype(np.int16),
    "half precision": X.astype(np.float16),
    "big endian": X.astype(">f8"),
    "objects": X.astype(object),
    "decimals": np.array([[decimal.Decimal(int(x)) for x in row] for row in X]),
    "Fortran order": np.asfortranarray(X),
    "negative strides": np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1],
    "a file": on_disk(X),
    "a mask that hides nothing": np.ma.array(X),
    "pandas": frame(),
    "nullable": frame().astype("Int64"),
    "arrow in pandas": frame().astype("int64[pyarrow]"),
    "a category of numbers": frame(w=pd.Categorical(X[:, 0])),
    "a column of objects": frame(w=X[:, 0].astype(object)),
    "polars": pl.DataFrame(X, schema=NAMES),
    "pyarrow": pa.table(dict(zip(NAMES, X.T, strict=True))),
}
WEIGHTS = {
    "kernel weights": 100 * np.exp(-0.5 * np.linspace(0, 26, 40) ** 2),
    "one weight next to nothing": np.r_[1e-120, np.ones(39)],
    "truth": np.arange(40) % 3 > 0,
    "a column": pd.Series(np.arange(1, 41)),
}


@pytest.mark.parametrize("name", WELCOME)
def test_rows_are_fitted_as_their_numbers_are(name):
    expected = RobustFairPCA(2).fit(X, sensitive_features=GROUPS)
    given = WELCOME[name]
    model = RobustFairPCA(2).fit(given, sensitive_features=GROUPS)
    assert model.objective_ == pytest.approx(expected.objective_, rel=1e-9)
    np.testing.assert_allclose(model.transform(given), expected.transform(X), atol=0.05)


@pytest.mark.parametrize("name", WEIGHTS)
def test_weights_count_as_their_numbers_do(name):
    weight = np.asarray(WEIGHTS[name], dtype=float)
    moments = GroupMoments.from_arrays(X, GROUPS, sample_weight=WEIGHTS[name])
    for a, label in enumerate("ab"):
        rows = label == GROUPS
        assert moments.weights[a] == pytest.approx(weight[rows].sum())
        mean = np.average(X[rows], axis=0, weights=weight[rows])
        np.testing.assert_allclose(moments.means[a], mean, atol=1e-9)


@pytest.mark.parametrize("kind", ["a category of numbers", "text", "dates"])
def test_dask_takes_and_refuses_what_memory_takes_and_refuses(kind):
    dd = pytest.importorskip("dask.dataframe")
    column = {
        "a category of numbers": pd.Categorical(X[:, 0]),
        "text": ["x"] * 40,
        "dates": pd.date_range("2020", periods=40),
    }[kind]
    table = frame(w=column)
    lazy = dd.from_pandas(table.assign(g=GROUPS), npartitions=2)
    lazy, labels = lazy[NAMES], lazy["g"]
    if kind == "a category of numbers":
        model = RobustFairPCA(2).fit(lazy, sensitive_features=labels)
        here = RobustFairPCA(2).fit(table, sensitive_features=GROUPS)
        assert model.objective_ == pytest.approx(here.objective_, rel=1e-9)
        np.testing.assert_allclose(model.transform(lazy).compute(), model.transform(table))
        return
    for given, groups in ((table, GROUPS), (lazy, labels)):
        with pytest.raises(ValueError, match=r"not numeric: 'w'"):
            RobustFairPCA(2).fit(given, sensitive_features=groups)
