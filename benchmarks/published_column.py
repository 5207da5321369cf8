"""How long the published RFPCA column takes: all 14 tables, ten splits, one command."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time

from benchmarks.measure import seconds, write


def main() -> None:
    words = ["reproduce", "table1", "--methods", "rfpca", "--solver", "published"]
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "fairspan", *words, "--output", folder]
        wall = seconds(lambda: subprocess.run(command, check=True), time.perf_counter)
    # The command waits for its workers, so that their time is in the sum.
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    figures = {"workers": os.cpu_count(), "seconds": wall}
    figures["cpu_seconds"] = used.ru_utime + used.ru_stime
    write("published_column", figures)
    print(figures)
