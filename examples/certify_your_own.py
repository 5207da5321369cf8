"""
Certify your own projection: how far is it from the best?
=========================================================

A projection may come from anywhere: scikit-learn, another fair method, a colleague, the first layer
of a neural network. :func:`fairspan.certify` takes its orthonormal rows and the moments of the
data, and proves how far it is at most from the best possible projection, however it was found.
"""

# %%
# Six projections of one table
# ----------------------------

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.decomposition import PCA, FactorAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from fairspan import FairPCA, GroupMoments, NullSpaceFairPCA, RobustFairPCA, certify

data = load_breast_cancer()
X = StandardScaler().fit_transform(data.data)
groups = data.target_names[data.target]
k, weight, radius = 3, 1.0, 0.1


def orthonormal(rows):
    """Orthonormal rows that span the same subspace."""
    return np.linalg.qr(np.asarray(rows).T)[0].T


rng = np.random.default_rng(0)
with warnings.catch_warnings():
    # The paper's algorithm proves little itself and warns about it; certify provides the proof.
    warnings.simplefilter("ignore", ConvergenceWarning)
    descent = RobustFairPCA(k, radius=radius, solver="subgradient", n_init=5, random_state=0)
    descent.fit(X, sensitive_features=groups)
projections = {
    "three random directions": orthonormal(rng.normal(size=(k, X.shape[1]))),
    "factor analysis": orthonormal(FactorAnalysis(k, random_state=0).fit(X).components_),
    "NullSpaceFairPCA": NullSpaceFairPCA(k).fit(X, sensitive_features=groups).components_,
    "PCA": PCA(k).fit(X).components_,
    "FairPCA": FairPCA(k).fit(X, sensitive_features=groups).components_,
    "the paper's algorithm": descent.components_,
}

# %%
# One measure for all
# -------------------
# ``certify`` needs only the moments, not the rows. Objective, bound and gap refer to the weight and
# radius given here, which may not be what a method aims at. FairPCA, for example, balances *losses
# relative to each group's own PCA*, a different notion of fairness, so a gap here does not count
# against it.

moments = GroupMoments.from_arrays(X, groups)
results = {
    name: certify(rows, moments, fairness_weight=weight, radius=radius)
    for name, rows in projections.items()
}
for name, result in results.items():
    above = 100 * (result.objective / result.lower_bound - 1)
    print(f"{name:24} objective {result.objective:7.3f}, at most {above:7.2f} % above the best")

# %%
# The bound is the same for all projections, because it depends only on the table.

bound = next(iter(results.values())).lower_bound
figure, axes = plt.subplots(figsize=(8, 3.6), layout="constrained")
names = list(results)
values = [result.objective for result in results.values()]
axes.barh(names, values, color="#0072b2", height=0.6)
axes.axvline(bound, color="#d55e00", label=f"proved: no projection is below {bound:.3f}")
axes.invert_yaxis()
axes.set_xlabel("objective (total error + gap, worst case within the radius)")
axes.spines[["top", "right"]].set_visible(False)
axes.legend(frameon=False, loc="lower right")

# %%
# The reported distance is an upper limit. For two groups the bound is tight, so the limit equals
# the distance; with more groups the true distance may be smaller. ``result.status`` is
# ``"optimal"`` only if value and bound agree within the tolerance, which is not the case for any of
# these six.
