"""The panel of nested components: what the first j keep of each group, and what that costs."""

from __future__ import annotations

import html
from typing import Any

import numpy as np

from fairspan import words
from fairspan.ground import palette
from fairspan.objectives.counting import Counting
from fairspan.objectives.robust import RobustFairObjective
from fairspan.report._analysis import Analysis, Data
from fairspan.report._settings import Notion
from fairspan.solvers.ordering import nested_basis, of_size

_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 560, 250, 44, 34


def nested_prefixes(
    data: Data, found: list[Analysis], weight: float, radius: float, notion: Notion
) -> dict[str, Any]:
    """Order the components of the largest analysis, and judge the first 1, 2, ... of them.

    Parameters
    ----------
    data : Data
        The moments.
    found : list of Analysis
        For 1, 2, ... components.
    weight, radius : float
        The setting of the report.
    notion : Notion
        What its fairness weight counts.

    Returns
    -------
    dict
        Errors of each group, price and state of proof, by number of components.
    """
    last = found[-1]
    problem = data.prepared.problem(last.k)
    counting = Counting(disparity=notion.disparity, reference=notion.reference)

    def objective_of(size: int) -> RobustFairObjective:
        return counting.objective(data.prepared.moments, weight, radius, of_size(problem, size))

    basis = nested_basis(problem, last.chosen.components.T, objective_of)
    errors = [problem.errors(basis[:, : one.k]) for one in found]
    excess = []
    for one, attained in zip(found, errors, strict=True):
        objective, best = objective_of(one.k), one.chosen
        size = max(objective.size(best.group_errors), np.finfo(float).tiny)
        excess.append(max(objective.value(attained) - best.objective, 0.0) / size)
    status = [one.chosen.status for one in found]
    return {"errors": [m.tolist() for m in errors], "excess": excess, "status": status}


def scree_panel(content: dict[str, Any]) -> str:
    """Draw the errors of the groups with the first 1, 2, ... components, and their price."""
    nested, setting = content["nested"], content["setting"]
    n = len(nested["errors"])
    # What rounding hides is not shown.
    if content["by_components"][-1]["chosen"]["hidden"]:
        return f'<p class="muted">{html.escape(words.TEMPLATES["hidden"])}</p>'
    about = (
        f"Errors with the first 1 to {n} components of RobustFairPCA({n}, "
        f"order=&quot;nested&quot;) at fairness weight {setting['fairness_weight']:g} and radius "
        f"{setting['radius']:g}. Above each number: by how much their objective exceeds that of "
        "the best projection with as many."
    )
    if len(content["groups"]) > 2:
        about += f" {html.escape(words.TEMPLATES['searched order'])}"
    return f'<p class="muted">{about}</p>{_drawing(content)}'


def _drawing(content: dict[str, Any]) -> str:
    nested = content["nested"]
    errors, n = np.array(nested["errors"]), len(nested["errors"])
    top = float(errors.max()) or 1.0
    step = (_WIDTH - 2 * _LEFT) / max(n - 1, 1)
    x = _LEFT + step * np.arange(n)
    y = _HEIGHT - _BOTTOM - (_HEIGHT - _BOTTOM - 44) * errors / top
    order = np.argsort(-errors[0])
    if len(order) > palette.LINES:
        order = np.concatenate([order[: palette.LINES // 2], order[-(palette.LINES // 2) :]])
    parts, legend = [], []
    for place, a in enumerate(order):
        # The first is as dark as night: there it is the colour of the text.
        color = ("var(--text)", *palette.SERIES[1:])[place % len(palette.SERIES)]
        path = " ".join(f"{u:.1f},{v:.1f}" for u, v in zip(x, y[:, a], strict=True))
        line = f'style="fill:none;stroke:{color};stroke-width:2"'
        parts.append(f'<polyline points="{path}" {line}/>')
        parts += [
            f'<circle cx="{u:.1f}" cy="{v:.1f}" r="3.5" style="fill:{color}"/>'
            for u, v in zip(x, y[:, a], strict=True)
        ]
        name = html.escape(content["groups"][a]["label"])
        legend.append(f'<li><i class="mark dot" style="background:{color}"></i>{name}</li>')
    base = _HEIGHT - _BOTTOM
    parts.append(f'<path d="M{_LEFT - 14} {base}H{_WIDTH - 20}" stroke="currentColor"/>')
    text = 'fill="currentColor" font-size="12" text-anchor="middle"'
    for j, at in enumerate(x):
        price = nested["excess"][j]
        price = "best" if price < 5e-5 else words.signed_percent(price)
        price += "" if nested["status"][j] == "optimal" else "?"
        parts.append(f'<text x="{at:.1f}" y="{base + 17}" {text}>{j + 1}</text>')
        parts.append(f'<text x="{at:.1f}" y="18" {text}>{html.escape(price)}</text>')
    first = words.number(top)
    parts.append(f'<text x="{_LEFT}" y="{y.min() - 8:.1f}" {text}>{first}</text>')
    parts.append(f'<text x="{_WIDTH / 2}" y="{_HEIGHT - 3}" {text}>components kept</text>')
    label = "Error of each group with the first components"
    return (
        f'<svg id="scree" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{label}" '
        f'style="max-width:{_WIDTH + 60}px;width:100%">{"".join(parts)}</svg><ul class="legend">'
        f"{''.join(legend)}</ul>"
    )
