"""The panel about decisions, where the target of a model is known."""

from __future__ import annotations

import html
import warnings
from typing import Any

from fairspan.downstream import assess_downstream
from fairspan.downstream.candidates import METHODS
from fairspan.downstream.reading import against_pca, shown_metrics, with_interval
from fairspan.estimators.robust import RobustFairPCA
from fairspan.words import plural

_SPLITS = 5


def decisions(
    recipe: RobustFairPCA, X: Any, target: Any, groups: Any, weight: Any, seed: int
) -> dict[str, Any]:
    """Assess the decisions of a model after projections of the report's size.

    Parameters
    ----------
    recipe : RobustFairPCA
        The report's own setting.
    X : ndarray of shape (n_rows, n_features)
        The data.
    target : array-like of shape (n_rows,)
        What the model is to predict.
    groups : array-like, frame or dict
        The group of each row.
    weight : ndarray of shape (n_rows,) or None
        How often each row counts.
    seed : int
        Seed of the splits.

    Returns
    -------
    dict
        What was done, a table, and what it shows in words.
    """
    own = recipe.get_params() | {"standardize": False}
    with warnings.catch_warnings():
        # The panel names the methods that are left out.
        warnings.filterwarnings("ignore", ".* (is|are) left out", UserWarning)
        result = assess_downstream(
            X,
            target,
            groups,
            methods=METHODS | {"RobustFairPCA": RobustFairPCA(**own)},
            n_components=recipe.n_components,
            fairness_weights=recipe.fairness_weight,
            sample_weight=weight,
            n_splits=_SPLITS,
            inner_splits=0,
            random_state=seed,
        )
    cells: dict[str, list[str]] = {}
    classes = result.classes or ()
    for metric in shown_metrics(result):
        for row in result.summary(metric):
            if row["group"] is None:
                cells.setdefault(row["method"], []).append(with_interval(row))
    return {
        "model": result.model,
        "components": int(recipe.n_components),
        "positive": classes[1] if len(classes) == 2 else None,
        "splits": _SPLITS,
        "heads": [name.replace("_", " ") for name in shown_metrics(result)],
        "rows": cells,
        "sentences": [
            *against_pca(result),
            *result.notes,
            *(f"{name} is left out. {reason}" for name, reason in result.left_out.items()),
        ],
    }


def decisions_panel(content: dict[str, Any]) -> str:
    """Show the decisions as a table."""
    found = content["decisions"]
    heads = "".join(f"<th>{html.escape(name)}</th>" for name in ["method", *found["heads"]])
    body = "".join(
        f'<tr><th scope="row">{html.escape(name)}</th>'
        + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells)
        + "</tr>"
        for name, cells in found["rows"].items()
    )
    about = (
        f"{found['model']} of the target after each projection of the standardised features to "
        f"{plural(found['components'], 'component')}, measured on held-out rows: means of "
        f"{found['splits']} random splits with 95 % intervals, corrected for their overlap."
    )
    if found["positive"] is not None:
        about += f" The positive class is {found['positive']!r}."
    return (
        f'<p class="muted">{html.escape(about)}</p><div class="wide"><table id="decisions"><thead>'
        f"<tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>"
        + "".join(f"<p>{html.escape(text)}</p>" for text in found["sentences"])
    )
