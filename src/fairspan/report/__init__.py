"""An interactive report: data in, one self-contained html file out.

The page opens from disk, loads nothing from the network and holds aggregates only. Its sliders move
the fairness weight, the radius and the number of components.
"""

from __future__ import annotations

import os
from typing import Any

from fairspan.ground.atomic import check_path, check_place
from fairspan.report._build import build
from fairspan.report._content import Report
from fairspan.report._page import require_bokeh

__all__ = ["Report", "build", "write_report"]
__dir__ = __all__.copy


def write_report(path: str | os.PathLike[str], X: Any, **options: Any) -> Report:
    """Analyse data and write the page.

    Parameters
    ----------
    path : str or path
        The html file to write.
    X : array-like of shape (n_samples, n_features) or GroupMoments
        The data.
    **options
        As in :func:`build`, ``sensitive_features`` first of all.

    Returns
    -------
    Report
        What was written.
    """
    require_bokeh()
    check_place(check_path(path))
    report = build(X, **options)
    report.write_html(path)
    return report
