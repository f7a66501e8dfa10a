# SPDX-License-Identifier: BSD-3-Clause
"""The report as one HTML file that needs nothing else: bars, tables and a timeline to zoom into."""

import json
from html import escape
from importlib import resources
from string import Template
from typing import Any

import numpy as np

from sobor.bench.figures import percent
from sobor.profile.page import table
from sobor.trace import views
from sobor.trace.analysis import Calls
from sobor.trace.files import COLLECTIVES, Trace

#: Calls that the timeline holds at most; a browser draws as many without delay.
TIMELINE_MOST = 60_000
#: Colours of operations, those with the most time first; the others share the last.
COLOURS = ("#2166ac", "#e08214", "#1b7837", "#7b3294", "#b2182b", "#35978f", "#8c510a", "#636363")
_WAITING = "#d5d8dc"
_RANKS_MOST = 256


def page(trace: Trace, rows: np.ndarray, calls: Calls, report: dict[str, Any]) -> str:
    """The whole page."""
    template = Template(resources.files(__package__).joinpath("page.html").read_text("utf-8"))
    lines = [f"<p>{escape(line)}</p>" for line in views.summary(report)]
    notes = [f'<p class="note">{escape(note)}</p>' for note in report["notes"]]
    tables = [table(*one) for one in views.tables(report) if one[2]]
    data, said = timeline(trace, rows, calls, report)
    return template.substitute(
        summary="\n".join([*lines, *notes]),
        bars=_bars(report),
        arrivals=_arrivals(report),
        tables="\n".join(tables),
        said=escape(said),
        # No text of a trace may end the script.
        data=json.dumps(data, separators=(",", ":")).replace("</", "<\\/"),
    )


def _bars(report: dict[str, Any]) -> str:
    """Run time in each operation: waiting, then moving."""
    operations = report["operations"]
    most = max((row["share"] for row in operations), default=0.0) or 1.0
    lines = []
    for row, colour in zip(operations, colours(operations), strict=True):
        waiting, moving = (100 * row[k] / most for k in ("waiting_share", "moving_share"))
        lines.append(
            f'<div class="bar"><span class="name">{escape(row["name"])}</span>'
            f'<span class="track"><i style="width:{waiting:.2f}%;background:{_WAITING}"></i>'
            f'<i style="width:{moving:.2f}%;background:{colour}"></i></span>'
            f'<span class="value">{percent(row["share"])}</span></div>'
        )
    return "\n".join(lines)


def _arrivals(report: dict[str, Any]) -> str:
    """How each rank arrives after the first: mean, with a line up to the 90th percentile."""
    rows = report["late"][:_RANKS_MOST]
    most = max((row["arrival_us"]["p90"] for row in rows), default=0.0)
    most = max([most, *(row["arrival_us"]["mean"] for row in rows)]) or 1.0
    lines = []
    for row in rows:
        mean, high = (100 * row["arrival_us"][key] / most for key in ("mean", "p90"))
        lines.append(
            f'<div class="bar"><span class="name">rank {row["rank"]}</span>'
            f'<span class="track"><b style="width:{high:.2f}%"></b>'
            f'<i style="width:{mean:.2f}%;background:{COLOURS[0]}"></i></span>'
            f'<span class="value">{row["arrival_us"]["mean"]:.1f} us, last in '
            f"{percent(row['last_share'])}</span></div>"
        )
    left = len(report["late"]) - len(rows)
    return "\n".join(lines) + (f"<p>and {left} other ranks, see below</p>" if left else "")


def colours(operations: list[dict[str, Any]]) -> list[str]:
    """A colour for each operation, in their order."""
    return [COLOURS[min(place, len(COLOURS) - 1)] for place in range(len(operations))]


def timeline(
    trace: Trace, rows: np.ndarray, calls: Calls, report: dict[str, Any]
) -> tuple[dict[str, Any], str]:
    """What the page draws, in microseconds, and a sentence about what it does not."""
    said = ""
    rows = rows[np.argsort(rows["entered"], kind="stable")]
    if rows.size > TIMELINE_MOST:
        said = f"The first {TIMELINE_MOST} of {rows.size} calls; --events writes all."
        rows = rows[:TIMELINE_MOST]
    lasts = {
        (int(comm), int(number)): when
        for comm, number, when in zip(
            calls.comm, calls.rows["number"][calls.begin], calls.last, strict=True
        )
    }
    records = []
    place = {rank: line for line, rank in enumerate(trace.ranks)}
    for row in rows:
        entered, left = float(row["entered"]), float(row["left"])
        when = lasts.get((int(row["comm"]), int(row["number"])), entered)
        records.append(
            [
                place[int(row["rank"])],
                round(entered / 1e3, 3),
                round((left - entered) / 1e3, 3),
                round(max(min(left, when) - entered, 0.0) / 1e3, 3),
                int(row["collective"]),
                int(row["bytes"]),
                int(row["site"]),
                int(row["algorithm"]),
            ]
        )
    shades = dict(
        zip((row["name"] for row in report["operations"]), colours(report["operations"]),
            strict=True)
    )  # fmt: skip
    return {
        "ranks": trace.ranks,
        "names": list(COLLECTIVES),
        "colours": [shades.get(name, COLOURS[-1]) for name in COLLECTIVES],
        "sites": trace.sites,
        "algorithms": trace.algorithms,
        "records": records,
    }, said
