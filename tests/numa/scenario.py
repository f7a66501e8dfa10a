# SPDX-License-Identifier: BSD-3-Clause
"""What runs in the emulated machine: questions to sobor-query, and a program under each MPI."""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from dataclasses import dataclass, field
from pathlib import Path

from initramfs import Archive
from machine import CORES, HERE, REPOSITORY

BUILD = Path(os.environ.get("SOBOR_BUILD", REPOSITORY / "build" / "release")).resolve()
PROGRAMS = BUILD / "tests" / "numa"
SHARED = REPOSITORY / "tests" / "mpi" / "programs"
LIBRARIES = Path("/usr/lib") / (sysconfig.get_config_var("MULTIARCH") or "x86_64-linux-gnu")

#: Where the build is in the machine.
SOBOR = "/opt/sobor"
QUERY = f"{SOBOR}/libexec/sobor/sobor-query"
RANKS = CORES

MAPPINGS = ("core", "numa", "socket")
#: Moves the shell to where only memory of node 0 is to be had, whatever a program asks for.
ONLY_NODE_0 = "echo $$ >/sys/fs/cgroup/node0/cgroup.procs\n"
#: A policy of the user's own, which holds for all memory that nobody places otherwise.
INTERLEAVE = "numactl --interleave=all"
SHMEM_ENABLED = "/sys/kernel/mm/transparent_hugepage/shmem_enabled"
#: What the system and the user say of huge pages.
HUGE = {
    "huge-never": ("never", "auto"),
    "huge-advise": ("advise", "auto"),
    "huge-always": ("always", "auto"),
    "huge-off": ("always", "off"),
}
#: Systems on which regions are looked at by themselves, and by which tests of theirs.
REGIONS = ("advise", "within_size", "always")
REGION_TESTS = (
    "huge_pages_come_as_they_are_needed",
    "what_regions_will_take_counts",
    "blocks_tell_what_is_touched",
)
#: One segment for all ranks: how it is touched, and what the system says of huge pages.
SEGMENTS = {
    "segment-random": ("random", "never"),
    "segment-normal": ("normal", "never"),
    "segment-huge": ("normal", "always"),
    "segment-one": ("one", "never"),
}
#: Barriers that a run may try beside its own, in this order.
BARRIERS = ("hierarchical-numa", "hierarchical-auto", "exchange")
ROUNDS = 6


@dataclass(frozen=True)
class Mpi:
    """How one MPI of the system launches, and what it needs besides its libraries."""

    launcher: str
    compiler: str
    bindings: dict[str, str]
    export: str
    before: str
    files: tuple[str, ...] = ()
    folders: tuple[Path, ...] = ()
    #: What makes it yield, and what stands in for a library's function there.
    sources: tuple[Path, ...] = ()
    exported: tuple[str, ...] = ("sched_yield",)

    def missing(self) -> str | None:
        """The command that is not there, or None."""
        for command in (self.launcher, self.compiler, *self.files):
            if shutil.which(command) is None:
                return f"{command} is not there"
        return None


@dataclass(frozen=True)
class Run:
    """The program on all cores, under one MPI, with Sobor."""

    mpi: str
    binding: str
    settings: dict[str, str] = field(default_factory=dict)
    policy: str = ""
    only_node_0: bool = False
    barriers: tuple[str, ...] = ()
    long_only: bool = False

    def missing(self) -> str | None:
        """Why there is no such run, or None."""
        if self.long_only and os.environ.get("SOBOR_TEST_LONG", "") in ("", "0"):
            return "only with SOBOR_TEST_LONG=1"
        return MPIS[self.mpi].missing()

    def script(self) -> str:
        """What the machine's shell does."""
        mpi = MPIS[self.mpi]
        variables = {
            "LD_PRELOAD": f"{SOBOR}/lib/sobor/libsobor.so",
            "SOBOR_VERBOSE": "1",
            "SOBOR_SERVE_AFTER": "1",
            "SOBOR_PRICES": "built-in",
            "SOBOR_WAIT": "yield",
            **self.settings,
        }
        exports = " ".join(mpi.export.format(name, value) for name, value in variables.items())
        return (
            f"{ONLY_NODE_0 if self.only_node_0 else ''}{mpi.before}\n"
            f"exec {mpi.launcher} {mpi.bindings[self.binding]} {exports} -n {RANKS} "
            f"{self.policy} /opt/places-{self.mpi} {' '.join(self.barriers)}\n"
        )


#: Without the transports for networks both start faster. And both give their processors away while
#: they wait, as Sobor does: see napping.c.
MPIS = {
    "mpich": Mpi(
        launcher="mpiexec.mpich",
        compiler="mpicc.mpich",
        bindings={"core": "-bind-to core", "numa": "-bind-to numa", "none": "-bind-to none"},
        export="-genv {} {}",
        before="export UCX_TLS=self,posix HOST_YIELDS=1",
        files=("hydra_pmi_proxy",),
        sources=(SHARED / "yielding.c",),
        exported=("sched_yield", "ucp_worker_progress"),
    ),
    "openmpi": Mpi(
        launcher="mpirun.openmpi",
        compiler="mpicc.openmpi",
        bindings={
            "core": "--map-by core --bind-to core",
            "numa": "--map-by numa --bind-to numa",
            "none": "--bind-to none",
        },
        export="-x {}={}",
        before="export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
        "OMPI_MCA_plm=isolated OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,vader "
        "OMPI_MCA_mpi_yield_when_idle=1",
        folders=(
            LIBRARIES / "openmpi" / "lib" / "openmpi3",
            LIBRARIES / "pmix2" / "lib" / "pmix",
            Path("/usr/share/openmpi"),
            Path("/etc/openmpi"),
        ),
    ),
}

