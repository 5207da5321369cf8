"""
Reduce, then classify: what equal errors do for decisions, and what they do not
===============================================================================

A table is reduced by plain PCA and by RobustFairPCA, a logistic regression is trained on the
components, and fairlearn evaluates both by group. The gap in reconstruction error shrinks by
design. What happens to the gaps in accuracy and selection rate depends on the data; here they are
reported.
"""

# %%
# The table
# ---------
# Twelve simulated features. The minority varies in other directions than the majority, and the
# outcome depends on one direction of each.

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
# Two pipelines
# -------------
# Metadata routing passes the groups to the projection; predictions need no groups. fairlearn
# averages the reconstruction errors by group like any other metric.


def mean_error(_, errors):
    """Mean of reconstruction errors as a fairlearn metric; true labels are not used."""
    return float(np.mean(errors))


def evaluate(fairness_weight):
    """Fit on one half of the rows and evaluate by group on the other."""
    reduce = RobustFairPCA(3, fairness_weight=fairness_weight)
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
# The gaps
# --------

figure, axes = plt.subplots(1, 3, figsize=(9, 3.2), layout="constrained")
for panel, what in zip(axes, found["PCA"][0], strict=True):
    values = [gaps[what] for gaps, _ in found.values()]
    panel.bar(list(found), values, color=["#bbbbbb", "#0072b2"], width=0.6)
    panel.set_title(f"gap in {what}", fontsize=10)
    panel.spines[["top", "right"]].set_visible(False)

# %%
# The gap in reconstruction error shrinks, also on the test rows. Decisions are another matter: a
# projection can describe both groups equally well and still keep more of what the decision needs in
# one of them. Evaluate the whole system, with metrics of the task.
