"""
Many sites: one projection, no shared rows
==========================================

Three clinics want one projection that serves patients of two diagnoses alike. None may hand over
rows. Each sends a file of group moments; added, they give the fit on all patients together.
"""

# %%
# At each clinic
# --------------
# The table is scikit-learn's breast cancer data, dealt out unevenly: malignant cases are rare in
# the north and common in the south.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

from fairspan import GroupMoments, RobustFairPCA, metrics

data = load_breast_cancer()
groups = data.target_names[data.target]
rng = np.random.default_rng(0)
chances = np.where((groups == "malignant")[:, None], [0.1, 0.3, 0.6], [0.5, 0.3, 0.2])
site = (rng.random(len(groups))[:, None] > chances.cumsum(axis=1)).sum(axis=1)
clinics = {"north": site == 0, "middle": site == 1, "south": site == 2}

folder = tempfile.TemporaryDirectory()
for name, rows in clinics.items():
    moments = GroupMoments.from_arrays(data.data[rows], groups[rows])
    moments.save(Path(folder.name) / f"{name}.npz")
    print(name, dict(zip(moments.labels, moments.counts.tolist(), strict=True)))

# %%
# Anywhere
# --------
# Files are data only: reading one runs no code. Their sum is exact, also for ``standardize``, which
# needs the deviations of all rows together.

stored = {name: GroupMoments.load(Path(folder.name) / f"{name}.npz") for name in clinics}
folder.cleanup()
together = sum(stored.values())
shared = RobustFairPCA(3, radius=0, standardize=True).fit_moments(together)
pooled = RobustFairPCA(3, radius=0, standardize=True).fit(data.data, sensitive_features=groups)
difference = np.abs(shared.group_errors_ - pooled.group_errors_).max()
print(f"errors {shared.group_errors_.round(3)}, those of pooled rows within {difference:.0e}")

# %%
# Was it worth it?
# ----------------
# Each clinic could have fitted its own. Judged on all patients, with one scale for all:

fits = {"shared": shared.components_}
for name, own in stored.items():
    alone = RobustFairPCA(3, radius=0).fit_moments(own.scaled(shared.scale_))
    fits[f"{name} alone"] = alone.components_
everybody = together.scaled(shared.scale_)
errors = {name: metrics.group_errors(V, everybody).values for name, V in fits.items()}
for name, values in errors.items():
    print(f"{name:13} {values.round(2)}, gap {np.ptp(values):.2f}")

figure, axes = plt.subplots(figsize=(7, 3.8), layout="constrained")
places = np.arange(len(errors))
for shift, label, color in zip((-0.2, 0.2), together.labels, ("#bbbbbb", "#0072b2"), strict=True):
    values = [found[together.labels.index(label)] for found in errors.values()]
    axes.bar(places + shift, values, 0.36, color=color, label=label)
axes.set_xticks(places, list(errors))
axes.set_ylabel("mean squared error, all patients")
axes.spines[["top", "right"]].set_visible(False)
axes.legend(frameon=False, ncols=2, loc="upper left")
axes.margins(y=0.2)

# %%
# A projection that is even on one clinic's patients need not be even on everybody's. What the
# files reveal, and what they do not protect, is told in the guide to many sites.
