"""Files: 5,000,000 x 50 in 20 Parquet files, streamed, against pyarrow that merely reads them."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.measure import ratio, write
from fairspan.sources import moments_from_files

FILES, ROWS, FEATURES = 20, 250_000, 50
REPETITIONS = 3
LIMIT, MEMORY_LIMIT = 1.5, 400


def made_files(folder: Path, files: int = FILES, rows: int = ROWS) -> list[str]:
    """Write random tables with a group of each row, about 100 MB a file."""
    import pyarrow as pa
    from pyarrow import parquet

    paths = []
    for i in range(files):
        rng = np.random.default_rng(i)
        columns = {f"x{j}": rng.standard_normal(rows) + j for j in range(FEATURES)}
        groups = pa.array(np.array(["f", "m"])[rng.integers(0, 2, rows)])
        path = folder / f"part-{i:02d}.parquet"
        parquet.write_table(pa.table({**columns, "group": groups}), path)
        paths.append(str(path))
    return paths


def merely_read(paths: list[str], batch_rows: int = 2**24 // (8 * FEATURES)) -> int:
    """Let pyarrow decode all batches and do nothing with them."""
    from pyarrow import parquet

    return sum(
        len(batch)
        for path in paths
        for batch in parquet.ParquetFile(path, pre_buffer=False).iter_batches(batch_rows)
    )


def peak_megabytes(folder: str) -> dict[str, float]:
    """Peak memory of a fresh process that streams the folder, above that of its imports."""
    code = f"import benchmarks.files as files; files.print_peak({folder!r})"
    command = [sys.executable, "-c", code]
    return dict(json.loads(subprocess.run(command, capture_output=True, check=True).stdout))


def print_peak(folder: str) -> None:
    import pyarrow.parquet  # noqa: F401

    before = _peak()
    moments = moments_from_files(folder, "group")
    after = _peak()
    rows = int(moments.counts.sum())
    print(json.dumps({"rows": rows, "interpreter_mb": before, "above_mb": after - before}))


def _peak() -> float:
    """Largest memory of this process in MB; getrusage would count that of its parent, too."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def main() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder, threadpool_limits(1):
        paths = made_files(Path(folder))
        found = ratio(
            lambda: moments_from_files(paths, "group"), lambda: merely_read(paths), REPETITIONS
        )
        memory = peak_megabytes(folder)
    figures: dict[str, Any] = {
        "rows": FILES * ROWS,
        "features": FEATURES,
        "files": FILES,
        **found,
        "limit": LIMIT,
        "rows_per_second": FILES * ROWS / found["seconds"],
        **memory,
        "above_limit_mb": MEMORY_LIMIT,
    }
    print(
        f"moments / merely reading = {found['ratio']:.2f} (limit {LIMIT}, or 1e6 rows/s), "
        f"{figures['rows_per_second']:.3g} rows/s, {memory['above_mb']:.0f} MB above the "
        f"interpreter (limit {MEMORY_LIMIT})",
        flush=True,
    )
    write("files", figures)
    return figures


if __name__ == "__main__":
    main()
