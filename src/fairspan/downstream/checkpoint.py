"""Finished splits in a folder, so that an interrupted call continues where it stopped."""

from __future__ import annotations

import inspect
import json
import pickle
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import joblib

from fairspan.downstream.measures import Measure
from fairspan.downstream.split import Row, Task
from fairspan.ground.atomic import replacing


class Store:
    """Finished splits in a folder, one file each, under a name that says what they belong to."""

    def __init__(self, folder: Path, task: Task, parts: list[Any]) -> None:
        if folder.exists() and not folder.is_dir():
            raise ValueError(f"checkpoint={str(folder)!r} is a file; name a folder.")
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.n_splits = folder, len(parts)
        own = replace(task, measures=[_content(one) for one in task.measures])
        try:
            self.name = f"downstream-{joblib.hash((own, parts))}"
        except pickle.PicklingError as error:
            raise ValueError(
                "checkpoint needs methods, metrics and a model that can be pickled, to know them "
                f"again: {error.args[0]}."
            ) from error

    def _path(self, split: int) -> Path:
        return self.folder / f"{self.name}-{split}.json"

    def load(self) -> dict[int, list[Row]]:
        """Read what is there."""
        paths = {split: self._path(split) for split in range(self.n_splits)}
        done = {}
        for split, path in paths.items():
            # A damaged file counts as one that is not there.
            with suppress(OSError, ValueError):
                done[split] = json.loads(path.read_text(encoding="utf-8"))
        return done

    def save(self, split: int, rows: list[Row]) -> None:
        """Write one split, whole or not at all."""
        with replacing(self._path(split)) as place:
            place.write_text(json.dumps(rows), encoding="utf-8")


def _content(measure: Measure) -> Any:
    """What a metric is. A function of a script or notebook is its code, which may be edited."""
    function = measure.function
    code = getattr(function, "__code__", None)
    if code is None or (function.__module__ != "__main__" and "<" not in function.__qualname__):
        return measure
    plain = [value for value in code.co_consts if not inspect.iscode(value)]
    enclosed = [cell.cell_contents for cell in function.__closure__ or ()]
    return measure.name, code.co_code, code.co_names, plain, function.__defaults__, enclosed
