"""What the registry says, and the tables it makes, without any data file."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from fairspan import datasets
from fairspan.datasets.loading import parse_table

TABLE = (
    'plain, "two words","""quoted""",constant,wide,narrow,label,"group, 0 or 1"\n'
    "1, 2,3,7,-5000,0.000001,0,1\n"
    "2, 3,5,7,0,0,1,0\n"
    "4, 1,4,7,5000,0,1,1\n"
)
ENTRY = replace(datasets.info("energy"), n_rows=3, n_features=5)


def test_fifteen_data_sets_are_known_by_name():
    assert len(datasets.names()) == len(set(datasets.names())) == 15
    assert datasets.names()[0] == "default_credit"
    assert datasets.names()[-1] == "lfw"


@pytest.mark.parametrize("name", datasets.names())
def test_every_entry_says_where_its_file_comes_from_and_whom_to_cite(name):
    entry = datasets.info(name)
    assert entry.name == name
    assert entry.url.startswith("https://")
    assert re.search(r"/[0-9a-f]{40}[/.]", entry.url), "a fixed commit, not a branch"
    text = datasets.describe(name)
    for part in (entry.title, entry.attribute, entry.file_name, entry.url, entry.licence):
        assert part in text
    flowing = " ".join(text.split())
    for part in (entry.citation, entry.source, entry.notes):
        assert part in flowing
    if name != "lfw":
        assert re.fullmatch(r"[0-9a-f]{64}", entry.sha256)
        assert entry.url.endswith(f"/data/{entry.file_name}")


@pytest.mark.parametrize("ask", [datasets.info, datasets.describe, datasets.load])
def test_unknown_names_are_answered_with_the_known_ones(ask):
    with pytest.raises(ValueError, match=r"name='wine' is not known; use one of 'default_credit'"):
        ask("wine")


def test_unknown_column_rules_are_refused_before_anything_is_read(tmp_path):
    with pytest.raises(ValueError, match="column_rule='all' is not known; use one of 'published'"):
        datasets.load("energy", column_rule="all", data_home=tmp_path)


def test_a_table_loses_its_label_and_constant_columns_and_keeps_the_rest():
    data = parse_table(TABLE.encode(), ENTRY, "published")
    assert data.feature_names == ("plain", "two words", "quoted", "wide", "narrow")
    np.testing.assert_array_equal(data.X[:, :4], [[1, 2, 3, -5000], [2, 3, 5, 0], [4, 1, 4, 5000]])
    np.testing.assert_array_equal(data.sensitive_features, [1, 0, 1])
    assert data.sensitive_name == "group, 0 or 1"
    assert data.description == ENTRY.description


def test_named_columns_are_dropped_by_the_published_rule_only():
    entry = replace(ENTRY, n_features=4, dropped=("plain",))
    published = parse_table(TABLE.encode(), entry, "published")
    assert published.feature_names == ("two words", "quoted", "wide", "narrow")
    text = parse_table(TABLE.encode(), entry, "text")
    assert text.feature_names == ("plain", "two words", "quoted")
    assert "3 features, by the rule of the paper's text" in text.description


def test_windows_line_ends_make_the_same_table():
    data = parse_table(TABLE.replace("\n", "\r\n").encode(), ENTRY, "published")
    assert data.sensitive_name == "group, 0 or 1"
    np.testing.assert_array_equal(data.X, parse_table(TABLE.encode(), ENTRY, "published").X)


def test_a_table_of_another_size_than_the_papers_is_refused():
    with pytest.raises(ValueError, match="gives 3 rows and 5 features where the paper has 3 and 6"):
        parse_table(TABLE.encode(), replace(ENTRY, n_features=6), "published")
