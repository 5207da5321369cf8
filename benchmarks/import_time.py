"""Import: processor seconds and memory beyond scikit-learn's own, medians of fresh interpreters."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from typing import Any

from benchmarks.measure import write

RUNS, LIMIT = 7, 0.3
PROGRAM = """
import json, resource, sys, time
def state():
    return time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
start = state()
import sklearn.decomposition
base = state()
import fairspan
named = state()
fairspan.RobustFairPCA
estimator = state()
for name in fairspan.__all__:
    getattr(fairspan, name)
used = state()
print(json.dumps({
    "scikit_learn_seconds": base[0] - start[0],
    "import_seconds": named[0] - base[0],
    "estimator_seconds": estimator[0] - base[0],
    "all_names_seconds": used[0] - base[0],
    "scikit_learn_mb": base[1],
    "import_mb": named[1] - base[1],
    "all_names_mb": used[1] - base[1],
}))
"""


def one_run() -> dict[str, float]:
    # Where Python is forbidden to keep compiled modules, it would compile them in each run.
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    answer = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, env=kept
    )
    found: dict[str, float] = json.loads(answer.stdout)
    return found


def main() -> dict[str, Any]:
    one_run()
    runs = [one_run() for _ in range(RUNS)]
    figures: dict[str, Any] = {"runs": RUNS, "limit_seconds": LIMIT}
    figures |= {name: statistics.median(run[name] for run in runs) for name in runs[0]}
    print(
        f"import fairspan {figures['import_seconds']:.3f} s, with RobustFairPCA "
        f"{figures['estimator_seconds']:.3f} s, with every public name "
        f"{figures['all_names_seconds']:.3f} s and {figures['all_names_mb']:.0f} MB beyond "
        f"scikit-learn's {figures['scikit_learn_seconds']:.2f} s and "
        f"{figures['scikit_learn_mb']:.0f} MB (limit {LIMIT} s)",
        flush=True,
    )
    write("import_time", figures)
    return figures


if __name__ == "__main__":
    main()
