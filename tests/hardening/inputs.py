"""Inputs of every kind, good and bad: tables, labels, weights and parameters to draw from."""

from __future__ import annotations

import datetime as dt
import decimal
import fractions
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from scipy import sparse

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

ROWS, FEATURES = 24, 4

DTYPES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
    "float32", "float64", "longdouble", "complex64", "complex128", ">f8", ">f4", ">i4", "object",
    "str", "datetime64[s]", "timedelta64[s]",
)  # fmt: skip


def rows(seed: int = 0, n: int = ROWS, d: int = FEATURES) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)) * np.exp(rng.normal(0, 1, d)) + rng.normal(0, 3, d)


def of_dtype(X: np.ndarray, dtype: str) -> np.ndarray:
    if dtype in ("datetime64[s]", "timedelta64[s]"):
        return (100 * X).astype("int64").astype(dtype)
    if dtype.startswith("u") or dtype == "bool":
        return np.abs(X).astype(dtype)
    return X.astype(dtype)


def spoiled(X: np.ndarray, value: Any) -> np.ndarray:
    bad = X.astype(object) if value is None or isinstance(value, str) else X.copy()
    bad[3, 1] = value
    return bad


def structured(X: np.ndarray) -> np.ndarray:
    kinds = [(f"x{j}", "f8") for j in range(X.shape[1])]
    return np.array([tuple(row) for row in X], dtype=kinds)


def locked(X: np.ndarray) -> np.ndarray:
    X = X.copy()
    X.flags.writeable = False
    return X


LAYOUTS = {
    "read-only": locked,
    "every other column": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "every other row": lambda X: np.repeat(X, 2, axis=0)[::2],
    "backwards": lambda X: X[::-1, ::-1],
    "columns first": np.asfortranarray,
    "broadcast": lambda X: np.broadcast_to(X[:1], X.shape),
    "masked": lambda X: np.ma.masked_array(X, mask=np.zeros(X.shape, bool)),
    "masked in part": lambda X: np.ma.masked_array(X, mask=np.abs(X) > 1),
    "list": lambda X: X.tolist(),
    "list of tuples": lambda X: [tuple(row) for row in X],
    "ragged": lambda X: [list(row[: 1 + i % 3]) for i, row in enumerate(X)],
    "csr": sparse.csr_array,
    "csc matrix": sparse.csc_matrix,
    "coo": sparse.coo_array,
    "sparse of integers": lambda X: sparse.csr_array(X.astype(int)),
    "structured": structured,
    "matrix as object": lambda X: X.astype(object),
}
SHAPES = {
    "no rows": lambda X: X[:0],
    "no columns": lambda X: X[:, :0],
    "nothing": lambda X: X[:0, :0],
    "one row": lambda X: X[:1],
    "two rows": lambda X: X[:2],
    "one column": lambda X: X[:, :1],
    "two columns": lambda X: X[:, :2],
    "one dimension": lambda X: X[:, 0],
    "three dimensions": lambda X: X[None],
    "scalar": lambda X: X[0, 0],
    "python number": lambda X: 3.5,
    "None": lambda X: None,
    "text": lambda X: "table",
    "dict": lambda X: {"x": X[:, 0].tolist()},
    "generator": lambda X: (row for row in X),
    "set": lambda X: set(X[:, 0].tolist()),
}
VALUES = {
    "nan": lambda X: spoiled(X, np.nan),
    "infinity": lambda X: spoiled(X, np.inf),
    "None inside": lambda X: spoiled(X, None),
    "text inside": lambda X: spoiled(X, "x"),
    "huge": lambda X: spoiled(X, 1e200),
    "largest": lambda X: spoiled(X, np.finfo(float).max),
    "all huge": lambda X: X * 1e120,
    "tiny": lambda X: X * 1e-120,
    "subnormal": lambda X: X * 5e-310,
    "squares vanish": lambda X: X * 1e-170,
    "far away": lambda X: X + 1e8,
    "very far away": lambda X: X + 1e16,
    "constant": lambda X: np.full(X.shape, 3.7),
    "zeros": lambda X: np.zeros(X.shape),
    "minus zeros": lambda X: np.full(X.shape, -0.0),
    "a constant column": lambda X: X * [1, 0, 1, 1],
    "rank one": lambda X: np.outer(X[:, 0], [1, 2, 3, 4]),
    "copied columns": lambda X: np.repeat(X[:, :2], 2, axis=1),
    "mixed scales": lambda X: X * [1e-12, 1, 1e6, 1e12],
    "one outlier": lambda X: spoiled(X, 1e12),
}
NAMES = list("abcd")


