# SPDX-License-Identifier: BSD-3-Clause
"""A profile, a comparison or an estimate as one HTML page that needs nothing else."""

import platform
from html import escape
from importlib import resources
from string import Template
from typing import Any

from sobor.bench.figures import percent
from sobor.profile import views
from sobor.system.cpus import read_cpus
from sobor.system.files import Files
from sobor.times import short_time

_WAITING, _HOST, _SOBOR = "#b8c0c8", "#c2571a", "#2166ac"
_BARS_MOST = 24
#: A bar that belongs to the one before it.
_WITH_SOBOR = "with Sobor"

#: Name, parts with their colour, and what is written beside them.
Bar = tuple[str, list[tuple[float, str]], str]
#: Bars of one scale, and what they show.
Section = tuple[str, list[Bar]]


def page(result: dict[str, Any]) -> str:
    """The whole page."""
    kind = views.kind_of(result)
    first, *others = views.summary(result)
    colours = [("waiting for the last rank", _WAITING), ("host", _HOST), ("Sobor", _SOBOR)]
    if kind == "comparison":
        colours = colours[1:]
    return Template(
        resources.files(__package__).joinpath("page.html").read_text("utf-8")
    ).substitute(
        title=escape(f"Sobor: {kind} of {views.ranks_on(result)}"),
        verdict=escape(first),
        summary="\n".join(f"<p>{escape(line)}</p>" for line in others),
        bars="\n".join(_section(*each, colours) for each in _BARS[kind](result)),
        tables="\n".join(table(*one) for one in views.tables(result) if one[2]),
        command=escape(_command(kind, result)),
        machine=escape(_machine()),
    )


def _of_profile(result: dict[str, Any]) -> list[Section]:
    bars = []
    for row in result["calls"]:
        waiting = views.waiting_us(row) / 1e3
        moving = row["total_us_mean"] / 1e3 - waiting
        colour = _SOBOR if row["served"] else _HOST
        share = percent(row["total_us_mean"] / 1e6 / result["wall_s"])
        bars.append((views.call_name(row), [(waiting, _WAITING), (moving, colour)], share))
    return [("Share of run time by call", bars)]


def _of_comparison(result: dict[str, Any]) -> list[Section]:
    def both(name: str, host: float, sobor: float) -> list[Bar]:
        sides = (("host", host, _HOST), ("Sobor", sobor, _SOBOR))
        return [(f"{name}, {s}", [(t, colour)], short_time(t)) for s, t, colour in sides]

    means = (sum(result[f"{side}_s"]) / result["rounds"] for side in ("host", "sobor"))
    operations = sorted(result["operations"], key=lambda row: -max(row["host_s"], row["sobor_s"]))
    calls = [both(row["operation"], row["host_s"], row["sobor_s"]) for row in operations]
    return [
        ("The run", both("run", *means)),
        ("Of it, in collectives", [bar for pair in calls for bar in pair]),
    ]


def _of_estimate(result: dict[str, Any]) -> list[Section]:
    bars: list[Bar] = []
    for row in result["points"]:
        now = [(row["wait_ms"], _WAITING), (row["total_ms"] - row["wait_ms"], _HOST)]
        bars.append((views.call_name(row), now, short_time(row["total_ms"] / 1e3)))
        if row["ratio"] is not None:
            moving = row["predicted_ms"] - row["wait_ms"]
            then = [(row["wait_ms"], _WAITING), (moving, _SOBOR)]
            bars.append((_WITH_SOBOR, then, short_time(row["predicted_ms"] / 1e3)))
    once = result.get("set_up_s", 0.0)
    if once > 0:
        bars = [("set up once, in first calls", [(once * 1e3, _SOBOR)], short_time(once)), *bars]
    return [("Time of a rank by call, now and predicted", bars)]


_BARS = {"profile": _of_profile, "comparison": _of_comparison, "estimate": _of_estimate}


def _section(title: str, bars: list[Bar], colours: list[tuple[str, str]]) -> str:
    key = "".join(f'<i style="background:{c}"></i>{escape(n)}' for n, c in colours)
    return f'<h2>{escape(title)}</h2>\n<p class="key">{key}</p>\n{_draw(bars)}'


def _draw(bars: list[Bar]) -> str:
    whole = len(bars) <= _BARS_MOST or bars[_BARS_MOST][0] != _WITH_SOBOR
    shown = bars[: _BARS_MOST if whole else _BARS_MOST - 1]
    most = max((sum(value for value, _ in parts) for _, parts, _ in shown), default=0.0) or 1.0
    lines = []
    for name, parts, said in shown:
        track = "".join(
            f'<i style="width:{100 * max(value, 0.0) / most:.2f}%;background:{colour}"></i>'
            for value, colour in parts
        )
        lines.append(
            f'<div class="bar"><span class="name" title="{escape(name)}">{escape(name)}</span>'
            f'<span class="track">{track}</span><span class="value">{escape(said)}</span></div>'
        )
    if len(bars) > len(shown):
        lines.append(f'<p class="key">and {len(bars) - len(shown)} more, in the table</p>')
    return "\n".join(lines)


def table(title: str, columns: list[str], rows: list[list[str]]) -> str:
    """A table below its title."""
    head = "".join(f"<th>{escape(column)}</th>" for column in columns)
    body = "\n".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return (
        f'<h2>{escape(title)}</h2>\n<div class="scroll"><table><thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody></table></div>"
    )


def _command(kind: str, result: dict[str, Any]) -> str:
    start = f"mpirun -n {result['ranks']} ..."
    return {
        "profile": f"sobor profile --json FILE -- {start}",
        "comparison": f"sobor profile --compare {result.get('rounds')} -- {result.get('command')}",
        "estimate": f"sobor profile --set SOBOR=off --json FILE -- {start}; sobor estimate FILE",
    }[kind]


def _machine() -> str:
    files = Files()
    lines = (files.read("/proc/cpuinfo") or "").splitlines()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    cpus = read_cpus(files)
    model = models[0] if models else platform.machine()
    return f"This page was made on a machine with {cpus.usable} usable cores: {model}."
