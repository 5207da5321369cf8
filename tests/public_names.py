"""Write down all that is public: names, signatures, commands and their options.

``python -m tests.public_names`` writes them to ``tests/public_names.txt``, which a test compares
with the code.
"""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import fairspan
from fairspan.cli import COMMANDS

FILE = Path(__file__).with_suffix(".txt")
MODULES = ("objectives", "problem", "solvers")
"""Documented modules that the package does not list among its own names."""


def text() -> str:
    """Everything, a name on each line."""
    modules = [import_module(f"fairspan.{name}") for name in MODULES]
    lines = [line for module in (fairspan, *modules) for line in of_module(module)]
    return "\n".join([*lines, *of_commands(), ""])


def of_module(module: ModuleType) -> Iterator[str]:
    for name in sorted(module.__all__):
        public = getattr(module, name)
        full = f"{module.__name__}.{name}"
        if inspect.ismodule(public):
            yield from of_module(public)
        elif inspect.isclass(public) and issubclass(public, dict):
            yield f"{full}({', '.join(public.__annotations__)})"
        elif inspect.isclass(public) and not issubclass(public, Warning):
            yield full + signature(public)
            yield from of_class(full, public)
        elif inspect.isfunction(public):
            yield full + signature(public)
        else:
            yield full


def of_class(full: str, public: type) -> Iterator[str]:
    """Members that this package defines; fields of a dataclass are in its signature."""
    fields = getattr(public, "__dataclass_fields__", {})
    for name, member in inspect.getmembers(public):
        target = getattr(member, "fget", None) or getattr(member, "func", None) or member
        module = getattr(inspect.unwrap(target), "__module__", None) or ""
        if name.startswith("_") or name in fields or not module.startswith("fairspan"):
            continue
        yield f"{full}.{name}{signature(member) if callable(member) else ''}"


def signature(public: object) -> str:
    """Parameters and their defaults; types are checked elsewhere."""
    found = inspect.signature(public)
    plain = [p.replace(annotation=p.empty) for p in found.parameters.values()]
    return str(found.replace(parameters=plain, return_annotation=found.empty))


def of_commands() -> Iterator[str]:
    for command, (_, module) in COMMANDS.items():
        parser = argparse.ArgumentParser(add_help=False)
        import_module(module).add_arguments(parser)
        for action in parser._actions:
            if action.help != argparse.SUPPRESS:
                choices = "" if action.choices is None else f" {{{','.join(action.choices)}}}"
                option = " ".join(action.option_strings) or action.dest
                yield f"$ fairspan {command} {option}{choices}"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
    print(f"Written: {FILE}")
