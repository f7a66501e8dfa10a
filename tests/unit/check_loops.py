# SPDX-License-Identifier: BSD-3-Clause
"""What is meant to be a loop of vectors is one in the machine code, and what is not is none.

The copy loops hold no call of memcpy and no string instruction; they and the plainest folds use the
processor's vector registers (SSE2 and up, NEON). Copies of a few bytes jump forward alone.

usage: check_loops.py OBJDUMP PROGRAM copy|fold|few
"""

from __future__ import annotations

import re
import subprocess
import sys

#: Names of functions, and the one that every processor has.
LOOPS = {
    "copy": (re.compile(r"^[0-9a-f]+ <(copy_(?:baseline|avx|avx512))>:$"), "copy_baseline"),
    "fold": (re.compile(r"^[0-9a-f]+ <(sum_(?:8|16|32|64|float|double))>:$"), "sum_double"),
    "few": (re.compile(r"^[0-9a-f]+ <(copy_(?:bounded|few))>:$"), "copy_bounded"),
}
FORBIDDEN = re.compile(r"\b(memcpy|memmove|rep[nez]*\s+movs)")
#: Whole registers: scalars of floating point are in parts of them.
VECTORS = re.compile(
    r"\b(?:movup[sd]|v?movdq[au]\w*|v?padd[bwdq]|v?addp[sd]|q\d+|v\d+\.\d+[bhsd])\b|%[yz]mm"
)
#: A jump under a condition: where it is, and where it leads to in the same function.
JUMP = re.compile(
    r"^\s*([0-9a-f]+):\s+(?:j(?!mp)\w+|b\.\w+|cbn?z|tbn?z)\s.*?([0-9a-f]+) <copy_\w+\+"
)


def jumps_back(lines: list[str]) -> list[str]:
    jumps = [(line, JUMP.match(line)) for line in lines]
    return [line for line, jump in jumps if jump and int(jump[2], 16) <= int(jump[1], 16)]


def main() -> int:
    objdump, program, kind = sys.argv[1:]
    listing = subprocess.run(
        [objdump, "-d", "--no-show-raw-insn", program], check=True, capture_output=True, text=True
    ).stdout
    named, least = LOOPS[kind]
    found = set()
    problems = []
    for function in listing.split("\n\n"):
        lines = function.strip().splitlines()
        name = named.match(lines[0]) if lines else None
        if not name:
            continue
        found.add(name.group(1))
        wrong = jumps_back(lines) if kind == "few" else filter(FORBIDDEN.search, lines)
        problems += [f"{name.group(1)}: {line}" for line in wrong]
        if kind != "few" and not VECTORS.search(function):
            problems.append(f"{name.group(1)}: no vectors")
    if least not in found:
        problems.append(f"the program has no {least}")
    print("\n".join(problems) or f"{len(found)} functions")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
