"""What exact solvers give on the paper's splits: out of sample, k = 3, means over ten splits.

Found apart from this package. The paper's own figures are in ``fairspan.experiments.published``.
"""

from __future__ import annotations

RFPCA_EXACT = {
    "default_credit": (0.9487, 10.3994),
    "biodeg": (23.0072, 33.8570),
    "e_coli": (1.1508, 1.7154),
    "energy": (0.0126, 0.2233),
    "german_credit": (2.0545, 43.8775),
    "image": (0.6439, 5.9891),
    "letter": (0.2336, 7.3999),
    "magic": (1.8329, 3.9080),
    "parkinsons": (0.3196, 5.0541),
    "skillcraft": (0.7722, 8.2820),
    "statlog": (0.0700, 3.0922),
    "steel": (1.1887, 12.5234),
    "taiwan_credit": (0.5523, 10.9844),
    "wine_quality": (0.6311, 4.2856),
}

FAIRPCA_EXACT = {
    "e_coli": (1.6466, 2.6398),
    "energy": (0.0138, 0.2225),
    "wine_quality": (0.3493, 6.0194),
    "biodeg": (29.4463, 34.2360),
    "german_credit": (1.4626, 43.9478),
    "magic": (3.3435, 3.2968),
}
