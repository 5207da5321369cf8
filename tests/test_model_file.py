"""Model files: exact round trips, and nothing but our own files is read."""

from __future__ import annotations

import io
import json
import os
import pickle
import random
import signal
import subprocess
import sys
import time
import zipfile
from dataclasses import fields, is_dataclass
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline

import fairspan
from fairspan import (
    ConvexFairPCA,
    ExactlyFairPCA,
    FairPCA,
    GroupMoments,
    NullSpaceFairPCA,
    RobustFairPCA,
    load_model,
)
from fairspan.ground import archive, codec

ESTIMATORS = [
    RobustFairPCA(3, fairness_weight=0.5),
    RobustFairPCA(3, standardize=True, radius={"benign": 0.1, "malignant": 0.2}),
    RobustFairPCA(2, standardize=True, solver="subgradient", n_init=1, max_iter=20, tol=1.0),
    ExactlyFairPCA(3, standardize=True),
    FairPCA(3, standardize=True),
    ConvexFairPCA(3, standardize=True),
    ConvexFairPCA(2, standardize=True, constraint="mean+covariance", tol=1e-4),
    NullSpaceFairPCA(3, n_covariance_directions=2),
]


@pytest.fixture(scope="module")
def cancer():
    """A frame and its groups."""
    pytest.importorskip("pandas")
    data = load_breast_cancer(as_frame=True)
    return data.data, load_breast_cancer().target_names[data.target]


@pytest.fixture(scope="module")
def model(cancer) -> RobustFairPCA:
    return RobustFairPCA(3, standardize=True).fit(cancer[0], sensitive_features=cancer[1])


@pytest.fixture
def saved(model, tmp_path) -> Path:
    model.save(tmp_path / "model.npz")
    return tmp_path / "model.npz"


def assert_same(left, right):
    """Equal in type and in every bit."""
    assert type(left) is type(right)
    if isinstance(left, np.ndarray):
        assert left.dtype == right.dtype
        np.testing.assert_array_equal(left, right)
    elif is_dataclass(left):
        for field in fields(left):
            assert_same(getattr(left, field.name), getattr(right, field.name))
    else:
        assert left == right


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_a_loaded_model_equals_the_saved_one_in_every_bit(estimator, cancer, tmp_path):
    X, groups = cancer
    estimator.fit(X, sensitive_features=groups)
    estimator.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    assert vars(loaded).keys() == vars(estimator).keys()
    for name, value in vars(estimator).items():
        assert_same(value, getattr(loaded, name))
    assert_same(estimator.transform(X), loaded.transform(X))


def test_fitting_goes_on_after_loading(cancer, tmp_path):
    X, groups = cancer
    whole = RobustFairPCA(3, standardize=True).fit(X, sensitive_features=groups)
    RobustFairPCA(3, standardize=True).fit(X[:300], sensitive_features=groups[:300]).save(
        tmp_path / "half"
    )
    continued = load_model(tmp_path / "half").partial_fit(X[300:], sensitive_features=groups[300:])
    np.testing.assert_allclose(continued.components_, whole.components_, atol=1e-7)
    np.testing.assert_allclose(continued.objective_, whole.objective_, rtol=1e-10)


def test_without_moments_the_file_is_small_and_partial_fit_says_why_it_stops(
    cancer, model, saved, tmp_path
):
    X, groups = cancer
    model.save(tmp_path / "small", moments=False)
    loaded = load_model(tmp_path / "small")
    assert_same(loaded.transform(X), model.transform(X))
    assert (tmp_path / "small").stat().st_size < saved.stat().st_size / 1.5
    with pytest.raises(ValueError, match="saved with moments=False"):
        loaded.partial_fit(X, sensitive_features=groups)
    assert loaded.fit(X, sensitive_features=groups).objective_ == model.objective_


@pytest.mark.parametrize(
    "labels",
    [(("f", 1), ("m", 2)), (False, True), (1.5, 2.5), (b"a", b"b"), (float("-inf"), 3)],
    ids=str,
)
def test_labels_keep_their_types(labels, tmp_path):
    X = np.random.default_rng(0).standard_normal((40, 4))
    fitted = RobustFairPCA(2).fit(X, sensitive_features=[labels[i % 2] for i in range(40)])
    fitted.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model").group_labels_
    assert [(type(label), label) for label in loaded] == [(type(a), a) for a in labels]


def test_output_settings_survive_and_random_states_are_refused(cancer, tmp_path):
    import pandas as pd

    X, groups = cancer
    estimator = RobustFairPCA(2).set_output(transform="pandas").fit(X, sensitive_features=groups)
    estimator.save(tmp_path / "model")
    pd.testing.assert_frame_equal(
        load_model(tmp_path / "model").transform(X), estimator.transform(X)
    )
    estimator.set_params(random_state=np.random.RandomState(0))
    with pytest.raises(TypeError, match=r"random_state=.*which cannot be saved"):
        estimator.save(tmp_path / "model")
    with pytest.raises(NotFittedError):
        RobustFairPCA().save(tmp_path / "model")


