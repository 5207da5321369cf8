"""Sentences with places to fill."""

from __future__ import annotations

from fairspan.words.writing import DIGITS, SHARES

TEMPLATES = {
    # How PCA serves the groups, on new rows.
    "worse": "PCA serves {worst} worse than {best} (difference {difference}; {p}).",
    "no difference": (
        "No difference between groups is shown ({worst} minus {best}: {difference}; {p})."
    ),
    "unsettled": (
        "PCA serves {best} and {worst} differently ({p}), but which of them worse is not settled: "
        "{worst} minus {best} is {difference} on new rows, and {tested} on the rows of the test."
    ),
    "side open": (
        "PCA serves {best} and {worst} differently ({p}), but which of them worse on new rows is "
        "not settled ({worst} minus {best}: {difference})."
    ),
    "chance open": (
        "Whether PCA serves {worst} worse than {best} is not settled: the range of the difference "
        "excludes 0 ({difference}), but the difference may be chance ({p})."
    ),
    "worse than average": "PCA serves {groups} worse than the average.",
    "better than average": "PCA serves {groups} better than the average.",
    "one of several": "{group} (error {error}; adjusted {p})",
    "groups unsettled": (
        "PCA serves groups differently ({p}), but which of them worse is not settled: the rows of "
        "the test and new rows point different ways."
    ),
    "no group apart": "No difference between groups is shown ({widest}{p}).",
    "groups chance open": (
        "Whether PCA serves groups differently is not settled: the range of the largest difference "
        "excludes 0 ({widest}), but the difference may be chance ({p})."
    ),
    "too few": "No statement about new rows: fewer than {least} rows in {groups}.",
    "needs rows": "A verdict about new rows needs rows; here there are only moments.",
    "too wide": (
        "There is no verdict about new rows here, because cross-fitting so many features takes "
        "long; fairspan.inference makes one from a part of the rows."
    ),
    # What another method changes there.
    "reduced": "{method} reduces the difference on new rows.",
    "widened": "{method} widens the difference on new rows.",
    "reduced if any": "{method} reduces what difference there is on new rows.",
    "widened if any": "{method} widens what difference there is on new rows.",
    "not shown": "Whether {method} changes it is not shown on new rows.",
    "untested": "Whether {method} changes it on new rows is not tested for more than two groups.",
    "other setting": "Whether {method} changes it on new rows was not tested at this setting.",
    # How far that goes.
    "interval": "Ranges are {level} intervals.",
    "low support": (
        "A few rows make up most of the variance of {columns}, so ranges are rough and have no "
        "stated confidence{remedy}."
    ),
    "clip": "; clip=3 (--clip 3) limits such rows",
    "low support clipped": (
        "Even clipped at {clip} standard deviations, a few rows make up most of the variance of "
        "{columns}, so ranges are rough and have no stated confidence."
    ),
    "low support of few": (
        "With only {rows} independent rows, ranges are rough and have no stated confidence: few of "
        "them carry the variance of {columns}."
    ),
    "few rows": "Few rows: {groups}.",
    "no range": "Groups of fewer than {few} rows get no range: {groups}.",
    "no estimate": "too few rows",
    "marked": "* Fewer than {few} rows.",
    "left out": "No statement about {groups} on new rows: fewer than {least} rows.",
    # How PCA serves the groups, on the rows of the fit.
    "one group": "There are fewer than two groups to compare, so the result is PCA.",
    "all kept": "All components are kept: nothing is lost, and there is nothing to choose.",
    "blurred": "With {components}, rounding hides how well PCA reconstructs the groups.",
    "equal": ("With {components}, PCA reconstructs all groups equally well on the fitted rows."),
    "perfect": (
        "With {components}, PCA reconstructs {best} without error on the fitted rows, but not "
        "{worst}."
    ),
    "unequal": (
        "With {components}, PCA reconstructs {worst} {gap} worse than {best} on the fitted rows."
    ),
    "other way": (
        "On new rows it is the other way round, so which of them PCA serves worse is not settled. "
        "What follows is about the fitted rows."
    ),
    "favours the fit": ("Numbers on the fitted rows are optimistic; rely on those on new rows."),
    # What another method changes there, and what that costs.
    "same": "There, {method} gives the same errors.",
    "spares": "There, {method} reconstructs {best} without error, but not {worst}, {price}.",
    "closes": "There, {method} closes the gap {price}.",
    "narrows": "There, {method} narrows the gap from {before} to {gap} {price}.",
    "widens": "There, {method} widens the gap from {before} to {gap} {price}.",
    "unweighted": (
        "There, {method} leaves a gap of {gap} {price}: at fairness weight 0 only the total error "
        "counts."
    ),
    "price": "for {share} more total error",
    "kept": "PCA keeps {before} of the variance, {method} keeps {after}.",
    "kept alike": "{after} of the variance is kept.",
    # The same where errors are compared above references.
    "closes above": "There, {method} closes the gap between errors above {reference} {price}.",
    "narrows above": (
        "There, {method} narrows the gap between errors above {reference} from {before} to {after} "
        "{price}."
    ),
    "widens above": (
        "There, {method} widens the gap between errors above {reference} from {before} to {after} "
        "{price}."
    ),
    "compared": (
        "Errors are compared above {reference} ({references}): with PCA {before} (gap "
        "{gap_before}), with {method} {after} (gap {gap_after})."
    ),
    "compared above": "errors compared above {reference}",
    "compared on new rows": "The verdict about new rows compares the errors themselves.",
    "each own": "each group's own best",
    "each given": "the given references",
    # What is proved.
    "exact": "Proved optimal: no projection has a smaller objective.",
    "proved": (
        "Proved optimal within {share}: no projection can lower the objective by more than that "
        "share."
    ),
    "unproved": (
        "Not proved optimal: another projection may lower the objective by up to {share} of it."
    ),
    "hidden": (
        "Nothing is proved: some features vary so little compared with others that rounding hides "
        "the objective."
    ),
    "by chance": "This rests on random blocks and holds with probability {probability}.",
    # Who pays.
    "worst served": (
        "There, the worst-served group is {worst} with PCA (error {before}) and {other} with "
        "{method} (error {after})."
    ),
    "worst served still": (
        "There, the worst-served group is {worst}: error {before} with PCA and {after} with "
        "{method}."
    ),
    "all served alike": (
        "There, the worst-served group is {worst} with PCA (error {before}); with {method} all "
        "errors are equal ({after})."
    ),
    "everyone pays": "Every group is worse off than with PCA ({changes}).",
    "no one gains": "No group is better off than with PCA ({changes}).",
    "some pay": "Errors compared with PCA: {changes}.",
    # Whether every group could be served better.
    "dominated": (
        "Another projection serves every group better: it lowers each group's error by at least "
        "{share}."
    ),
    "by weights": "It is PCA with the group weights {weights}.",
    "not by weights": (
        "PCA with its group weights ({weights}) does not give it; fairspan.dominating_projection "
        "does."
    ),
    "dominated here": "Another projection serves every group better.",
    "dominated points": (
        "At {some} of {all} points (gaps up to {gap}) another projection serves every group better."
    ),
    "dominated methods": (
        "On the fitted rows, another projection serves every group better than {methods}."
    ),
    "levels down": (
        "Smaller gaps are possible only where another projection serves every group better."
    ),
    "instead": (
        'disparity="largest" (--disparity largest) makes no group worse to look more equal.'
    ),
    "undominated": "Proved: no projection lowers the error of every group by more than {share}.",
    "searched order": (
        "With more than two groups the order is found by a search and not proved the best; the "
        "price of each size is measured against the best projection found for it."
    ),
    # Shares in words.
    "unknown": "unknown",
    **SHARES,
}
"""Words in braces are filled in."""
RULES = {
    # At most this many groups are named: those that change most.
    "named": 6,
    **DIGITS,
}
"""How words and digits are chosen."""
