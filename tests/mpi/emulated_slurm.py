# SPDX-License-Identifier: BSD-3-Clause
"""Slurm on emulated hosts, out of its packages' files and without installing anything.

SOBOR_TEST_SLURM names a folder into which `dpkg -x` has unpacked slurmd, slurmctld, slurm-client,
slurm-wlm-basic-plugins, libslurm38, liblua5.1-0, libmunge2, munge, libpmix2 and libpmi2-0. It lies
over /usr in the hosts' mount namespaces alone.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

from emulated_hosts import AGENT, Hosts

PARTS = os.environ.get("SOBOR_TEST_SLURM", "")
SECONDS = 15
CONFIGURATION = """ClusterName=test
SlurmctldHost=node1
AuthType=auth/none
CredType=cred/none
SlurmUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/controller.pid
SlurmdPidFile={folder}/%n.daemon
SlurmctldLogFile={folder}/controller.log
SlurmdLogFile={folder}/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
ReturnToService=2
NodeName=node[1-{count}] CPUs=4 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES OverSubscribe=FORCE:4 State=UP
"""


def unavailable() -> str | None:
    """Why there is no Slurm here, or None."""
    if not PARTS:
        return "SOBOR_TEST_SLURM names no folder with Slurm's unpacked packages"
    found = (Path(PARTS) / "usr/sbin/slurmd-wlm").exists()
    return None if found else f"no usr/sbin/slurmd-wlm in SOBOR_TEST_SLURM={PARTS}"


class Slurm:
    """Slurm on these hosts; a context manager."""

    def __init__(self, hosts: Hosts, folder: Path):
        self.hosts = hosts
        self.folder = folder

    @property
    def environment(self) -> dict[str, str]:
        """What its commands need, on any of the hosts."""
        return {"SLURM_CONF": str(self.folder / "slurm.conf")}

    def __enter__(self) -> Slurm:
        (self.folder / "state").mkdir(parents=True)
        text = CONFIGURATION.format(folder=self.folder, count=len(self.hosts.names))
        (self.folder / "slurm.conf").write_text(text)
        # The hosts share /tmp, where servers of two nodes would meet.
        (self.folder / "mpi.conf").write_text("PMIxCliTmpDirBase=/dev/shm\n")
        # As Debian's packages make it when they are installed.
        (self.folder / "usr/sbin").mkdir(parents=True)
        (self.folder / "usr/sbin/slurmstepd").symlink_to("slurmstepd-wlm")
        below = f"{self.folder}/usr:{PARTS}/usr:/usr"
        quiet = "</dev/null >/dev/null 2>&1"
        try:
            for name in self.hosts.names:
                self._on(name, f"mount -t overlay overlay -o lowerdir={below} /usr")
            self._on("node1", f"setsid /usr/sbin/slurmctld-wlm -c {quiet}")
            for name in self.hosts.names:
                self._on(name, f"setsid /usr/sbin/slurmd-wlm {quiet}")
            self._await_nodes()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_error) -> None:
        for path in (*self.folder.glob("*.daemon"), self.folder / "controller.pid"):
            with suppress(OSError, ValueError):
                os.kill(int(path.read_text()), signal.SIGKILL)

    def _on(self, name: str, command: str) -> str:
        words = f"SLURM_CONF={self.environment['SLURM_CONF']} {command}"
        done = subprocess.run(
            [str(AGENT), name, words],
            env={**os.environ, **self.hosts.environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        if done.returncode != 0:
            raise RuntimeError(f"{name}: {command}: {done.stderr.strip()}")
        return done.stdout

    def _await_nodes(self) -> None:
        limit = time.monotonic() + SECONDS
        while "idle" not in (states := self._on("node1", "sinfo -h -N -o %T")) or any(
            state != "idle" for state in states.split()
        ):
            if time.monotonic() > limit:
                raise RuntimeError(f"Slurm's nodes are not ready: {states.split()}")
            time.sleep(0.1)
