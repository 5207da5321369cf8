"""
Reduce, then classify: what equal errors do, and do not do, for decisions
=========================================================================

A table is reduced by plain PCA and by RobustFairPCA, a logistic regression decides on what is left,
and fairlearn measures both by group. The gap of reconstruction errors shrinks by design; what
becomes of the gaps of accuracy and selection rate is for the data to say, and is only reported.
"""

# %%
# The table
# ---------
# Twelve features, simulated; the minority varies in other directions than the majority. The outcome
# depends on a direction of each.

import matplotlib.pyplot as plt
import numpy as np
import sklearn
from fairlearn.metrics import MetricFrame, demographic_parity_difference, selection_rate
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fairspan import RobustFairPCA

rng = np.random.default_rng(0)
n = 2000
groups = rng.choice(["majority", "minority"], n, p=[0.8, 0.2])
latent = rng.standard_normal((n, 6))
strength = np.where((groups == "majority")[:, None], [3, 2, 1, 1, 1, 1], [1, 1, 3, 2, 1, 1])
X = (latent * strength) @ rng.standard_normal((6, 12)) + 0.5 * rng.standard_normal((n, 12))
y = (latent[:, 0] + latent[:, 2] + 0.5 * rng.standard_normal(n) > 0).astype(int)
X_train, X_test, y_train, y_test, g_train, g_test = train_test_split(
    X, y, groups, test_size=0.5, random_state=0, stratify=groups
)

# %%
# Two pipelines, measured alike
# -----------------------------
# With metadata routing the groups find their way to the projection by themselves. Predictions
# need no groups. fairlearn averages the errors of rows by group like any other metric.


def mean_error(_, errors):
    """Let fairlearn average reconstruction errors, which need no true labels."""
    return float(np.mean(errors))


def evaluate(fairness_weight):
    """Fit on one half of the rows and measure by group on the other."""
    reduce = RobustFairPCA(3, fairness_weight=fairness_weight, radius=0.0)
    pipeline = make_pipeline(StandardScaler(), reduce, LogisticRegression())
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline.fit(X_train, y_train, sensitive_features=g_train)
    errors = pipeline[1].reconstruction_errors(pipeline[0].transform(X_test))
    lost = MetricFrame(metrics=mean_error, y_true=y_test, y_pred=errors, sensitive_features=g_test)
    decided = pipeline.predict(X_test)
    frame = MetricFrame(
        metrics={"accuracy": accuracy_score, "selection rate": selection_rate},
        y_true=y_test,
        y_pred=decided,
        sensitive_features=g_test,
    )
    parity = demographic_parity_difference(y_test, decided, sensitive_features=g_test)
    gaps = {
        "reconstruction error": float(lost.difference()),
        "accuracy": float(frame.difference()["accuracy"]),
        "selection rate": float(parity),
    }
    return gaps, {"total error": float(lost.overall), "accuracy": frame.overall["accuracy"]}


found = {"PCA": evaluate(0.0), "RobustFairPCA": evaluate(1.0)}
for name, (gaps, overall) in found.items():
    print(name)
    print("   gaps:   ", {what: round(value, 3) for what, value in gaps.items()})
    print("   overall:", {what: round(float(value), 3) for what, value in overall.items()})

# %%
# What came of it
# ---------------

figure, axes = plt.subplots(1, 3, figsize=(9, 3.2), layout="constrained")
for panel, what in zip(axes, found["PCA"][0], strict=True):
    values = [gaps[what] for gaps, _ in found.values()]
    panel.bar(list(found), values, color=["#bbbbbb", "#0072b2"], width=0.6)
    panel.set_title(f"gap of {what}", fontsize=10)
    panel.spines[["top", "right"]].set_visible(False)

# %%
# The gap of reconstruction errors shrinks, also on rows that no fit has seen. Decisions are another
# matter: a projection can describe both groups equally well and keep less, or more, of what the
# decision needs in one of them. Assess the system at its end, with metrics of the task.
