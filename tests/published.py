"""Figures of the paper that tests compare with: out of sample, k = 3, means over ten splits.

"Distributionally Robust Fair Principal Components via Geodesic Descents", ICLR 2022: Table 1
(ABDiff, ARE of each method) and the appendix (Delta F_Lin of RFPCA).
"""

from __future__ import annotations

FAIRPCA = {
    "energy": (0.0138, 0.2225),
}

CFPCA_MEAN = {
    "default_credit": (0.9367, 10.9451),
    "biodeg": (29.1728, 37.6052),
    "e_coli": (1.1005, 2.9466),
    "energy": (0.1229, 2.7318),
    "german_credit": (1.7845, 43.9648),
    "image": (1.1499, 14.3725),
    "letter": (0.4427, 8.7445),
    "magic": (5.5790, 4.2105),
    "parkinsons": (3.3804, 5.7260),
    "skillcraft": (1.0283, 9.9484),
    "statlog": (0.4476, 10.8263),
    "steel": (4.8710, 16.4015),
    "taiwan_credit": (0.5744, 13.0437),
    "wine_quality": (1.5020, 6.1118),
}

CFPCA_BOTH = {
    "default_credit": (3.3359, 22.0310),
    "biodeg": (37.9533, 50.7090),
    "e_coli": (5.1275, 5.6674),
    "energy": (0.1001, 7.9511),
    "german_credit": (1.4955, 49.5014),
    "image": (4.7013, 19.3356),
    "letter": (0.5743, 15.1779),
    "magic": (8.7810, 9.0064),
    "parkinsons": (18.3312, 19.7001),
    "skillcraft": (1.2849, 15.9751),
    "statlog": (13.8437, 35.8268),
    "steel": (3.8084, 25.8953),
    "taiwan_credit": (0.9535, 21.8963),
    "wine_quality": (3.0451, 10.1001),
}

LEAKAGE_OF_RFPCA = {
    "e_coli": 0.8556,
    "energy": 0.0580,
    "wine_quality": 0.9699,
    "biodeg": 0.4892,
    "german_credit": 0.1997,
    "magic": 0.2195,
}

# What an exact solver of FairPCA's problem gives where the paper's program has not converged.
FAIRPCA_EXACT = {
    "e_coli": (1.6466, 2.6398),
    "energy": (0.0138, 0.2225),
    "wine_quality": (0.3493, 6.0194),
    "biodeg": (29.4463, 34.2360),
    "german_credit": (1.4626, 43.9478),
    "magic": (3.3435, 3.2968),
}
