# SPDX-License-Identifier: BSD-3-Clause
"""How a row's figures, its place and its method are written in tables."""

from sobor.bench.job import Row
from sobor.sizes import short_size


def figure(value: float | None) -> str:
    """A number with three digits that count: 0.412, 41.2, 4120."""
    if value is None:
        return "-"
    bounds = ((0.1, 4), (1, 3), (10, 2), (100, 1))
    return f"{value:.{next((digits for bound, digits in bounds if value < bound), 0)}f}"


def plain(value: float) -> str:
    """A number of six digits that count, or a longer one whole: 2.5, 1234567."""
    return f"{value:.0f}" if abs(value) >= 1e5 else f"{value:g}"


def percent(share: float) -> str:
    """A share as people read it."""
    return f"{100 * share:.1f} %"


def in_collectives(share: float) -> str:
    """The same of a run's time, which threads that call at the same time spend more than once."""
    at_once = ", with threads of a rank in them at the same time" if share > 1 else ""
    return f"in collectives{at_once}"


def way(row: Row) -> str:
    """The method, with whose barrier came before each call."""
    words = [row.get("method"), row.get("sync")]
    return ", ".join(word for word in words if word) or "-"


def point_cells(row: Row) -> list[str]:
    """The columns collective, bytes and buffers."""
    size = short_size(row["bytes"]) if row["bytes"] else "-"
    return [row["collective"], size, row["variant"]]
