"""Colours of plots and reports that colour-blind readers can tell apart (Okabe and Ito)."""

from __future__ import annotations

CURVE, PCA, FAIR, TEXT, REGION = "#0072b2", "#d55e00", "#00795a", "#4a5560", "#dfeaf4"
"""The trade-off and the chosen point, plain PCA, equal errors, text, and what is attainable."""
OTHER = "#a6508a"
"""A method to compare with."""
PALE = "#bbbbbb"
"""Background elements."""
SERIES = ("#333333", "#cc79a7", "#b8860b", "#56b4e9", "#7a5ac8", "#00795a", "#d55e00", "#0072b2")
"""Things without a meaning of their own, such as radii or groups; used again after the last."""
LINES = len(SERIES)
"""Most groups with a line of their own: those with the largest and the smallest errors."""

_PAGE = {
    "curve": (CURVE, "#56b4e9"),
    "pca": (PCA, "#f0894a"),
    "fair": (FAIR, "#2fbf95"),
    "other": (OTHER, "#d58bb8"),
    "region": (REGION, "#22374a"),
    "pale": ("#d3d8de", "#4a5665"),
    "text": ("#1d2733", "#e8ecf1"),
    "muted": ("#5b6673", "#9aa6b4"),
    "line": ("#e3e7eb", "#2c3642"),
    "card": ("#ffffff", "#18212b"),
    "ground": ("#f6f7f9", "#10161d"),
}
LIGHT = {name: day for name, (day, _) in _PAGE.items()}
DARK = {name: night for name, (_, night) in _PAGE.items()}
"""The colours of the report's page, by day and by night."""
