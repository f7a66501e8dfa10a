# SPDX-License-Identifier: BSD-3-Clause
"""The heap of `sobor run --heap`: whether it works here, what forbids it, what it costs."""

import mmap
import os
import re
import resource
import subprocess
import sys
from collections.abc import Iterator

from sobor.doctor.finding import Finding, Patient, Status

SECTION = "Heap"
#: Bytes of the file that each process would have.
ARENA = 64 << 30
_THP = "/sys/kernel/mm/transparent_hugepage"
_YAMA = "/proc/sys/kernel/yama/ptrace_scope"
# A long block, and whether it came out of the arena.
_TRIAL = "b = bytearray(1 << 20); print('memfd:sobor-heap' in open('/proc/self/maps').read())"


def check(patient: Patient) -> Iterator[Finding]:
    """Says whether long blocks would be shared, by a process that asks for one."""
    if patient.native is None or not patient.native.heap.is_file():
        return
    works, reasons = _try(patient), list(_reasons(patient))
    price = list(_price(patient))
    data = {"works": works, "reasons": reasons, "price": price}
    if works:
        value = "; ".join(["sobor run --heap works here", *price])
        yield Finding(SECTION, "shared blocks", Status.OK, value, data=data)
        return
    reason = "; ".join(reasons) or "the object cannot be preloaded, or the system gives it no file"
    value = f"with --heap all memory would be the C library's: {reason}"
    yield Finding(SECTION, "shared blocks", Status.NOTE, value, data=data)


def _try(patient: Patient) -> bool:
    preload = [str(patient.native.heap), patient.environ.get("LD_PRELOAD", "")]
    changes = {
        "LD_PRELOAD": ":".join(word for word in preload if word),
        "SOBOR_HEAP": "on",
        "SOBOR_HEAP_LEAST": "64KiB",
        "PMI_RANK": "0",
    }
    try:
        done = patient.run([sys.executable, "-S", "-c", _TRIAL], changes)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.stdout.strip() == "True"


def _reasons(patient: Patient) -> Iterator[str]:
    if patient.files.read_int("/proc/sys/vm/overcommit_memory") == 2:
        yield "vm.overcommit_memory=2: all memory is accounted for"
    if resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY:
        yield "the address space is limited (ulimit -v)"
    files = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    if files != resource.RLIM_INFINITY and files < ARENA:
        yield "files are limited to less than 64 GiB (ulimit -f)"
    if mmap.PAGESIZE != 4096:
        yield f"pages are of {mmap.PAGESIZE} bytes, not 4096"
    if not hasattr(os, "memfd_create"):
        yield "the system has no memfd_create"


def _price(patient: Patient) -> Iterator[str]:
    if _mode(patient, "shmem_enabled") in ("never", "deny", ""):
        yield "on pages of 4 KiB" + _missed(_mode(patient, "enabled"))
    if patient.files.read_int(_YAMA):
        yield "it lets ranks read each other, which kernel.yama.ptrace_scope else forbids"


def _missed(private: str) -> str:
    """What private memory has on a system where shared memory has small pages."""
    if private not in ("always", "madvise"):
        return ""
    who = " if a program asks, as numpy does from 4 MiB on" if private == "madvise" else ""
    return (
        f", where private memory has huge ones{who}: what streams through memory was up to 1.5 "
        f"times as fast there; 'advise' in {_THP}/shmem_enabled gives them to the heap too"
    )


def _mode(patient: Patient, name: str) -> str:
    """What holds for pages of 2 MiB: newer systems have a setting for each size."""
    everywhere, of_size = (_chosen(patient, at) for at in (name, f"hugepages-2048kB/{name}"))
    return everywhere if of_size in ("", "inherit") or everywhere == "deny" else of_size


def _chosen(patient: Patient, name: str) -> str:
    """The word in brackets."""
    found = re.search(r"\[(\w+)\]", patient.files.read(f"{_THP}/{name}") or "")
    return found[1] if found else ""
