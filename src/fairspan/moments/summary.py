"""What is known of groups and features without any matrix of features."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from fairspan.ground.types import FloatArray, Label


class GroupSummary(Protocol):
    """Sizes, means and variances, as :class:`GroupMoments` and operators have them."""

    @property
    def labels(self) -> tuple[Label, ...]:
        """The groups' labels, sorted."""

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        """Rows per group."""

    @property
    def weights(self) -> FloatArray:
        """Sum of sample weights per group."""

    @property
    def shares(self) -> FloatArray:
        """Each group's share of the total weight."""

    @property
    def mean(self) -> FloatArray:
        """Mean of all rows."""

    @property
    def offsets(self) -> FloatArray:
        """Each group's mean, minus a shift that all share."""

    @property
    def variances(self) -> FloatArray:
        """Variance of each feature over all rows (ddof 0)."""

    @property
    def n_features(self) -> int:
        """Number of features."""

    @property
    def feature_names(self) -> Any:
        """Names of the features, or None."""
