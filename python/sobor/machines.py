# SPDX-License-Identifier: BSD-3-Clause
"""Machine files: where they are, what is in them, and whether they are right.

A machine file describes one machine for the simulator: a topology that hwloc understands, and a
table of numbers, each with its unit and the place it comes from.
"""

import itertools
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sobor.errors import SoborError
from sobor.inputs import read_json
from sobor.native import PREFIX_VARIABLE, candidates

SUFFIX = ".json"
_PACKAGE = Path(__file__).resolve().parent

LEVELS = ("l2", "l3", "numa", "package", "machine")


@dataclass(frozen=True)
class Kind:
    """A number that a machine file may hold."""

    unit: str
    doc: str
    required: bool = True
    choices: tuple[str, ...] = ()


def _by_level(name: str, unit: str, doc: str, levels=LEVELS, required=True) -> dict[str, Kind]:
    return {f"{name}_{level}": Kind(unit, doc.format(level), required) for level in levels}


_WHERE = "whose closest common level with the reader is {}"

PARAMETERS: dict[str, Kind] = {
    "read_hit": Kind("ns", "read of a line in the core's own cache"),
    **_by_level("read", "ns", f"read of a line that was written by a core {_WHERE}"),
    **_by_level(
        "memory", "ns", "read of a line from memory whose closest common level is {}", LEVELS[2:]
    ),
    **_by_level("invalidate", "ns", "write to a line that others hold too, the farthest at {}"),
    "invalidate_per_sharer": Kind("ns", "added for each core that holds the line"),
    "atomic_extra": Kind("ns", "added to a write by an atomic read-modify-write"),
    "atomic_crowded": Kind(
        "ns", "added to one for which several others of other cores are before it", required=False
    ),
    "line_service": Kind("ns", "time that one line is busy for each miss that it serves"),
    **_by_level("line_service", "ns", "the same for a miss from a core at {}", required=False),
    "share_service": Kind(
        "ns",
        "time that an L3 cache is busy with a line for each of its cores that reads it there; if "
        "not given, the line serves all cores of the machine one after another",
        required=False,
    ),
    "home_service": Kind(
        "ns",
        "time that the home agent of a NUMA node is busy for each flag of its memory that misses, "
        "and for each that a cache of the node serves to its own cores; what is copied has the "
        "bandwidths below",
        required=False,
    ),
    "link_service": Kind(
        "ns",
        "time that the links of a package are busy for each flag that misses and leaves it",
        required=False,
    ),
    "store": Kind("ns", "write to a line that the core owns"),
    "read_gap": Kind(
        "ns", "least time between two reads that miss, of one core that looks ahead", required=False
    ),
    "read_overlap": Kind(
        "lines", "reads of different lines that one core has under way at once", required=False
    ),
    "write_overlap": Kind(
        "lines", "writes to different lines that one core has under way at once", required=False
    ),
    "copy_core": Kind("GB/s", "copy by one core within its own first cache"),
    **_by_level("copy", "GB/s", f"copy by one core from the cache or memory of a core {_WHERE}"),
    "copy_start": Kind(
        "ns",
        "added to a copy of more than a few lines from beyond the core's own cache, until the "
        "processor fetches ahead",
        required=False,
    ),
    "combine": Kind(
        "GB/s",
        "operands that one core combines from its own first cache; as copy_core if not given",
        required=False,
    ),
    "numa_controller": Kind("GB/s", "what the memory of one NUMA node gives to all cores"),
    "link_package": Kind("GB/s", "between NUMA nodes of a package, for all copies, one direction"),
    "link_machine": Kind("GB/s", "between packages, for all copies, one direction"),
    "l2_bytes": Kind("bytes", "size of one L2 cache"),
    "l3_bytes": Kind("bytes", "size of one L3 cache"),
    "page_bytes": Kind("bytes", "size of a page of memory"),
    "readahead_pages": Kind("pages", "pages that the system brings in when one is first touched"),
    "switch": Kind("ns", "from one process to another on the same core"),
    "slice": Kind(
        "ns", "how long a process keeps its core while others wait for it", required=False
    ),
    "yield": Kind("ns", "sched_yield with no other process to run"),
    "futex_wait": Kind("ns", "to go to sleep on a futex"),
    "futex_wake": Kind("ns", "from the waking call until the sleeper runs on an idle core"),
    "pause": Kind("ns", "the processor's pause instruction"),
    "clock": Kind("ns", "reading the clock", required=False),
    "call": Kind("ns", "an MPI call, without what the algorithm does", required=False),
    "message": Kind(
        "ns",
        "what an MPI library does for a message at either end, besides moving it",
        required=False,
    ),
    "noise_rate": Kind("1/s", "stalls of a core by the operating system, each second"),
    "noise_length": Kind("ns", "length of such a stall"),
    "net_latency": Kind("ns", "of a message of no length between nodes", required=False),
    "net_byte": Kind("ns/byte", "added for each byte of a message between nodes", required=False),
    "net_switch": Kind(
        "",
        "star: one pair of nodes at a time; crossbar: independent pairs at once",
        required=False,
        choices=("star", "crossbar"),
    ),
    "net_injection": Kind("GB/s", "what one node can send, and receive", required=False),
    "net_overhead": Kind("ns", "of a processor for each message", required=False),
    "net_eager": Kind(
        "bytes", "that leave whether or not the receiver is there; 0: any number", required=False
    ),
}

