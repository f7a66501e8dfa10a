# SPDX-License-Identifier: BSD-3-Clause
"""The papers and their figures."""

from sobor.study import barrier
from sobor.study.figure import Figure

PAPERS: dict[str, tuple[Figure, ...]] = {
    "barrier": barrier.FIGURES,
}
