"""The paper's data sets, where they are: sizes, columns, groups."""

from __future__ import annotations

import numpy as np
import pytest

from fairspan import datasets
from fairspan.moments.groups import encode_groups
from tests.conftest import PAPER_FILES, needs_paper_data, paper_table

# Sizes in the paper's table of data sets; for the faces, of the file.
SIZES = {
    "default_credit": (30000, 22),
    "biodeg": (1055, 40),
    "e_coli": (333, 7),
    "energy": (768, 8),
    "german_credit": (1000, 48),
    "image": (660, 18),
    "letter": (20000, 16),
    "magic": (19020, 10),
    "parkinsons": (5875, 20),
    "skillcraft": (3337, 17),
    "statlog": (3071, 36),
    "steel": (1941, 24),
    "taiwan_credit": (29623, 22),
    "wine_quality": (6497, 11),
    "lfw": (13232, 1764),
}

pytestmark = needs_paper_data


def test_the_names_are_the_papers_in_its_order():
    assert datasets.names() == tuple(SIZES)


@pytest.mark.parametrize("name", SIZES)
def test_every_data_set_has_the_size_the_paper_states(name):
    data = datasets.load(name)
    assert data.X.shape == SIZES[name]
    assert data.X.dtype == np.float64
    assert data.X.flags.c_contiguous
    assert np.isfinite(data.X).all()
    assert len(data.feature_names) == len(set(data.feature_names)) == data.X.shape[1]
    assert data.sensitive_features.shape == (len(data.X),)
    assert set(data.sensitive_features.tolist()) == {0, 1}


@pytest.mark.parametrize("name", PAPER_FILES)
def test_tables_equal_those_of_an_independent_reader(name):
    X, groups, names = paper_table(name)
    data = datasets.load(name)
    np.testing.assert_array_equal(data.X, X)
    np.testing.assert_array_equal(data.sensitive_features, groups)
    assert list(data.feature_names) == [column.strip('"') for column in names]


def test_the_texts_column_rule_removes_thirteen_columns_of_default_credit():
    published = datasets.load("default_credit")
    text = datasets.load("default_credit", column_rule="text")
    assert published.X.shape[1] - text.X.shape[1] == 13
    assert (text.X.std(axis=0) < 1000).all()
    assert "9 features, by the rule of the paper's text" in text.description
    # The text says nothing of the two columns of Steel that the published experiment drops.
    assert {"perimX", "perimY"} <= set(datasets.load("steel", column_rule="text").feature_names)


def test_faces_are_grey_pictures_with_the_counts_their_source_states():
    faces = datasets.load("lfw")
    assert faces.image_shape == (49, 36)
    assert (faces.sensitive_features == 0).sum() == 2962
    assert faces.X.min() >= 0
    assert faces.X.max() <= 255
    np.testing.assert_array_equal(faces.X, np.rint(faces.X))
    spread = faces.X.std(axis=0)
    assert ((spread > 1e-5) & (spread < 1000)).all(), "no column rule would drop a pixel"


def test_labels_of_faces_come_one_by_one_or_together_and_intersect():
    black = datasets.load("lfw", sensitive="black")
    assert black.sensitive_name == "black"
    assert black.sensitive_features.sum() == 2428
    both = datasets.load("lfw", sensitive=["sex", "race"])
    assert list(both.sensitive_features) == ["sex", "white", "black", "asian"]
    np.testing.assert_array_equal(both.sensitive_features["black"], black.sensitive_features)
    groups = encode_groups(both.sensitive_features, len(both.X))
    assert len(groups.labels) > 8, "labels of race are not exclusive: sex alone doubles eight"
