# SPDX-License-Identifier: BSD-3-Clause
"""The papers and their figures."""

from sobor.study import application, arrival, barrier, bcast_numa, platform, vectors
from sobor.study.figure import Figure

PAPERS: dict[str, tuple[Figure, ...]] = {
    "bcast-numa": bcast_numa.FIGURES,
    "vectors": vectors.FIGURES,
    "barrier": barrier.FIGURES,
    "platform": platform.FIGURES,
    "arrival": arrival.FIGURES,
    "application": application.FIGURES,
}
