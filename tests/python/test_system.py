# SPDX-License-Identifier: BSD-3-Clause
"""Control groups, processors and NUMA nodes, read from trees that stand for other machines."""

import pytest

from sobor.system.cgroup import cpu_limit
from sobor.system.cpus import read_cpus, read_nodes
from sobor.system.files import Files, format_list, parse_list

V2_MOUNT = "30 20 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n"


def v1_mount(controllers, root="/"):
    return f"33 31 0:28 {root} /sys/fs/cgroup/{controllers} rw - cgroup cgroup rw,{controllers}\n"


@pytest.fixture
def tree(tmp_path):
    """Makes a tree from a table of file names and texts."""

    def make(files):
        for name, text in files.items():
            path = tmp_path / name.lstrip("/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{text}\n")
        return Files(tmp_path)

    return make


@pytest.mark.parametrize(
    ("text", "numbers"), [("0-3,8", [0, 1, 2, 3, 8]), ("", []), (None, []), ("5", [5]), ("x", [])]
)
def test_kernel_list(text, numbers):
    assert parse_list(text) == numbers
    if text and numbers:
        assert format_list(numbers) == text


def test_no_limits(tree):
    files = tree({"/proc/self/cgroup": "0::/", "/proc/self/mountinfo": V2_MOUNT})
    assert cpu_limit(files) is None


def test_nothing_to_read(tree):
    files = tree({})
    assert cpu_limit(files) is None


def test_version_2_takes_the_tightest_of_all_above(tree):
    group = "/sys/fs/cgroup/user/job"
    files = tree(
        {
            "/proc/self/cgroup": "0::/user/job",
            "/proc/self/mountinfo": V2_MOUNT,
            f"{group}/cpu.max": "max 100000",
            "/sys/fs/cgroup/user/cpu.max": "150000 100000",
        }
    )
    assert cpu_limit(files) == 1.5


def test_version_1(tree):
    files = tree(
        {
            "/proc/self/cgroup": "9:name=systemd:/x\n3:cpu,cpuacct:/box\n0::/",
            "/proc/self/mountinfo": v1_mount("cpu,cpuacct") + V2_MOUNT,
            "/sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_quota_us": "50000",
            "/sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_period_us": "100000",
            "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "-1",
            "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000",
        }
    )
    assert cpu_limit(files) == 0.5


def test_container_that_sees_only_its_own_group(tree):
    """The mount's root is the group itself, so the group's folder is the mount point."""
    files = tree(
        {
            "/proc/self/cgroup": "4:cpu:/docker/abc",
            "/proc/self/mountinfo": v1_mount("cpu", root="/docker/abc"),
            "/sys/fs/cgroup/cpu/cpu.cfs_quota_us": "50000",
            "/sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000",
        }
    )
    assert cpu_limit(files) == 0.5


def test_hyperthreads_binding_and_quota(tree):
    files = {
        "/proc/self/status": "Name:\tx\nCpus_allowed_list:\t0-1,4-5",
        "/proc/self/cgroup": "0::/",
        "/proc/self/mountinfo": V2_MOUNT,
        "/sys/fs/cgroup/cpu.max": "150000 100000",
        "/sys/devices/system/cpu/online": "0-7",
    }
    for cpu in range(8):
        siblings = f"{cpu % 4},{cpu % 4 + 4}"
        files[f"/sys/devices/system/cpu/cpu{cpu}/topology/core_cpus_list"] = siblings
    cpus = read_cpus(tree(files))
    assert cpus.allowed == [0, 1, 4, 5]
    assert (cpus.cores, len(cpus.online), cpus.quota, cpus.usable) == (2, 8, 1.5, 1)


def test_numa_nodes(tree):
    node = "/sys/devices/system/node"
    files = tree(
        {
            f"{node}/online": "0-1",
            f"{node}/node0/cpulist": "0-3",
            f"{node}/node0/meminfo": "Node 0 MemTotal:  1024 kB\nNode 0 MemFree: 1 kB",
            f"{node}/node1/cpulist": "",
            f"{node}/node1/meminfo": "Node 1 MemTotal:  2048 kB",
        }
    )
    first, second = read_nodes(files)
    assert (first.number, first.cpus, first.memory) == (0, [0, 1, 2, 3], 1 << 20)
    assert (second.number, second.cpus, second.memory) == (1, [], 2 << 20)
