# SPDX-License-Identifier: BSD-3-Clause
"""Broadcast under uneven arrival: model, micro-benchmarks, programs (Liu, Song, Lu, Xu 2011).

The micro-benchmark is the published one: ranks come to each call within the width k, each rank's
mean over the calls is taken first, then the largest of these means.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial

from sobor.errors import SoborError
from sobor.machines import find_machine
from sobor.model.arrival import Job, arrival_density
from sobor.simulate.engine import check_engine, run_engine
from sobor.sizes import short_size
from sobor.study import application
from sobor.study.figure import Figure, Point, Run, Setting, number, numbers, sizes
from sobor.times import parse_time

MACHINE = "cluster-16x8"
MODE = "SOBOR_CLUSTER_BCAST"
TIMES = "host / CP"
_NAMES = {"bt": "BT", "p-bt": "P-BT", "cp-bt": "CP-BT"}
#: From so many bytes on the host scatters and gathers in a ring.
_HOST_LONG = 12288


def _times(value: str, name: str) -> list[int]:
    """Nanoseconds of several times."""
    return [parse_time(each, name, or_zero=True) for each in value.split(",")]


def _width(nanoseconds: float) -> str:
    return f"k = {nanoseconds / 1e3:g} µs"


# --- the model ----------------------------------------------------------------------------------


def _impact(run: Run) -> list[Point]:
    """The root's waiting over the unbalance degree, both in transfers."""
    ranks, nodes = run["ranks"], run["nodes"]
    curves = [(f"BT, p = {ranks}", "bt", Job(nodes, ranks // nodes))]
    curves += [(f"P-BT, {nodes} nodes", "p-bt", Job(nodes, ranks // nodes))]
    curves += [(f"CP-BT, n = {n}", "cp-bt", Job(nodes, n)) for n in run["n"]]
    return [
        Point(name, degree, job.gamma(method, degree))
        for name, method, job in curves
        for degree in run["psi"]
    ]


def _over_sizes(run: Run) -> list[Point]:
    """The time of a broadcast, balanced and not."""
    job = Job(run["nodes"], run["ranks"] // run["nodes"])
    return [
        Point(f"{name}, {_width(width)}", m, job.time(method, width / 1e3, _transfer(run, m)))
        for method, name in _NAMES.items()
        for width in run["k"]
        for m in run["bytes"]
    ]


def _transfer(run: Run, message: int) -> float:
    """t(m) in microseconds: alpha, and beta for a byte."""
    return (run["alpha"] + run["beta"] * message) / 1e3


def _density(run: Run) -> list[Point]:
    """How the arrival of a node's leader is distributed, of the first among n and of one alone."""
    steps = run["steps"]
    return [
        Point(f"n = {n}", i / steps, arrival_density(i / steps, n))
        for n in run["n"]
        for i in range(steps + 1)
    ]


_REFERENCE = (
    Setting("ranks", "1024", "p: processes", number(2)),
    Setting("nodes", "128", "nodes, with as many processes each", number()),
)
_MODEL = (
    Figure(
        "3", "The impact of uneven arrival on the root", "psi", "gamma",
        (*_REFERENCE,
         Setting("n", "2,8", "processes of a node that compete", numbers),
         Setting("psi", "1,2,5,10,20,50,100", "k in transfers", numbers)),
        _impact, "ratio",
    ),
    Figure(
        "4", "The model's time of a broadcast, balanced and not", "message, bytes", "µs",
        (*_REFERENCE,
         Setting("alpha", "4us", "of a message of no bytes", parse_time),
         Setting("beta", "10", "nanoseconds for each byte", number()),
         Setting("k", "0us,500us", "widths of arrival", _times),
         Setting("bytes", "64,256,1K,4K,16K,64K,256K,1M", "m: messages", sizes)),
        _over_sizes, "ratio", log=(2, 10),
    ),
    Figure(
        "6", "When the first of n processes comes", "time / k", "density × k",
        (Setting("n", "1,2,4,8", "processes of a node", numbers),
         Setting("steps", "20", "points of a curve, but one", number())),
        _density, "ratio", log=(0, 0),
    ),
)  # fmt: skip


# --- the micro-benchmarks -----------------------------------------------------------------------


@dataclass(frozen=True)
class Method:
    """A broadcast over nodes: its name, and the algorithm or the form that it is here."""

    name: str
    form: str | None = None  # None: the flat algorithms of a host

    def words(self, message: int) -> list[str]:
        """What the simulator is asked for."""
        if self.form is not None:
            return ["--algorithm", "cluster", "--set", f"{MODE}={self.form}"]
        flat = "host-binomial" if message < _HOST_LONG else "host-scatter-ring"
        return ["--algorithm", flat]


HOST = Method("host")


def _measured(run: Run, method: Method, width: float) -> dict[int, float]:
    """The largest mean of a rank, by size."""
    check_engine(run.native)
    machine = find_machine(run["machine"])
    run.tell(f"{method.name}, {_width(width)}")
    found = {}
    for message in run["bytes"]:
        words = ["bcast", "--machine", str(machine.path), "--nodes", str(run["nodes"])]
        words += ["--ranks", str(run["nodes"] * run["n"]), "--map", "core", "--root", "0"]
        words += ["--bytes", str(message), "--seed", str(run["seed"])]
        words += ["--calls", str(run["calls"]), "--warmup", "2", *method.words(message)]
        words += ["--arrival", f"uniform:{width / 1e3:g}us"] if width else []
        (row,) = run_engine(run.native, tuple(words), None)
        found[message] = row["rank_max_us"]
    return found


def _curves(run: Run, methods: Iterable[Method], width: float) -> dict[str, dict[int, float]]:
    return {method.name: _measured(run, method, width) for method in methods}


def _forms(run: Run, forms: dict[str, str]) -> list[Point]:
    """The published algorithm, with fixed leaders and with those who come first; and ours."""
    methods = [HOST, *(Method(name, form) for name, form in forms.items())]
    return [
        Point(f"{name}, {_width(width)}", m, us)
        for width in run["k"]
        for name, found in _curves(run, methods, width).items()
        for m, us in found.items()
    ]


def _against_host(run: Run) -> list[Point]:
    """The published choice among the algorithms beside the host."""
    methods = [HOST, Method("P", "p"), Method("CP", "cp"), Method("cp-chain", "cp-chain")]
    (width,) = run["k"]
    times = _curves(run, methods, width)
    points = [Point(name, m, us) for name, found in times.items() for m, us in found.items()]
    for m in run["bytes"]:
        points.append(Point(TIMES, short_size(m), times["host"][m] / times["CP"][m]))
    return points


def _one_time(value: str, name: str) -> list[int]:
    found = _times(value, name)
    if len(found) != 1:
        raise SoborError(f"{name}: expected one time, found {value}")
    return found


def _simulated(value: str, name: str) -> str:
    if value == "here":
        raise SoborError(
            f"{name}: expected a machine of several nodes, found here",
            "sobor bench bcast --study arrival measures uneven arrival on this machine",
        )
    return value


def _settings(nodes: int, each: int, messages: str, width: Setting) -> tuple[Setting, ...]:
    calls = "24" if messages == _SHORT else "4"  # long messages take long to simulate
    return (
        Setting("machine", MACHINE, "a machine of sobor simulate --list, or a file", _simulated),
        Setting("seed", "1", "of the simulator", number(0)),
        Setting("nodes", str(nodes), "nodes", number()),
        Setting("n", str(each), "processes of a node", number()),
        Setting("calls", calls, "calls that are timed", number()),
        Setting("bytes", messages, "m: messages", sizes),
        width,
    )


_SHORT = "64,1K,4K,8K"
_MIDDLE = "16K,64K,256K"
_LONG = "256K,1M,4M"
_BOTH = Setting("k", "0us,500us", "widths of arrival", _times)


def _shorter(messages: str) -> dict[str, str]:
    least, _, _ = messages.partition(",")
    return {"calls": "3", "nodes": "4", "n": "2", "bytes": least}


#: Figure, algorithm, nodes, processes of each, messages.
_PUBLISHED = (
    ("12", "BT", 16, 4, _SHORT), ("13", "BT", 16, 8, _SHORT),
    ("14", "RDAAS", 16, 4, _MIDDLE), ("15", "RDAAS", 16, 8, _MIDDLE),
    ("16", "RingAAS", 10, 4, _LONG), ("17", "RingAAS", 10, 8, _LONG),
)  # fmt: skip


def _of_algorithm(name: str, algorithm: str, nodes: int, each: int, messages: str) -> Figure:
    word = algorithm.lower()
    forms = {f"P-{algorithm}": f"p-{word}", f"CP-{algorithm}": f"cp-{word}"}
    return Figure(
        name, f"{algorithm}, {nodes} nodes of {each}: fixed leaders, and the first of each node",
        "message, bytes", "µs", _settings(nodes, each, messages, _BOTH),
        partial(_forms, forms={**forms, "cp-chain": "cp-chain"}), "ratio",
        _shorter(messages), log=(2, 10),
    )  # fmt: skip


def _beside_host(name: str, width: str, messages: str) -> Figure:
    late = "all come together" if width == "0us" else f"arrival within {width}"
    return Figure(
        name, f"The published choice beside the host, 16 nodes of 8: {late}",
        "message, bytes", "µs",
        _settings(16, 8, messages, Setting("k", width, "width of arrival", _one_time)),
        _against_host, "ratio", _shorter(messages), (TIMES,), log=(2, 10),
    )  # fmt: skip


_BENCHMARKS = (
    *(_of_algorithm(*each) for each in _PUBLISHED),
    _beside_host("18", "0us", _SHORT),
    _beside_host("19", "0us", "64K,1M,2M,4M"),
    _beside_host("20", "500us", _SHORT),
    _beside_host("21", "500us", "64K,1M,2M,4M"),
)


def _applications() -> tuple[Figure, ...]:
    """Arrival of both programs, then their times; the same figures as those of `application`."""
    known = {figure.name: figure for figure in application.FIGURES}
    names = {"22": "asp-arrival", "23": "vcc-arrival", "24": "asp", "25": "vcc"}
    return tuple(replace(known[name], name=number) for number, name in names.items())


FIGURES = (*_MODEL, *_BENCHMARKS, *_applications())
