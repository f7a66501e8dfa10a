# SPDX-License-Identifier: BSD-3-Clause
"""Programs of bench/*/ in new processes: built for an MPI of tests/mpi/mpis.py, and launched."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY / "tests" / "mpi"))
import mpis  # noqa: E402 - it is found by the line above

BUILD = REPOSITORY / "build" / "release"
#: What a user who is root and has two processors needs to say; nothing that chooses a transport.
LAUNCH = {
    name: value
    for name, value in mpis.LAUNCH_ENVIRONMENT.items()
    if "RUN_AS_ROOT" in name or name.startswith("I_MPI_")
}
#: Seconds after which a job is taken to hang.
PATIENCE = 600


def parser(title: str, operations: list[str]) -> argparse.ArgumentParser:
    """The options of all these tools; each adds and sets its own."""
    words = argparse.ArgumentParser(description=title)
    words.add_argument("--build", type=Path, default=BUILD)
    words.add_argument("--mpi", default="o41", help="keys of tests/mpi/mpis.py, by comma")
    words.add_argument("--ranks", type=int, default=2)
    words.add_argument("--operations", default=",".join(operations))
    words.add_argument("--lowest", type=int, help="bytes")
    words.add_argument("--highest", type=int, default=1 << 20)
    words.add_argument("--step", type=int, help="factor from one size to the next")
    words.add_argument("--offset", type=int, default=16, help="of buffers in their page")
    words.add_argument("--launches", type=int)
    words.add_argument("--lib", action="append", default=[], metavar="NAME=LIBSOBOR.SO")
    words.add_argument("--set", action="append", default=[], metavar="SOBOR_VARIABLE=VALUE")
    words.add_argument("--out", type=Path, help="a line of JSON for each run goes at its end")
    return words


def chosen(keys: str) -> list[mpis.Mpi]:
    """The MPIs of these keys, which commas are between."""
    known = mpis.all_mpis()
    return [known[key] for key in keys.split(",")]


def build(mpi: mpis.Mpi, source: Path, folder: Path, *flags: str) -> Path:
    """The program for one MPI."""
    program = folder / f"{source.stem}-{mpi.key}"
    subprocess.run(
        [mpi.compilers["c"], *flags, str(source), "-o", str(program)],
        env={**os.environ, **LAUNCH},
        check=True,
    )
    return program


def launch(mpi: mpis.Mpi, program: Path, words: list, ranks: int, variables: dict) -> dict:
    """Microseconds by bytes of one job, and the line's round trip under "line".

    Where the program has timed something else in turns, that is under "beside".
    """
    command = [*mpi.command(ranks, variables), str(program), *map(str, words)]
    done = subprocess.run(
        command,
        env={**os.environ, **LAUNCH},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    if done.returncode != 0:
        sys.exit(f"{Path(sys.argv[0]).name}: {' '.join(command)} failed:\n{done.stderr}")
    trip, *rows = done.stdout.split("\n")
    cells = [row.split() for row in rows if row.strip()]
    beside = {int(row[0]): float(row[2]) for row in cells if len(row) > 2}
    times = {"line": float(trip)} | ({"beside": beside} if beside else {})
    return times | {int(row[0]): float(row[1]) for row in cells}


def in_turn(sides: list[str], launches: int) -> list[str]:
    """Each side so many times, and the order turned round each time.

    A process gets the pages that the one before has freed in the opposite order: with one order
    each side would always have the same, and one of them those that are slower.
    """
    order = []
    for turn in range(launches):
        order += sides if turn % 2 == 0 else sides[::-1]
    return order


def keep(runs: list[dict], out: Path | None) -> None:
    """Adds a line of JSON for each run."""
    if out:
        with out.open("a") as file:
            file.writelines(json.dumps(run) + "\n" for run in runs)
