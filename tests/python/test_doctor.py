# SPDX-License-Identifier: BSD-3-Clause
"""The doctor's findings, on trees that stand for other machines, and its report."""

import json
import os
import struct
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest

from conftest import write_program
from sobor import console
from sobor.doctor import (
    heap,
    leftovers,
    machine,
    memory,
    mpis,
    nodes,
    parts,
    prices,
    report,
    singlecopy,
    trial,
)
from sobor.doctor.finding import Finding, Patient, Status
from sobor.errors import SoborError
from sobor.native import Native
from sobor.system.files import Files


@pytest.fixture
def patient(tmp_path, fake_native):
    """Makes a patient whose machine is a tree of files."""

    def make(files=None, native=fake_native, **changes):
        root = tmp_path / "root"
        for name, text in (files or {}).items():
            path = root / name.lstrip("/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        (root / "dev/shm").mkdir(parents=True, exist_ok=True)
        return Patient(native, files=Files(root), environ=os.environ, **changes)

    return make


def by_name(findings):
    return {finding.name: finding for finding in findings}


@pytest.mark.parametrize(
    ("processor", "status", "said"),
    [
        ("x86_64", Status.OK, "x86_64"),
        ("aarch64", Status.OK, "under emulation only"),
        ("riscv64", Status.FAIL, "use a machine with x86_64 or aarch64"),
    ],
)
def test_processors(patient, monkeypatch, processor, status, said):
    monkeypatch.setattr("platform.machine", lambda: processor)
    found = by_name(machine.check(patient()))["system"]
    assert found.status is status
    assert said in f"{found.value} {found.remedy}"


def test_several_nodes(patient, monkeypatch):
    found = by_name(nodes.check(patient()))
    assert found["communicators"].status is Status.OK
    assert found["network"].status is Status.NOTE and "1500 ns a message" in found["network"].value
    assert "a job's first messages" in found["network"].value
    monkeypatch.setenv("SOBOR_NETWORK_PINGS", "off")
    assert "first messages" not in by_name(nodes.check(patient()))["network"].value
    monkeypatch.setenv("SOBOR_CLUSTER", "off")
    monkeypatch.setenv("SOBOR_NETWORK", "mine.json")
    found = by_name(nodes.check(patient()))
    assert "SOBOR_CLUSTER is off" in found["communicators"].value
    assert found["network"].value.endswith("by mine.json")
    monkeypatch.setenv("FAKE_NETWORK_ERROR", "mine.json: no network")
    assert by_name(nodes.check(patient()))["network"].status is Status.WARN


# --- shared memory ----------------------------------------------------------------------------


def test_memory_in_order(patient):
    found = by_name(memory.check(patient()))
    assert {finding.status for finding in found.values()} == {Status.OK}
    assert found["memory cgroup"].value == "no limit"
    assert found["Sobor's share"].value == "at most 64 MiB for each rank"


def test_one_kind_forbidden_is_a_warning(patient, monkeypatch):
    segment = {"memfd": {"ok": False, "detail": "forbidden"}, "named": {"ok": True, "detail": ""}}
    monkeypatch.setenv("FAKE_SEGMENT", json.dumps(segment))
    found = by_name(memory.check(patient()))
    assert found["memfd"].status is Status.WARN
    assert "forbidden" in found["memfd"].value
    assert "SOBOR_SEGMENT=named" in found["memfd"].remedy


def test_no_kind_at_all_is_a_failure(patient, monkeypatch):
    no = {"ok": False, "detail": "no space"}
    monkeypatch.setenv("FAKE_SEGMENT", json.dumps({"memfd": no, "named": no}))
    found = by_name(memory.check(patient()))
    assert found["memfd"].status is found["named"].status is Status.FAIL


def test_small_dev_shm(patient, monkeypatch):
    class Small:
        f_blocks, f_frsize, f_bavail = 16, 4096, 16

    monkeypatch.setattr(memory.os, "statvfs", lambda path: Small)
    found = by_name(memory.check(patient()))["/dev/shm"]
    assert found.status is Status.WARN
    assert found.data == {"size_bytes": 65536, "free_bytes": 65536}
    assert "--shm-size" in found.remedy


@pytest.mark.parametrize(("left", "status"), [(10, Status.WARN), (70, Status.OK)])
def test_memory_group(patient, monkeypatch, left, status):
    """What is left is the library's word: it knows what the kernel can take back."""
    segment = {"memory_limit_bytes": 100 << 20, "memory_limit_version": 2}
    segment["memory_limit_left_bytes"] = left << 20
    monkeypatch.setenv("FAKE_SEGMENT", json.dumps(segment))
    found = by_name(memory.check(patient()))["memory cgroup"]
    assert found.status is status
    assert found.value == f"{100 - left} MiB used of 100 MiB (version 2)"
    assert found.data == {"limit_bytes": 100 << 20, "used_bytes": 100 - left << 20, "version": 2}


# --- single copy ------------------------------------------------------------------------------


def test_single_copy_allowed(patient):
    (finding,) = singlecopy.check(patient())
    assert (finding.status, finding.value) == (Status.OK, "allowed")


@pytest.mark.parametrize(
    ("scope", "capability", "allowed"),
    [(0, 0, True), (1, 0, False), (2, 0, False), (2, 1 << 19, True), (3, 1 << 19, False)],
)
def test_single_copy_by_the_kernels_rules(patient, scope, capability, allowed):
    """Without a core that could try it, the rules decide."""
    files = {
        "/proc/sys/kernel/yama/ptrace_scope": f"{scope}\n",
        "/proc/self/status": f"CapEff:\t{capability:016x}\n",
    }
    (finding,) = singlecopy.check(patient(files, native=None))
    assert (finding.status is Status.OK) is allowed
    if not allowed:
        assert f"ptrace_scope={scope}" in finding.value


# --- heap -------------------------------------------------------------------------------------


def test_heap_that_is_not_built_is_not_spoken_of(patient):
    there = patient()
    there.native.heap.unlink(missing_ok=True)
    assert list(heap.check(there)) == []


def test_heap_says_what_it_costs_here(patient, monkeypatch):
    monkeypatch.setattr(heap, "_try", lambda _: True)
    files = {
        "/sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never\n",
        "/sys/kernel/mm/transparent_hugepage/shmem_enabled": "always advise [never] deny\n",
        "/proc/sys/kernel/yama/ptrace_scope": "1\n",
    }
    there = patient(files)
    there.native.heap.parent.mkdir(parents=True, exist_ok=True)
    there.native.heap.touch()
    (finding,) = heap.check(there)
    assert finding.status is Status.OK
    assert "pages of 4 KiB, where private memory has huge ones" in finding.value
    assert "ptrace_scope" in finding.value


@pytest.mark.parametrize(
    ("shared", "of_size", "private", "said", "unsaid"),
    [
        ("never", "inherit", "madvise", "if a program asks", "ptrace_scope"),
        ("never", "inherit", "never", "pages of 4 KiB", "private memory"),
        ("never", "advise", "always", "works here", "4 KiB"),
        ("advise", "inherit", "always", "works here", "4 KiB"),
        ("advise", "never", "always", "'advise' in", "if a program asks"),
    ],
)
def test_heap_knows_where_huge_pages_are(
    patient, monkeypatch, shared, of_size, private, said, unsaid
):
    monkeypatch.setattr(heap, "_try", lambda _: True)
    folder = "/sys/kernel/mm/transparent_hugepage"
    there = patient(
        {
            f"{folder}/enabled": f"[{private}]\n",
            f"{folder}/shmem_enabled": f"[{shared}]\n",
            f"{folder}/hugepages-2048kB/shmem_enabled": f"[{of_size}]\n",
        }
    )
    there.native.heap.parent.mkdir(parents=True, exist_ok=True)
    there.native.heap.touch()
    (finding,) = heap.check(there)
    assert said in finding.value
    assert unsaid not in finding.value


def test_heap_that_is_refused_says_why(patient):
    """An object that is none: nothing comes out of an arena."""
    there = patient({"/proc/sys/vm/overcommit_memory": "2\n"})
    there.native.heap.parent.mkdir(parents=True, exist_ok=True)
    there.native.heap.touch()
    (finding,) = heap.check(there)
    assert finding.status is Status.NOTE
    assert "vm.overcommit_memory=2" in finding.value


# --- machine ----------------------------------------------------------------------------------


def test_machine_with_a_tight_quota(patient):
    files = {
        "/proc/self/status": "Cpus_allowed_list:\t0-3\n",
        "/sys/devices/system/cpu/online": "0-7\n",
        "/proc/self/cgroup": "0::/\n",
        "/proc/self/mountinfo": "30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
        "/sys/fs/cgroup/cpu.max": "200000 100000\n",
    }
    found = by_name(machine.check(patient(files)))
    assert found["processors"].data == {"cores": 4, "threads": 4, "online": 8}
    assert found["binding"].value == "this shell is bound to 0-3"
    assert found["CPU quota"].status is Status.WARN
    assert "at most 2 ranks" in found["CPU quota"].remedy
    assert found["ranks"].data == {"ranks": 2}


def test_memory_bound_to_some_nodes(patient):
    node = "/sys/devices/system/node"
    files = {
        "/proc/self/status": "Cpus_allowed_list: 0\nMems_allowed_list:\t1\n",
        f"{node}/online": "0-1",
    }
    files |= {f"{node}/node{n}/cpulist": f"{n}\n" for n in (0, 1)}
    found = by_name(machine.check(patient(files)))
    assert found["NUMA"].value.startswith("2 nodes")
    assert found["NUMA memory"].data == {"allowed": [1]}


# --- leftovers --------------------------------------------------------------------------------


def test_leftovers(patient):
    """Stale is what a process of this namespace made that has ended; 7 runs, 8 has ended."""
    files = {"/proc/self/ns/pid": "", "/proc/7/stat": "", "/dev/shm/vader_segment.x": ""}
    namespace = patient(files).files.path("/proc/self/ns/pid").stat().st_ino
    stale = f"sobor.8.{namespace}.abc"
    names = [stale, f"sobor.7.{namespace}.abc", "sobor.8.1.abc", "sobor.txt", "mine"]
    names.append(f"sem.sobor.8.{namespace}.abc")
    found = by_name(leftovers.check(patient({f"/dev/shm/{name}": "12345" for name in names})))
    assert found["/dev/shm"].status is Status.WARN
    assert found["/dev/shm"].data == {"files": [stale]}
    assert found["/dev/shm"].remedy == f"rm -r /dev/shm/{stale}"
    assert found["MPI files"].data == {"files": ["vader_segment.x"]}


@pytest.mark.parametrize(
    ("words", "where", "age", "is_left"),
    [
        ((8, 1), 0, 0, True),  # its process has ended
        ((7, 1), 0, 3600, False),
        ((0, 0), 0, 3600, True),  # nobody came
        ((0, 0), 0, 0, False),
        ((), 0, 3600, True),
        ((7, 1), 1, 3600, True),  # of another namespace, where 7 is another process
        ((8, 1), 1, 0, False),
    ],
)
def test_boards_that_are_left(patient, words, where, age, is_left):
    """A job that is killed while its ranks come leaves a name that is told by what is in it."""
    tree = patient({"/proc/self/ns/pid": "", "/proc/7/stat": ""})
    namespace = tree.files.path("/proc/self/ns/pid").stat().st_ino
    name = f"sobor.board.{namespace + where}.0123456789abcdef"
    board = tree.files.path(f"/dev/shm/{name}")
    board.write_bytes(struct.pack(f"={len(words)}Q", *words))
    then = time.time() - age
    os.utime(board, (then, then))
    found = by_name(leftovers.check(tree))
    assert found["/dev/shm"].data == {"files": [name] if is_left else []}
    assert (found["/dev/shm"].status is Status.WARN) == is_left


def test_what_has_a_boards_name_is_not_waited_for(patient):
    tree = patient({"/proc/self/ns/pid": ""})
    namespace = tree.files.path("/proc/self/ns/pid").stat().st_ino
    os.mkfifo(tree.files.path(f"/dev/shm/sobor.board.{namespace}.0"))
    assert by_name(leftovers.check(tree))["/dev/shm"].status is Status.OK


def test_names_of_leftovers_are_no_commands(patient):
    """Anybody may make files there, and what is shown is to be typed, maybe by root."""
    found = by_name(leftovers.check(patient({"/dev/shm/ompi_;reboot": ""})))
    assert found["MPI files"].remedy.endswith("rm -r '/dev/shm/ompi_;reboot'")


def test_files_in_use_are_no_leftovers(patient):
    maps = "7f0-7f1 rw-s 0 00:17 3 {}\n"
    found = by_name(
        leftovers.check(
            patient(
                {
                    "/proc/self/ns/pid": "",
                    "/proc/7/maps": maps.format("/dev/shm/ompi.n.0/vader_segment.n.1"),
                    "/proc/8/maps": maps.format("/dev/shm/sm_segment.n.2 (deleted)"),
                    **dict.fromkeys(["/dev/shm/ompi.n.0/vader_segment.n.1"], ""),
                    **dict.fromkeys(["/dev/shm/sm_segment.n.2", "/dev/shm/sm_segment.n.22"], ""),
                }
            )
        )
    )
    assert found["MPI files"].data == {"files": ["sm_segment.n.22"]}


def test_no_leftovers(patient):
    (finding,) = leftovers.check(patient({"/dev/shm/mine": ""}))
    assert finding.status is Status.OK


# --- parts and MPIs ---------------------------------------------------------------------------


def test_parts_settings(patient, monkeypatch):
    monkeypatch.setenv("SOBOR", "off")
    monkeypatch.setenv("SOBOR_RING", "abc")
    found = list(parts.check(patient()))
    warnings = {finding.name: finding.value for finding in found if finding.status is Status.WARN}
    assert warnings["switch"] == "Sobor is switched off"
    assert 'found "abc"' in warnings["SOBOR_RING"]


def test_parts_of_another_version(patient, monkeypatch):
    """As of an old installation that SOBOR_PREFIX names, beside a newer command."""
    assert "parts" not in by_name(parts.check(patient()))
    monkeypatch.setattr(parts, "__version__", "99.0")
    monkeypatch.delenv(parts.PREFIX_VARIABLE, raising=False)
    found = by_name(parts.check(patient()))["parts"]
    assert found.status is Status.WARN and "SOBOR_PREFIX" not in found.remedy
    monkeypatch.setenv(parts.PREFIX_VARIABLE, "/old")
    found = by_name(parts.check(patient()))["parts"]
    assert found.status is Status.WARN and "SOBOR_PREFIX" in found.remedy


def test_preload_that_does_not_load(patient):
    """The stand-in is an empty file, which the dynamic linker reports."""
    found = by_name(parts.check(patient()))["preload object"]
    assert found.status is Status.FAIL
    assert "cannot be preloaded" in found.value


def test_preload_with_a_space(patient, fake_native, tmp_path):
    """The linker would say two things that are not there, and building again would not help."""
    place = tmp_path / "my programs"
    fake_native.prefix.rename(place)
    found = by_name(parts.check(patient(native=Native(place))))["preload object"]
    assert found.status is Status.FAIL
    assert found.value.startswith(f"{place}/lib/sobor/libsobor.so: the dynamic linker cannot")
    assert "install Sobor in another folder" in found.remedy


def test_back_ends(patient):
    found = by_name(parts.check(patient()))["back ends"]
    assert found.data == {"present": ["ompi40", "mpich12"], "missing": ["mpiabi1"]}


def test_back_ends_that_do_not_load(patient):
    """The stand-ins are empty files; a node may lack what the libraries need."""
    found = by_name(parts.check(patient()))["back ends"]
    assert found.status is Status.FAIL
    assert "sobor-ompi40.so" in found.value and "file too short" in found.value
    assert "install the library that is missing" in found.remedy


def test_a_core_that_does_not_answer(patient, fake_native):
    """As the dynamic linker ends a program on a node without a library of it."""
    lost = "sobor-query: error while loading shared libraries: libjansson.so.4: cannot open"
    write_program(fake_native.query_tool, f"#!/bin/sh\necho '{lost}' >&2\nexit 127\n")
    found = by_name(parts.check(patient()))["sobor-query"]
    assert found.status is Status.FAIL
    assert found.value == lost
    assert "install the library that is missing" in found.remedy


def test_mpi_with_and_without_back_end(patient, make_launcher, launcher_folder, monkeypatch):
    make_launcher("mpirun", "openmpi4")
    library = launcher_folder.parent / "lib" / "libmpi.so.40"
    library.parent.mkdir()
    library.touch()
    monkeypatch.setenv("PATH", str(launcher_folder))
    (found,) = mpis.check(patient())
    assert found.data["served"] is True
    assert found.data["library"] == str(library)
    (found,) = mpis.check(patient(native=None))
    assert (found.status, found.data["served"]) == (Status.WARN, False)


@pytest.mark.parametrize(
    ("name", "banner", "said"),
    [
        ("srun", "slurm", "under Slurm 22.05.8 for programs of ompi40 or mpich12: "),
        ("mpiexec", "unknown", "under {} if it hands on LD_PRELOAD, for programs of ompi40 or "),
    ],
)
def test_a_launcher_of_no_mpi(
    patient, make_launcher, launcher_folder, monkeypatch, capsys, name, banner, said
):
    """As on many clusters, where srun, or one that is not known, starts programs of all MPIs."""
    path = make_launcher(name, banner)
    monkeypatch.setenv("PATH", str(launcher_folder))
    (found,) = mpis.check(patient())
    assert found.data["served"] is True
    result = report.Report([found])
    assert result.usable and not result.unserved
    report.write(result, console.out(), short=False)
    assert f"Sobor will work {said.format(path)}" in " ".join(capsys.readouterr().out.split())
    # A trial would queue a job, or not know how to start two ranks.
    (tried,) = trial.check(patient(), [found])
    assert (tried.status, tried.remedy) == (Status.NOTE, "") and "not tried" in tried.value
    for file in patient().native.libraries.glob("sobor-*.so"):
        file.unlink()
    (found,) = mpis.check(patient())
    assert not report.Report([found]).usable


def test_no_mpi(patient, launcher_folder, monkeypatch):
    monkeypatch.setenv("PATH", str(launcher_folder))
    (found,) = mpis.check(patient())
    assert found.status is Status.FAIL
    assert "apt install openmpi-bin" in found.remedy


def test_alternatives(patient, launcher_folder, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(launcher_folder))
    link = tmp_path / "root/etc/alternatives/mpirun"
    link.parent.mkdir(parents=True)
    link.symlink_to("/usr/bin/mpirun.openmpi")
    assert by_name(mpis.check(patient()))["mpirun"].value == "stands for /usr/bin/mpirun.openmpi"


def test_wanted_launcher_that_is_none(patient, launcher_folder):
    with pytest.raises(SoborError, match="sh is not an MPI launcher"):
        mpis.check_words(patient(launchers=("sh",)))


@pytest.mark.parametrize(
    ("file", "said", "remedy"),
    [
        (None, "/etc/sobor/prices: broken", "; the next job measures anew"),
        ("/home/me/prices", "broken; in use: by tune, in /home/me/prices", "ask its owner to"),
    ],
)
def test_a_broken_file_of_prices(file, said, remedy):
    """Of the system: what the user has measured is in use all the same."""
    answer = {"wanted": True, "cache": True, "place": "/home/me/prices", "by": "tune"}
    answer |= {"file": file, "error": "/etc/sobor/prices: broken"}
    (found,) = prices.check(SimpleNamespace(ask=lambda *_: answer))
    assert found.status is Status.WARN
    assert found.value.endswith(said) and found.remedy.endswith(remedy)


# --- report -----------------------------------------------------------------------------------

SERVED = Finding("MPI", "Open MPI 4.1.4", Status.OK, "x", data={"served": True, "launcher": "m"})
UNSERVED = Finding("MPI", "MPICH 4.0.2", Status.WARN, "y", "build it", data={"served": False})
FAILURE = Finding("Shared memory", "memfd", Status.FAIL, "no space", "make space")


@pytest.mark.parametrize(
    ("findings", "usable", "works", "fails"),
    [
        ([SERVED, UNSERVED], True, ["Open MPI 4.1.4"], ["MPICH 4.0.2"]),
        ([SERVED, FAILURE], False, [], ["memfd"]),
        ([UNSERVED], False, [], []),
    ],
)
def test_verdict(findings, usable, works, fails):
    answer = report.Report(findings).as_json()
    assert answer["usable"] is usable
    assert answer["will_work"] == works
    assert answer["will_not_work"] == fails


def test_names_are_no_markup(capsys):
    named = replace(UNSERVED, name="MPICH [b]4[/i]", value="in [/opt]")
    report.write(report.Report([SERVED, named]), console.out(), short=False)
    assert "It will not work with MPICH [b]4[/i]: in [/opt]" in capsys.readouterr().out


def test_failed_trial_takes_an_mpi_back():
    trial = Finding("Trial", "Open MPI 4.1.4", Status.WARN, "exit status 1", "look")
    answer = report.Report([SERVED, trial]).as_json()
    assert (answer["usable"], answer["will_work"]) == (False, [])


def test_exit_status_and_json(command, fake_native):
    """With the stand-in, whose preload object does not load, nothing will work."""
    result = command("doctor", "--json")
    assert result.status == 1
    assert result.json["usable"] is False
    assert {"section", "name", "status", "value", "remedy", "data"} == set(
        result.json["findings"][0]
    )


def test_short_report_leaves_out_what_is_in_order(command, fake_native):
    result = command("doctor", "--short")
    assert "preload object" in result.out
    assert "  ok " not in result.out
    assert "Verdict\n  Sobor will not work here:" in result.out


def test_without_native_parts(command, monkeypatch, tmp_path):
    monkeypatch.setenv("SOBOR_PREFIX", str(tmp_path))
    result = command("doctor")
    assert result.status == 1
    assert str(tmp_path) in result.out
