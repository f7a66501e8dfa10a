# SPDX-License-Identifier: BSD-3-Clause
"""What the options of `sobor simulate` ask for, checked, and as options of sobor-simulate."""

from dataclasses import dataclass
from pathlib import Path

from sobor.bench.request import COUNTS_SIMULATED
from sobor.errors import SoborError
from sobor.machines import Machine, find_machine
from sobor.native import Native
from sobor.outputs import check_writable
from sobor.profile.files import COLLECTIVES
from sobor.sizes import counted, parse_counts, parse_sizes
from sobor.variables import parse_settings

# Those whose parts may differ in size.
IRREGULAR = ("scatterv", "gatherv", "allgatherv", "alltoallv", "alltoallw")
COUNTS = ("equal", "linear", "heavy", "random", "half")
MAPS = ("core", "node", "numa", "socket")
MODES = ("timed", "random", "pct", "exhaustive")
HISTOGRAMS = ("lines",)
ARRIVALS = ("none", "uniform:", "normal:", "exponential:", "straggler:", "trace:")
_TIMELINE_CALLS = 3
_SCHEDULES = 1000


@dataclass(frozen=True)
class Options:
    """The options as they were given."""

    collective: str | None = None
    machine: str | None = None
    nodes: int = 1
    ranks: str | None = None
    maps: str = "core"
    algorithms: str | None = None
    sizes: str | None = None
    root: str | None = None
    calls: int | None = None
    warmup: int | None = None
    seed: int = 1
    arrival: str | None = None
    sync: str | None = None
    counts: str | None = None
    noise: bool | None = None
    cold: bool | None = None
    placement: bool | None = None
    settings: tuple[str, ...] = ()
    check: bool = False
    mode: str | None = None
    schedules: int | None = None
    relaxed: bool = False
    replay: str | None = None
    histogram: str | None = None
    timeline: str | None = None
    json_file: str | None = None


@dataclass(frozen=True)
class Job:
    """One run of sobor-simulate."""

    ranks: int
    mapping: str
    arguments: tuple[str, ...]

    @property
    def title(self) -> str:
        """What is shown while it runs."""
        return f"{counted(self.ranks, 'rank')} by {self.mapping}"


@dataclass(frozen=True)
class Request:
    """All runs that the options ask for."""

    machine: Machine
    #: Of all nodes that the ranks are on.
    cores: int
    collective: str
    jobs: tuple[Job, ...]
    checks: bool
    histogram: bool
    timeline: Path | None
    json_file: str | None


def make_request(options: Options, native: Native) -> Request:
    """Checks the options and makes the runs."""
    _check_words(options)
    machine = find_machine(options.machine or "")
    _check_nodes(options, machine)
    cores = options.nodes * native.query("topology", "--machine", machine.topology)["cores"]
    ranks = [cores] if options.ranks is None else parse_counts(options.ranks, "--ranks")
    maps = _words(options.maps, MAPS, "--map")
    common = _common(options, machine)
    jobs = tuple(
        Job(count, mapping, (*common, "--ranks", str(count), "--map", mapping))
        for count in ranks
        for mapping in maps
    )
    _check_timeline(options, jobs)
    for file, option in ((options.timeline, "--timeline"), (options.json_file, "--json")):
        check_writable(file, option)
    return Request(
        machine=machine,
        cores=cores,
        collective=options.collective or "",
        jobs=jobs,
        checks=_checks(options),
        histogram=options.histogram is not None,
        timeline=None if options.timeline is None else Path(options.timeline),
        json_file=options.json_file,
    )


def _check_nodes(options: Options, machine: Machine) -> None:
    if options.nodes > machine.nodes:
        raise SoborError(
            f"--nodes: expected at most {machine.nodes}, those of {machine.name}, "
            f"found {options.nodes}"
        )
    if options.nodes > 1 and _checks(options) and options.mode != "timed":
        raise SoborError("--check: over several nodes expected --mode timed")


def _checks(options: Options) -> bool:
    """Whether interleavings are looked at for faults, instead of time."""
    explores = options.mode not in (None, "timed")
    return options.check or explores or options.relaxed or options.replay is not None


