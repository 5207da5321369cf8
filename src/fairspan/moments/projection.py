"""Any projection, judged on any data: the one place that computes errors of given subspaces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from fairspan.ground.listed import listed
from fairspan.ground.parameters import LARGEST, check_choice
from fairspan.ground.rows import check_real, check_weights
from fairspan.ground.types import FloatArray
from fairspan.moments.group_moments import GroupMoments
from fairspan.moments.groups import Groups
from fairspan.moments.small_groups import GroupRule

CENTERINGS = ("global", "group")
ORTHONORMAL = 1e-8
"""How far products of orthonormal rows may be from 0 and 1."""
_FEW_DIGITS = 1e-4
"""A smaller share of the variance is not left to a difference, which would cost its digits."""
_TOO_LARGE = "too large to compute with in double precision. Look for outliers, or rescale X."


@dataclass(frozen=True)
class Projection:
    """Components with their centre and scale.

    Attributes
    ----------
    components : ndarray of shape (k, d)
        Orthonormal rows.
    mean : ndarray of shape (d,) or None
        Centre of all rows; None takes that of the data that is judged.
    scale : ndarray of shape (d,) or None
        Divisor of the features.
    training : GroupMoments or None
        Moments of the training data, for the means of its groups.
    """

    components: FloatArray
    mean: FloatArray | None
    scale: FloatArray | None
    training: GroupMoments | None

    @classmethod
    def of(
        cls, model: Any, mean: Any = None, scale: Any = None, training: GroupMoments | None = None
    ) -> Projection:
        """Take components from a fitted estimator, or as given.

        Parameters
        ----------
        model : fitted estimator with ``components_``, or ndarray of shape (k, d)
            The projection.
        mean, scale : array-like of shape (d,), optional
            Instead of the estimator's own.
        training : GroupMoments, optional
            Instead of the estimator's own moments.

        Returns
        -------
        Projection
            The projection, checked.
        """
        fitted = hasattr(model, "components_")
        if not fitted and hasattr(model, "fit"):
            _refuse(model)
        if hasattr(model, "clip_limits_"):
            raise ValueError(
                "model clips features, and data is judged as it is given; pass model.components_ "
                "with mean=model.mean_, scale=model.scale_ and np.clip(X, *model.clip_limits_), "
                "or use model.reconstruction_errors(X)."
            )
        components = check_orthonormal(model.components_ if fitted else model)
        if training is not None and not isinstance(training, GroupMoments):
            raise TypeError(
                f"training is a {type(training).__name__}; give the GroupMoments of the training "
                "data."
            )
        if fitted:
            mean = getattr(model, "mean_", None) if mean is None else mean
            scale = getattr(model, "scale_", None) if scale is None else scale
            training = training or getattr(model, "moments_", None)
        d = components.shape[1]
        return cls(components, _vector("mean", mean, d), _vector("scale", scale, d), training)

    def check_features(self, X: FloatArray) -> None:
        """Check that rows have the features of the components and can be squared."""
        if X.shape[1] != self.components.shape[1]:
            raise ValueError(
                f"X has {X.shape[1]} features but the components have {self.components.shape[1]}."
            )
        if max(X.max(), -X.min()) > LARGEST**0.5:
            raise ValueError(f"X holds values above {LARGEST**0.5:g}, {_TOO_LARGE}")

    def centers(self, moments: GroupMoments, centering: str) -> FloatArray:
        """Return the point from which each group is measured.

        Parameters
        ----------
        moments : GroupMoments
            Moments of the data.
        centering : {"global", "group"}
            One centre for all, or the training mean of each group.

        Returns
        -------
        ndarray of shape (n_groups, d)
            The centres.
        """
        if check_choice("centering", centering, CENTERINGS) == "global":
            center = moments.mean if self.mean is None else self.mean
            return np.broadcast_to(center, moments.offsets.shape)
        if self.training is None:
            return moments.means
        unknown = [label for label in moments.labels if label not in self.training.labels]
        if unknown:
            raise ValueError(
                "centering='group' needs the training mean of every group; unknown groups: "
                f"{listed(unknown)}."
            )
        means = self.training.means
        return np.array([means[self.training.labels.index(label)] for label in moments.labels])

    def second_moments(self, moments: GroupMoments, centering: str) -> FloatArray:
        """Return the second moment of each group around its centre, in scaled units.

        Parameters
        ----------
        moments : GroupMoments
            Moments of the data.
        centering : {"global", "group"}
            See :meth:`centres`.

        Returns
        -------
        ndarray of shape (n_groups, d, d)
            The second moments.
        """
        if moments.n_features != self.components.shape[1]:
            raise ValueError(
                f"The data has {moments.n_features} features but the components have "
                f"{self.components.shape[1]}."
            )
        moments = moments.dense()
        apart = (moments.shift - self.centers(moments, centering)) + moments.offsets
        second = moments.scatters / moments.weights[:, None, None]
        second += apart[:, :, None] * apart[:, None, :]
        if self.scale is not None:
            second = second / np.outer(self.scale, self.scale)
        if not np.abs(second).max() <= LARGEST:
            raise ValueError(f"The data has second moments above {LARGEST:g}, {_TOO_LARGE}")
        return second

    def errors(self, second_moments: FloatArray) -> FloatArray:
        """Return the mean squared error of each group.

        Parameters
        ----------
        second_moments : ndarray of shape (n_groups, d, d)
            From :meth:`second_moments`.

        Returns
        -------
        ndarray of shape (n_groups,)
            The errors.
        """
        total = np.einsum("aii->a", second_moments)
        lost = total - self.kept(second_moments)
        few = lost < _FEW_DIGITS * total
        if few.any():
            k = len(self.components)
            outside = np.linalg.qr(self.components.T, mode="complete")[0][:, k:]
            direct = np.einsum("adk,dk->a", second_moments @ outside, outside)
            lost = np.where(few, direct, lost)
        return np.asarray(np.maximum(lost, 0.0))

    def kept(self, second_moments: FloatArray) -> FloatArray:
        """Return the variance of each group that the projection keeps.

        Parameters
        ----------
        second_moments : ndarray of shape (n_groups, d, d)
            From :meth:`second_moments`.

        Returns
        -------
        ndarray of shape (n_groups,)
            The variances.
        """
        image = second_moments @ self.components.T
        return np.asarray(np.einsum("adk,kd->a", image, self.components))

    def row_errors(self, X: FloatArray, groups: Groups, centers: FloatArray) -> FloatArray:
        """Return the squared error of each row.

        Parameters
        ----------
        X : ndarray of shape (n_rows, d)
            Rows.
        groups : Groups
            Their groups.
        centers : ndarray of shape (n_groups, d)
            From :meth:`centres`.

        Returns
        -------
        ndarray of shape (n_rows,)
            The errors.
        """
        centered = X - centers[groups.codes]
        if self.scale is not None:
            centered /= self.scale
        lost = centered - (centered @ self.components.T) @ self.components
        return np.asarray(np.einsum("ij,ij->i", lost, lost))


def total_and_gap(
    errors: FloatArray,
    sensitive_features: Any,
    sample_weight: Any,
    rule: GroupRule,
) -> tuple[float, float]:
    """Return the mean error of rows and the gap between groups (0 without groups).

    Parameters
    ----------
    errors : ndarray of shape (n_rows,)
        The error of each row.
    sensitive_features : array-like, frame, dict or None
        The group of each row.
    sample_weight : array-like of shape (n_rows,) or None
        How often each row counts.
    rule : GroupRule
        How the model that is judged groups rows, and which groups it compares.

    Returns
    -------
    total, gap : float
        Both in the units of the errors.
    """
    n_rows = len(errors)
    weight = np.ones(n_rows) if sample_weight is None else check_weights(sample_weight, n_rows)
    groups = rule.groups(sensitive_features, n_rows)
    size = np.bincount(groups.codes, weight)
    # A group without weight has no error; it cannot widen the gap.
    counted = (size > 0) & rule.compared(groups.labels)
    means = np.bincount(groups.codes, weight * errors)[counted] / size[counted]
    gap = float(np.ptp(means)) if counted.any() else 0.0
    return float(np.average(errors, weights=weight)), gap


def _refuse(model: Any) -> None:
    """Raise the error for an estimator without components."""
    if hasattr(model, "steps"):
        raise TypeError(
            "model is a pipeline; pass its projection, pipeline[-1], and X as the earlier steps "
            "give it, pipeline[:-1].transform(X)."
        )
    check_is_fitted(model)
    raise TypeError(f"model is a {type(model).__name__}, which has no components_ to judge.")


def check_orthonormal(components: Any) -> FloatArray:
    """Check that components are orthonormal rows, up to rounding in their own precision.

    Parameters
    ----------
    components : array-like of shape (n_components, n_features)
        The rows.

    Returns
    -------
    ndarray of shape (n_components, n_features)
        The rows as float64.
    """
    check_real(components, "components")
    single = getattr(components, "dtype", None) == np.float32
    rows = np.asarray(check_array(components, dtype=np.float64, input_name="components"))
    if len(rows) > rows.shape[1]:
        raise ValueError(
            f"components has shape {rows.shape}; it has one row for each component, at most as "
            "many rows as columns."
        )
    # Entries beyond 1 would overflow where they are multiplied, and are enough to know.
    off = float(np.abs(rows).max())
    if off <= 2:
        off = float(np.abs(rows @ rows.T - np.eye(len(rows))).max())
    if not off <= (1e-5 if single else ORTHONORMAL):
        raise ValueError(
            f"The rows of components are not orthonormal (off by {off:.2g}); pass the rows of "
            "numpy.linalg.qr(components.T)[0].T, which span the same subspace."
        )
    return rows


def _vector(name: str, value: Any, d: int) -> FloatArray | None:
    if value is None:
        return None
    vector = np.asarray(check_array(value, dtype=np.float64, ensure_2d=False, input_name=name))
    if vector.shape != (d,):
        raise ValueError(
            f"{name} has shape {vector.shape}; give one number for each of the {d} features."
        )
    if name == "scale" and not (vector > 0).all():
        raise ValueError(f"scale has the value {vector.min():g}; it must be positive.")
    return vector
