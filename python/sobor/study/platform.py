# SPDX-License-Identifier: BSD-3-Clause
"""Parameters of a platform, and the block algorithm BAGDS (Feldman, Nazarova 2016)."""

from sobor.errors import SoborError
from sobor.launchers.options import split_words
from sobor.model.allgather import METHODS, Link, crossing, plan
from sobor.platform.analysis import ELEMENT, TWO_POINTS, fit_two
from sobor.platform.run import Wanted, measure
from sobor.study.figure import Figure, Point, Run, Setting, number, numbers, text, word, words
from sobor.study.place import Case, Times, common, take
from sobor.times import parse_time

MODEL = "model"
GAIN = "each-with-each / bagds"
LIMIT = "bagds is ahead up to, elements"
ALL_TO_ONE = "all / one"
_FIT = ("through two points", "least squares")


def _link(run: Run) -> Link:
    """t_s and t_w by the line through the times of 1 and of 2048 elements."""
    times = (run["one"] / 1e9, run["many"] / 1e9)
    return fit_two(list(zip(TWO_POINTS, times, strict=True)))


def _measured(run: Run) -> dict:
    command = split_words(run["command"], "command")
    if not command:
        raise SoborError("command: expected a launcher, such as srun -N 4 -n 64, found nothing")
    run.tell(f"platform -- {run['command']}")
    return measure(run.native, Wanted(command))


def _transfers(run: Run) -> list[Point]:
    """The time of a transfer over its elements, and the lines that are laid through it."""
    links, points = {_FIT[0]: _link(run)}, []
    if run.here:
        found = _measured(run)
        fits = zip(_FIT, (found["two_points"], found), strict=True)
        links = {name: Link(fit["ts_us"]["value"], fit["tw_us"]["value"]) for name, fit in fits}
        points = [Point("measured", each["elements"], each["value"]) for each in found["pings"]]
    for name, link in links.items():
        points += [Point(name, count, link.transfer(count)) for count in run["elements"]]
        points += [Point(name, "t_s", link.latency), Point(name, "t_w", link.element)]
    return points


def _bandwidths(run: Run) -> list[Point]:
    """Bytes a microsecond of one exchange, and of all at once: equal on a star."""
    if run.here:
        found = _measured(run)
        one, switch = found["exchange"]["value"] / 1e6, found["switch"]
        rates = {1: one, switch["pairs"]: one * switch["ratio"]}
        points = [Point("measured", pairs, rate) for pairs, rate in rates.items()]
        return [*points, Point(ALL_TO_ONE, "measured", switch["ratio"])]
    size, one = run["n"] * ELEMENT, 2 * _link(run).transfer(run["n"])
    points = []
    for switch, turns in (("star", lambda pairs: pairs), ("crossbar", lambda _pairs: 1)):
        rates = {pairs: 2 * pairs * size / (one * turns(pairs)) for pairs in run["pairs"]}
        points += [Point(switch, pairs, rate) for pairs, rate in rates.items()]
        points.append(Point(ALL_TO_ONE, switch, rates[max(rates)] * one / (2 * size)))
    return points


def _times(run: Run, switch: str) -> list[Point]:
    """The time of an allgather over the elements of each process."""
    link, ranks, elements = _link(run), run["ranks"], run["elements"]
    if run["machine"] != MODEL:
        taken = {name: _taken(run, name) for name in ("bagds", "host")}
        return [
            Point(name, count, times[count * ELEMENT])
            for name, times in taken.items()
            for count in elements
        ]
    times = {
        name: [plan(name, ranks).time(switch, link, count) for count in elements]
        for name in run["methods"]
    }
    points = [
        Point(name, count, us)
        for name, found in times.items()
        for count, us in zip(elements, found, strict=True)
    ]
    if {"each-with-each", "bagds"} <= times.keys():
        pairs = zip(elements, times["each-with-each"], times["bagds"], strict=True)
        points += [Point(GAIN, count, theirs / ours) for count, theirs, ours in pairs]
    limit = crossing(link, ranks, switch)
    return points if limit is None else [*points, Point(LIMIT, f"p = {ranks}", limit)]


def _taken(run: Run, name: str) -> Times:
    """Here under the host, or simulated with one process a node."""
    here = run.here
    algorithm = name if here else {"bagds": "host-bagds", "host": "host-ring"}[name]
    case = Case(
        "allgather", algorithm, run["ranks"], tuple(count * ELEMENT for count in run["elements"]),
        mapping="core" if here else "node", cold=False, nodes=1 if here else run["ranks"],
    )  # fmt: skip
    return take(run, case)


_TWO = (
    Setting("one", "66.22us", "a transfer of 1 element", parse_time),
    Setting("many", "960.45us", "a transfer of 2048 elements", parse_time),
)
_LINE = (
    Setting("machine", MODEL, f"{MODEL}: the line through the times below; or here",
            word(MODEL, "here")),
    *_TWO,
    Setting("command", "mpirun -n 2", "with machine=here: the launcher of sobor platform", text),
)  # fmt: skip
_MODEL, *_RUNS = common(MODEL, "1")


def _switch(name: str, switch: str) -> Figure:
    def times(run: Run) -> list[Point]:
        return _times(run, switch)

    settings = (
        Setting("machine", MODEL, f"{MODEL}: the formulas; or {_MODEL.doc}", text),
        *_RUNS,
        *_TWO,
        Setting("ranks", "16", "p: processes", number(2)),
        Setting("elements", "1,4,16,64,256,1024,4096,16384", "of 4 bytes, of each", numbers),
        Setting("methods", ",".join(METHODS), "in the model", words(*METHODS)),
    )  # fmt: skip
    return Figure(
        name, f"Allgather by blocks on a {switch}", "elements", "µs", settings, times, "ratio",
        beside=(GAIN, LIMIT), log=(2, 10),
    )  # fmt: skip


FIGURES = (
    Figure(
        "1",
        "The time of a transfer, and the line through two of its points",
        "elements",
        "µs",
        (*_LINE, Setting("elements", "1,64,512,1024,2048,4096", "of 4 bytes", numbers)),
        _transfers,
        "ratio",
        beside=("t_s", "t_w"),
    ),
    Figure(
        "2",
        "Bandwidth of one exchange and of all at once, on a star and on a crossbar",
        "pairs",
        "MB/s",
        (
            *_LINE,
            Setting("n", "2048", "elements of an exchange", number()),
            Setting("pairs", "1,2,4,8", "that exchange at once", numbers),
        ),
        _bandwidths,
        "ratio",
        beside=(ALL_TO_ONE,),
    ),
    _switch("5", "star"),
    _switch("6", "crossbar"),
)
