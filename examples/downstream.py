"""
From projection to decision: what equal errors do for a classifier
==================================================================

The Adult census table is reduced by several methods, a logistic regression predicts the income from
the components, and its decisions are compared by sex on held-out rows. Whether a fair projection
makes decisions fairer depends on the method, on the number of components and on the measure of
fairness; nobody knows before it is measured.
"""

# %%
# The table
# ---------
# A sample of Adult ships with fairspan. The model sees neither the sex nor, of course, the income.
# Text columns are one-hot encoded and all columns are standardised inside each split.

import pandas as pd

from fairspan import assess_downstream, datasets

adult = datasets.load("adult")
table = pd.DataFrame(adult.columns).drop(columns=["income", "sex"])
print(table.head(3).to_string())

# %%
# The assessment
# --------------
# PCA and the model without any reduction are always among what is compared.

result = assess_downstream(
    table,
    adult.target,
    adult.sensitive_features,
    methods=["RobustFairPCA", "FairPCA", "NullSpaceFairPCA"],
    n_components=[2, 5, 15],
    n_splits=5,
)
wanted = ["accuracy", "demographic_parity_difference", "equalized_odds_difference"]
rows = [row for row in result.summary(wanted) if row["group"] is None]
means = pd.DataFrame(rows).pivot(index=["method", "n_components"], columns="metric", values="mean")
print(means.round(3).to_string())

# %%
# Disparity against accuracy
# --------------------------
# Bars are 95 % intervals over splits, corrected for their overlap.

result.plot("accuracy", "demographic_parity_difference")

# %%
# The other notion of fair decisions tells another story: a projection that removes what tells
# the sexes apart equalises the rates at which they are selected, and may still err more often for
# one of them.

result.plot("accuracy", "equalized_odds_difference")

# %%
# A choice by a rule
# ------------------
# The rule sees training rows only; the figures come from rows that it has not seen.

choice = result.best("highest accuracy with demographic_parity_difference <= 0.1")
print(choice.chosen)
for row in choice.values:
    if row["metric"] in wanted:
        print(f"{row['metric']:<30} {row['mean']:.3f}  ({row['low']:.3f} to {row['high']:.3f})")
