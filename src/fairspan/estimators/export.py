"""Exporting a fitted model: to a file, to scikit-learn's own classes, to ONNX."""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from fairspan.ground import defaults
from fairspan.ground.extras import needing


class ExportMixin:
    """Methods that export a fitted estimator."""

    def save(
        self,
        path: str | PathLike[str],
        *,
        moments: bool = True,
        min_count: int = defaults.MIN_COUNT,
    ) -> None:
        """Write the fitted model to a file of plain arrays and JSON, without pickle.

        :func:`fairspan.load_model` reads it, without running code.

        Parameters
        ----------
        path : str or path
            The file to write, under exactly this name; an old one is replaced atomically.
        moments : bool, default=True
            Whether to keep the moments of the data (one matrix a group). Without them the file is
            small, but ``partial_fit`` cannot continue and ``moments_`` is absent after loading.
        min_count : int, default=10
            Moments of groups of fewer rows are refused, because they may reveal single rows.
        """
        from fairspan.storage.model_file import save_model

        model: Any = self
        save_model(model, path, moments=moments, min_count=min_count)

    def to_sklearn(self) -> Any:
        """Convert the projection to fitted objects of scikit-learn.

        Returns
        -------
        PCA or Pipeline
            A fitted :class:`sklearn.decomposition.PCA` with this subspace. With ``standardize`` a
            pipeline of a fitted StandardScaler and the PCA, since PCA itself does not scale.
            ``transform`` and ``inverse_transform`` agree with this estimator's up to rounding.
        """
        check_is_fitted(self)
        model: Any = self
        if hasattr(model, "clip_limits_"):
            raise ValueError(
                "scikit-learn's PCA does not clip features as this model does; use save, or fit "
                "with clip=None."
            )
        pca = _pca(model)
        if model.scale_ is None:
            return _named(pca, model)
        scaler = StandardScaler()
        scaler.mean_, scaler.scale_ = model.mean_.copy(), model.scale_.copy()
        scaler.var_ = model.scale_**2
        scaler.n_samples_seen_ = model.n_samples_
        pca.mean_ = np.zeros_like(model.mean_)
        pca.n_features_in_ = model.n_features_in_
        return Pipeline([("standardscaler", _named(scaler, model)), ("pca", pca)])

    def to_onnx(self) -> Any:
        """Convert the projection to an ONNX graph in single precision.

        The graph has one input "X" of shape (n_samples, n_features) and returns the projected rows.
        Write it with ``SerializeToString()``. It needs ``pip install "fairspan[onnx]"``.

        Returns
        -------
        onnx.ModelProto
            The graph.
        """
        with needing("to_onnx needs skl2onnx", "onnx"):
            from skl2onnx import to_onnx
            from skl2onnx.common.data_types import FloatTensorType
        target = self.to_sklearn()
        shape = [None, target.n_features_in_]
        return to_onnx(target, initial_types=[("X", FloatTensorType(shape))])


def _pca(model: Any) -> PCA:
    """Set the fitted attributes of scikit-learn's PCA."""
    k, d = model.components_.shape
    pca = PCA(n_components=k)
    pca.components_, pca.mean_ = model.components_.copy(), model.mean_.copy()
    pca.explained_variance_ = model.explained_variance_.copy()
    pca.explained_variance_ratio_ = model.explained_variance_ratio_.copy()
    pca.n_components_, pca.n_samples_ = k, model.n_samples_
    weight = model.group_weights_.sum()
    pca.singular_values_ = np.sqrt(pca.explained_variance_ * (weight - 1))
    # The variance left out, spread evenly over the directions left out.
    left = model.total_error_ * weight / (weight - 1)
    pca.noise_variance_ = left / (d - k) if k < d else 0.0
    return pca


def _named(target: Any, model: Any) -> Any:
    target.n_features_in_ = model.n_features_in_
    if hasattr(model, "feature_names_in_"):
        target.feature_names_in_ = model.feature_names_in_.copy()
    return target
