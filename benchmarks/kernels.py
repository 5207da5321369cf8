"""How far CFPCA on E. Coli moves with the kernels of OpenBLAS: `published/cfpca/kernels.csv`.

The published centring turns a column that is constant up to rounding into noise, and the noise
depends on the order in which a kernel adds. Only x86 machines have these kernels.
"""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import tempfile
from pathlib import Path

KERNELS = ("Haswell", "Sandybridge", "Nehalem", "SkylakeX")
METHODS = ("cfpca-mean", "cfpca-both")
STORED = Path("docs/reproduction/published/cfpca/kernels.csv")
COLUMNS = ("kernel", "method", "abdiff", "are")


def rows(kernel: str, folder: Path) -> list[dict[str, str]]:
    command = [sys.executable, "-m", "fairspan", "reproduce", "table1", "--datasets", "e_coli"]
    command += ["--methods", *METHODS, "--cfpca-centering", "published", "--output", str(folder)]
    # The kernel is chosen when numpy is loaded, so that each needs a process of its own.
    environment = {**os.environ, "OPENBLAS_CORETYPE": kernel, "OPENBLAS_NUM_THREADS": "1"}
    subprocess.run(command, env=environment, check=True)
    with open(folder / "table1.csv", newline="") as file:
        return [{**row, "kernel": kernel} for row in csv.DictReader(file)]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        found = [row for kernel in KERNELS for row in rows(kernel, Path(folder) / kernel)]
    with open(STORED, "w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        for row in found:
            writer.writerow({**row, **{key: f"{float(row[key]):.10g}" for key in COLUMNS[2:]}})


if __name__ == "__main__":
    main()
