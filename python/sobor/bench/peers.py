# SPDX-License-Identifier: BSD-3-Clause
"""Peers by name: shared-memory collectives that an MPI library has and does not use by itself.

NAME stands for the first launcher on the PATH whose library has them, NAME@CMD for this launcher.
"""

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from sobor.errors import SoborError
from sobor.launchers import Launcher, known_on_path, recognise
from sobor.launchers.options import split_words
from sobor.libmpi import library_of

_INFO_SECONDS = 30


@dataclass(frozen=True)
class Peer:
    """How to switch such collectives on, and how to see whether a library has them."""

    product: str
    doc: str
    options: list[str]
    #: Why this launcher's library lacks them; empty if it has them.
    lacks: Callable[[Launcher, Mapping[str, str]], str]


def _open_mpi(component: str, doc: str) -> Peer:
    """A component of Open MPI's collectives, preferred to all others."""

    def lacks(launcher: Launcher, environ: Mapping[str, str]) -> str:
        components = _components(launcher, environ)
        if components is None:
            return "its ompi_info was not found"
        return "" if component in components else f"it has no coll/{component}"

    return Peer("Open MPI", doc, ["--mca", f"coll_{component}_priority", "100"], lacks)


def _components(launcher: Launcher, environ: Mapping[str, str]) -> set[str] | None:
    folders = {launcher.path.parent, launcher.path.resolve().parent}
    tools = [path for path in (Path(folder, "ompi_info") for folder in folders) if path.is_file()]
    if not tools:
        return None
    try:
        answer = subprocess.run(
            [str(tools[0]), "--parsable"],
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_INFO_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    words = (line.split(":") for line in answer.stdout.splitlines())
    return {each[2] for each in words if each[:2] == ["mca", "coll"] and len(each) > 2}


_RELEASE_GATHER = {
    **{
        f"MPIR_CVAR_{name}_POSIX_INTRA_ALGORITHM": "release_gather"
        for name in ("BARRIER", "BCAST", "REDUCE", "ALLREDUCE")
    },
    # Through the shared memory of the node at every size.
    "MPIR_CVAR_BARRIER_COMPOSITION": "1",
    "MPIR_CVAR_BCAST_COMPOSITION": "2",
    "MPIR_CVAR_REDUCE_COMPOSITION": "2",
    "MPIR_CVAR_ALLREDUCE_COMPOSITION": "3",
    # From the first call on.
    "MPIR_CVAR_POSIX_NUM_COLLS_THRESHOLD": "0",
}


def _lacks_release_gather(launcher: Launcher, environ: Mapping[str, str]) -> str:
    library = library_of(launcher, environ)
    if library is None:
        return "its MPI library was not found"
    try:
        found = b"release_gather" in library.path.read_bytes()
    except OSError as error:
        return f"{library.path}: {error.strerror}"
    return "" if found else f"{library.path} has no release_gather"


PEERS = {
    "release_gather": Peer(
        "MPICH",
        "MPICH's shared-memory barrier, bcast, reduce and allreduce, at every size",
        [word for name, value in _RELEASE_GATHER.items() for word in ("-genv", name, value)],
        _lacks_release_gather,
    ),
    "sm": _open_mpi("sm", "Open MPI's coll/sm"),
    "xhc": _open_mpi("xhc", "Open MPI's coll/xhc, from version 6 on"),
    "acoll": _open_mpi("acoll", "Open MPI's coll/acoll, from version 6 on"),
}


def is_named(command: str) -> bool:
    """Whether this is a peer by name and not a launcher."""
    return command.partition("@")[0] in PEERS


def words_of(command: str, environ: Mapping[str, str] | None = None) -> list[str]:
    """The words of the launcher that a named peer stands for, or an error that says why not."""
    environ = os.environ if environ is None else environ
    name, at, given = command.partition("@")
    peer = PEERS[name]
    commands = [given] if at else [str(path) for path in known_on_path(environ)]
    reasons = []
    for each in commands:
        words = split_words(each, "--peers") if at else [each]
        if not words or shutil.which(words[0], path=environ.get("PATH")) is None:
            raise SoborError(f"{command}: expected {name}@LAUNCHER, found no launcher {each}")
        launcher = recognise(words[0], environ)
        if launcher.product != peer.product:
            reason = f"not of {peer.product}"
        else:
            reason = peer.lacks(launcher, environ)
        if not reason:
            return [*words, *peer.options]
        if at or launcher.product == peer.product:
            reasons.append(f"{each}: {reason}")
    raise SoborError(f"{command}: {'; '.join(reasons) or f'no {peer.product} on the PATH'}")
