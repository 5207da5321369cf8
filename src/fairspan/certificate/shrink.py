"""Shrink a box as long as it pays, and try the closed form on what is left."""

from __future__ import annotations

import numpy as np

from fairspan.certificate.box import Box, tighten
from fairspan.certificate.closed_form import closed_form_bound
from fairspan.certificate.known import Known
from fairspan.certificate.work import Work
from fairspan.objectives.mixture import Mixture
from fairspan.problem.subspace import SubspaceProblem

_ROUNDS = 5


def shrink(
    problem: SubspaceProblem, mixture: Mixture, box: Box, known: Known, enough: float, work: Work
) -> tuple[bool, Box]:
    """Shrink a box around all that is better than enough.

    Parameters
    ----------
    problem : SubspaceProblem
        Moments and number of components.
    mixture : Mixture
        The mixture whose chords tighten the box.
    box : Box
        The box.
    known : Known
        The best subspace known, for the closed form.
    enough : float
        What is no better than this may be lost.
    work : Work
        What may be spent.

    Returns
    -------
    tuple of bool and Box
        Whether nothing in the box is better, and else what is left of it.
    """
    for _ in range(_ROUNDS):
        smaller = tighten(problem, mixture, box, enough, work)
        if smaller.is_empty or _closes(problem, known, smaller, enough):
            return True, smaller
        widths = box.upper - box.lower + 1e-300
        shrunk = float(np.max((smaller.upper - smaller.lower) / widths))
        box = smaller
        if shrunk > 0.9 or work.is_spent():
            break
    return False, box


def _closes(problem: SubspaceProblem, known: Known, box: Box, enough: float) -> bool:
    errors = known.errors
    if (errors < box.lower).any() or (errors > box.upper).any():
        return False
    return closed_form_bound(problem, known.mixture, errors, box) >= enough
