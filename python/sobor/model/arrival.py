# SPDX-License-Identifier: BSD-3-Clause
"""What uneven arrival costs a broadcast over nodes: the formulas of the impact model.

Ranks arrive uniformly within the width k; t is the time of one transfer. The unbalance degree is
psi = k / t. The root of a binomial tree makes ceil(log2 p) transfers, one after the other, and
waits for the child of each. Where n ranks of the child's node compete, the first that comes takes
the message; n = 1 is a fixed leader. What the transfers before took is c in the mean, so child i
costs a waiting of

    E(w_i) = (k - c)^(n + 2) / ((n + 1) (n + 2) k^(n + 1)), and nothing once c is k or more;

the next one finds c + E(w_i) + t. The impact is gamma = sum of E(w_i) / t: the waiting of the
root, not of the slowest rank. A mean stands for c, which is coarse where k is many times t.
"""

import math
from dataclasses import dataclass

#: The forms that are compared: over all ranks, over fixed leaders, over the first of each node.
METHODS = ("bt", "p-bt", "cp-bt")


def steps(ranks: int) -> int:
    """Transfers that the root of a binomial tree makes one after the other."""
    return max(1, math.ceil(math.log2(ranks))) if ranks > 1 else 0


def impact(degree: float, ranks: int, rivals: int = 1) -> float:
    """Gamma for this unbalance degree: a tree of so many, `rivals` ranks for each place in it."""
    waited = gone = 0.0
    for _ in range(steps(ranks)):
        if degree <= gone:
            break
        left = 1 - gone / degree
        expected = degree * left ** (rivals + 2) / ((rivals + 1) * (rivals + 2))
        waited += expected
        gone += expected + 1
    return waited


def arrival_density(share: float, rivals: int) -> float:
    """Density, times the width, of a leader's arrival at this share of the width."""
    return rivals * (1 - share) ** (rivals - 1)


@dataclass(frozen=True)
class Job:
    """Nodes with the same number of ranks each."""

    nodes: int
    per_node: int

    def gamma(self, method: str, degree: float) -> float:
        """The impact on one of METHODS."""
        if method == "bt":
            return impact(degree, self.nodes * self.per_node)
        return impact(degree, self.nodes, self.per_node if method == "cp-bt" else 1)

    def balanced(self, method: str) -> int:
        """Transfers one after the other if all arrive at once; one in the node costs as much."""
        if method == "bt":
            return steps(self.nodes * self.per_node)
        return steps(self.nodes) + (1 if self.per_node > 1 else 0)

    def time(self, method: str, width: float, transfer: float) -> float:
        """The time of the broadcast, in the unit of its arguments."""
        return (self.gamma(method, width / transfer) + self.balanced(method)) * transfer


def rows(job: Job, width_us: float, transfer_us: float) -> list[dict[str, float | int | str]]:
    """A row for each method."""
    degree = width_us / transfer_us
    return [
        {
            "method": method,
            "nodes": job.nodes,
            "ranks_per_node": job.per_node,
            "psi": degree,
            "ew_us": job.gamma(method, degree) * transfer_us,
            "gamma": job.gamma(method, degree),
            "time_us": job.time(method, width_us, transfer_us),
        }
        for method in METHODS
    ]
