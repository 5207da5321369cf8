"""Side by side with fairlearn: its MetricFrame and ours agree."""

from __future__ import annotations

import numpy as np
import pytest

from fairspan import RobustFairPCA, metrics

MetricFrame = pytest.importorskip("fairlearn.metrics").MetricFrame


def test_a_metric_frame_of_reconstruction_errors_is_the_metrics_of_this_package():
    rng = np.random.default_rng(0)
    groups = rng.choice(["a", "b", "c"], 200)
    X = rng.standard_normal((200, 4)) * [1, 2, 3, 4]
    model = RobustFairPCA(1).fit(X, sensitive_features=groups)
    errors = model.reconstruction_errors(X)
    frame = MetricFrame(
        metrics=lambda _, values: np.mean(values),
        y_true=errors,
        y_pred=errors,
        sensitive_features=groups,
    )
    ours = metrics.group_errors(model, X, groups)
    assert dict(frame.by_group) == pytest.approx(ours.by_group)
    assert frame.overall == pytest.approx(ours.overall)
    assert frame.difference() == pytest.approx(ours.difference)
