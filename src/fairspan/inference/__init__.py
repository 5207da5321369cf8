"""What the sample says about new rows: estimates, intervals, tests.

Errors on the rows of a fit are too small, and the gap of a fair fit may be 0 there whatever it is
on new rows. These functions measure rows by projections that have not seen them, and say where the
data is too little for a statement.
"""

from fairspan.inference.crossfitting import CrossFit, crossfit
from fairspan.inference.gap import GapTest, gap_test
from fairspan.inference.verdicts import ReductionTest, reduction_test, verdict
from fairspan.judging.support import support
from fairspan.words import Verdict

__all__ = [
    "CrossFit",
    "GapTest",
    "ReductionTest",
    "Verdict",
    "crossfit",
    "gap_test",
    "reduction_test",
    "support",
    "verdict",
]
__dir__ = __all__.copy