# Together or not at all; needed where there is more than one node.
_NETWORK = tuple(name for name in PARAMETERS if name.startswith("net_"))
_MAY_BE_ZERO = (
    "noise_rate",
    "invalidate_per_sharer",
    "atomic_extra",
    "copy_start",
    "net_overhead",
    "net_eager",
)
# Farther is never faster.
_RISING = (
    tuple(f"read_{level}" for level in LEVELS),
    tuple(f"memory_{level}" for level in LEVELS[2:]),
    tuple(f"invalidate_{level}" for level in LEVELS),
)


@dataclass(frozen=True)
class Parameter:
    """A number of a machine, and where it comes from."""

    value: float | str
    unit: str
    source: str
    assumed: bool


@dataclass(frozen=True)
class Machine:
    """What a machine file says."""

    name: str
    title: str
    path: Path
    processor: str | None  # one of those that Sobor knows more of
    topology: str  # for hwloc: a synthetic description, or the path of an XML file
    nodes: int
    parameters: Mapping[str, Parameter]
    references: Mapping[str, str]

    @property
    def assumed(self) -> list[str]:
        """The parameters that nobody measured."""
        return [name for name, parameter in self.parameters.items() if parameter.assumed]


def machine_folders(environ: Mapping[str, str] | None = None) -> list[Path]:
    """The folders of machine files, best first."""
    return share_folders("machines", environ)


def share_folders(name: str, environ: Mapping[str, str] | None = None) -> list[Path]:
    """The folders of that name below share/sobor, best first."""
    environ = os.environ if environ is None else environ
    roots = candidates()
    checkout = _PACKAGE.parents[1]
    if (checkout / "pyproject.toml").is_file():
        roots.insert(0, checkout)
    if environ.get(PREFIX_VARIABLE):
        roots.insert(0, Path(environ[PREFIX_VARIABLE]).absolute())
    folders = [root / "share" / "sobor" / name for root in roots]
    return [folder for folder in folders if folder.is_dir()]


def machine_files() -> dict[str, Path]:
    """All machines that are installed, by name."""
    found: dict[str, Path] = {}
    for folder in machine_folders():
        for path in sorted(folder.glob(f"*{SUFFIX}")):
            found.setdefault(path.stem, path)
    return dict(sorted(found.items()))


def find_machine(text: str, option: str = "--machine") -> Machine:
    """The machine of that name, or in that file."""
    return read_machine(file_of(text, option))


def file_of(text: str, option: str) -> Path:
    """The file of the machine of that name, or that file."""
    path = _path_of(text)
    if path is None:
        known = ", ".join(machine_files()) or "none is installed"
        raise SoborError(
            f"{option}: no machine {text}; known: {known}",
            "sobor simulate --list tells more; a file name ends in .json or has a / in it",
        )
    return path


def topology_of(text: str) -> str:
    """What hwloc understands: the topology of a machine by name or file, else the text itself.

    hwloc XML files and synthetic descriptions go through as they are.
    """
    path = _path_of(text)
    return text if path is None or path.suffix != SUFFIX else read_machine(path).topology


def processor_of(text: str) -> str | None:
    """The processor of a machine by name or file, if that says one."""
    path = _path_of(text)
    return None if path is None or path.suffix != SUFFIX else read_machine(path).processor


def network_file_of(text: str) -> str:
    """The file of a machine that says what messages between its nodes cost."""
    machine = find_machine(text)
    if not any(name in machine.parameters for name in _NETWORK):
        raise SoborError(f"--machine: expected one with a network, found {machine.name}")
    return str(machine.path)


