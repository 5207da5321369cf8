"""The census table that ships with the package."""

from __future__ import annotations

import csv
import hashlib
import io
from importlib.resources import files

import numpy as np
import pytest

from fairspan import datasets
from fairspan.datasets.adult import adult_bytes
from tests.conftest import data_directory, needs_paper_data


def test_adult_is_read_without_a_data_directory(tmp_path):
    adult = datasets.load("adult", data_home=tmp_path / "nothing")
    entry = datasets.info("adult")
    assert adult.X.shape == (entry.n_rows, entry.n_features)
    assert adult.feature_names[0] == "age"
    assert "fnlwgt" not in adult.columns
    assert set(adult.sensitive_features) == {"female", "male"}
    assert set(adult.target) == {"<=50K", ">50K"}
    assert "CC BY 4.0" in adult.description
    assert "Kohavi" in adult.description
    shipped = files("fairspan.datasets").joinpath("adult.csv.gz").read_bytes()
    assert hashlib.sha256(shipped).hexdigest() == entry.sha256
    assert len(shipped) < 300_000


def test_adult_offers_both_sensitive_columns():
    both = datasets.load("adult", sensitive=["sex", "race"])
    assert both.sensitive_name == "sex, race"
    assert len(set(both.sensitive_features["race"])) == 5
    with pytest.raises(ValueError, match="sensitive='age' is not known; use one of 'sex', 'race'"):
        datasets.load("adult", sensitive="age")


@needs_paper_data
def test_adult_is_a_part_of_the_original():
    with open(data_directory() / "adult.csv", encoding="utf-8") as file:
        whole = [{**row, "fnlwgt": ""} for row in csv.DictReader(file)]
    keys = [name for name in whole[0] if name != "fnlwgt"]
    known = {tuple(row[name] for name in keys) for row in whole}
    sample = csv.DictReader(io.StringIO(adult_bytes().decode()))
    assert all(tuple(row[name] for name in keys) in known for row in sample)


def test_numbers_and_text_are_told_apart():
    columns = datasets.load("adult").columns
    assert columns["age"].dtype == np.float64
    assert columns["occupation"].dtype.kind == "U"
