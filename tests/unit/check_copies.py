# SPDX-License-Identifier: BSD-3-Clause
"""The copy loops stay loops: no call of memcpy in their machine code, and no string instruction.

usage: check_copies.py OBJDUMP PROGRAM
"""

from __future__ import annotations

import re
import subprocess
import sys

LOOPS = re.compile(r"^[0-9a-f]+ <(copy_(?:baseline|avx|avx512))>:$")
FORBIDDEN = re.compile(r"\b(memcpy|memmove|rep[nez]*\s+movs)")


def main() -> int:
    objdump, program = sys.argv[1:]
    listing = subprocess.run(
        [objdump, "-d", "--no-show-raw-insn", program], check=True, capture_output=True, text=True
    ).stdout
    found = set()
    problems = []
    for function in listing.split("\n\n"):
        lines = function.strip().splitlines()
        name = LOOPS.match(lines[0]) if lines else None
        if name:
            found.add(name.group(1))
            problems += [f"{name.group(1)}: {line}" for line in lines if FORBIDDEN.search(line)]
    if "copy_baseline" not in found:
        problems.append("the program has no copy loop")
    print("\n".join(problems) or f"{len(found)} loops")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