def frame(X: np.ndarray, **more: Any) -> pd.DataFrame:
    return pd.DataFrame(X, columns=NAMES[: X.shape[1]], **more)


FRAMES = {
    "pandas": frame,
    "pandas with an index": lambda X: frame(X, index=np.arange(len(X))[::-1] * 7),
    "pandas nullable": lambda X: frame(X).convert_dtypes(),
    "pandas with NA": lambda X: frame(X).convert_dtypes().mask(frame(X) > 1, pd.NA),
    "pandas with a category": lambda X: frame(X).assign(a=pd.Categorical(["u", "v"] * 12)),
    "pandas with a category of numbers": lambda X: frame(X).assign(a=pd.Categorical([1, 2] * 12)),
    "pandas with text": lambda X: frame(X).assign(a="x"),
    "pandas with dates": lambda X: frame(X).assign(a=pd.Timestamp("2020-01-01")),
    "pandas with a zone": lambda X: frame(X).assign(a=pd.Timestamp("2020-01-01", tz="UTC")),
    "pandas with complex": lambda X: frame(X).assign(a=1j),
    "pandas with booleans": lambda X: frame(X).assign(a=True),
    "pandas with nan": lambda X: frame(spoiled(X, np.nan)),
    "pandas without rows": lambda X: frame(X).iloc[:0],
    "pandas without columns": lambda X: frame(X)[[]],
    "pandas with names twice": lambda X: pd.DataFrame(X, columns=list("aabc")),
    "pandas with numbers as names": lambda X: pd.DataFrame(X),
    "pandas with mixed names": lambda X: pd.DataFrame(X, columns=["a", 1, None, 2.5]),
    "pandas with levels": lambda X: pd.DataFrame(
        X, columns=pd.MultiIndex.from_product([["u", "v"], ["a", "b"]])
    ),
    "pandas series": lambda X: pd.Series(X[:, 0], name="a"),
    "polars": lambda X: pl.DataFrame(X, schema=NAMES[: X.shape[1]]),
    "polars lazy": lambda X: pl.DataFrame(X, schema=NAMES[: X.shape[1]]).lazy(),
    "polars with null": lambda X: pl.DataFrame(X, schema=NAMES).with_columns(
        pl.when(pl.col("a") > 0).then(pl.col("a")).alias("a")
    ),
    "polars with text": lambda X: pl.DataFrame(X, schema=NAMES).with_columns(
        pl.lit("x").alias("a")
    ),
    "arrow": lambda X: pa.table({name: X[:, j] for j, name in enumerate(NAMES[: X.shape[1]])}),
}
TABLES = {**LAYOUTS, **SHAPES, **VALUES, **FRAMES} | {
    f"dtype {dtype}": partial(of_dtype, dtype=dtype) for dtype in DTYPES
}


def table(name: str, seed: int = 0) -> Any:
    return TABLES[name](rows(seed))


def _some(values: list[Any], n: int) -> list[Any]:
    return [values[i % len(values)] for i in range(n)]


def _objects(values: list[Any]) -> np.ndarray:
    return np.fromiter(values, object, len(values))