#: The teams and their groups are described, too.
TOLD = {"SOBOR_VERBOSE": "2"}

#: In the short form ranks are bound to cores with one MPI, and to nodes with the other.
RUNS = {
    "mpich-core": Run("mpich", "core", TOLD, barriers=BARRIERS, long_only=True),
    "mpich-numa": Run(
        "mpich", "numa", {**TOLD, "SOBOR_SEGMENT": "named"}, policy=INTERLEAVE, barriers=BARRIERS
    ),
    "mpich-none": Run("mpich", "none", TOLD, policy=INTERLEAVE, barriers=BARRIERS),
    "mpich-defeated": Run("mpich", "core", {"SOBOR_VERBOSE": "2"}, only_node_0=True),
    "mpich-pipelined": Run(
        "mpich", "core", {"SOBOR_BCAST_ALGORITHM": "numa-pipelined"}, long_only=True
    ),
    "mpich-off": Run("mpich", "core", {"SOBOR_PLACEMENT": "off", "SOBOR_VERBOSE": "2"}),
    "openmpi-core": Run("openmpi", "core", TOLD, barriers=BARRIERS),
    "openmpi-numa": Run("openmpi", "numa", TOLD, barriers=BARRIERS, long_only=True),
    "openmpi-none": Run("openmpi", "none", TOLD, barriers=BARRIERS, long_only=True),
}


def usable() -> dict[str, Mpi]:
    """The MPIs that are installed here."""
    return {key: mpi for key, mpi in MPIS.items() if mpi.missing() is None}


def compile_program(key: str) -> Path:
    """The program that says where its memory is, for one MPI."""
    target = PROGRAMS / f"places-{key}"
    target.parent.mkdir(parents=True, exist_ok=True)
    mpi = MPIS[key]
    sources = [HERE / "places.c", HERE / "napping.c", SHARED / "support.c", *mpi.sources]
    subprocess.run(
        [
            mpi.compiler,
            "-std=gnu17",
            "-O1",
            "-g",
            "-Wall",
            "-Wextra",
            "-Werror",
            f"-I{SHARED}",
            *sources,
            "-o",
            target,
            "-ldl",
            *(f"-Wl,--export-dynamic-symbol={name}" for name in mpi.exported),
        ],
        check=True,
    )
    return target


def compile_segment() -> Path:
    """The program that places one segment for all ranks by touching it."""
    target = PROGRAMS / "segment"
    target.parent.mkdir(parents=True, exist_ok=True)
    flags = ["-std=gnu17", "-O1", "-Wall", "-Wextra", "-Werror"]
    subprocess.run(["cc", *flags, HERE / "segment.c", "-o", target], check=True)
    return target


def add_files(archive: Archive) -> None:
    """The build, the MPIs, and the program for each of them."""
    archive.tree(BUILD / "lib" / "sobor", f"{SOBOR}/lib/sobor")
    archive.file(BUILD / "libexec" / "sobor" / "sobor-query", QUERY)
    archive.file(Path(shutil.which("numactl")), "/usr/bin/numactl")
    archive.file(compile_segment(), "/opt/segment")
    archive.file(BUILD / "tests" / "test_segment", "/opt/test_segment")
    for key, mpi in usable().items():
        archive.file(compile_program(key), f"/opt/places-{key}")
        for command in (mpi.launcher, *mpi.files):
            archive.file(Path(shutil.which(command)), f"/usr/bin/{command}")
        for folder in mpi.folders:
            archive.tree(folder)


def jobs() -> dict[str, str]:
    """All scripts by name."""
    scripts = {"topology": f"exec {QUERY} topology\n"}
    for mapping in MAPPINGS:
        words = f"--ranks {RANKS} --map {mapping}"
        scripts[f"groups-{mapping}"] = f"exec {QUERY} groups {words}\n"
        scripts[f"placement-{mapping}"] = f"exec {QUERY} placement {words}\n"
    placement = f"{QUERY} placement --ranks {RANKS}\n"
    scripts["placement-interleaved"] = f"exec {INTERLEAVE} {placement}"
    scripts["placement-off"] = f"SOBOR_PLACEMENT=off exec {placement}"
    for name, (system, setting) in HUGE.items():
        scripts[name] = (
            f"echo {system} >{SHMEM_ENABLED}\n"
            f"SOBOR_MEMORY=32MiB SOBOR_RING=4MiB SOBOR_HUGE_PAGES={setting} {placement}"
            f"echo never >{SHMEM_ENABLED}\n"
        )
    for system in REGIONS:
        scripts[f"regions-{system}"] = (
            f"echo {system} >{SHMEM_ENABLED}\nexport SOBOR_MEMORY=4MiB\n"
            f"for name in {' '.join(REGION_TESTS)}; do /opt/test_segment $name 2>&1; done\n"
            f"echo never >{SHMEM_ENABLED}\n"
        )
    for name, (how, system) in SEGMENTS.items():
        scripts[name] = (
            f"echo {system} >{SHMEM_ENABLED}\n/opt/segment {how}\necho never >{SHMEM_ENABLED}\n"
        )
    scripts["placement-defeated"] = f"{ONLY_NODE_0}exec {placement}"
    scripts |= {name: run.script() for name, run in RUNS.items() if run.missing() is None}
    return scripts
