# SPDX-License-Identifier: BSD-3-Clause
"""Unbalance degree and impact: what a width of arrival costs a broadcast along a binomial tree.

The width k and the time t of one transfer give the degree k / t. The impact is the root's expected
waiting for its children, in units of t, where the ranks arrive uniformly within k: child i is
waited for by E(w_i) = (k - c)^3 / (6 k^2), c being what waiting for the children before it and
their transfers took, and not at all once c is k or more.
"""

import math


def steps(ranks: int) -> int:
    """Transfers that the root of a binomial tree makes one after the other."""
    return max(1, math.ceil(math.log2(ranks))) if ranks > 1 else 0


def impact(degree: float, ranks: int) -> float:
    """The impact for this unbalance degree."""
    waited = gone = 0.0
    for _ in range(steps(ranks)):
        if degree <= gone:
            break
        expected = (degree - gone) ** 3 / (6 * degree**2)
        waited += expected
        gone += expected + 1
    return waited