def test_classes_of_others_are_not_saved(cancer, tmp_path):
    class Mine(RobustFairPCA):
        pass

    fitted = Mine(2).fit(cancer[0], sensitive_features=cancer[1])
    with pytest.raises(TypeError, match="Mine is not a public class of fairspan"):
        fitted.save(tmp_path / "model")


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_scikit_learn_and_onnx_project_alike(estimator, cancer):
    import pandas as pd

    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("skl2onnx")
    X, groups = cancer
    fitted = estimator.fit(X, sensitive_features=groups)
    target = fitted.to_sklearn()
    assert isinstance(target, Pipeline) == estimator.standardize
    expected = fitted.transform(X)
    size = np.abs(expected).max()
    np.testing.assert_allclose(target.transform(X), expected, atol=1e-12 * size)
    np.testing.assert_allclose(
        target.inverse_transform(expected), fitted.inverse_transform(expected), rtol=1e-10
    )
    session = onnxruntime.InferenceSession(fitted.to_onnx().SerializeToString())
    single = X.to_numpy(np.float32)
    found = session.run(None, {"X": single})[0]
    np.testing.assert_allclose(
        found, fitted.transform(pd.DataFrame(single, columns=X.columns)), atol=1e-5 * size
    )


def test_without_fairness_to_sklearn_gives_scikit_learns_own_fit(cancer):
    from sklearn.decomposition import PCA

    X, groups = cancer
    plain = RobustFairPCA(3, fairness_weight=0.0, radius=0.0).fit(X, sensitive_features=groups)
    ours, theirs = plain.to_sklearn(), PCA(3, svd_solver="full").fit(X)
    for name in (
        "components_",
        "mean_",
        "explained_variance_",
        "explained_variance_ratio_",
        "singular_values_",
        "noise_variance_",
    ):
        np.testing.assert_allclose(
            getattr(ours, name), getattr(theirs, name), rtol=1e-6, atol=1e-8, err_msg=name
        )
    assert list(ours.feature_names_in_) == list(theirs.feature_names_in_)
    np.testing.assert_allclose(ours.get_covariance(), theirs.get_covariance(), atol=1e-6)


def test_pickle_and_skops_keep_the_estimator(cancer, model, tmp_path):
    skops = pytest.importorskip("skops.io")
    X, _ = cancer
    assert_same(pickle.loads(pickle.dumps(model)).transform(X), model.transform(X))
    skops.dump(model, tmp_path / "model.skops")
    trusted = skops.get_untrusted_types(file=tmp_path / "model.skops")
    assert all(name.startswith("fairspan.") for name in trusted)
    back = skops.load(tmp_path / "model.skops", trusted=trusted)
    assert_same(back.transform(X), model.transform(X))


def rewritten(path: Path, change) -> None:
    """Save the archive again with changed members, hash left as it is."""
    with np.load(path) as file:
        members = dict(file)
    change(members)
    np.savez(path, **members)


def header_with(**entries):
    def change(members):
        header = json.loads(str(members["header"][()])) | entries
        members["header"] = np.array(json.dumps(header))

    return change


def test_edited_truncated_and_oversized_files_are_refused(saved):
    whole = saved.read_bytes()

    def refused(text):
        with pytest.raises(ValueError, match=f"model.npz' cannot be read as a model: .*{text}"):
            load_model(saved)
        saved.write_bytes(whole)

    saved.write_bytes(whole[:-100])
    refused("truncated or damaged")
    saved.write_bytes(b"")
    refused("it is empty")
    rewritten(saved, lambda m: m["content.attributes.components_"].__imul__(1 + 1e-15))
    refused("does not match its hash: it was changed or damaged")
    rewritten(saved, header_with(version=2))
    refused("format version 2, and this version of fairspan reads 1")
    rewritten(saved, header_with(extra=1))
    refused("missing or unknown")
    at = whole.index(b"descr")
    saved.write_bytes(whole[:at] + b"X" + whole[at + 1 :])
    refused("damaged")


