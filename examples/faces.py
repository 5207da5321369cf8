"""
Faces: eigenimages of PCA and of a fair projection
==================================================

The components of images are images. How do those of plain PCA differ from those of a projection
that describes two groups equally well, and how are images of each group reconstructed?

If ``FAIRSPAN_DATA`` is set, this example uses 2,000 faces of Labeled Faces in the Wild [1]_, 1,000
labelled female and 1,000 labelled male. Otherwise it uses scikit-learn's handwritten digits: those
with a closed loop (0, 6, 8, 9) and those without.
"""

# %%

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from fairspan import RobustFairPCA


def faces(path, rng):
    """1,000 faces of each label at half the resolution, grey values from 0 to 1."""
    with np.load(path) as stored:
        images, sex = stored["images"], stored["sex"]
    rows = np.concatenate(
        [rng.choice(np.flatnonzero(sex == s), 1000, replace=False) for s in (0, 1)]
    )
    small = images[rows, :48].reshape(-1, 24, 2, 18, 2).mean(axis=(2, 4)) / 255
    return small, np.where(sex[rows] == 0, "labelled female", "labelled male")


def digits():
    """Handwritten digits, grey values from 0 to 1."""
    data = load_digits()
    return data.images / 16, np.where(np.isin(data.target, [0, 6, 8, 9]), "loop", "no loop")


file = Path(os.environ.get("FAIRSPAN_DATA", "")) / "lfw_faces_49x36.npz"
images, groups = faces(file, np.random.default_rng(0)) if file.is_file() else digits()
shape = images.shape[1:]
X = images.reshape(len(images), -1)
print("Faces" if file.is_file() else "Digits", images.shape)

# %%
# All pixels share a unit, so they are not standardised.

k = 6
plain = RobustFairPCA(k, fairness_weight=0).fit(X, sensitive_features=groups)
fair = RobustFairPCA(k, fairness_weight=1).fit(X, sensitive_features=groups)
for name, model in (("PCA", plain), ("RobustFairPCA", fair)):
    labels = model.group_labels_
    errors = {a: round(float(e), 4) for a, e in zip(labels, model.group_errors_, strict=True)}
    print(f"{name:14} {errors}   gap {model.error_gap_:.4f}   total {model.total_error_:.4f}")

# %%
# Eigenimages
# -----------
# The top row shows the components of PCA, the bottom row those of the fair projection, both sorted
# by variance. The principal angles measure the distance between the two subspaces.

cosines = np.linalg.svd(plain.components_ @ fair.components_.T, compute_uv=False)
print("principal angles in degrees:", np.degrees(np.arccos(np.minimum(cosines, 1))).round(1))

figure, axes = plt.subplots(2, k, figsize=(1.5 * k, 4.0), layout="constrained")
for row, (name, model) in zip(axes, (("PCA", plain), ("fair", fair)), strict=True):
    for image, component in zip(row, model.components_, strict=True):
        largest = np.abs(component).max()
        image.imshow(component.reshape(shape), cmap="RdBu_r", vmin=-largest, vmax=largest)
        image.set(xticks=[], yticks=[])
    row[0].set_ylabel(name)

# %%
# Reconstructions
# ---------------
# For each group, the image whose error changes most: the original and its two reconstructions.

figure, axes = plt.subplots(2, 3, figsize=(6.5, 5.2), layout="constrained")
change = fair.reconstruction_errors(X) - plain.reconstruction_errors(X)
for row, label in zip(axes, fair.group_labels_, strict=True):
    members = np.flatnonzero(groups == label)
    chosen = members[np.argmax(np.abs(change[members]))]
    picture = X[[chosen]]
    kept = [model.inverse_transform(model.transform(picture)) for model in (plain, fair)]
    for image, pixels in zip(row, (picture, *kept), strict=True):
        image.imshow(pixels.reshape(shape), cmap="gray", vmin=0, vmax=1)
        image.set(xticks=[], yticks=[])
    row[0].set_ylabel(label)
for image, title in zip(axes[0], ("original", "PCA", "fair"), strict=True):
    image.set_title(title)

# %%
# To the eye, the two reconstructions hardly differ: only a small part of the mean error has moved
# from one group to the other. Six components are far too few to reconstruct a face or a digit. And
# equal mean errors say nothing about how a classifier trained on the components would treat either
# group.
#
# .. [1] G. B. Huang, M. Ramesh, T. Berg and E. Learned-Miller, "Labeled Faces in the Wild",
#    University of Massachusetts, Amherst, technical report 07-49, 2007. The labels do not come from
#    the people in the pictures.
