"""What the benchmarks share: alternating timings, one BLAS thread, figures written as JSON."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


def seconds(run: Callable[[], object]) -> float:
    """Wall time of one run."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def ratio(
    ours: Callable[[], object], theirs: Callable[[], object], repetitions: int
) -> dict[str, float]:
    """Time two runs alternately; the ratio is the median of the pairs' ratios."""
    ours(), theirs()
    pairs = [(seconds(ours), seconds(theirs)) for _ in range(repetitions)]
    return {
        "ratio": statistics.median(a / b for a, b in pairs),
        "ratio_of_fastest": min(a for a, _ in pairs) / min(b for _, b in pairs),
        "seconds": statistics.median(a for a, _ in pairs),
        "reference_seconds": statistics.median(b for _, b in pairs),
    }


def write(name: str, figures: Any) -> None:
    """Write figures to results/<name>.json."""
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(figures, indent=2) + "\n")
