# SPDX-License-Identifier: BSD-3-Clause
"""What is meant to be a loop of vectors is one in the machine code, and what is not is none.

The copy loops hold no call of memcpy and no string instruction; they and the plainest folds use the
processor's vector registers (SSE2 and up, NEON). Copies of a few bytes hold no loop.

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
#: Where an instruction is.
PLACE = re.compile(r"^\s*([0-9a-f]+):")
#: A jump under a condition: where it leads to in the same function.
JUMP = re.compile(r"^\s*[0-9a-f]+:\s+(?:j(?!mp)\w+|b\.\w+|cbn?z|tbn?z)\s.*?([0-9a-f]+) <copy_\w+\+")


#: What nothing follows. Code behind it is come to by jumps alone, which may lead back out of it.
LEAVES = re.compile(r"^\s*[0-9a-f]+:\s+(?:ret|jmp|b)\b(?!\.)")


def loops(lines: list[str]) -> list[str]:
    """The jumps back to where the code leads to them again."""
    placed = [(int(place[1], 16), line) for line in lines if (place := PLACE.match(line))]
    found = []
    for at, line in placed:
        jump = JUMP.match(line)
        target = int(jump[1], 16) if jump else at + 1
        passed = [other for place, other in placed if target <= place < at]
        if target <= at and not any(map(LEAVES.match, passed)):
            found.append(line)
    return found


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
        wrong = loops(lines) if kind == "few" else filter(FORBIDDEN.search, lines)
        problems += [f"{name.group(1)}: {line}" for line in wrong]
        if kind != "few" and not VECTORS.search(function):
            problems.append(f"{name.group(1)}: no vectors")
    if least not in found:
        problems.append(f"the program has no {least}")
    print("\n".join(problems) or f"{len(found)} functions")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
