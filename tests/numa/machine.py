# SPDX-License-Identifier: BSD-3-Clause
"""A machine of several NUMA nodes, emulated: placement is real there, timing is not.

It starts from the files of an Archive, runs jobs one after the other, and switches itself off.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from initramfs import Archive

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
KERNELS = REPOSITORY / "build" / "numa" / "kernel" / "boot"
EMULATOR = "qemu-system-x86_64"
#: Commands of this machine, and the Debian packages they come from.
NEEDED = {EMULATOR: "qemu-system-x86", "busybox": "busybox-static", "numactl": "numactl"}
TOOLS = "cat cut echo hostname ip mkdir mount poweroff sh stty timeout".split()

NODES = 4
PACKAGES = 2
CORES = 8
NODE_MEGABYTES = 512
#: How far one node is from another, as a table of the firmware tells it.
SELF, SAME_PACKAGE, OTHER_PACKAGE = 10, 12, 32

#: What the kernel is told. It would take a third of its start to try its ciphers, and to measure by
#: each processor in turn how long its loops of delay take, which only devices need to know.
KERNEL = (
    *("console=ttyS0", "quiet", "panic=-1", "mitigations=off", "nokaslr", "norandmaps"),
    *("clocksource=tsc", "tsc=reliable", "nowatchdog", "cryptomgr.notests", "lpj=10000000"),
)

JOB_SECONDS = 120
MACHINE_SECONDS = 540
#: A machine that has said nothing after so long is started again. Where other programs keep the
#: processors, a kernel under emulation now and then does not come up: all its processors wait for
#: each other.
START_SECONDS, STARTS = 90, 3


@dataclass(frozen=True)
class Result:
    """What became of one job."""

    name: str
    status: int
    stdout: str
    stderr: str
    seconds: float

    def tail(self) -> str:
        """All about the job, for a failure message."""
        return (
            f"{self.name}: exit code {self.status} after {self.seconds:.1f} s\n"
            f"--- stdout\n{self.stdout}\n--- stderr\n{self.stderr}"
        )


def node_of(cpu: int) -> int:
    """The node of a processor."""
    return cpu * NODES // CORES


def find_kernel() -> Path | None:
    """The newest kernel that was fetched."""
    return max(KERNELS.glob("vmlinuz-*"), key=lambda path: path.stat().st_mtime, default=None)


def missing() -> str | None:
    """What keeps the machine from being emulated here, or None."""
    if os.uname().machine != "x86_64":
        return f"the emulated machine is x86_64, this one is {os.uname().machine}"
    for command, package in NEEDED.items():
        if shutil.which(command) is None:
            return f"{command} is not there (Debian package {package})"
    if find_kernel() is None:
        return f"no kernel below {KERNELS} (scripts/fetch_kernel.sh fetches one)"
    return None


def base_archive() -> Archive:
    """What every machine needs to start."""
    archive = Archive()
    archive.file(Path(shutil.which("busybox")), "/usr/bin/busybox")
    for tool in TOOLS:
        archive.link(f"/usr/bin/{tool}", "busybox")
    for folder in ("/proc", "/sys", "/dev", "/tmp", "/root", "/jobs"):
        archive.folder(folder)
    archive.text("/etc/passwd", "root:x:0:0:root:/root:/bin/sh\n")
    archive.text("/etc/group", "root:x:0:\n")
    archive.text("/etc/hosts", "127.0.0.1 localhost numa\n")
    archive.text("/init", (HERE / "init.sh").read_text(), 0o755)
    return archive


def _distance(one: int, other: int) -> int:
    per_package = NODES // PACKAGES
    if one == other:
        return SELF
    return SAME_PACKAGE if one // per_package == other // per_package else OTHER_PACKAGE


def _memory_options() -> list[tuple[str, str]]:
    per_node = CORES // NODES
    options = []
    for node in range(NODES):
        cpus = f"{node * per_node}-{(node + 1) * per_node - 1}"
        options += [
            ("-object", f"memory-backend-ram,id=memory{node},size={NODE_MEGABYTES}M"),
            ("-numa", f"node,nodeid={node},cpus={cpus},memdev=memory{node}"),
        ]
    for one in range(NODES):
        for other in range(NODES):
            options.append(("-numa", f"dist,src={one},dst={other},val={_distance(one, other)}"))
    return options


def _command(files: Path, answers: Path) -> list[str]:
    """The emulator's command line. It emulates every instruction: the same on every host.

    Copies by string instructions, byte by byte then, and a fifth level of page tables take a third
    of all the time: such a processor has neither. Where programs and libraries lie at the same
    addresses each time, what was translated of them serves again, and the processor's own clock,
    which is that of this machine, is read without leaving the translated code.
    """
    options = [
        ("-M", "q35"),
        ("-accel", "tcg,thread=multi"),
        ("-cpu", "max,erms=off,fsrm=off,la57=off"),
        ("-smp", f"{CORES},sockets={PACKAGES},cores={CORES // PACKAGES},threads=1"),
        ("-m", f"{NODES * NODE_MEGABYTES}M"),
        *_memory_options(),
        ("-kernel", str(find_kernel())),
        ("-initrd", str(files)),
        ("-append", " ".join((*KERNEL, f"SECONDS_MOST={JOB_SECONDS}"))),
        ("-display", "none"),
        ("-serial", "stdio"),
        ("-serial", f"file:{answers}"),
    ]
    return [EMULATOR, "-nodefaults", "-no-reboot", *(word for pair in options for word in pair)]


def _parse(text: str) -> dict[str, Result]:
    pattern = (
        r"^@@sobor (\S+) stdout\n(.*?)\n@@sobor \1 stderr\n(.*?)\n"
        r"@@sobor \1 end (\d+) (\S+) (\S+)$"
    )
    found = re.findall(pattern, text, re.MULTILINE | re.DOTALL)
    return {
        name: Result(name, int(status), out, err, float(ended) - float(begun))
        for name, out, err, status, begun, ended in found
    }


def _comes_up(emulator: subprocess.Popen, answers: Path) -> bool:
    """Whether the machine has said something, or is over, soon enough."""
    ends = time.monotonic() + START_SECONDS
    while time.monotonic() < ends:
        if emulator.poll() is not None or answers.stat().st_size > 0:
            return True
        time.sleep(0.2)
    return False


def _emulate(command: list[str], answers: Path, console: Path) -> None:
    """Run a machine to its end, or for as long as it may take."""
    ends = time.monotonic() + MACHINE_SECONDS
    streams = {"stdin": subprocess.DEVNULL, "stderr": subprocess.STDOUT}
    for _ in range(STARTS):
        with (
            console.open("wb") as output,
            subprocess.Popen(command, stdout=output, **streams) as emulator,
        ):
            try:
                if _comes_up(emulator, answers):
                    emulator.wait(ends - time.monotonic())
                    return
            except subprocess.TimeoutExpired:
                return
            finally:
                emulator.kill()


def run(archive: Archive, jobs: dict[str, str], folder: Path) -> dict[str, Result]:
    """Start a machine, run the jobs in the order of their names, and collect what they wrote."""
    for name, script in jobs.items():
        archive.text(f"/jobs/{name}", script)
    files, answers = folder / "files.cpio", folder / "answers.txt"
    archive.write(files)
    answers.touch()
    console = folder / "console.txt"
    try:
        _emulate(_command(files, answers), answers, console)
    finally:
        files.unlink()
    results = _parse(answers.read_text(errors="replace"))
    lost = [name for name in jobs if name not in results]
    if lost:
        raise RuntimeError(
            f"the machine gave no answer to {', '.join(lost)}; its console:\n"
            f"{console.read_text(errors='replace')[-4000:]}"
        )
    return results
