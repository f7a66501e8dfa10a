# SPDX-License-Identifier: BSD-3-Clause
"""What the user wants measured, checked before anything is started."""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from sobor.errors import SoborError
from sobor.native import Native
from sobor.sizes import counted, parse_counts, parse_sizes

VARIANTS = ("hot", "cold", "chain")
# An unbroken row whose root goes round: a form of the first method.
CHAIN = "chain"
METHODS = ("sobor", "single", "row", "window")
# Whose barrier comes before each call, and of which methods one does.
SYNCS = ("own", "common")
SYNCHRONISED = ("sobor", "single")
# Where buffers begin: behind the C library's note as large blocks of malloc, or on a page.
BUFFERS = ("malloc", "aligned")
# How the parts of a call differ, where they may.
COUNTS = ("equal", "linear", "heavy", "random", "half-zero")
# What sobor simulate calls them.
COUNTS_SIMULATED = {"half-zero": "half"}
# Collectives without a message: one point, whatever the sizes and variants.
SIZELESS = frozenset({"barrier", "passthrough"})
# Measures what a call costs that goes on to the host.
PASSTHROUGH = "passthrough"
#: For each side of a point in one job, as sobor-bench takes it.
SECONDS_LEAST = 0.001
_COMMA = re.compile(r"(?<!\\),")


@dataclass(frozen=True)
class Request:
    """The options of `sobor bench`, parsed."""

    collectives: list[str]
    ranks: list[int]
    sizes: list[int]
    variants: list[str]
    launchers: list[str]
    seconds: float
    seed: int
    rounds: int
    host_only: bool
    methods: list[str] = field(default_factory=lambda: ["sobor"])
    #: None: as each method does by itself; single both ways.
    sync: str | None = None
    counts: str = "equal"
    buffers: str = "malloc"
    #: Nanoseconds within which ranks come to a call of the method single.
    arrival: float = 0.0
    libmpi: str | None = None
    timeout: float | None = None
    algorithms: dict[str, list[str]] = field(default_factory=dict)
    #: Whether it is said how much of each time is skew.
    explain: bool = False
    #: Whether two ranks are timed beside the loops of bench/limits too.
    limits: bool = False

    def points(self, collectives: Iterable[str]) -> int:
        """How many results one job over these collectives gives."""
        chains = self.variants.count(CHAIN)
        each = self.ways * (len(self.variants) - chains) + chains
        points = {PASSTHROUGH: 1} | dict.fromkeys(SIZELESS - {PASSTHROUGH}, self.ways)
        return sum(points.get(name, len(self.sizes) * each) for name in collectives)

    @property
    def ways(self) -> int:
        """How many figures a point gives: those of each method, of single behind both barriers."""
        return len(self.methods) + (self.sync is None and "single" in self.methods)


def usual_ranks(cores: int) -> str:
    """The list of --ranks where none is given: powers of two up to all cores, 4 at least."""
    powers = [1 << at for at in range(1, max(cores, 4).bit_length())]
    return ",".join(map(str, sorted({*powers, *([cores] if cores > 4 else [])})))


def split_commands(text: str) -> list[str]:
    """Commands separated by commas; a backslash keeps a comma in its command."""
    return [part.replace("\\,", ",").strip() for part in _COMMA.split(text) if part.strip()]


def parse_collectives(text: str, native: Native) -> list[str]:
    """A comma separated list of operations that Sobor has, in the given order."""
    return _parse_words("COLLECTIVES", "names", text, _known_collectives(native))


def _known_collectives(native: Native) -> list[str]:
    served = [algorithm["collective"] for algorithm in native.query("algorithms")]
    return [*dict.fromkeys(served), PASSTHROUGH]


def parse_variants(text: str) -> list[str]:
    """A comma separated list out of hot, cold and chain."""
    return _parse_words("--variants", "words", text, VARIANTS)


def parse_methods(text: str) -> list[str]:
    """A comma separated list of methods."""
    return _parse_words("--method", "words", text, METHODS)


def _parse_words(option: str, kind: str, text: str, known: Collection[str]) -> list[str]:
    """Each word of the list once, in the given order."""
    words = list(dict.fromkeys(word.strip().lower() for word in text.split(",")))
    for word in words:
        if word not in known:
            raise SoborError(f'{option}: expected {kind} out of {", ".join(known)}, found "{word}"')
    return words


def parse_sync(text: str | None) -> str | None:
    """Own or common, or what the methods do by themselves."""
    if text is not None and text not in SYNCS:
        raise SoborError(f'--sync: expected {" or ".join(SYNCS)}, found "{text}"')
    return text


def _check_together(
    methods: list[str], variants: list[str], sync: str | None, explain: bool
) -> None:
    """Refuses options that contradict each other."""
    asked = ",".join(methods)
    if CHAIN in variants and METHODS[0] not in methods:
        raise SoborError(
            f"--variants chain is measured by --method sobor, found --method {asked}",
            "add sobor to --method, or take --method row: a row from one root",
        )
    synchronised = set(SYNCHRONISED) & set(methods)
    if explain and not synchronised:
        raise SoborError(
            "--explain tells what the barrier before each call does; with --method "
            f"{asked} none comes",
            "leave out --method, or add one of --method " + ", ".join(SYNCHRONISED),
        )
    if sync is not None and not synchronised:
        raise SoborError(
            f"--sync {sync} says which barrier comes before each call; with --method {asked} "
            "none does",
            "leave out --sync, or add one of --method " + ", ".join(SYNCHRONISED),
        )


