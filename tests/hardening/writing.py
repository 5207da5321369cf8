"""Every command that writes, while the disk is full or the process is killed; runs by itself.

``python -m tests.hardening.writing FOLDER`` tells in JSON what each did.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import resource
import signal
import sys
from pathlib import Path

from fairspan.cli import main
from tests.cli.conftest import make_people, write_csv

TABLE = "people.csv -s sex --drop id region"
WRITERS = {
    "model.npz": f"fit {TABLE} -k 2",
    "winner.npz": f"select {TABLE} -k 1 --weights 0 1 --radii 0 --folds 2",
    "site.npz": f"moments {TABLE}",
    "all.npz": "merge old.npz",
    "out.csv": "transform fitted.npz people.csv",
    "out.npy": "transform fitted.npz people.csv",
    "out.parquet": "transform fitted.npz people.csv",
    "curve.csv": f"frontier {TABLE} -k 1 --weights 0 1",
    "curve.json": f"frontier {TABLE} -k 1 --weights 0 1",
    "curve.png": f"frontier {TABLE} -k 1 --weights 0 1",
    "methods.csv": f"compare {TABLE} -k 1",
    "methods.json": f"compare {TABLE} -k 1",
    "page.html": f"report {TABLE} -k 1",
    "decisions.json": f"downstream {TABLE} --target debt -k 1 --methods FairPCA --splits 2",
}
"""What a command writes, and the command without -o."""


def prepare() -> None:
    """Make the files that commands read, and old ones of those that they write."""
    people = make_people()
    names = ["id", "age", "income", "height", "debt", "sex", "region"]
    columns = [range(len(people.X)), *people.X.T.tolist(), people.sex, people.region]
    write_csv(Path("people.csv"), names, [list(row) for row in zip(*columns, strict=True)])
    for line in (f"fit {TABLE} -k 2 -o fitted.npz", f"moments {TABLE} -o old.npz"):
        assert called(line)[0] == 0
    for name in WRITERS:
        Path(name).write_text("old")


def called(line: str) -> tuple[int, str]:
    """Call a command; give its exit code and what it says about errors."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(line.split())
    return code, err.getvalue()


def on_a_full_disk(line: str) -> tuple[int, str]:
    """Call a command where no file may grow beyond a few bytes."""
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64, hard))
    try:
        return called(line)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))


def killed(line: str) -> int:
    """Call a command in a process that is killed when its file is nearly written."""
    child = os.fork()
    if not child:
        os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)
        called(line)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def told() -> dict[str, dict[str, object]]:
    """Try all commands."""
    found = {}
    for name, line in WRITERS.items():
        full = on_a_full_disk(f"{line} -o {name}")
        shown = sorted(path.name for path in Path().iterdir() if ".partial-" in path.name)
        after = Path(name).read_text()
        code = killed(f"{line} -o {name}")
        left = [path for path in Path().iterdir() if ".partial-" in path.name]
        found[name] = {"full": full, "left": shown, "after": after, "killed": code}
        found[name] |= {"after_kill": Path(name).read_text(), "hidden": len(left)}
        for path in left:
            os.utime(path, (0, 0))
        found[name]["again"] = called(f"{line} -o {name}")[0]
        found[name]["cleared"] = not any(path.exists() for path in left)
    return found


if __name__ == "__main__":
    os.chdir(sys.argv[1])
    prepare()
    print(json.dumps(told()))
