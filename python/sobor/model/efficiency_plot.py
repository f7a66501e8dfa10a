# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of forecasts: speed-up and efficiency over ranks, with Sobor and with the host."""

from pathlib import Path
from typing import Any

from sobor.drawing import new_figure, save

_SIZE = (7.0, 7.5)


def draw(answers: list[dict[str, Any]], path: Path) -> None:
    """Writes the picture."""
    figure = new_figure("--plot", _SIZE)
    speedup, efficiency = figure.subplots(2, 1)
    ranks = [row["ranks"] for row in answers]
    for axes, key in ((speedup, "speedup"), (efficiency, "efficiency")):
        for name, label in (("", "with Sobor"), ("host_", "host")):
            known = [(row["ranks"], row[name + key]) for row in answers]
            known = [(x, y) for x, y in known if y is not None]
            axes.plot([x for x, _ in known], [y for _, y in known], "o-", label=label)
        axes.set(title=f"Forecast of {key}", xlabel="ranks p")
        axes.grid(alpha=0.3)
    speedup.plot(ranks, ranks, "--", color="0.7", label="S = p")
    for axes in (speedup, efficiency):
        axes.legend(fontsize=8)
    save(figure, path)