def _check_limits(limits: bool, ranks: list[int], host_only: bool) -> None:
    """Refuses what has no limit."""
    if limits and (host_only or 2 not in ranks):
        found = "--host-only" if host_only else f"--ranks {','.join(map(str, ranks))}"
        raise SoborError(
            f"--limits compares two ranks of Sobor with loops of two processes; found {found}",
            "leave out --host-only, and add 2 to --ranks",
        )


def parse_buffers(text: str) -> str:
    """Malloc or aligned."""
    if text not in BUFFERS:
        raise SoborError(f'--buffers: expected {" or ".join(BUFFERS)}, found "{text}"')
    return text


def counts_name(text: str) -> str:
    """The name of a pattern of counts here, where it is the simulator's."""
    return {other: name for name, other in COUNTS_SIMULATED.items()}.get(text, text)


def parse_counts_pattern(text: str) -> str:
    """One of the patterns of counts, by either of its names."""
    text = counts_name(text)
    if text not in COUNTS:
        raise SoborError(f'--counts: expected one of {", ".join(COUNTS)}, found "{text}"')
    return text


def parse_algorithms(
    text: str | None, collectives: list[str], native: Native
) -> dict[str, list[str]]:
    """Forced algorithms such as barrier:tree,bcast:ring, for each collective."""
    if text is None:
        return {}
    # By collective, what each name stands for: itself, or the name that it has now.
    known: dict[str, dict[str, str]] = {}
    for algorithm in native.query("algorithms"):
        names = known.setdefault(algorithm["collective"], {"auto": "auto", "host": "host"})
        names |= dict.fromkeys([algorithm["name"], *algorithm["former"]], algorithm["name"])
    forced: dict[str, list[str]] = {}
    for word in text.split(","):
        collective, name = _algorithm(word.strip(), collectives, known)
        forced.setdefault(collective, []).append(name)
    return forced


def split_algorithm(word: str, collectives: list[str]) -> tuple[str, str]:
    """A collective and a name; of one collective the name alone will do."""
    before, colon, name = word.strip().rpartition(":")
    collective = before if colon or len(collectives) > 1 else collectives[0]
    if collective not in collectives or not name:
        raise SoborError(
            f"--algorithms: expected COLLECTIVE:NAME with a collective that is measured "
            f'({", ".join(collectives)}), found "{word}"'
        )
    return collective, name


def _algorithm(
    word: str, collectives: list[str], known: dict[str, dict[str, str]]
) -> tuple[str, str]:
    collective, name = split_algorithm(word, collectives)
    names = known.get(collective, {})
    if name not in names:
        listed = ", ".join(dict.fromkeys(names.values()))
        raise SoborError(f'--algorithms: {collective} has {listed}, found "{name}"')
    return collective, names[name]


def _check_seconds(seconds: float, rounds: int) -> None:
    if seconds < SECONDS_LEAST * rounds:
        raise SoborError(
            f"--seconds: expected at least {SECONDS_LEAST:g} for each of "
            f"{counted(rounds, 'round')}, found {seconds:g}"
        )


def make_request(
    native: Native,
    *,
    collectives: str,
    ranks: str,
    sizes: str,
    variants: str,
    launcher: str,
    peers: list[str],
    algorithms: str | None,
    seconds: float,
    seed: int,
    rounds: int | None,
    host_only: bool,
    sync: str | None,
    method: str | None = None,
    explain: bool = False,
    limits: bool = False,
    counts: str = "equal",
    buffers: str = "malloc",
    libmpi: str | None,
    timeout: float | None,
) -> Request:
    """Parses and checks the options."""
    names = parse_collectives(collectives, native)
    words = parse_variants(variants)
    methods = parse_methods(method or ("single" if explain else METHODS[0]))
    _check_together(methods, words, parse_sync(sync), explain)
    numbers = parse_counts(ranks, "--ranks")
    _check_limits(limits, numbers, host_only)
    commands = [launcher, *(command for text in peers for command in split_commands(text))]
    rounds = rounds or (1 if len(commands) == 1 else 3)
    _check_seconds(seconds, rounds)
    return Request(
        collectives=names,
        ranks=numbers,
        sizes=parse_sizes(sizes, "--sizes"),
        variants=words,
        launchers=commands,
        seconds=seconds,
        seed=seed,
        rounds=rounds,
        host_only=host_only,
        methods=methods,
        sync=sync,
        counts=parse_counts_pattern(counts),
        buffers=parse_buffers(buffers),
        libmpi=libmpi,
        timeout=timeout,
        algorithms=parse_algorithms(algorithms, names, native),
        explain=explain,
        limits=limits,
    )
