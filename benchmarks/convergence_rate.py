"""The rate of the paper's descent on its data: smallest stationarity gap by number of steps."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from benchmarks.measure import write
from fairspan import RobustFairPCA
from fairspan.convergence import convergence_history, lipschitz_constant, weak_convexity
from tests.conftest import paper_table, standardised

TABLES = ("e_coli", "energy", "image", "statlog", "wine_quality", "default_credit")
STEPS = (10, 100, 1000, 10000)
ITERATES = 50
"""About how many iterates of each descent are examined."""
WEIGHTS = (0.5, 2.5)
RADIUS, COMPONENTS = 0.1, 3


def rate(name: str, weight: float) -> dict[str, Any]:
    X, groups, _ = paper_table(name)
    X, smallest, last, bounds = standardised(X), [], [], []
    for steps in STEPS:
        model = RobustFairPCA(COMPONENTS, fairness_weight=weight, radius=RADIUS)
        model.set_params(solver="subgradient", start="random", n_init=1, random_state=0)
        model.set_params(max_iter=steps, iterate="last").fit(X, sensitive_features=groups)
        history = convergence_history(model, every=max(steps // ITERATES, 1))
        smallest.append(float(history.gaps.min()))
        last.append(float(history.gaps[-1]))
        bounds.append(history.rate_bound)
    return {
        "data": name,
        "fairness_weight": weight,
        "lipschitz_constant": lipschitz_constant(model),
        "weak_convexity": weak_convexity(model),
        "steps": STEPS,
        "smallest_gaps": smallest,
        "last_gaps": last,
        "bounds": bounds,
        # The slope of log gap against log steps; the theorem promises -1/4 or less.
        "exponent": float(np.polyfit(np.log(STEPS), np.log(np.maximum(smallest, 1e-12)), 1)[0]),
    }


def main() -> list[dict[str, Any]]:
    warnings.simplefilter("ignore", ConvergenceWarning)
    figures = []
    with threadpool_limits(1):
        for name in TABLES:
            for weight in WEIGHTS:
                figures.append(row := rate(name, weight))
                print(
                    f"{name}, weight {weight}: gap {row['smallest_gaps'][2]:.3g} (last "
                    f"{row['last_gaps'][2]:.3g}) after 1,000 steps, bound {row['bounds'][2]:.3g}, "
                    f"exponent {row['exponent']:.2f}",
                    flush=True,
                )
    write("convergence_rate", figures)
    return figures


if __name__ == "__main__":
    main()
