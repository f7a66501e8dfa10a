# SPDX-License-Identifier: BSD-3-Clause
"""Shared memory: which kinds work, how much there is, what a control group allows."""

import os
from collections.abc import Iterator

from sobor.doctor.finding import Finding, Patient, Status
from sobor.sizes import human_size

SECTION = "Shared memory"
_SHM = "/dev/shm"
# Below this, MPI libraries themselves fail to start.
_SHM_SMALL = 16 << 20
# A group this full may have its processes ended when a region is touched.
_GROUP_FREE_SMALL = 64 << 20
_KINDS = {
    "memfd": ("memory without a file", "SOBOR_SEGMENT=named uses a file in /dev/shm instead"),
    "named": ("a file in /dev/shm", "make /dev/shm larger or writable; containers: --shm-size"),
}


def check(patient: Patient) -> Iterator[Finding]:
    """Looks at every kind of shared memory and its limits."""
    segment = patient.ask("segment") or {}
    yield from _kinds(segment)
    yield _shm_folder(patient)
    if "memory_limit_bytes" in segment:
        yield _group_limit(segment)
    if isinstance(segment.get("bound_bytes"), int):
        bound = segment["bound_bytes"]
        value = f"at most {human_size(bound)} for each rank"
        yield Finding(SECTION, "Sobor's share", Status.OK, value, data={"bound_bytes": bound})


def _kinds(segment: dict) -> Iterator[Finding]:
    answers = {kind: segment[kind] for kind in _KINDS if kind in segment}
    if not answers:
        return
    works = [kind for kind, answer in answers.items() if answer["ok"]]
    for kind, answer in answers.items():
        what, remedy = _KINDS[kind]
        status = Status.OK if answer["ok"] else Status.WARN if works else Status.FAIL
        value = f"{what}: {'works' if answer['ok'] else answer.get('detail') or 'does not work'}"
        yield Finding(SECTION, kind, status, value, "" if answer["ok"] else remedy, answer)


def _shm_folder(patient: Patient) -> Finding:
    try:
        stat = os.statvfs(patient.files.path(_SHM))
    except OSError as error:
        value = error.strerror or str(error)
        return Finding(SECTION, _SHM, Status.WARN, value, "mount a tmpfs on /dev/shm")
    size, free = stat.f_blocks * stat.f_frsize, stat.f_bavail * stat.f_frsize
    value = f"{human_size(free)} free of {human_size(size)}"
    data = {"size_bytes": size, "free_bytes": free}
    if free < _SHM_SMALL:
        value += ": too little for most MPI libraries"
        remedy = "mount -o remount,size=1G /dev/shm; containers: --shm-size=1g"
        return Finding(SECTION, _SHM, Status.WARN, value, remedy, data)
    return Finding(SECTION, _SHM, Status.OK, value, data=data)


def _group_limit(segment: dict) -> Finding:
    """As the library reads it, which counts what the kernel can take back as free."""
    limit = segment["memory_limit_bytes"]
    if limit is None:
        return Finding(SECTION, "memory cgroup", Status.OK, "no limit", data={"limit_bytes": None})
    left, version = segment["memory_limit_left_bytes"], segment["memory_limit_version"]
    data = {"limit_bytes": limit, "used_bytes": limit - left, "version": version}
    value = f"{human_size(limit - left)} used of {human_size(limit)} (version {version})"
    if left < _GROUP_FREE_SMALL:
        remedy = "raise the memory limit, or make Sobor smaller: --set MEMORY=4MiB"
        return Finding(SECTION, "memory cgroup", Status.WARN, value, remedy, data)
    return Finding(SECTION, "memory cgroup", Status.OK, value, data=data)
