"""One table read by every route, told in plain values; runs in a bare install, too."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import shlex
import sys
import tempfile
from pathlib import Path
from typing import Any

ABSENT = ("pandas", "polars", "pyarrow", "dask", "distributed", "pyspark", "matplotlib")
"""What a bare install does not have."""


def by_library(path: str, options: dict[str, Any], engine: str = "process") -> dict[str, Any]:
    """Read with :func:`fairspan.sources.moments_from_files`; notes are what it logs."""
    from fairspan.sources import moments_from_files

    notes: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: notes.append(record.getMessage().removesuffix("."))
    logger = logging.getLogger("fairspan")
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        found = moments_from_files(path, "g", engine=engine, **options)
    except (ValueError, TypeError) as error:
        return {"error": str(error)}
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
    return described(found, notes)


def by_command(path: str, options: dict[str, Any]) -> dict[str, Any]:
    """Read with ``fairspan moments``."""
    from fairspan import GroupMoments
    from fairspan.cli import main

    words = ["moments", path, "-s", "g", "--json", "--min-count", "1"]
    for name, value in options.items():
        listed = value if isinstance(value, list) else [value.replace("_", "-")]
        words += [f"--{name.replace('_', '-')}", *listed]
    out, err = io.StringIO(), io.StringIO()
    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder) / "out.npz")
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main([*words, "-o", file])
        if code:
            (line,) = err.getvalue().splitlines()
            return {"error": line.removeprefix("error: ")}
        return described(GroupMoments.load(file), json.loads(out.getvalue())["notes"])


def described(moments: Any, notes: list[str]) -> dict[str, Any]:
    """Give what JSON can hold."""
    return {
        "labels": repr(moments.labels),
        "names": list(moments.feature_names),
        "counts": moments.counts.tolist(),
        "weights": moments.weights.tolist(),
        "means": moments.means.tolist(),
        "scatters": moments.scatters.tolist(),
        "dropped": moments.dropped_rows,
        "notes": notes,
    }


class Blocker:
    """Finds no package that a bare install does not have."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name.partition(".")[0] in ABSENT:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


if __name__ == "__main__":
    sys.meta_path.insert(0, Blocker())
    cases = json.loads(sys.stdin.read())
    answers = {
        name: [by_library(path, options), by_command(path, words)]
        for name, (path, options, words) in cases.items()
    }
    assert not set(ABSENT) & set(sys.modules), shlex.join(set(ABSENT) & set(sys.modules))
    print(json.dumps(answers))
