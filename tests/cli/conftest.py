"""A folder of real files, and a way to call the command line in it."""

from __future__ import annotations

import csv
import json
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array, save_npz

from fairspan.cli import main

NAMES = ["age", "income", "height", "debt"]


@dataclass(frozen=True)
class People:
    """The table of people.csv as arrays."""

    X: np.ndarray
    sex: np.ndarray
    region: np.ndarray
    weight: np.ndarray


def make_people(n: int = 120) -> People:
    rng = np.random.default_rng(7)
    sex = rng.choice(["female", "male"], n, p=[0.4, 0.6])
    region = rng.choice(["east", "west", "öst"], n)
    spread = np.where((sex == "female")[:, None], [1.0, 2.0, 3.0, 4.0], [3.0, 3.0, 1.0, 2.0])
    X = np.round(rng.standard_normal((n, 4)) * spread + 10, 3)
    return People(X, sex, region, rng.integers(1, 4, n).astype(float))


def write_csv(path: Path, header: list[str], rows: list[list[Any]], **options: Any) -> None:
    with open(path, "w", newline="", encoding=options.pop("encoding", "utf-8")) as file:
        writer = csv.writer(file, **options)
        writer.writerow(header)
        writer.writerows(rows)


@pytest.fixture(scope="session")
def people() -> People:
    return make_people()


@pytest.fixture
def folder(people, tmp_path, monkeypatch) -> Path:
    """The current folder, with the files that the examples in the help use."""
    monkeypatch.chdir(tmp_path)
    header = ["id", *NAMES, "sex", "region", "count"]
    rows = [
        [i, *people.X[i].tolist(), people.sex[i], people.region[i], int(people.weight[i])]
        for i in range(len(people.X))
    ]
    write_csv(tmp_path / "people.csv", header, rows)
    save_npz(tmp_path / "words.npz", csr_array(np.hstack([people.X, people.X**2, people.X**3])))
    np.save(tmp_path / "labels.npy", people.sex)
    np.save(tmp_path / "wide.npy", np.hstack([people.X, people.X**2, people.X**3]))
    write_csv(tmp_path / "north.csv", header[1:6], [row[1:6] for row in rows[:50]])
    write_csv(tmp_path / "south.csv", header[1:6], [row[1:6] for row in rows[50:]])
    np.save(tmp_path / "array.npy", np.column_stack([people.sex == "male", people.X]))
    return tmp_path


@dataclass(frozen=True)
class Answer:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def fairspan(folder, capsys):
    """Call a command as it would be typed."""

    def call(line: str) -> Answer:
        code = main(shlex.split(line))
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return Answer(code, captured.out, captured.err)

    return call


@pytest.fixture
def refused(fairspan):
    """Call a command that must fail with one sentence, and give the sentence."""

    def call(line: str, code: int = 1) -> str:
        answer = fairspan(line)
        assert answer.code == code, answer
        assert answer.out == ""
        (text,) = answer.err.splitlines()
        assert text.startswith("error: ")
        return text

    return call
