"""Methods of a search that its best candidate answers."""

from __future__ import annotations

from typing import Any

from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from fairspan.estimators.robust import RobustFairPCA
from fairspan.ground.rows import named_column, remember_groups

_REPEATED = (
    "components_",
    "mean_",
    "scale_",
    "moments_",
    "group_labels_",
    "group_errors_",
    "total_error_",
    "error_gap_",
    "n_iter_",
)
"""Attributes of the winner that are repeated."""


class WinnerMixin(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """Methods of a search that are those of the best estimator."""

    __metadata_request__score = {"sensitive_features": True}  # noqa: RUF012

    def transform(self, X: Any) -> Any:
        """Project rows with the best candidate.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The data.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            The projected rows.
        """
        return self._winner().transform(X)

    def inverse_transform(self, X: Any) -> Any:
        """Map projected rows back to the space of the features.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Projected rows.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            Their best reconstructions.
        """
        return self._winner().inverse_transform(X)

    def reconstruction_errors(self, X: Any) -> Any:
        """Squared distance of each row from its reconstruction by the best candidate.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The data.

        Returns
        -------
        ndarray of shape (n_samples,)
            The errors.
        """
        return self._winner().reconstruction_errors(X)

    @named_column
    def score(
        self, X: Any, y: Any = None, *, sensitive_features: Any = None, sample_weight: Any = None
    ) -> float:
        """Minus the best candidate's total error and gap on these rows, for any ``scoring``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The data.
        y : None
            Ignored.
        sensitive_features : array-like, frame, dict or str, optional
            The group of each row. A str names a column of X, which is then not a feature.
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts.

        Returns
        -------
        float
            The score; higher is better.
        """
        given = {"sensitive_features": sensitive_features, "sample_weight": sample_weight}
        return self._winner().score(X, **given)

    @property
    def _n_features_out(self) -> int:
        return len(self._winner().components_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _winner(self) -> RobustFairPCA:
        check_is_fitted(self, "best_params_")
        if not hasattr(self, "best_estimator_"):
            raise AttributeError(
                "With refit=False no model is fitted to all rows; set refit=True, or fit "
                "RobustFairPCA(**search.best_params_)."
            )
        return self.best_estimator_

    def _forget_winner(self) -> None:
        """Remove the results of an earlier fit."""
        for name in ("best_estimator_", *_REPEATED):
            self.__dict__.pop(name, None)

    def _set_winner(self, winner: RobustFairPCA) -> None:
        remember_groups(winner, self)
        self.best_estimator_ = winner
        for name in _REPEATED:
            # A fit by products has no moments.
            if hasattr(winner, name):
                setattr(self, name, getattr(winner, name))
