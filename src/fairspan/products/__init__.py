"""Many features: the certified fit from products with the rows, without a matrix of features.

A growing basis is shared by all groups. The problem inside it is solved by the solvers of small
problems; what is proved inside is lifted to the whole space by a bound on what the basis leaves
out, which is deterministic (traces) or holds with a probability that is chosen (random blocks).
"""

from fairspan.products.door import solve_products
from fairspan.products.operator import SecondMoments, moments_of_parts, second_moments
from fairspan.products.parts import RowParts

__all__ = ["RowParts", "SecondMoments", "moments_of_parts", "second_moments", "solve_products"]
