"""Permutation tests that cost a few Fourier transforms.

Units stand in a random order, and labels are moved along it by every number of places. These moves
are a group, so the test is exact, and sums over a label's units for all moves at once are one
convolution. Where there are few units, the moves are applied to further random orders, too: cosets
of the group by independent random permutations, for which the rank of the order that was seen is
uniform just the same.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fairspan.ground.types import BoolArray, FloatArray, IntArray

_LEAST = 10_000
"""Least number of permutations."""
_TIE = 1e-9
"""Statistics this close, relatively, are equal."""
_TINY = 1e-14


def log_ratio_pvalue(
    sums: FloatArray, weights: FloatArray, second: BoolArray, rng: np.random.Generator
) -> tuple[float, int]:
    """Permute the studentised log-ratio of the means of two groups.

    Parameters
    ----------
    sums, weights : ndarray of shape (n_units,)
        Sum of errors and weight of each unit, in an order that tells nothing.
    second : ndarray of shape (n_units,)
        Units of the second group.
    rng : numpy.random.Generator
        Draws the orders.

    Returns
    -------
    tuple
        The p-value, and the number of permutations.
    """
    mean = sums.sum() / weights.sum()
    # Deviations from the common mean lose few digits when they are squared.
    apart = sums / mean - weights
    columns = np.stack([apart, weights, apart**2, apart * weights, weights**2])
    start, data = _arranged(columns, rng)
    moved = _moved(data, second[start])
    statistic = _log_ratio(columns.sum(axis=1), moved, int(second.sum()), len(second))
    return _share(statistic, statistic[0]), len(statistic)


def _log_ratio(whole: FloatArray, moved: FloatArray, n_second: int, n: int) -> FloatArray:
    variance, log = 0.0, 0.0
    sides = ((moved, n_second, 1.0), (whole[:, None] - moved, n - n_second, -1.0))
    for (apart, weight, squares, mixed, square_weights), count, sign in sides:
        shift = apart / weight
        mean = np.maximum(1.0 + shift, _TINY)
        left = squares - 2 * shift * mixed + shift**2 * square_weights
        spread = np.maximum(left, _TINY * whole[2]) / weight**2 * (count / (count - 1))
        variance = variance + spread / mean**2
        log = log + sign * np.log(mean)
    return np.asarray(np.abs(log) / np.sqrt(variance))


def max_pvalues(
    sums: FloatArray,
    weights: FloatArray,
    codes: IntArray,
    stated: BoolArray,
    rng: np.random.Generator,
) -> tuple[float, FloatArray, int]:
    """Permute the largest studentised deviation of a group from the mean of all.

    Parameters
    ----------
    sums, weights : ndarray of shape (n_units,)
        Sum of errors and weight of each unit.
    codes : ndarray of shape (n_units,)
        Their groups.
    stated : ndarray of shape (n_groups,)
        Groups that the largest deviation is looked for among.
    rng : numpy.random.Generator
        Draws the orders.

    Returns
    -------
    tuple
        The p-value, that of each group adjusted for the number of groups, and the number of
        permutations.
    """
    n = len(codes)
    apart = sums - sums.sum() / weights.sum() * weights
    groups = np.flatnonzero(stated)
    counts = np.bincount(codes, minlength=len(stated))[groups]
    # The deviation of a sum of some units drawn from all, without putting any back.
    errors = np.sqrt((apart @ apart) / (n - 1) * counts * (1 - counts / n))
    start, data = _arranged(apart[None], rng)
    largest, own = np.zeros(data.shape[1] * n), np.empty(len(groups))
    for place, (group, error) in enumerate(zip(groups, errors, strict=True)):
        found = np.abs(_moved(data, codes[start] == group)[0]) / error
        own[place] = found[0]
        np.maximum(largest, found, out=largest)
    adjusted = np.full(len(stated), np.nan)
    adjusted[groups] = [_share(largest, one) for one in own]
    return _share(largest, float(own.max())), adjusted, len(largest)


def _arranged(
    columns: FloatArray, rng: np.random.Generator
) -> tuple[IntArray, npt.NDArray[np.complex128]]:
    """Draw the order of the labels, and transform columns in that order and in random ones."""
    n = columns.shape[1]
    orders = np.array([rng.permutation(n) for _ in range(-(-_LEAST // n))])
    return orders[0], np.fft.rfft(columns[:, orders])


def _moved(data: npt.NDArray[np.complex128], members: BoolArray) -> FloatArray:
    """Sum columns over the units that get a label, for every permutation; the first is none."""
    sums = np.fft.irfft(data * np.fft.rfft(members).conj(), len(members))
    return sums.reshape(len(data), -1)


def _share(values: FloatArray, seen: float) -> float:
    return float(np.mean(values >= seen * (1 - _TIE)))
