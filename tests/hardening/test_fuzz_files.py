"""Files of every kind, whole and damaged: what is read is right, and what is not is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairspan import GroupMoments, RobustFairPCA, datasets, load_model
from fairspan.cli import main
from fairspan.sources import moments_from_files
from tests.hardening import inputs
from tests.hardening.law import REFUSED, outcome, searched

pytestmark = pytest.mark.fuzz

pd = inputs.pd
X, GROUPS = inputs.good()
MODEL = RobustFairPCA(2).fit(X, sensitive_features=GROUPS)


def table():
    return pd.DataFrame(X, columns=list("wxyz")).assign(group=GROUPS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("files")
    MODEL.save(made / "model.npz")
    MODEL.moments_.save(made / "moments.npz")
    table().to_csv(made / "table.csv", index=False)
    table().to_parquet(made / "table.parquet")
    table().to_feather(made / "table.feather")
    (made / "empty.csv").touch()
    (made / "header.csv").write_text("w,x,y,z,group\n")
    (made / "ragged.csv").write_text("w,x,group\n1,2,a\n3,b\n")
    (made / "text.csv").write_text("w,x,group\n1,two,a\n3,4,b\n")
    (made / "twice.csv").write_text("w,w,group\n1,2,a\n3,4,b\n")
    (made / "latin.csv").write_bytes("w,x,group\n1,2,\xe4\n3,4,b\n".encode("latin-1"))
    (made / "binary.csv").write_bytes(bytes(range(256)))
    (made / "one.csv").write_text("w,x,group\n1,2,a\n")
    np.save(made / "array.npy", X)
    return made


def damaged(content: bytes, place: float, change: int, kind: str) -> bytes:
    at = min(int(place * len(content)), len(content) - 1)
    if kind == "cut":
        return content[:at]
    if kind == "flip":
        return content[:at] + bytes([content[at] ^ change]) + content[at + 1 :]
    return content[:at] + bytes([change]) * 20 + content[at:]


damages = st.tuples(
    st.floats(0, 1), st.integers(1, 255), st.sampled_from(["cut", "flip", "insert"])
)


@searched(60)
@given(damages)
def test_a_damaged_model_is_refused_or_still_the_same(folder, damage):
    path = folder / "damaged.npz"
    path.write_bytes(damaged((folder / "model.npz").read_bytes(), *damage))
    found = outcome(load_model, path)
    if found is not REFUSED:
        assert np.array_equal(found.transform(X), MODEL.transform(X))


@searched(60)
@given(damages)
def test_damaged_moments_are_refused_or_still_the_same(folder, damage):
    path = folder / "damaged.npz"
    path.write_bytes(damaged((folder / "moments.npz").read_bytes(), *damage))
    found = outcome(GroupMoments.load, path)
    if found is not REFUSED:
        assert np.array_equal(found.scatters, MODEL.moments_.scatters)


@searched(40)
@given(damages, st.sampled_from(["csv", "parquet", "feather"]))
def test_a_damaged_table_is_read_or_refused(folder, damage, kind):
    path = folder / f"damaged.{kind}"
    path.write_bytes(damaged((folder / f"table.{kind}").read_bytes(), *damage))
    found = outcome(moments_from_files, str(path), "group")
    if found is not REFUSED:
        assert np.isfinite(found.scatters).all()


NAMES = (
    "table.csv", "table.parquet", "table.feather", "empty.csv", "header.csv", "ragged.csv",
    "text.csv", "twice.csv", "latin.csv", "binary.csv", "one.csv", "array.npy", "model.npz",
    "moments.npz", "missing.csv", ".",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("read", [load_model, GroupMoments.load])
def test_a_file_of_any_kind_is_what_was_asked_for_or_refused(folder, name, read):
    found = outcome(read, folder / name)
    right = "model.npz" if read is load_model else "moments.npz"
    assert (found is not REFUSED) == (name == right)


@pytest.mark.parametrize("value", inputs.ODD, ids=lambda value: repr(value)[:20])
def test_a_path_of_any_kind_is_refused(value, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for read in (load_model, GroupMoments.load, MODEL.save, MODEL.moments_.save):
        # Texts are names, under which a file may be written.
        if not isinstance(value, str) or read in (load_model, GroupMoments.load):
            assert outcome(read, value) is REFUSED
    assert not list(tmp_path.iterdir())
    assert outcome(moments_from_files, value, "group") is REFUSED
    assert outcome(datasets.load, value) is REFUSED


@pytest.mark.parametrize("name", NAMES)
def test_a_table_of_any_kind_gives_moments_or_is_refused(folder, name):
    for sensitive in ("group", "w", ["group", "w"], None, "nothing", 4, -9, [], 1.5):
        found = outcome(moments_from_files, str(folder / name), sensitive)
        if found is not REFUSED:
            assert np.isfinite(found.scatters).all()
            assert found.counts.sum() > 0


@pytest.mark.parametrize("option", ["features", "weight", "missing", "missing_groups", "engine"])
def test_an_option_of_any_kind_is_used_or_refused(folder, option):
    path = str(folder / "table.csv")
    for value in inputs.ODD:
        found = outcome(moments_from_files, path, "group", **{option: value})
        if found is not REFUSED:
            assert np.isfinite(found.scatters).all()


WORDS = (
    "fit", "transform", "frontier", "compare", "report", "moments", "merge", "certify", "info",
    "--sensitive", "group", "w", "nothing", "-k", "2", "0", "-1", "99", "x", "nan", "1e400",
    "--standardize", "--fairness-weight", "--radius", "--weight", "--features", "w,x", "--json",
    "-o", "out.npz", "out.csv", "out.html", ".", "", "--seed", "--bootstrap", "20", "--max-time",
    "--effort",
    "--help", "--version", "--nonsense", "-", "\x00", "\ud800", "ä", *NAMES,
)  # fmt: skip
FILES = {"out.npz", "out.csv", "out.html"}


def run(capsys, arguments: list[str]) -> int:
    """Run a command; exit codes are documented, and an error is one sentence."""
    code = main(arguments)
    told = capsys.readouterr()
    assert code in (0, 1, 2, 3), (arguments, code)
    assert "Traceback" not in told.err
    assert "please report" not in told.err, (arguments, told.err)
    if code == 1:
        errors = [line for line in told.err.splitlines() if line.startswith("error:")]
        assert len(errors) == 1, (arguments, told.err)
    return code


@searched(80)
@given(
    st.sampled_from(WORDS[:9]),
    st.sampled_from(NAMES),
    st.lists(st.sampled_from(WORDS), max_size=6),
)
def test_any_words_after_the_programs_name_are_obeyed_or_refused(
    folder, capsys, monkeypatch, command, file, words
):
    monkeypatch.chdir(folder)
    before = {path.name for path in folder.iterdir()}
    code = run(capsys, [command, file, *words])
    made = {path.name for path in folder.iterdir()} - before
    if code in (1, 2):
        assert not made, (command, file, words)
    for name in made:
        (folder / name).unlink()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("command", ["fit", "moments", "frontier", "transform", "info", "certify"])
def test_a_command_reads_any_file_or_refuses_it_and_leaves_nothing_half_done(
    folder, capsys, monkeypatch, tmp_path, name, command
):
    monkeypatch.chdir(tmp_path)
    path, out = str(folder / name), str(tmp_path / "out")
    ends = {
        "fit": ["--sensitive", "group", "-k", "1", "-o", f"{out}.npz"],
        "moments": ["--sensitive", "group", "-o", f"{out}.npz"],
        "frontier": ["--sensitive", "group", "-k", "1"],
        "transform": [path, "-o", f"{out}.csv"],
        "info": [],
        "certify": [],
    }
    first = [str(folder / "model.npz")] if command == "transform" else [path]
    code = run(capsys, [command, *first, *ends[command]])
    assert code == 0 or not list(tmp_path.iterdir())
