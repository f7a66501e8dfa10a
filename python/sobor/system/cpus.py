# SPDX-License-Identifier: BSD-3-Clause
"""Processors and memory nodes this process may use."""

from dataclasses import dataclass

from sobor.system.cgroup import cpu_limit
from sobor.system.files import Files, parse_list

_CPU = "/sys/devices/system/cpu"
_NODE = "/sys/devices/system/node"


@dataclass(frozen=True)
class Node:
    """A NUMA node."""

    number: int
    cpus: list[int]
    memory: int | None


@dataclass(frozen=True)
class Cpus:
    """The processors of the machine and those this process is bound to."""

    online: list[int]
    allowed: list[int]
    cores: int
    quota: float | None

    @property
    def usable(self) -> int:
        """How many ranks can run at the same time, each on a core of its own."""
        at_most = self.cores if self.quota is None else min(self.cores, int(self.quota))
        return max(1, at_most)


def read_cpus(files: Files) -> Cpus:
    """Counts the processors."""
    allowed = parse_list(files.field("/proc/self/status", "Cpus_allowed_list"))
    online = parse_list(files.read(f"{_CPU}/online")) or allowed
    allowed = [cpu for cpu in allowed if cpu in set(online)]
    cores = {_core_of(files, cpu) for cpu in allowed}
    return Cpus(online, allowed, len(cores), cpu_limit(files))


def _core_of(files: Files, cpu: int) -> tuple[int, ...]:
    for name in ("core_cpus_list", "thread_siblings_list"):
        siblings = parse_list(files.read(f"{_CPU}/cpu{cpu}/topology/{name}"))
        if siblings:
            return tuple(siblings)
    return (cpu,)


def read_nodes(files: Files) -> list[Node]:
    """The NUMA nodes; an empty list where the kernel does not tell."""
    nodes = []
    for number in parse_list(files.read(f"{_NODE}/online")):
        cpus = parse_list(files.read(f"{_NODE}/node{number}/cpulist"))
        nodes.append(Node(number, cpus, _memory_of(files, number)))
    return nodes


def _memory_of(files: Files, number: int) -> int | None:
    for line in (files.read(f"{_NODE}/node{number}/meminfo") or "").splitlines():
        words = line.split()
        if "MemTotal:" in words and words[-1] == "kB":
            return int(words[-2]) * 1024
    return None
