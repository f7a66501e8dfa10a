# SPDX-License-Identifier: BSD-3-Clause
"""Pictures: Matplotlib, loaded when one is asked for, with text that stays text."""

from pathlib import Path
from typing import Any

from sobor.errors import SoborError
from sobor.native import packages_remedy

#: How parts of a figure get their room: it is drawn twice.
LAYOUT = "constrained"


def load(asked_by: str) -> Any:
    """Matplotlib, also for who is about to take long for what it is to draw.

    `asked_by` is the option that needs it.
    """
    try:
        import matplotlib.figure  # noqa: PLC0415 - only pictures need it, and it takes a second
    except ImportError:
        raise SoborError(
            f"{asked_by} draws with Matplotlib, which this Python does not have",
            packages_remedy(),
        ) from None
    return matplotlib


def new_figure(asked_by: str, size: tuple[float, float]) -> Any:
    """An empty figure of so many inches; `asked_by` is the option that needs it."""
    matplotlib = load(asked_by)
    matplotlib.use("svg")
    # The same answers give the same file.
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "sobor"})
    return matplotlib.figure.Figure(figsize=size, layout=LAYOUT)


def plain_microseconds(axis: Any) -> None:
    """Marks a logarithmic axis by plain numbers, 0.5 and 20, not by powers."""
    from matplotlib.ticker import LogFormatter  # noqa: PLC0415

    class Plain(LogFormatter):
        """Where the usual marks are, other words."""

        def __call__(self, x: float, pos: Any = None) -> str:
            return f"{x:g}" if super().__call__(x, pos) else ""

    axis.set_major_formatter(Plain())
    axis.set_minor_formatter(Plain(minor_thresholds=(1.5, 0.5)))


def save(figure: Any, path: Path) -> None:
    """Writes the figure."""
    figure.savefig(path, format="svg", metadata={"Date": None})
