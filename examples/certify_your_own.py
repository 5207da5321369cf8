"""
Bring your own projection: how far from the best is it?
=======================================================

A projection may come from anywhere: scikit-learn, another fair method, a colleague, a neural
network's first layer. :func:`fairspan.certify` takes its orthonormal rows and the moments of the
data and tells how far it is from the best possible one, at most, with a proof that does not care
how it was found.
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
    # The paper's algorithm proves nothing itself, and says so; the proof is what we are after here.
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
# One judge
# ---------
# The moments are all the judge needs; rows stay where they are. Objective, bound and gap are about
# the weight and radius given here, which may not be what a method was made for. FairPCA, for one,
# balances *losses against each group's own PCA*, another notion of fairness: a gap here is no mark
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
# The bound is the same for all, because it is about the table and not about them.

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
# What is told is an upper limit of the distance. For two groups the bound is tight, so it is the
# distance itself; with many groups it may be less. ``result.status`` is ``"optimal"`` only where
# value and bound agree to the tolerance, which of these six none does.
