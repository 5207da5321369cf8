"""
Streaming: data that does not fit into memory
=============================================

A fit needs one matrix per group, not the rows. Any number of files can therefore be read once, in
batches, without keeping the rows. The result is the same as a fit on all rows.
"""

# %%
# Files
# -----
# A survey arrives in ten csv files, each with a different mix of the two groups. Parquet, Arrow and
# npy files work in the same way, and so do folders and patterns.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from fairspan import GroupMoments, RobustFairPCA
from fairspan.sources import moments_from_files

rng = np.random.default_rng(0)
names = [f"q{j}" for j in range(12)]
mixes = {"rural": rng.normal(size=(3, 12)), "urban": rng.normal(size=(3, 12))}


def part(share, n=1500):
    """Make the rows and groups of one file."""
    groups = rng.choice(["rural", "urban"], n, p=[share, 1 - share])
    latent, noise = rng.normal(size=(n, 3)), rng.normal(size=(n, 12))
    rows = [z @ mixes[group] + e for z, group, e in zip(latent, groups, noise, strict=True)]
    return np.array(rows) + 50, groups


folder = tempfile.TemporaryDirectory()
parts = [part(share) for share in np.linspace(0.05, 0.5, 10)]
for number, (rows, groups) in enumerate(parts):
    cells = zip(rows.tolist(), groups, strict=True)
    lines = [",".join([*map(repr, row), group]) for row, group in cells]
    text = "\n".join([",".join([*names, "place"]), *lines]) + "\n"
    (Path(folder.name) / f"part-{number}.csv").write_text(text)

# %%
# One pass
# --------

moments = moments_from_files(f"{folder.name}/*.csv", "place")
pca = RobustFairPCA(3, standardize=True).fit_moments(moments)
sizes = dict(zip(moments.labels, moments.counts.tolist(), strict=True))
print(f"rows read: {sizes}; gap {pca.error_gap_:.3f}, proved to {pca.optimality_gap_:.0e}")

# %%
# The fit on all rows at once gives the same result:

X, groups = np.vstack([rows for rows, _ in parts]), np.concatenate([g for _, g in parts])
whole = RobustFairPCA(3, standardize=True).fit(X, sensitive_features=groups)
difference = np.abs(whole.group_errors_ - pca.group_errors_).max()
print(f"largest difference of group errors: {difference:.0e}")

# %%
# As the data arrives
# -------------------
# ``partial_fit`` adds a batch and solves the problem again. Here we add the moments ourselves, to
# compare PCA and the fair projection after each file.

so_far, history = None, {"PCA": [], "RobustFairPCA": []}
for rows, labels in parts:
    batch = GroupMoments.from_arrays(rows, labels)
    so_far = batch if so_far is None else so_far + batch
    for name, weight in (("PCA", 0.0), ("RobustFairPCA", 1.0)):
        model = RobustFairPCA(3, fairness_weight=weight, standardize=True)
        history[name].append(model.fit_moments(so_far).group_errors_)

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for (name, errors), color in zip(history.items(), ("#d55e00", "#0072b2"), strict=True):
    for label, line, values in zip(so_far.labels, ("-", "--"), np.transpose(errors), strict=True):
        axes.plot(range(1, 11), values, line, color=color, label=f"{name}, {label}")
axes.set(xlabel="files read", ylabel="mean squared error")
axes.spines[["top", "right"]].set_visible(False)
axes.legend(frameon=False, loc="upper right", bbox_to_anchor=(1, 0.88), ncols=2)
folder.cleanup()

# %%
# PCA favours the majority, however many files are read. The fair projection describes both groups
# equally well from the first file on.
