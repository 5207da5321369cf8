"""What the benchmarks share: alternating timings, goals, and figures written as JSON."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

Figure = tuple[str, float | None, Callable[[], dict[str, Any]]]
"""What is measured, its goal, if any, and the measurement, whose result is the "ratio"."""

_WORSE = 1.1
RESULTS = Path(__file__).parent / "results"


def seconds(run: Callable[[], object], clock: Callable[[], float] = time.process_time) -> float:
    """CPU time of one run, which other processes hardly change; or its time by another clock."""
    start = clock()
    run()
    return clock() - start


def ratio(
    ours: Callable[[], object],
    theirs: Callable[[], object],
    repetitions: int,
    clock: Callable[[], float] = time.process_time,
) -> dict[str, float]:
    """Time two runs alternately; the ratio is the median of the pairs' ratios."""
    ours(), theirs()
    pairs = [(seconds(ours, clock), seconds(theirs, clock)) for _ in range(repetitions)]
    return {
        "repetitions": repetitions,
        "ratio": statistics.median(a / b for a, b in pairs),
        "ratio_of_fastest": min(a for a, _ in pairs) / min(b for _, b in pairs),
        "seconds": statistics.median(a for a, _ in pairs),
        "reference_seconds": statistics.median(b for _, b in pairs),
    }


def write(name: str, figures: Any) -> None:
    """Write figures to results/<name>.json."""
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(figures, indent=2) + "\n")


def judged(name: str, figures: Iterable[Figure]) -> dict[str, dict[str, Any]]:
    """Measure figures, say which goals are met, and store them in results/<name>.json.

    If any is 10 % worse than the stored figure, the run fails and nothing is stored.
    """
    file = RESULTS / f"{name}.json"
    stored = json.loads(file.read_text()) if file.exists() else {}
    found: dict[str, dict[str, Any]] = {}
    worse = []
    for title, goal, measure in figures:
        with threadpool_limits(1):
            found[title] = measure()
        value, told = found[title]["ratio"], "no goal"
        if goal is not None:
            found[title] |= {"goal": goal, "met": value <= goal}
            told = f"goal {goal}: {'met' if value <= goal else 'missed'}"
        print(f"{title}: {value:.2f} ({told})", flush=True)
        if title in stored and value > _WORSE * stored[title]["ratio"]:
            worse.append(f"{title}: {value:.2f}, stored {stored[title]['ratio']:.2f}")
    if worse:
        raise SystemExit("Worse than stored by more than 10 %:\n" + "\n".join(worse))
    write(name, found)
    return found
