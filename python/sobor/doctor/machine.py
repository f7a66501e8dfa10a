# SPDX-License-Identifier: BSD-3-Clause
"""The machine: cores, binding, CPU quota, NUMA nodes, and when ranks outnumber cores."""

import math
import platform
from collections.abc import Iterator

from sobor.doctor.finding import Finding, Patient, Status
from sobor.sizes import counted, human_size
from sobor.system.cpus import Cpus, read_cpus, read_nodes
from sobor.system.files import format_list, parse_list

SECTION = "Machine"
#: For each processor that there are programs for, what its users should know.
_ARCHITECTURES = {"x86_64": "", "aarch64": ": the project runs its tests under emulation only"}


def check(patient: Patient) -> Iterator[Finding]:
    """Looks at what the ranks will run on."""
    yield _architecture()
    cpus = read_cpus(patient.files)
    yield _cores(cpus)
    yield _binding(cpus)
    if cpus.quota is not None:
        yield _quota(cpus)
    yield _oversubscription(cpus)
    yield from _numa(patient)


def _architecture() -> Finding:
    system, machine = platform.system(), platform.machine()
    value = f"{system} {platform.release()}, {machine}"
    if system != "Linux":
        return Finding(SECTION, "system", Status.FAIL, value, "use Linux")
    if machine not in _ARCHITECTURES:
        known = " or ".join(_ARCHITECTURES)
        return Finding(SECTION, "system", Status.FAIL, value, f"use a machine with {known}")
    return Finding(SECTION, "system", Status.OK, value + _ARCHITECTURES[machine])


def _cores(cpus: Cpus) -> Finding:
    threads = len(cpus.allowed)
    value = f"{cpus.cores} cores, {threads} hardware threads, of {len(cpus.online)} in the machine"
    data = {"cores": cpus.cores, "threads": threads, "online": len(cpus.online)}
    return Finding(SECTION, "processors", Status.OK, value, data=data)


def _binding(cpus: Cpus) -> Finding:
    allowed = format_list(cpus.allowed)
    data = {"allowed": allowed}
    if len(cpus.allowed) == len(cpus.online):
        return Finding(SECTION, "binding", Status.OK, "this shell may use all of them", data=data)
    value = f"this shell is bound to {allowed}"
    remedy = "ranks started from here inherit it; taskset, numactl, cpuset or the job set it"
    return Finding(SECTION, "binding", Status.NOTE, value, remedy, data)


def _quota(cpus: Cpus) -> Finding:
    value = f"the control group allows {cpus.quota:.2f} CPUs"
    data = {"cpus": cpus.quota}
    if cpus.quota >= cpus.cores:
        return Finding(SECTION, "CPU quota", Status.OK, value, data=data)
    ranks = max(1, math.floor(cpus.quota))
    remedy = (
        f"run at most {counted(ranks, 'rank')}, or raise the quota: waiting ranks use it up too"
    )
    return Finding(SECTION, "CPU quota", Status.WARN, value, remedy, data)


def _oversubscription(cpus: Cpus) -> Finding:
    value = (
        f"a core each for up to {counted(cpus.usable, 'rank')}; with more, ranks take turns "
        "and Sobor yields instead of spinning"
    )
    return Finding(SECTION, "ranks", Status.OK, value, data={"ranks": cpus.usable})


def _numa(patient: Patient) -> Iterator[Finding]:
    nodes = read_nodes(patient.files)
    data = {"nodes": [{"node": n.number, "cpus": n.cpus, "memory": n.memory} for n in nodes]}
    if len(nodes) <= 1:
        yield Finding(SECTION, "NUMA", Status.OK, "one node", data=data)
        return
    cpus = "; ".join(f"{n.number}: {format_list(n.cpus) or 'no processors'}" for n in nodes)
    memory = human_size(sum(n.memory or 0 for n in nodes))
    value = f"{len(nodes)} nodes, {memory} ({cpus})"
    yield Finding(SECTION, "NUMA", Status.OK, value, data=data)
    allowed = parse_list(patient.files.field("/proc/self/status", "Mems_allowed_list"))
    if allowed and len(allowed) < len(nodes):
        value = f"memory may come from nodes {format_list(allowed)} only"
        remedy = "numactl --membind or a cpuset sets this; ranks on other nodes get remote memory"
        yield Finding(SECTION, "NUMA memory", Status.NOTE, value, remedy, {"allowed": allowed})
