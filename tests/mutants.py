"""Put faults into the code, one by one: each must be caught by a test (``make mutants``).

A fault is a line of ``mutants.txt``: the file, what stands there, what is put in its place, and the
tests that should notice. The faulty copy lives in a temporary folder; the code is not touched.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

_HERE = Path(__file__).resolve().parent
_SOURCE = _HERE.parent / "src"
_SEPARATOR, _NEWLINE = " | ", "@@@"
_LIMIT = 600
"""Seconds after which tests are stopped. Their time says nothing of the fault on a busy machine."""


class Mutant(NamedTuple):
    """One fault, and the tests that should notice it."""

    file: str
    right: str
    wrong: str
    tests: list[str]

    def __str__(self) -> str:
        return f"{self.file}: {self.right}  ->  {self.wrong}"


def read(path: Path = _HERE / "mutants.txt") -> list[Mutant]:
    """The committed list; a fault whose text is not there exactly once is an error."""
    mutants = []
    for line in path.read_text().splitlines():
        if line and not line.startswith("#"):
            file, right, wrong, tests = line.replace(_NEWLINE, "\n    ").split(_SEPARATOR)
            mutants.append(Mutant(file, right, wrong, tests.split()))
    for mutant in mutants:
        times = (_SOURCE / "fairspan" / mutant.file).read_text().count(mutant.right)
        if times != 1:
            raise SystemExit(f"{mutant}: the text stands there {times} times, not once")
    return mutants


def outcome(mutant: Mutant) -> str:
    """What became of a fault: caught, SURVIVES or timed out."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "src"
        shutil.copytree(_SOURCE, source, ignore=shutil.ignore_patterns("__pycache__"))
        file = source / "fairspan" / mutant.file
        file.write_text(file.read_text().replace(mutant.right, mutant.wrong))
        try:
            ended = run(source, mutant.tests, _LIMIT)
        except subprocess.TimeoutExpired:
            return "timed out"
    if ended.returncode not in (0, 1):
        raise SystemExit(f"{mutant}: pytest ended with {ended.returncode}\n{ended.stdout}")
    return "caught" if ended.returncode else "SURVIVES"


def check_tests(mutants: list[Mutant]) -> None:
    """The tests must pass without any fault; else every fault would seem to be caught."""
    ended = run(_SOURCE, sorted({test for mutant in mutants for test in mutant.tests}))
    if ended.returncode != 0:
        raise SystemExit(f"The tests fail without any fault:\n{ended.stdout}")


def run(
    source: Path, tests: list[str], timeout: float | None = None
) -> subprocess.CompletedProcess[str]:
    """Run tests against the code in a folder, up to the first that fails."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"]
    settings = {"PYTHONPATH": str(source), "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.run(
        [*command, *(str(_HERE / test) for test in tests)],
        cwd=_HERE.parent,
        env=os.environ | settings,
        capture_output=True,
        text=True,
        timeout=timeout,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="faults whose text contains this")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    mutants = [mutant for mutant in read() if options.only in str(mutant)]
    if not mutants:
        parser.error(f"no fault contains {options.only!r}")
    check_tests(mutants)
    counts = Counter[str]()
    with ThreadPoolExecutor(options.workers) as pool:
        for mutant, found in zip(mutants, pool.map(outcome, mutants), strict=True):
            counts[found] += 1
            print(f"{found:<9}", mutant, flush=True)
    missed = [f"{counts[found]} {found}" for found in ("SURVIVES", "timed out") if counts[found]]
    print(", ".join([f"{len(mutants)} faults", f"{counts['caught']} caught", *missed]))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
