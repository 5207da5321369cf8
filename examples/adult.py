"""
Adult: what PCA does, what a fair projection changes, and who pays
==================================================================

Five numbers about 20,000 people of a census are reduced to two components. How well do these
describe women and men, is the difference more than chance, and what does it cost to change it?
"""

# %%
# The table
# ---------
# A sample of Adult ships with fairspan: age, years of education, capital gains and losses, and
# hours of work per week.

import matplotlib.pyplot as plt

from fairspan import RobustFairPCA, datasets, fairness_frontier
from fairspan.inference import verdict

adult = datasets.load("adult")
X, sex = adult.X, adult.sensitive_features

# %%
# Three projections
# -----------------
# At fairness weight 0 the projection is PCA. The other two count the gap between the groups, as the
# paper does, and the error of the group that is served worst.

models = {
    "PCA": RobustFairPCA(2, standardize=True, fairness_weight=0),
    "gap": RobustFairPCA(2, standardize=True),
    "largest error": RobustFairPCA(2, standardize=True, disparity="largest"),
}
for name, model in models.items():
    model.fit(X, sensitive_features=sex)
    female, male = model.group_errors_
    print(f"{name:<14} female {female:.2f}  male {male:.2f}  total error {model.total_error_:.2f}")

# %%
# Counting the gap closes most of it, but women pay for it and men gain hardly anything. Counting
# the largest error helps men more, costs women less, and leaves a larger gap.
#
# More than chance?
# -----------------

print(verdict(models["largest error"], X, sensitive_features=sex))

# %%
# Everything that is attainable
# -----------------------------
# No projection lies below the curve. Where it is dashed, another projection serves women and men
# better.

figure, ax = plt.subplots(figsize=(8, 5), layout="constrained")
fairness_frontier(X, 2, sensitive_features=sex, standardize=True).plot(ax=ax)
