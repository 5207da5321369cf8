"""Docstrings are complete and their examples run."""

from __future__ import annotations

import dataclasses
import doctest
import importlib
import inspect
import pkgutil
from operator import attrgetter

import pytest

import fairspan

validate = pytest.importorskip("numpydoc.validate").validate

CHECKS = {
    "GL08",  # no docstring
    "SS01",  # no summary
    "PR01",  # parameters that are not described
    "PR02",  # unknown parameters
    "PR07",  # a parameter without a description
    "RT01",  # no section of returns
    "RT03",  # a return value without a description
    "YD01",  # no section of yields
}


def public_objects() -> list[str]:
    """Public names, of public modules too, and the members that fairspan itself defines."""
    names = []
    for name in fairspan.__all__:
        public = getattr(fairspan, name)
        if inspect.ismodule(public):
            # Values, such as ready-made scorers, share the docstring of their class.
            names += [
                f"fairspan.{name}.{member}"
                for member in public.__all__
                if inspect.isclass(value := getattr(public, member)) or inspect.isroutine(value)
            ]
            continue
        names.append(f"fairspan.{name}")
        if not inspect.isclass(public):
            continue
        for member, value in inspect.getmembers(public):
            target = getattr(value, "fget", None) or getattr(value, "func", None) or value
            ours = getattr(inspect.unwrap(target), "__module__", "") or ""
            callable_or_property = inspect.isroutine(target) or isinstance(value, property)
            if not member.startswith("_") and ours.startswith("fairspan") and callable_or_property:
                names.append(f"fairspan.{name}.{member}")
    return names


def modules() -> list[str]:
    found = pkgutil.walk_packages(fairspan.__path__, prefix="fairspan.")
    return ["fairspan", *(module.name for module in found)]


@pytest.mark.parametrize("name", public_objects())
def test_public_names_are_documented_completely(name):
    errors = {code: text for code, text in validate(name)["errors"] if code in CHECKS}
    public = attrgetter(name.removeprefix("fairspan."))(fairspan)
    is_value = dataclasses.is_dataclass(public) and not hasattr(public, "fit")
    if inspect.isclass(public) and is_value:
        # A value that is made by functions describes its fields as attributes.
        errors.pop("PR01", None)
        fields = [field.name for field in dataclasses.fields(public)]
        described = inspect.getdoc(public) or ""
        assert [field for field in fields if f"\n{field} : " not in described] == []
    assert errors == {}


@pytest.mark.parametrize("name", modules())
def test_examples_in_docstrings_run(name):
    failed, _ = doctest.testmod(importlib.import_module(name), verbose=False)
    assert failed == 0


def test_public_names_exist_once_and_in_order():
    assert list(fairspan.__all__) == sorted(set(fairspan.__all__), key=str)
    assert all(hasattr(fairspan, name) for name in fairspan.__all__)


def test_the_main_names_show_an_example():
    for public in (fairspan.RobustFairPCA, fairspan.GroupMoments):
        assert any(test.examples for test in doctest.DocTestFinder().find(public))