LABELS = {
    "none": lambda n: None,
    "texts": lambda n: _some(["a", "b"], n),
    "array of texts": lambda n: np.array(_some(["a", "b"], n)),
    "three": lambda n: _some(["a", "b", "c"], n),
    "one": lambda n: ["a"] * n,
    "one each": lambda n: list(range(n)),
    "lonely": lambda n: ["a"] + ["b"] * (n - 1),
    "integers": lambda n: np.array(_some([3, -1], n)),
    "huge integers": lambda n: _some([2**70, -(2**70)], n),
    "unsigned": lambda n: np.array(_some([0, 2**64 - 1], n), np.uint64),
    "booleans": lambda n: np.array(_some([True, False], n)),
    "floats": lambda n: np.array(_some([0.5, 1e300], n)),
    "float16": lambda n: np.array(_some([0.5, 2], n), np.float16),
    "big-endian": lambda n: np.array(_some([1, 2], n), ">i8"),
    "infinite": lambda n: _some([np.inf, -np.inf], n),
    "both zeros": lambda n: np.array(_some([0.0, -0.0, 1.0], n)),
    "complex": lambda n: np.array(_some([1j, 2.0], n)),
    "nan": lambda n: np.array(_some([1.0, np.nan], n)),
    "None inside": lambda n: _some(["a", None], n),
    "all None": lambda n: [None] * n,
    "tuples": lambda n: _some([("a", 1), ("b", 2)], n),
    "tuples of unlike lengths": lambda n: _some([("a",), ("b", 2), ()], n),
    "tuples with None": lambda n: _some([("a", 1), ("b", None)], n),
    "tuples of arrays": lambda n: _some([(np.zeros(2),), (np.ones(2),)], n),
    "bytes": lambda n: _some([b"a", b"b"], n),
    "bytes array": lambda n: np.array(_some([b"a", b"bb"], n)),
    "dates": lambda n: np.array(_some(["2020-01-01", "2021-01-01"], n), "datetime64[D]"),
    "NaT": lambda n: np.array(_some(["2020-01-01", "NaT"], n), "datetime64[D]"),
    "durations": lambda n: np.array(_some([1, 2], n), "timedelta64[s]"),
    "python dates": lambda n: _some([dt.date(2020, 1, 1), dt.datetime(2021, 1, 1)], n),
    "zoned": lambda n: _some([dt.datetime(2021, 1, 1, tzinfo=dt.UTC), dt.datetime(2021, 1, 1)], n),
    "timestamps": lambda n: _some([pd.Timestamp("2020"), pd.Timestamp("2021")], n),
    "periods": lambda n: _some([pd.Period("2020"), pd.Period("2021")], n),
    "intervals": lambda n: _some([pd.Interval(0, 1), pd.Interval(1, 2)], n),
    "decimals": lambda n: _some([decimal.Decimal("1.5"), fractions.Fraction(1, 3)], n),
    "decimal nan": lambda n: _some([decimal.Decimal("nan"), decimal.Decimal(1)], n),
    "mixed": lambda n: _some(["a", 1, 2.5, ("a",), b"a", True, None.__class__], n),
    "one and True": lambda n: _some([1, True, 0, False, "a"], n),
    "lists": lambda n: [["a"], ["b"]] * (n // 2) + [["a"]] * (n % 2),
    "ragged lists": lambda n: _some([["a"], ["b", "c"]], n),
    "sets inside": lambda n: _some([{"a"}, {"b"}], n),
    "dicts inside": lambda n: _some([{"a": 1}, {"b": 2}], n),
    "objects": lambda n: _some([object(), object()], n),
    "empty texts": lambda n: _some(["", " "], n),
    "odd texts": lambda n: _some(["ä\n\t", "\N{SNOWMAN}", "a,b", "'"], n),
    "lone surrogate": lambda n: _some(["\ud800", "a"], n),
    "null characters": lambda n: _some(["a\0", "a\0b"], n),
    "long texts": lambda n: _some(["a" * 5000, "b" * 5000], n),
    "pandas": lambda n: pd.Series(_some(["a", "b"], n)),
    "pandas categories": lambda n: pd.Series(pd.Categorical(_some(["a", "b"], n), list("abz"))),
    "pandas nullable": lambda n: pd.Series(_some([1, 2], n), dtype="Int64"),
    "pandas NA": lambda n: pd.Series(_some([1, pd.NA], n), dtype="Int64"),
    "pandas category NA": lambda n: pd.Categorical(_some(["a", None], n)),
    "pandas index": lambda n: pd.Index(_some(["a", "b"], n)),
    "pandas levels": lambda n: pd.MultiIndex.from_tuples(_some([("a", 1), ("b", 2)], n)),
    "pandas arrow": lambda n: pd.Series(_some(["a", "b"], n), dtype="string[pyarrow]"),
    "polars": lambda n: pl.Series("g", _some(["a", "b"], n)),
    "polars null": lambda n: pl.Series("g", _some(["a", None], n)),
    "polars lists": lambda n: pl.Series("g", _some([["a"], ["b"]], n)),
    "arrow": lambda n: pa.chunked_array([_some(["a", "b"], n)]),
    "arrow array": lambda n: pa.array(_some(["a", "b"], n)),
    "frame": lambda n: pd.DataFrame({"s": _some(["f", "m"], n), "a": _some([1, 1, 2], n)}),
    "frame with names twice": lambda n: pd.DataFrame(
        _some([["f", 1], ["m", 2]], n), columns=list("ss")
    ),
    "frame without columns": lambda n: pd.DataFrame(index=range(n)),
    "polars frame": lambda n: pl.DataFrame({"s": _some(["f", "m"], n), "a": _some([1, 2, 2], n)}),
    "dict": lambda n: {"s": _some(["f", "m"], n), "a": np.array(_some([1, 2, 2], n))},
    "dict of unlike lengths": lambda n: {"s": _some(["f", "m"], n), "a": [1]},
    "dict of numbers": lambda n: {"s": 1},
    "dict of texts": lambda n: {"s": "fm"},
    "empty dict": lambda n: {},
    "dict of dicts": lambda n: {"s": {"a": 1}},
    "two columns": lambda n: np.array(_some([["f", "1"], ["m", "2"]], n)),
    "one column": lambda n: np.array(_some([["f"], ["m"]], n)),
    "no columns": lambda n: np.empty((n, 0)),
    "three dimensions": lambda n: np.zeros((n, 2, 2)),
    "structured": lambda n: np.array(_some([("f", 1), ("m", 2)], n), "U1,i4"),
    "variable strings": lambda n: np.array(_some(["a", "b"], n), np.dtypes.StringDType()),
    "too few": lambda n: _some(["a", "b"], n - 1) if n else None,
    "too many": lambda n: _some(["a", "b"], n + 1),
    "empty": lambda n: [],
    "a word": lambda n: "a",
    "a number": lambda n: 7,
    "nan alone": lambda n: float("nan"),
    "scalar array": lambda n: np.array("a"),
    "iterator": lambda n: iter(_some(["a", "b"], n)),
    "set": lambda n: {"a", "b"},
    "range": lambda n: range(n),
    "function": lambda n: len,
    "sparse": lambda n: sparse.csr_array(np.ones((n, 1))),
    "nested tuples": lambda n: tuple(_some([(("a", 1), "u"), (("b", 2), "v")], n)),
}


def labels(name: str, n: int = ROWS) -> Any:
    return LABELS[name](n)


WEIGHTS = {
    "none": lambda n: None,
    "ones": lambda n: np.ones(n),
    "integers": lambda n: [1 + i % 3 for i in range(n)],
    "booleans": lambda n: np.arange(n) % 3 > 0,
    "zeros": lambda n: np.zeros(n),
    "negative": lambda n: -np.ones(n),
    "nan": lambda n: np.full(n, np.nan),
    "infinite": lambda n: np.full(n, np.inf),
    "huge": lambda n: np.full(n, 1e300),
    "tiny": lambda n: np.full(n, 1e-300),
    "uneven": lambda n: np.logspace(-6, 6, n) if n else [],
    "too few": lambda n: np.ones(max(n - 1, 0)),
    "two columns": lambda n: np.ones((n, 2)),
    "texts": lambda n: ["x"] * n,
    "number": lambda n: 2.0,
    "complex": lambda n: np.ones(n) + 1j,
    "pandas": lambda n: pd.Series(np.ones(n)),
    "polars": lambda n: pl.Series(np.ones(n)),
    "objects": lambda n: [None] * n,
    "dates": lambda n: np.ones(n, "datetime64[s]"),
    "dict": lambda n: {"w": 1},
}

ODD = (
    None, True, np.True_, 0, 1, 2, 3, -1, 10**400, -(10**400), 0.0, -0.0, 0.1, 0.5, 1.5, -2.0,
    1e-300, 5e-324, 1e300, 1.8e308, float("nan"), float("inf"), -float("inf"), 1j, "", "auto",
    "x" * 3, "share", "equal", "bootstrap", "total_only", b"x", [], [0.1], (), (1, 2), {}, {"a": 1},
    {"a": 0.1, "b": 0.2}, {"a": "x", "b": None}, {"a": np.nan, "b": 1}, {"a": 10**400, "b": 1},
    set(), object, len, np.float64(0.5), np.float32(0.5), np.float16(2), np.longdouble("0.5"),
    np.int8(2), np.array(0.5), np.array([0.5]), np.array([0.1, 0.2]),
    np.array("x"), np.datetime64("2020"), np.timedelta64(1, "s"), decimal.Decimal("0.5"),
    decimal.Decimal("nan"), fractions.Fraction(1, 3), pd.NA, pd.NaT, pd.Timestamp("2020"), range(3),
    np.random.default_rng(0), np.random.RandomState(0),
)  # fmt: skip
"""Values that someone gives for a parameter some day."""


@cache
def good() -> tuple[np.ndarray, np.ndarray]:
    X = rows(0)
    return X, np.array(_some(["a", "b"], len(X)))


tables = st.builds(table, st.sampled_from(sorted(TABLES)), st.integers(0, 3))
good_tables = st.builds(
    lambda seed, n, d: rows(seed, n, d), st.integers(0, 99), st.integers(4, 40), st.integers(2, 6)
)
odd = st.sampled_from(ODD)


def named(table: dict[str, Any], n: int = ROWS) -> st.SearchStrategy[Any]:
    return st.sampled_from(sorted(table)).map(lambda name: table[name](n))


any_labels = named(LABELS)
any_weights = named(WEIGHTS)


def n_rows(X: Any) -> int:
    """Rows of whatever stands for a table; as many as usual where it has none."""
    if getattr(X, "shape", ()):
        return int(X.shape[0])
    return len(X) if isinstance(X, list) else ROWS
