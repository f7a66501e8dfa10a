# SPDX-License-Identifier: BSD-3-Clause
"""CPU quotas of the control groups this process is in, versions 1 and 2."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from sobor.system.files import Files


@dataclass(frozen=True)
class _Mount:
    version: int
    controllers: frozenset[str]
    root: str
    point: str


def cpu_limit(files: Files) -> float | None:
    """The tightest CPU quota of this process's groups, as a number of CPUs; None: there is none."""
    quotas = [_quota(files, version, folder) for version, folder in _folders(files)]
    cpus = (quota / period for quota, period in quotas if quota > 0 and period > 0)
    return min(cpus, default=None)


def _quota(files: Files, version: int, folder: str) -> tuple[int, int]:
    if version == 1:
        quota = files.read_int(f"{folder}/cpu.cfs_quota_us")
        return quota or -1, files.read_int(f"{folder}/cpu.cfs_period_us") or -1
    words = (files.read(f"{folder}/cpu.max") or "").split()
    if len(words) == 2 and all(word.isdecimal() for word in words):
        return int(words[0]), int(words[1])
    return -1, -1


def _folders(files: Files) -> Iterator[tuple[int, str]]:
    """The folders of this process's groups that have quotas, from the group to the root."""
    groups = _groups(files)
    for mount in _mounts(files):
        if mount.version == 1 and "cpu" not in mount.controllers:
            continue
        key = "" if mount.version == 2 else "cpu"
        if key in groups:
            for folder in _up_to_root(mount, groups[key]):
                yield mount.version, folder


def _groups(files: Files) -> dict[str, str]:
    """Controller to group path; the group of version 2 has the empty name."""
    groups = {}
    for line in (files.read("/proc/self/cgroup") or "").splitlines():
        _, controllers, path = (line.split(":", 2) + ["", ""])[:3]
        for controller in controllers.split(","):
            groups[controller] = path
    return groups


def _mounts(files: Files) -> list[_Mount]:
    mounts = []
    for line in (files.read("/proc/self/mountinfo") or "").splitlines():
        before, dash, after = line.partition(" - ")
        fields, kind = before.split(), after.split()
        if not dash or len(fields) < 5 or len(kind) < 3:
            continue
        if kind[0] == "cgroup2":
            mounts.append(_Mount(2, frozenset(), fields[3], fields[4]))
        elif kind[0] == "cgroup":
            mounts.append(_Mount(1, frozenset(kind[2].split(",")), fields[3], fields[4]))
    return mounts


def _up_to_root(mount: _Mount, group: str) -> list[str]:
    """The group's folder and all above it that can be seen through the mount."""
    path, root = PurePosixPath(group), PurePosixPath(mount.root)
    below = path.relative_to(root) if path.is_relative_to(root) else PurePosixPath()
    point = PurePosixPath(mount.point)
    return [str(point / part) for part in (below, *below.parents)]
