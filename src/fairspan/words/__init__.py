"""Every sentence about errors, gap, price, proof and doubt, and every number in them.

Terminal, model card, html page and advice all speak through this package, so that they say the same
about the same result. It knows plain values only. The page's script fills the same templates by the
same rules, both of which it is given as data.
"""

from fairspan.words.findings import (
    Findings,
    excess,
    fairest,
    fitted,
    price,
    proof,
    proof_of_points,
    trade_off,
)
from fairspan.words.payers import (
    Better,
    dominated_methods,
    dominated_points,
    visible_gain,
    who_pays,
)
from fairspan.words.references import References
from fairspan.words.templates import RULES, TEMPLATES
from fairspan.words.verdict import Verdict, counted
from fairspan.words.writing import (
    FEW_ROWS,
    LEAST_ROWS,
    at_least,
    at_most,
    difference,
    folded,
    group_name,
    number,
    percent,
    plural,
    quoted,
    share_at_most,
    signed_percent,
    weight_written,
    with_rows,
)

__all__ = [
    "FEW_ROWS",
    "LEAST_ROWS",
    "RULES",
    "TEMPLATES",
    "Better",
    "Findings",
    "References",
    "Verdict",
    "at_least",
    "at_most",
    "counted",
    "difference",
    "dominated_methods",
    "dominated_points",
    "excess",
    "fairest",
    "fitted",
    "folded",
    "group_name",
    "number",
    "percent",
    "plural",
    "price",
    "proof",
    "proof_of_points",
    "quoted",
    "share_at_most",
    "signed_percent",
    "trade_off",
    "visible_gain",
    "weight_written",
    "who_pays",
    "with_rows",
]