def _path_of(text: str) -> Path | None:
    if "/" in text or text.endswith(SUFFIX):
        return Path(text)
    return machine_files().get(text)


def read_machine(path: Path) -> Machine:
    """Reads a machine file, or says what is wrong in it."""
    return _Reader(path).machine(read_json(path))


class _Reader:
    """Takes the content of one file apart."""

    def __init__(self, path: Path):
        self.path = path

    def fail(self, where: str, expected: str, found: Any) -> SoborError:
        shown = "nothing" if found is None else json.dumps(found)
        return SoborError(f"{self.path}: {where}: expected {expected}, found {shown}")

    def text(self, content: dict[str, Any], key: str, where: str = "") -> str:
        value = content.get(key)
        if not isinstance(value, str) or not value.strip():
            raise self.fail(f"{where}{key}", "a text", value)
        return value

    def machine(self, content: Any) -> Machine:
        if not isinstance(content, dict):
            raise self.fail("the file", "an object", content)
        nodes = content.get("nodes", 1)
        if isinstance(nodes, bool) or not isinstance(nodes, int) or nodes < 1:
            raise self.fail("nodes", "a whole number of at least 1", nodes)
        references = content.get("references", {})
        if not isinstance(references, dict) or not all(
            isinstance(value, str) for value in references.values()
        ):
            raise self.fail("references", "an object of texts", references)
        machine = Machine(
            name=self.text(content, "name"),
            title=self.text(content, "title"),
            path=self.path,
            processor=self.text(content, "processor") if "processor" in content else None,
            topology=self.topology(content),
            nodes=nodes,
            parameters=self.parameters(content.get("parameters")),
            references=references,
        )
        self.check(machine)
        return machine

    def topology(self, content: dict[str, Any]) -> str:
        if "xml" not in content:
            return self.text(content, "topology")
        if "topology" in content:
            raise self.fail("xml", "either xml or topology", "both")
        path = self.path.parent / self.text(content, "xml")
        if not path.is_file():
            raise self.fail("xml", "an hwloc XML file", str(path))
        return str(path)

    def parameters(self, content: Any) -> dict[str, Parameter]:
        if not isinstance(content, dict):
            raise self.fail("parameters", "an object", content)
        for name in content:
            if name not in PARAMETERS:
                raise self.fail("parameters", f"one of {', '.join(PARAMETERS)}", name)
        missing = [name for name, kind in PARAMETERS.items() if kind.required]
        missing = [name for name in missing if name not in content]
        if missing:
            raise self.fail("parameters", ", ".join(missing), None)
        return {name: self.parameter(name, value) for name, value in content.items()}

    def parameter(self, name: str, content: Any) -> Parameter:
        kind = PARAMETERS[name]
        if not isinstance(content, dict):
            raise self.fail(name, "an object with value, unit, source", content)
        unit = content.get("unit", "")
        if unit != kind.unit:
            raise self.fail(f"{name}: unit", f'"{kind.unit}"', unit)
        assumed = content.get("assumed", False)
        if not isinstance(assumed, bool):
            raise self.fail(f"{name}: assumed", "true or false", assumed)
        return Parameter(
            value=self.value(name, kind, content.get("value")),
            unit=unit,
            source=self.text(content, "source", f"{name}: "),
            assumed=assumed,
        )

    def value(self, name: str, kind: Kind, value: Any) -> float | str:
        if kind.choices:
            if value not in kind.choices:
                raise self.fail(f"{name}: value", " or ".join(kind.choices), value)
            return value
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.fail(f"{name}: value", "a number", value)
        if not 0 <= value <= sys.float_info.max or (value == 0 and name not in _MAY_BE_ZERO):
            least = "of at least 0" if name in _MAY_BE_ZERO else "above 0"
            raise self.fail(f"{name}: value", f"a number {least}", value)
        return value

    def check(self, machine: Machine) -> None:
        """What the numbers must fulfil together."""
        values = {name: parameter.value for name, parameter in machine.parameters.items()}
        for names in _RISING:
            for near, far in itertools.pairwise(names):
                if values[near] > values[far]:
                    raise self.fail(
                        f"{far}: value", f"at least {near} ({values[near]})", values[far]
                    )
        given = [name for name in _NETWORK if name in values]
        if (given and len(given) < len(_NETWORK)) or (machine.nodes > 1 and not given):
            lacking = ", ".join(name for name in _NETWORK if name not in values)
            raise self.fail("parameters", f"{lacking}, as there are several nodes", None)
