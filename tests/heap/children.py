# SPDX-License-Identifier: BSD-3-Clause
"""Python's ways to make children, with the heap preloaded: each process sees its own blocks."""

import multiprocessing
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

LONG = 1 << 20
MAPS = Path("/proc/self/maps")


def shared() -> bool:
    """Whether this process has an arena that is not yet private."""
    lines = [line for line in MAPS.read_text().splitlines() if "memfd:sobor-heap" in line]
    return any(" rw-s " in line for line in lines)


def scribble(block: bytearray, mark: int) -> bytes:
    """Writes all of a block, which a parent or brother must not see; returns what it holds."""
    block[:] = bytes([mark]) * len(block)
    return bytes(block[:1] + block[-1:])


def expect(block: bytearray, mark: int, way: str) -> None:
    """Fails if another process has written to the block."""
    if block.count(mark) != len(block):
        sys.exit(f"after {way} the block holds {set(block)}, not {mark}")


def ended_well(child: int, way: str) -> None:
    """Waits for a child."""
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status != 0:
        sys.exit(f"{way}: a child ended with {status}")


def by_subprocess(block: bytearray) -> None:
    """Another program: the heap stays as it is."""
    before = shared()
    said = subprocess.run(["/bin/echo", "yes"], capture_output=True, text=True, check=True).stdout
    if said != "yes\n" or shared() is not before:
        sys.exit(f"subprocess: {said!r}, shared {before} before and {shared()} after")
    expect(block, 1, "subprocess")


def by_multiprocessing(block: bytearray) -> None:
    """Children that each write all of the block."""
    with multiprocessing.get_context("fork").Pool(3) as pool:
        parts = pool.starmap(scribble, [(block, mark) for mark in range(10, 16)])
    if parts != [bytes([mark, mark]) for mark in range(10, 16)]:
        sys.exit(f"multiprocessing: {parts}")
    expect(block, 1, "multiprocessing")


def twice(block: bytearray) -> None:
    """Two forks in a row, before anybody has ended."""
    children = []
    for mark in (20, 21):
        child = os.fork()
        if child == 0:
            expect(block, 1, "a fork before")
            scribble(block, mark)
            expect(block, mark, "a fork")
            os._exit(0)
        children.append(child)
    for child in children:
        ended_well(child, "two forks")
    expect(block, 1, "two forks")


def in_a_thread(block: bytearray) -> None:
    """A fork beside a thread that writes a block of its own."""
    other, over = bytearray(b"\2" * LONG), threading.Event()

    def write() -> None:
        while not over.is_set():
            expect(other, 2, "a fork beside")
            scribble(other, 2)

    def fork() -> None:
        for mark in range(30, 36):
            child = os.fork()
            if child == 0:
                scribble(block, mark)
                scribble(other, mark)
                os._exit(0)
            ended_well(child, "a fork in a thread")

    with ThreadPoolExecutor(2) as threads:
        forking, writing = threads.submit(fork), threads.submit(write)
        wait([forking], timeout=60)
        over.set()
    for done in (forking, writing):
        if done.exception() is not None:
            sys.exit(str(done.exception()))
    expect(block, 1, "a fork in a thread")
    expect(other, 2, "a fork in a thread")


WAYS = [by_subprocess, by_multiprocessing, twice, in_a_thread]


def main() -> None:
    """Each way in a process of its own: only the first fork parts the heap."""
    way = next(way for way in WAYS if way.__name__ == sys.argv[1])
    block = bytearray(b"\1" * LONG)
    if not shared():
        sys.exit("the heap is not used")
    way(block)


if __name__ == "__main__":
    main()