def _check_words(options: Options) -> None:
    if options.collective not in COLLECTIVES:
        raise SoborError(
            f"expected the collective to simulate, one of {', '.join(COLLECTIVES)}, "
            f"found {options.collective or 'nothing'}"
        )
    if options.machine is None:
        raise SoborError("--machine is needed", "sobor simulate --list shows the machines")
    if options.mode is not None and options.mode not in MODES:
        raise SoborError(f"--mode: expected {', '.join(MODES)}, found {options.mode}")
    if options.histogram is not None and options.histogram not in HISTOGRAMS:
        raise SoborError(f"--histogram: expected lines, found {options.histogram}")
    if options.arrival is not None and not options.arrival.startswith(ARRIVALS):
        shown = ", ".join(word.rstrip(":") for word in ARRIVALS)
        raise SoborError(
            f"--arrival: expected one of {shown}, found {options.arrival}",
            "for example --arrival uniform:500us",
        )
    _check_pairs(options)


def _check_pairs(options: Options) -> None:
    """Refuses options that the others leave without a meaning."""
    not_of_barriers = {"--bytes": options.sizes, "--root": options.root}
    for option, value in not_of_barriers.items():
        if value is not None and options.collective == "barrier":
            raise SoborError(f"{option}: a barrier has none")
    if options.counts is not None and _counts(options) not in COUNTS:
        raise SoborError(f"--counts: expected {', '.join(COUNTS)}, found {options.counts}")
    if options.counts is not None and options.collective not in IRREGULAR:
        raise SoborError(f"--counts goes with {', '.join(IRREGULAR)}")
    if options.replay is not None and options.schedules is not None:
        raise SoborError("--replay runs one schedule; --schedules goes without it")
    if options.schedules is not None and not _checks(options):
        raise SoborError("--schedules goes with --check, --mode, or --relaxed")
    if options.mode == "timed" and options.relaxed:
        raise SoborError("--relaxed explores orders of stores; it goes with another --mode")


def _counts(options: Options) -> str | None:
    """The pattern, by the simulator's name of it."""
    return COUNTS_SIMULATED.get(options.counts or "", options.counts)


def _words(text: str, known: tuple[str, ...], option: str) -> list[str]:
    words = [word.strip() for word in text.split(",")]
    for word in words:
        if word not in known:
            raise SoborError(f"{option}: expected {', '.join(known)}, found {word or 'nothing'}")
    return list(dict.fromkeys(words))


def _common(options: Options, machine: Machine) -> tuple[str, ...]:
    """The options of sobor-simulate that all runs share."""
    words: list[str] = [options.collective or "", "--machine", str(machine.path)]
    if options.sizes is not None:
        words += ["--bytes", ",".join(map(str, parse_sizes(options.sizes, "--bytes")))]
    words += ["--seed", str(options.seed)]
    for option, value in (
        ("--nodes", options.nodes if options.nodes > 1 else None),
        ("--calls", _calls(options)),
        ("--algorithm", options.algorithms or "auto"),
        ("--root", options.root),
        ("--warmup", options.warmup),
        ("--arrival", options.arrival),
        ("--sync", options.sync),
        ("--counts", _counts(options)),
    ):
        if value is not None:
            words += [option, str(value)]
    for option, switch in (
        ("--noise", options.noise),
        ("--cold", options.cold),
        ("--placement", options.placement),
        ("--lines", True if options.histogram is not None else None),
    ):
        if switch is not None:
            words += [option, _switch(switch)]
    for name, value in parse_settings(options.settings).items():
        words += ["--set", f"{name}={value}"]
    return (*words, *_exploration(options))


def _calls(options: Options) -> int | None:
    """None: as many as sobor-simulate makes."""
    if options.calls is None and (_checks(options) or options.timeline is not None):
        return _TIMELINE_CALLS
    return options.calls


def _exploration(options: Options) -> list[str]:
    if not _checks(options):
        return []
    words = ["--check", "on", "--mode", options.mode or "random"]
    if options.relaxed:
        words += ["--relaxed", "on"]
    if options.replay is not None:
        return [*words, "--replay", options.replay]
    if options.mode != "timed":
        words += ["--schedules", str(options.schedules or _SCHEDULES)]
    return words


def _switch(value: bool) -> str:
    return "on" if value else "off"


def _check_timeline(options: Options, jobs: tuple[Job, ...]) -> None:
    if options.timeline is None:
        return
    if _checks(options) and options.mode != "timed":
        raise SoborError(
            "--timeline draws what happens by the clock; of interleavings that are explored there "
            "is no picture",
            "add --mode timed, or leave out --timeline",
        )
    several = len(jobs) > 1
    several = several or options.algorithms == "all" or "," in (options.algorithms or "")
    several = several or "," in (options.sizes or "")
    if several:
        raise SoborError(
            "--timeline: expected one algorithm, size, number of ranks and map to draw, "
            "found several"
        )
