"""Sparse matrices and labels in files of their own: fitted, saved and projected."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from fairspan import RobustFairPCA, fairness_frontier, load_model
from fairspan.inference import verdict


@pytest.fixture
def words(folder):
    rng = np.random.default_rng(0)
    n, d = 500, 5000
    places = (5000 * rng.random((n, 8)) ** 4).astype(int)
    X = sparse.csr_array((np.ones(8 * n), places.ravel(), np.arange(0, 8 * n + 1, 8)), (n, d))
    labels = np.array(["tests", "sources"])[rng.integers(0, 2, n)]
    sparse.save_npz(folder / "words.npz", X)
    np.save(folder / "labels.npy", labels)
    return X, labels


def test_a_sparse_matrix_is_fitted_saved_and_projected(fairspan, words, folder):
    X, labels = words
    answer = fairspan("fit words.npz --sensitive labels.npy -k 2 -o model.npz")
    assert "500 rows, 5,000 features, 2 groups by labels.npy" in answer.out
    assert "fitted by products" in answer.out
    assert "holds with probability 1 - 1e-10" in answer.out
    assert "only moments" not in answer.out
    model = load_model(folder / "model.npz")
    expected = RobustFairPCA(2).fit(X, sensitive_features=labels)
    np.testing.assert_array_equal(model.components_, expected.components_)
    fairspan("transform model.npz words.npz -o projected.npy")
    np.testing.assert_array_equal(np.load(folder / "projected.npy"), expected.transform(X))
    document = fairspan("fit words.npz --sensitive labels.npy -k 2 --json").json
    assert document["route"] == "products"
    assert document["fit"]["proof"] == "with probability 1 - 1e-10"
    assert document["fit"]["objective"] == expected.objective_


def test_a_model_by_products_says_how_it_was_fitted(fairspan, refused, words, folder):
    fairspan("fit words.npz --sensitive labels.npy -k 2 -o model.npz")
    passes = load_model(folder / "model.npz").result_.n_passes
    told = fairspan("info model.npz").out
    assert f"products, {passes} passes over the rows" in told
    assert "none: fitted by products" in told
    assert "holds with probability 1 - 1e-10" in told
    assert "fairspan.certify(model.components_, X" in refused("certify model.npz", 2)


def test_what_a_sparse_matrix_cannot_have_is_refused(refused, words, folder):
    assert "--sensitive is missing: name the .npy file" in refused("fit words.npz", 2)
    assert "--drop needs a table" in refused("fit words.npz -s labels.npy --drop a", 2)
    assert "is not an .npy file" in refused("fit words.npz -s sex", 2)
    np.save(folder / "few.npy", np.arange(3))
    assert "one label for each of the 500 rows" in refused("fit words.npz -s few.npy")


@pytest.fixture
def wide(folder):
    rng = np.random.default_rng(1)
    scales = np.concatenate([np.linspace(14, 9, 4), np.full(4196, 0.7)])
    X = rng.standard_normal((600, 4200)) * scales
    labels = np.array(["a", "b", "c"])[np.arange(600) % 3]
    X[labels == "a"] *= rng.uniform(0.5, 2, 4200)
    np.save(folder / "wide.npy", X)
    np.save(folder / "labels.npy", labels)
    return X, labels


def test_an_array_with_labels_beside_it_is_fitted_and_projected(fairspan, wide, folder):
    X, labels = wide
    setting = (
        "-k 2 --fairness-weight 0.3 --radius 1 --reference a=3 --reference b=0 --reference c=0"
    )
    answer = fairspan(f"fit wide.npy --sensitive labels.npy {setting} -o model.npz")
    assert "600 rows, 4,200 features, 3 groups by labels.npy" in answer.out
    assert "passes over the rows" in answer.out
    reference = {"a": 3.0, "b": 0.0, "c": 0.0}
    expected = RobustFairPCA(2, fairness_weight=0.3, radius=1.0, reference=reference)
    expected.fit(np.load(folder / "wide.npy", mmap_mode="r"), sensitive_features=labels)
    np.testing.assert_array_equal(
        load_model(folder / "model.npz").components_, expected.components_
    )
    fairspan("transform model.npz wide.npy -o projected.npy")
    np.testing.assert_array_equal(np.load(folder / "projected.npy"), expected.transform(X))


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("most", [2**28, 1000])
def test_wide_tables_go_by_products_in_memory_or_streamed(
    fairspan, wide, folder, kind, most, monkeypatch
):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    X, labels = wide[0][:150], wide[1][:150]
    names = [f"x{j}" for j in range(X.shape[1])]
    frame = pd.DataFrame(X, columns=names).assign(sex=labels)
    frame.to_csv("wide.csv", index=False) if kind == "csv" else frame.to_parquet("wide.parquet")
    monkeypatch.setattr("fairspan.cli.wide.MOST_BYTES", most)
    document = fairspan(f"fit wide.{kind} -s sex -k 2 -o model.npz --json").json
    assert document["route"] == "products"
    assert document["passes"] > 3
    streamed = any("read again in each pass" in note for note in document["notes"])
    assert streamed == (most == 1000)
    expected = RobustFairPCA(2, route="products").fit(X, sensitive_features=labels)
    assert document["fit"]["objective"] == pytest.approx(expected.objective_, rel=1e-7)
    model = load_model(folder / "model.npz")
    assert list(model.feature_names_in_[:2]) == ["x0", "x1"]
    # Columns are found by name.
    frame.iloc[:5, ::-1].to_parquet("new.parquet")
    fairspan("transform model.npz new.parquet -o projected.csv")
    projected = np.loadtxt("projected.csv", delimiter=",", skiprows=1)
    np.testing.assert_allclose(projected, (X[:5] - model.mean_) @ model.components_.T)


def test_passes_are_shown_on_a_terminal_only(wide, folder, monkeypatch):
    import io
    import logging

    from fairspan.cli import console

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    X, labels = wide
    monkeypatch.setattr(console, "_EVERY", 0.0)
    for stream, shown in ((Terminal(), True), (io.StringIO(), False)):
        monkeypatch.setattr("sys.stderr", stream)
        with console.showing_passes("fit"):
            model = RobustFairPCA(2, route="products").fit(X, sensitive_features=labels)
        text = stream.getvalue()
        assert (f"fit: pass {model.result_.n_passes} over the rows" in text) == shown
    logger = logging.getLogger("fairspan")
    assert logger.propagate
    assert not any(isinstance(one, console._Passes) for one in logger.handlers)


def test_a_fit_without_room_is_refused_with_the_gigabytes(refused, wide, monkeypatch):
    monkeypatch.setattr("fairspan.products.route.available_memory", lambda: 1e6)
    told = refused("fit wide.npy --sensitive labels.npy -k 2")
    assert "by products needs about" in told
    assert "GB" in told


def test_a_frontier_of_a_sparse_matrix_says_with_which_probability_it_holds(fairspan, words):
    X, labels = words
    answer = fairspan("frontier words.npz --sensitive labels.npy -k 2 -o curve.csv")
    assert "500 rows, 5,000 features, 2 groups by labels.npy" in answer.out
    assert "found by products" in answer.out
    assert "This rests on random blocks and holds with" in answer.out
    assert "only moments" not in answer.out
    asked = "frontier words.npz --sensitive labels.npy -k 2 --weights 0 0.5 --json"
    document = fairspan(asked).json
    assert (document["route"], document["proof"]) == ("products", "with probability 1 - 1e-10")
    expected = fairness_frontier(X, 2, sensitive_features=labels, fairness_weights=(0, 0.5))
    assert [one["objective"] for one in document["points"]] == expected.objective.tolist()


@pytest.mark.parametrize("command", ["report", "select", "compare", "advise"])
def test_commands_that_need_a_table_refuse_a_sparse_matrix(refused, words, command):
    output = "-o page.html" if command == "report" else ""
    said = refused(f"{command} words.npz -s labels.npy {output}", 2)
    assert f"{command} needs a table, but 'words.npz' is a sparse matrix" in said
    assert "The commands fit and frontier take it" in said


def test_matrices_get_the_verdict_of_their_rows_or_the_reason_why_not(fairspan, words, folder):
    rng = np.random.default_rng(1)
    labels = np.array(["a", "b"])[rng.integers(0, 2, 300)]
    X = rng.standard_normal((300, 6)) * np.where(labels[:, None] == "a", 1.0, 2.0)
    sparse.save_npz(folder / "narrow.npz", sparse.csr_array(X))
    np.save(folder / "narrow.npy", X)
    np.save(folder / "two.npy", labels)
    expected = verdict(RobustFairPCA(2), X, sensitive_features=labels)
    assert expected.is_shown
    for name in ("narrow.npz", "narrow.npy"):
        answer = fairspan(f"fit {name} --sensitive two.npy -k 2")
        told = " ".join(answer.out.split())
        assert f"{expected.headline} {expected.effect}" in told
        assert expected.caveats in told
        document = fairspan(f"fit {name} -s two.npy -k 2 --json").json
        assert document["verdict"]["pvalue"] == pytest.approx(expected.pvalue)
    curve = fairspan("frontier narrow.npz --sensitive two.npy -k 2").out
    assert expected.headline in " ".join(curve.split())
    assert fairspan("fit words.npz -s labels.npy -k 2 --json").json["verdict"] is None
    for command in ("fit", "frontier"):
        told = " ".join(fairspan(f"{command} words.npz -s labels.npy -k 2").out.split())
        assert "There is no verdict about new rows here" in told
