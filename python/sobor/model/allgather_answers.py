# SPDX-License-Identifier: BSD-3-Clause
"""`sobor model allgather`: checks the options, and writes times, the study and the advice."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from sobor import console, outputs
from sobor.bench.figures import figure
from sobor.errors import SoborError
from sobor.inputs import NUMBER, POSITIVE, TEXT, check_shape, read_json
from sobor.model.allgather import SWITCHES, Link, crossing, fastest, plan, rows
from sobor.sizes import parse_counts
from sobor.times import parse_time

RANKS_MOST = 1024
#: What the study varies: factors of the latency, and numbers of ranks.
LATENCIES = (0.1, 0.2, 0.5, 1, 2, 5, 10)
RANKS = (4, 8, 16, 32, 64, 128)
#: Published, of two points on Fast Ethernet; Gigabit: 12 us less, ten times the bandwidth.
LATENCY, ELEMENT_TIME = "65.8us", "0.437us"
_READINGS = (
    "star: the publication reads about a thousand elements from its picture, and about a hundred "
    "in its text."
)


#: What is taken of a file of sobor platform.
_PLATFORM = {"ts_us": {"value": NUMBER}, "tw_us": {"value": POSITIVE}, "switch": {"value": TEXT}}


@dataclass(frozen=True)
class Wanted:
    """The options of `sobor model allgather`."""

    latency: str | None = None
    element_time: str | None = None
    element: int = 4
    ranks: str = "16"
    elements: str = "1,10,100,1000,10000"
    switch: str | None = None
    platform: str | None = None
    study: bool = False
    plot: str | None = None


def allgather(wanted: Wanted, json_file: str | None) -> None:
    """Writes the answers."""
    outputs.check(json_file, wanted.plot)
    link, known = network(wanted)
    switches = _switches(wanted.switch or known)
    ranks = _ranks(wanted.ranks)
    elements = parse_counts(wanted.elements, "--elements")
    answers = study(link, ranks) if wanted.study else rows(link, ranks, elements, switches)
    if wanted.plot:
        from sobor.model.allgather_plot import draw  # noqa: PLC0415 - Matplotlib takes a second

        draw(link, ranks[-1], wanted.element, Path(wanted.plot))

    def write() -> None:
        out = console.out()
        _write_study(answers, out) if wanted.study else _write(answers, link, wanted.element, out)
        console.heading(out, "Advice")
        for switch in switches:
            for line in advice(link, ranks[-1], switch):
                out.print(f"  {line}")

    outputs.show(answers, json_file, write, wanted.plot)


def network(wanted: Wanted) -> tuple[Link, str]:
    """t_s and t_w as given, of a measured platform, or the published ones; and the switches."""
    latency, each, switch = LATENCY, ELEMENT_TIME, "star,crossbar"
    if wanted.platform is not None:
        measured = _measured(wanted.platform)
        latency = f"{measured['ts_us']['value']}us"
        # Measured for elements of 4 bytes.
        each = f"{measured['tw_us']['value'] * wanted.element / 4}us"
        switch = {"star": "star", "crossbar": "crossbar"}.get(measured["switch"]["value"], switch)
    return _link(wanted.latency or latency, wanted.element_time or each), switch


def _link(latency: str, element_time: str) -> Link:
    return Link(
        parse_time(latency, "--latency", or_zero=True) / 1e3,
        parse_time(element_time, "--element-time") / 1e3,
    )


def _measured(name: str) -> dict[str, Any]:
    try:
        measured = read_json(name)
        check_shape(name, measured, _PLATFORM)
    except SoborError as error:
        remedy = "sobor platform --json FILE writes such a file"
        raise SoborError(f"--platform: {error.message}", remedy) from None
    return measured


def _switches(text: str) -> list[str]:
    words = text.split(",")
    wrong = [word for word in words if word not in SWITCHES]
    if wrong:
        raise SoborError(f'--switch: expected star or crossbar, found "{wrong[0]}"')
    return words


def _ranks(text: str) -> list[int]:
    ranks = parse_counts(text, "--ranks")
    if min(ranks) < 2 or max(ranks) > RANKS_MOST:
        raise SoborError(f"--ranks: expected numbers from 2 to {RANKS_MOST}, found {text}")
    return ranks


def study(link: Link, ranks: list[int]) -> list[dict[str, Any]]:
    """Where BAGDS stops being ahead of each-with-each on a star, over latency and ranks."""
    return [
        {
            "latency_us": link.latency * factor,
            "element_time_us": link.element,
            "ranks": count,
            "crossing_elements": crossing(Link(link.latency * factor, link.element), count, "star"),
        }
        for count in sorted({*RANKS, *ranks})
        for factor in LATENCIES
    ]


def advice(link: Link, ranks: int, switch: str) -> list[str]:
    """What to do on such a network, in words."""
    lines = [_of_star(link, ranks) if switch == "star" else _of_crossbar(link, ranks)]
    if switch == "star" and link == _link(LATENCY, ELEMENT_TIME):
        lines.append(_READINGS)
    short, long = (fastest(link, ranks, elements, switch) for elements in (1, 1e6))
    lines.append(
        f"{switch}, {ranks} ranks: of one element {short} is the fastest, of a million {long}."
    )
    ours, rounds = plan("bagds", ranks), plan("bruck", ranks)
    if ours.stages > rounds.stages:
        more = ours.blocks["crossbar"] / (ranks - 1)
        lines.append(
            f"{ranks} is not a power of two: BAGDS needs {ours.stages} stages where Bruck's needs "
            f"{rounds.stages}, and {more:.1f} times a ring's bytes. Take Bruck's."
        )
    return lines


def _of_star(link: Link, ranks: int) -> str:
    limit = crossing(link, ranks, "star")
    if limit is None:
        return f"star: with {ranks} ranks BAGDS is never behind each-with-each."
    return (
        f"star: BAGDS saves latency and moves more bytes. Below {limit:.0f} elements a rank take "
        "it, above exchange each with each."
    )


def _of_crossbar(link: Link, ranks: int) -> str:
    ours, theirs = plan("bagds", ranks), plan("each-with-each", ranks)
    short, long = (
        theirs.time("crossbar", link, n) / ours.time("crossbar", link, n) for n in (1, 1e6)
    )
    return (
        f"crossbar: BAGDS beats each-with-each {short:.0f} times for one element and {long:.0f} "
        "times for long blocks: take it, or a ring where blocks are long."
    )


def _write(answers: list[dict[str, Any]], link: Link, element: int, out: Console) -> None:
    title = f"t_s {figure(link.latency)} us, t_w {figure(link.element)} us"
    console.heading(out, f"Allgather, {title} for an element of {element} bytes")
    columns = ("switch", "ranks", "elements", "method", "stages", "exchanges", "time us")
    grid = console.table(out, *columns, right=(*columns[1:3], *columns[4:]))
    for row in answers:
        cells = [str(row[key]) for key in ("switch", "ranks", "elements", "method", "stages")]
        grid.add_row(*cells, str(row["exchanges"]), figure(row["time_us"]))
    out.print(console.indented(grid))


def _write_study(answers: list[dict[str, Any]], out: Console) -> None:
    console.heading(out, "Star: elements a rank below which BAGDS is ahead of each-with-each")
    latencies = sorted({row["latency_us"] for row in answers})
    names = [f"t_s {figure(latency)} us" for latency in latencies]
    grid = console.table(out, "ranks", *names, right=("ranks", *names))
    for ranks in sorted({row["ranks"] for row in answers}):
        limits = [row["crossing_elements"] for row in answers if row["ranks"] == ranks]
        cells = ["any" if limit is None else f"{limit:.0f}" for limit in limits]
        grid.add_row(str(ranks), *cells)
    out.print(console.indented(grid))
