"""
Many sites: one projection, no shared rows
==========================================

Three clinics want a common projection that describes patients of two diagnoses equally well, but
they may not share rows. Each sends a file of group moments; their sum gives the fit on all
patients.
"""

# %%
# At each clinic
# --------------
# We distribute scikit-learn's breast cancer data unevenly over three clinics: malignant cases are
# rare in the north and common in the south.

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
# In one place
# ------------
# The files contain only data; reading them runs no code. Their sum is exact, also for
# ``standardize``, which uses the standard deviations over all rows.

stored = {name: GroupMoments.load(Path(folder.name) / f"{name}.npz") for name in clinics}
folder.cleanup()
together = sum(stored.values())
shared = RobustFairPCA(3, standardize=True).fit_moments(together)
pooled = RobustFairPCA(3, standardize=True).fit(data.data, sensitive_features=groups)
difference = np.abs(shared.group_errors_ - pooled.group_errors_).max()
print(f"errors {shared.group_errors_.round(3)}, equal to those of pooled rows to {difference:.0e}")

# %%
# Comparison with separate fits
# -----------------------------
# Each clinic could have fitted its own projection. We evaluate all fits on all patients, with a
# common scale:

fits = {"shared": shared.components_}
for name, own in stored.items():
    alone = RobustFairPCA(3).fit_moments(own.scaled(shared.scale_))
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
# A projection that is balanced for the patients of one clinic need not be balanced for all
# patients. The user guide's page on many sites explains what the files reveal and what they do not
# protect.
