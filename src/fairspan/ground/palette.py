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

LIGHT = {
    "curve": CURVE,
    "pca": PCA,
    "fair": FAIR,
    "other": OTHER,
    "region": REGION,
    "pale": "#d3d8de",
    "text": "#1d2733",
    "muted": "#5b6673",
    "line": "#e3e7eb",
    "card": "#ffffff",
    "ground": "#f6f7f9",
}
DARK = {
    "curve": "#56b4e9",
    "pca": "#f0894a",
    "fair": "#2fbf95",
    "other": "#d58bb8",
    "region": "#22374a",
    "pale": "#4a5665",
    "text": "#e8ecf1",
    "muted": "#9aa6b4",
    "line": "#2c3642",
    "card": "#18212b",
    "ground": "#10161d",
}
"""The colours of the report's page, by day and by night."""