def test_sizes_are_checked_before_memory_is_taken(saved):
    with zipfile.ZipFile(saved) as file:
        members = {info.filename: file.read(info) for info in file.infolist()}
    huge = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        huge, {"descr": "<f8", "fortran_order": False, "shape": (2**50,)}
    )
    with zipfile.ZipFile(saved, "w") as file:
        for name, data in (members | {"content.attributes.mean_.npy": huge.getvalue()}).items():
            file.writestr(name, data)
    with pytest.raises(ValueError, match="needs 9007199254740992 bytes"):
        load_model(saved)
    with zipfile.ZipFile(saved, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in (members | {"bomb.npy": bytes(2**24)}).items():
            file.writestr(name, data)
    with pytest.raises(ValueError, match="compressed"):
        load_model(saved)


def test_foreign_files_are_named(model, tmp_path):
    path = tmp_path / "file"

    def refused(text):
        with pytest.raises(ValueError, match=text):
            load_model(path)

    path.write_bytes(pickle.dumps(model))
    refused("looks like a pickle, which can run code")
    np.save(tmp_path / "array.npy", np.ones(3))
    (tmp_path / "array.npy").rename(path)
    refused("a single .npy array")
    np.savez(tmp_path / "other.npz", a=np.ones(3))
    (tmp_path / "other.npz").rename(path)
    refused("an .npz file that fairspan did not write")
    model.moments_.save(path)
    refused("it holds group moments")
    model.save(path)
    with pytest.raises(ValueError, match="cannot be read as group moments: it holds a model"):
        GroupMoments.load(path)
    with pytest.raises(FileNotFoundError):
        load_model(tmp_path / "absent")
    with pytest.raises(IsADirectoryError):
        load_model(tmp_path)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"class": "eval"}, "its class 'eval' is not one of"),
        ({"parameters": {"n_components": 2}}, "its parameters differ"),
        ({"attributes": {"transform": 1}}, "attributes that no model has"),
        ({"attributes": {"__array_interface__": 1}}, "attributes that no model has"),
        ({"attributes": {"components_": np.ones((3, 29))}}, "components_' has shape"),
        ({"attributes": {"components_": np.ones((3, 30))}}, "not orthonormal"),
        ({"attributes": {"mean_": np.full(30, np.nan)}}, "not finite"),
        ({"attributes": {"group_labels_": ["a"]}}, "where shape"),
        ({"attributes": {"scale_": np.zeros(30)}}, "scale_ is not positive"),
        ({"attributes": {"n_components_": 0}}, "0 components"),
        ({"attributes": {"moments_": 5}}, "cannot be read as a model"),
    ],
    ids=str,
)
def test_a_made_up_file_with_a_right_hash_is_refused_too(change, text, saved):
    classes = fairspan.storage.model_file._CLASSES
    content = archive.read(saved, "fairspan.model", classes).content
    for name, value in change.items():
        content[name] = content[name] | value if name == "attributes" else value
    archive.write(saved, "fairspan.model", content, classes)
    with pytest.raises(ValueError, match=text):
        load_model(saved)


def test_a_file_from_before_a_parameter_or_a_field_was_added_is_read(saved, model):
    classes = fairspan.storage.model_file._CLASSES
    content = archive.read(saved, "fairspan.model", classes).content
    for name in ("disparity", "reference"):
        del content["parameters"][name]
    archive.write(saved, "fairspan.model", content, classes)
    loaded = load_model(saved)
    assert (loaded.disparity, loaded.reference) == ("gap", "none")
    arrays = {}
    written = codec.encode(model.result_, arrays, "result", classes)
    del written["SolverResult"]["size"]
    assert codec.decode(written, arrays, classes).objective == model.result_.objective
    del written["SolverResult"]["objective"]
    with pytest.raises(ValueError, match="must have the fields"):
        codec.decode(written, arrays, classes)


def test_a_thousand_mutated_files_are_refused_or_equal_and_never_hang(model, tmp_path):
    path = tmp_path / "model"
    small = RobustFairPCA(1).fit(np.eye(30)[:, :3], sensitive_features=[0, 1] * 15)
    small.save(path)
    whole, rng = path.read_bytes(), random.Random(0)
    X, refused, start = np.eye(3), 0, time.monotonic()
    expected = small.transform(X)
    for _ in range(1000):
        data = bytearray(whole)
        for _ in range(rng.choice([1, 1, 2, 8])):
            at = rng.randrange(len(data))
            kind = rng.choice(["flip", "byte", "cut", "copy", "zeros"])
            if kind == "flip":
                data[at] ^= 1 << rng.randrange(8)
            elif kind == "byte":
                data[at] = rng.randrange(256)
            elif kind == "cut":
                del data[at : at + rng.randrange(1, 64)]
            elif kind == "copy":
                data[at:at] = data[: rng.randrange(1, 64)]
            else:
                data[at : at + 4] = bytes(4)
        path.write_bytes(data)
        message = None
        try:
            found = load_model(path)
        except ValueError as error:
            message = str(error)
        if message is None:
            np.testing.assert_array_equal(found.transform(X), expected)
        else:
            refused += 1
            assert "cannot be read as a model: " in message
            assert "\n" not in message
    assert refused > 700
    assert time.monotonic() - start < 20


WRITER = """
import os, sys, time
import numpy as np
from fairspan import RobustFairPCA
model = RobustFairPCA(1).fit(np.eye(30)[:, :3], sensitive_features=[0, 1] * 15)
def stuck(number):
    print("writing", flush=True)
    time.sleep(60)
os.fsync = stuck
model.save(sys.argv[1])
"""


def test_a_killed_save_leaves_the_old_file_whole(saved, cancer, model):
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(saved)], stdout=subprocess.PIPE, env=os.environ
    )
    with process:
        assert process.stdout.readline() == b"writing\n"
        process.send_signal(signal.SIGKILL)
    assert_same(load_model(saved).transform(cancer[0]), model.transform(cancer[0]))


def test_a_save_that_fails_leaves_the_old_file_and_no_other(saved, model, monkeypatch):
    def full(number):
        raise OSError(28, "No space left on device")

    before = saved.read_bytes()
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        model.save(saved)
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == ["model.npz"]
