# SPDX-License-Identifier: BSD-3-Clause
"""Measures single calls: a few minutes on an idle machine.

The table goes into docs/results.md, and its rows of the fewest ranks into README.md.

usage: write_figures.py [RANKS...]     2 4 8 16 if none are given
"""

from __future__ import annotations

import json
import os
import platform
import re
import statistics
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
README = REPOSITORY / "README.md"
RESULTS = REPOSITORY / "docs" / "results.md"
COLLECTIVES = ("barrier", "bcast", "allreduce", "allgather", "alltoall", "gather")
SIZES = {8: "8 B", 4096: "4 KiB", 65536: "64 KiB"}
BEGIN, END = "<!-- figures: scripts/write_figures.py -->", "<!-- end of figures -->"
LINK = "docs/results.md#single-calls"
#: A ratio below is a point that Sobor lost.
LOST = 0.95


def measure(ranks: list[int]) -> list[dict]:
    """One row for each point, as `sobor bench` gives it."""
    command = [
        REPOSITORY / "sobor",
        "bench",
        ",".join(COLLECTIVES),
        "--json",
        "-",
        "--variants",
        "hot",
    ]
    command += ["--sizes", ",".join(map(str, SIZES)), "--ranks", ",".join(map(str, ranks))]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise SystemExit(result.stderr)
    return json.loads(result.stdout)


def processor() -> str:
    """The machine in a few words."""
    text = Path("/proc/cpuinfo").read_text()
    model = re.search(r"model name\s*: (.*)", text)
    name = re.sub(r"\((R|TM)\)|\bProcessor\b|@.*", "", model[1] if model else platform.machine())
    kind = "virtual " if "hypervisor" in text else ""
    return f"{len(os.sched_getaffinity(0))} cores of a {kind}{' '.join(name.split())}"


def figure(value: float) -> str:
    """Two digits are more than another machine will repeat."""
    return f"{value:.0f}" if value >= 9.95 else f"{value:.1f}" if value >= 0.995 else f"{value:.2f}"


def cell(row: dict | None) -> str:
    """The ratio, and what it is of."""
    if row is None or row["ratio"] is None:
        return "-"
    return f"**{figure(row['ratio'])}** ({figure(row['host_us'])} / {figure(row['sobor_us'])})"


def table(rows: list[dict]) -> list[str]:
    """A line for each number of ranks and collective."""
    points = {(row["ranks"], row["collective"], row["bytes"]): row for row in rows}
    lines = ["| ranks | call | " + " | ".join(SIZES.values()) + " |", "| --- " * 5 + "|"]
    for ranks, collective in dict.fromkeys((ranks, name) for ranks, name, _ in points):
        sizes = (0, None, None) if collective == "barrier" else SIZES
        cells = [cell(points.get((ranks, collective, size))) for size in sizes]
        if collective == "barrier":
            cells[1:] = ["", ""]
        lines.append(f"| {ranks} | {collective} | " + " | ".join(cells) + " |")
    return lines


def story(rows: list[dict], points: str) -> str:
    """What was measured, and where Sobor lost; `points`: what the number of points is called."""
    rows = [row for row in rows if row["ratio"] is not None]
    lost = [row for row in rows if row["ratio"] < LOST]
    times = [row["line_us"] for row in rows if row.get("line_us")]
    text = f"{processor()}, {rows[0]['host']} as the host, `hot` buffers: **host / Sobor** and, in"
    text += " brackets, the microseconds of both (median of the slowest rank). Both took turns in"
    text += " one job, each call after the same barrier."
    if times:
        text += f" A cache line took {figure(min(times))} to {figure(max(times))} µs to the other"
        text += f" core and back (median {figure(statistics.median(times))})."
    points = points.format(len(rows))
    if not lost:
        return text + f" Sobor lost none of {points}."
    names = [
        f"{row['collective']} at {row['ranks']} ranks"
        + (f", {SIZES[row['bytes']]}" if row["bytes"] else "")
        for row in lost
    ]
    return text + f" Sobor lost {len(lost)} of {points}: {'; '.join(names)}."


def wrapped(text: str, width: int = 120) -> list[str]:
    """Lines of at most so many characters."""
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + 1 + len(word) > width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def replaced(page: str, rows: list[dict], points: str, shown: list[dict]) -> str:
    """The page with the figures between its marks."""
    before, rest = page.split(BEGIN, 1)
    new = "\n".join([*wrapped(story(rows, points)), "", *table(shown)])
    return f"{before}{BEGIN}\n{new}\n{END}{rest.split(END, 1)[1]}"


def pages(rows: list[dict]) -> dict[Path, str]:
    """What is to be written, file by file."""
    fewest = min(row["ranks"] for row in rows)
    most = max(row["ranks"] for row in rows)
    of_all = f"all {{}} points with up to {most} ranks ([the whole table]({LINK}))"
    few = [row for row in rows if row["ranks"] == fewest]
    wanted = {README: (rows, of_all, few), RESULTS: (rows, "these {} points", rows)}
    texts = {file: file.read_text() for file in wanted}
    for file, text in texts.items():
        if BEGIN not in text or END not in text:
            raise SystemExit(f"{file}: expected the lines {BEGIN} and {END}")
    return {file: replaced(texts[file], *words) for file, words in wanted.items()}


def main(arguments: list[str]) -> None:
    """Measures for each number of ranks, and writes between the marks."""
    rows = measure([int(word) for word in arguments] or [2, 4, 8, 16])
    for file, text in pages(rows).items():
        file.write_text(text)


if __name__ == "__main__":
    main(sys.argv[1:])
