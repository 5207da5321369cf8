"""Mixed tables are scaled as factor analysis of mixed data does, in a pipeline and by commands."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from fairspan import RobustFairPCA, load_model
from fairspan.cli import main
from fairspan.preprocessing import MixedScaler

EIGENVALUES = [1.8894300120, 1.6513393275, 1.0516962126]
"""What prince 0.23.0 finds for the table: prince.FAMD(n_components=3).fit(frame).eigenvalues_."""


def mixed_table() -> dict[str, list]:
    rng = np.random.default_rng(5)
    n = 90
    job = rng.choice(["clerk", "nurse", "pilot"], n, p=[0.6, 0.3, 0.1])
    town = np.where(rng.random(n) < 0.7, np.where(job == "clerk", "Aix", "Bonn"), "Cork")
    age = np.round(40 + 9 * rng.standard_normal(n) + 8 * (job == "pilot"), 1)
    pay = np.round(2000 + 30 * age + 300 * rng.standard_normal(n), 1)
    group = rng.choice(["u", "v"], n)
    columns = {"age": age, "job": job, "pay": pay, "town": town, "group": group}
    return {name: column.tolist() for name, column in columns.items()}


TABLE = mixed_table()
FEATURES = ["age", "job", "pay", "town"]


def rows() -> np.ndarray:
    return np.array([TABLE[name] for name in FEATURES], dtype=object).T


@parametrize_with_checks([MixedScaler()])
def test_scikit_learn_estimator_checks(estimator, check):
    check(estimator)


def test_pca_of_it_is_factor_analysis_of_mixed_data():
    Z = MixedScaler().fit_transform(rows())
    values = np.linalg.eigvalsh(Z.T @ Z / len(Z))[::-1]
    np.testing.assert_allclose(values[:3], EIGENVALUES, atol=1e-8)
    # Each number counts 1 in all, each column of categories one less than it has categories.
    assert Z.var(axis=0).sum() == pytest.approx(2 + 2 + 2)


def test_it_is_what_prince_finds():
    prince, pd = pytest.importorskip("prince"), pytest.importorskip("pandas")
    frame = pd.DataFrame({name: TABLE[name] for name in FEATURES})
    famd = prince.FAMD(n_components=3, random_state=0).fit(frame)
    scaler = MixedScaler().fit(frame)
    Z = scaler.transform(frame)
    pca = PCA(3).fit(Z)
    n = len(Z)
    found = pca.explained_variance_ * (n - 1) / n
    np.testing.assert_allclose(found, famd.eigenvalues_, atol=1e-8)
    np.testing.assert_allclose(found / 6, famd.percentage_of_variance_ / 100, atol=1e-8)
    shares = scaler.sum_by_column(pca.components_**2)
    for name, share in shares.items():
        np.testing.assert_allclose(share, famd.variable_contributions_.loc[name], atol=1e-8)


def test_weights_count_as_repeated_rows_and_new_categories_are_refused():
    times = np.arange(len(rows())) % 3
    weighted = MixedScaler().fit(rows(), sample_weight=times)
    repeated = MixedScaler().fit(np.repeat(rows(), times, axis=0))
    np.testing.assert_allclose(weighted.scale_, repeated.scale_)
    np.testing.assert_allclose(weighted.mean_, repeated.mean_)
    with pytest.raises(ValueError, match="column 'x1' has values that are not among its categor"):
        weighted.transform([[40.0, "baker", 2000.0, "Aix"]])
    with pytest.raises(ValueError, match="Input x0 contains NaN"):
        weighted.transform([[np.nan, "clerk", 2000.0, "Aix"]])
    with pytest.raises(ValueError, match=r"columns that X does not have: \[7\]"):
        MixedScaler(categorical=[7]).fit(rows())


def test_frames_of_every_kind_and_named_categories_give_the_same():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    expected = MixedScaler().fit_transform(rows())
    frame = pd.DataFrame({name: TABLE[name] for name in FEATURES})
    frames = [frame, frame.astype({"job": "category"}), pl.from_pandas(frame)]
    for one in frames:
        scaler = MixedScaler().fit(one)
        np.testing.assert_allclose(scaler.transform(one), expected)
        assert scaler.get_feature_names_out()[:3].tolist() == ["age", "job=clerk", "job=nurse"]
    coded = frame.assign(job=frame["job"].map({"clerk": 1, "nurse": 2, "pilot": 3}))
    named = MixedScaler(categorical=["job", "town"]).fit_transform(coded)
    np.testing.assert_allclose(named, expected)


def test_the_command_line_does_what_the_pipeline_does(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with open("t.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(TABLE)
        writer.writerows(zip(*TABLE.values(), strict=True))
    pipe = make_pipeline(MixedScaler(), RobustFairPCA(2))
    pipe.fit(rows(), robustfairpca__sensitive_features=TABLE["group"])
    expected = pipe[-1]

    def call(line: str):
        code = main(line.split())
        assert code == 0, capsys.readouterr().err
        return capsys.readouterr().out

    found = json.loads(call("fit t.csv -s group --one-hot all --scale mixed -k 2 -o m.npz --json"))
    assert found["notes"] == [
        "column 'job' became 3 columns of zeros and ones",
        "column 'town' became 3 columns of zeros and ones",
    ]
    assert found["fit"]["objective"] == pytest.approx(expected.objective_, rel=1e-10)
    shares = pipe[0].sum_by_column(expected.components_**2)
    for one, (_, share) in zip(found["columns"], shares.items(), strict=True):
        np.testing.assert_allclose(one["loadings"], share, atol=1e-7)
    Z = pipe[0].transform(rows())
    lost = Z - pipe[1].inverse_transform(pipe[1].transform(Z))
    kept = 1 - pipe[0].sum_by_column(lost.var(axis=0))["x1"] / 2
    assert found["columns"][1]["column"] == "job"
    assert found["columns"][1]["explained"] == pytest.approx(kept, abs=1e-7)
    # By moments, too; a model is certified on moments of the table as it is.
    call("moments t.csv -s group --one-hot all -o t.npz")
    again = json.loads(call("fit t.npz --scale mixed -k 2 -o again.npz --json"))
    assert again["fit"]["objective"] == pytest.approx(expected.objective_, rel=1e-9)
    call("certify m.npz --moments t.npz --tolerance 1e-6")
    call("transform m.npz t.csv -o out.npy")
    projected, model = np.load("out.npy"), load_model("m.npz")
    np.testing.assert_allclose(np.abs(projected), np.abs(pipe.transform(rows())), atol=1e-6)
    assert model.feature_names_in_.tolist()[:2] == ["age", "job=clerk"]
    text = call("fit t.csv -s group --one-hot all --scale mixed -k 2")
    assert "variance kept" in text
    assert "scale       mixed" in call("info m.npz")
