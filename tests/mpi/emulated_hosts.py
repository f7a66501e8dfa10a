# SPDX-License-Identifier: BSD-3-Clause
"""Several hosts on one machine, made of namespaces.

Each host has its own network, host name, System V memory and mounts, thus its own /dev/shm, and is
held by a sleeping process. They meet on a bridge in a namespace of its own, so that nothing shows
in the machine's network. Process ids stay common: a launcher's agent must be able to enter.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

AGENT = Path(__file__).resolve().parent / "hosts" / "on.sh"
NETWORK = "10.77.0"
TOOLS = ("unshare", "nsenter", "ip", "mount", "hostname")


def unavailable() -> str | None:
    """Why hosts cannot be made here, or None."""
    if os.geteuid() != 0:
        return "emulated hosts need root"
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        return f"emulated hosts need {', '.join(missing)}"
    test = subprocess.run(
        ["unshare", "--net", "--uts", "--ipc", "--mount", "true"],
        capture_output=True,
        text=True,
        check=False,
    )
    return None if test.returncode == 0 else f"no namespaces: {test.stderr.strip()}"


class Hosts:
    """So many hosts, named node1, node2, ...; a context manager."""

    def __init__(self, count: int, folder: Path, rate: str | None = None, star: bool = False):
        self.folder = folder
        self.rate = rate
        self.star = star
        self.names = [f"node{i}" for i in range(1, count + 1)]
        self._holders: list[subprocess.Popen] = []

    @property
    def environment(self) -> dict[str, str]:
        """What the agent needs to know."""
        return {"SOBOR_TEST_HOSTS": str(self.folder)}

    def __enter__(self) -> Hosts:
        try:
            self._write_names()
            bridge = self._hold("switch")
            self._within(bridge, "ip link add br0 type bridge && ip link set br0 up")
            for number, name in enumerate(self.names, start=1):
                self._join(bridge, self._hold(name), number)
            if self.rate:
                self._limit(bridge)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_error) -> None:
        for holder in self._holders:
            holder.send_signal(signal.SIGKILL)
            holder.wait()

    def _write_names(self) -> None:
        lines = ["127.0.0.1 localhost"]
        lines += [f"{NETWORK}.{i} {name}" for i, name in enumerate(self.names, start=1)]
        (self.folder / "hosts").write_text("\n".join(lines) + "\n")

    def _hold(self, name: str) -> int:
        """Make the namespaces of a host; the process id of its holder."""
        ready = self.folder / f"{name}.ready"
        script = (
            f"hostname {name}; mount -t tmpfs -o size=1G,mode=1777 tmpfs /dev/shm && "
            f"mount --bind '{self.folder}/hosts' /etc/hosts && ip link set lo up && "
            f"touch '{ready}' && exec sleep infinity"
        )
        holder = subprocess.Popen(
            [
                "unshare",
                "--net",
                "--uts",
                "--ipc",
                "--mount",
                "--propagation",
                "private",
                "sh",
                "-c",
                script,
            ],
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._holders.append(holder)
        while not ready.exists():
            if holder.poll() is not None:
                raise RuntimeError(f"{name} could not be made")
            time.sleep(0.01)
        (self.folder / f"{name}.pid").write_text(str(holder.pid))
        return holder.pid

    def _join(self, bridge: int, host: int, number: int) -> None:
        cable = f"v{number}"
        self._within(
            bridge,
            f"ip link add {cable} type veth peer name eth0 netns {host} && "
            f"ip link set {cable} master br0 up",
        )
        self._within(host, f"ip addr add {NETWORK}.{number}/24 dev eth0 && ip link set eth0 up")

    def _limit(self, bridge: int) -> None:
        """Each host sends and receives at the rate; or all of them together."""
        limit = f"tbf rate {self.rate} burst 32kb latency 400ms"
        if self.star:
            self._within(
                bridge,
                f"ip link add ifb0 type ifb && ip link set ifb0 up && "
                f"tc qdisc add dev ifb0 root {limit}",
            )
        for number, name in enumerate(self.names, start=1):
            cable = f"v{number}"
            if self.star:
                self._within(
                    bridge,
                    f"tc qdisc add dev {cable} handle ffff: ingress && "
                    f"tc filter add dev {cable} parent ffff: protocol all u32 match u32 0 0 "
                    "action mirred egress redirect dev ifb0",
                )
                continue
            self._within(bridge, f"tc qdisc add dev {cable} root {limit}")
            host = int((self.folder / f"{name}.pid").read_text())
            self._within(host, f"tc qdisc add dev eth0 root {limit}")

    @staticmethod
    def _within(pid: int, script: str) -> None:
        subprocess.run(["nsenter", "--target", str(pid), "--net", "sh", "-c", script], check=True)
