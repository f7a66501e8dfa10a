# SPDX-License-Identifier: BSD-3-Clause
"""Rules of the C source that a compiler does not check.

usage: check_source.py REPOSITORY

- Includes point downward: a layer includes itself and the layers below it.
- Waiting has one place: no sched_yield, sleep, pause or futex outside src/machine.
- The preloaded object includes nothing but the base layer's tables.
- The files of the front end (a .c with its .h) include each other in no circle.
- Every source file names its licence; every algorithm opens with a paragraph.
- No function is longer than 45 lines and no file longer than 450, but for the simulator, the
  baselines and the tools, whose files may be; no array has a length that is known late.
- Beside each acquire it is said which store it pairs with; nobody but the wait function loops until
  a flag or a counter is there.
- What comments name of ours is there.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

LAYERS = [
    "base",
    "machine",
    "data",
    "topology",
    "segment",
    "team",
    "coll",
    "select",
    "cluster",
    "trace",
    "mpi",
]
# Beside the layers: what each may include besides itself.
CORE = set(LAYERS) - {"mpi"}
APART = {
    "stub": {"base"},
    "heap": {"base", "machine", "segment"},
    "baseline": CORE,
    "tools": CORE | {"baseline"},
}
WAITING = re.compile(
    r"\b(sched_yield|usleep|nanosleep|clock_nanosleep|pause_processor|_mm_pause|"
    r"__builtin_ia32_pause|SYS_futex|FUTEX_WAIT)\b"
)
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
SYSTEM = re.compile(r"^\s*#\s*include\s+<([^>]+)>", re.MULTILINE)
LICENCE = "SPDX-License-Identifier: BSD-3-Clause"
# Headers that tell a layer what it must not know.
FORBIDDEN = {"hwloc.h": {"topology"}, "mpi.h": {"mpi"}, "mpi_abi.h": {"mpi"}}


FUNCTION_LINES = 45
FILE_LINES = 450
FUNCTION = re.compile(r"^(\w[^\n;{}]*(?:\n[^\n;{}]+)*)\n\{\n(.*?)^\}$", re.MULTILINE | re.DOTALL)
# What may be longer, or have arrays of any length: it is in no program of a user.
APART_FROM_SIZES = ("baseline/", "machine/sim/", "tools/")
# A declaration of an array whose length has a variable in it; those of macros are in capitals.
LATE_ARRAY = re.compile(
    r"^\s+(?:const |static |unsigned )*[a-z]\w*(?: \*?| \*const )\w+\[(?=[^\]\n]*\b[a-z])"
    r"(?!sizeof)[^\]\n]+\](?: =|;|,)",
    re.MULTILINE,
)
LOOPING = re.compile(r"\bwhile \([^;{}]*\bsb_(?:flag_read|load\d+|counter_read)\(")
ACQUIRE = re.compile(r"\b(?:memory_order_acquire|SB_ACQUIRE|memory_order_acq_rel)\b")
# Operations of <stdatomic.h> whose order is the strongest one because none is written.
UNORDERED = re.compile(
    r"\batomic_(?:load|store|exchange|fetch_(?:add|sub|or|and|xor)|compare_exchange_(?:weak|strong)"
    r"|flag_test_and_set|flag_clear)\("
)
#: These give the orders their names.
PRIMITIVES = {"primitive.h", "primitive_real.h"}
#: Lines above an acquire among which its comment is.
BESIDE = 12
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
#: Put together by macros, or of others.
MADE, OTHERS = "sb_mpi_", {"mpi.h"}


def allowed_layers(layer: str) -> set[str]:
    if layer in APART:
        return APART[layer] | {layer}
    return set(LAYERS[: LAYERS.index(layer) + 1])


def check_includes(path: Path, layer: str, text: str) -> list[str]:
    problems = []
    for included in INCLUDE.findall(text):
        target = included.split("/")[0]
        if "/" in included and target not in allowed_layers(layer):
            problems.append(f"{path}: layer {layer} includes {included}")
    for system in SYSTEM.findall(text):
        if system in FORBIDDEN and layer not in FORBIDDEN[system]:
            problems.append(f"{path}: layer {layer} includes <{system}>")
    return problems


def check_file(path: Path, source: Path) -> list[str]:
    relative = path.relative_to(source)
    layer = relative.parts[0]
    text = path.read_text(encoding="utf-8")
    problems = check_includes(relative, layer, text)
    if layer not in APART and layer not in LAYERS:
        return [f"{relative}: unknown layer {layer}"]
    problems += check_sizes(relative, text) + check_order(relative, text)
    if LICENCE not in text[:200]:
        problems.append(f"{relative}: no licence line")
    if layer != "machine":
        problems += [f"{relative}: waits by itself ({word})" for word in WAITING.findall(text)]
    if layer in ("coll", "baseline") and path.suffix == ".c":
        problems += check_algorithm(relative, text)
    return problems


def check_sizes(relative: Path, text: str) -> list[str]:
    problems = []
    for head, body in FUNCTION.findall(text):
        lines = head.count("\n") + body.count("\n") + 3
        if lines > FUNCTION_LINES:
            problems.append(f"{relative}: {lines} lines: {head.splitlines()[-1]}")
    if str(relative).startswith(APART_FROM_SIZES):
        return problems
    if text.count("\n") > FILE_LINES:
        problems.append(f"{relative}: {text.count(chr(10))} lines")
    for array in LATE_ARRAY.findall(text):
        if not array.lstrip().startswith("return "):
            problems.append(f"{relative}: a length that is known late: {array.strip()}")
    return problems


def check_order(relative: Path, text: str) -> list[str]:
    """Every acquire with its store, every wait in the one place."""
    if (
        relative.parts[0] == "tools"
        or "machine/sim" in str(relative)
        or relative.name in PRIMITIVES
    ):
        return []
    problems = [f"{relative}: no order is written: {word})" for word in UNORDERED.findall(text)]
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if not ACQUIRE.search(line) or line.lstrip().startswith(("*", "/*", "#")):
            continue
        if not re.search(
            r"\b[Pp]airs? with\b", " ".join(lines[max(0, number - BESIDE) : number + 1])
        ):
            problems.append(f"{relative}:{number + 1}: which store does this acquire pair with?")
    if relative.parts[0] not in ("machine", "baseline"):
        problems += [f"{relative}: waits by itself ({loop})" for loop in LOOPING.findall(text)]
    return problems


def check_algorithm(relative: Path, text: str) -> list[str]:
    """An algorithm's file says what it does, what it costs and where it is from."""
    if not re.search(r"^ *(?:const sb_algorithm_t|SB_REDUCES\()", text, re.MULTILINE):
        return []
    opening = text[text.index("*/") + 2 :].lstrip()
    paragraph = opening[: opening.index("*/")] if opening.startswith("/*") else ""
    return [
        f'{relative}: the opening paragraph has no "{word}"'
        for word in ("Cost:", "Memory:", "Source:")
        if word not in " ".join(paragraph.split())
    ]


def check_comments(files: list[Path], source: Path) -> list[str]:
    """Names of functions, types and files that have changed since."""
    texts = {f"/{path.relative_to(source)}": path.read_text(encoding="utf-8") for path in files}
    words = set(re.findall(r"\w+", " ".join(COMMENT.sub("", text) for text in texts.values())))
    words |= {word.rstrip("0123456789") for word in words}  # sb_add: sb_add32 and sb_add64
    problems = []
    for path, text in texts.items():
        comments = " ".join(COMMENT.findall(text))
        named = set(re.findall(r"\b(?:sb|SB)_\w+", comments)) - words
        gone = {
            name
            for name in named
            if not name.startswith(MADE)
            and not (name.endswith("_") and any(word.startswith(name) for word in words))
        }
        listed = set(re.findall(r"[\w/-]+\.(?:c|h|def|S)\b", comments)) - OTHERS
        gone |= {
            name
            for name in listed
            if not any(known.endswith("/" + name.removeprefix("src/")) for known in texts)
        }
        problems += [f"{path[1:]}: a comment names {name}, which is not there" for name in gone]
    return problems


def find_circle(files: list[Path], source: Path) -> list[str]:
    """A circle among the files of the front end, where a .c and its .h are one."""
    includes: dict[str, set[str]] = {}
    for path in files:
        if path.relative_to(source).parts[0] == "mpi":
            names = {
                Path(name).stem
                for name in INCLUDE.findall(path.read_text(encoding="utf-8"))
                if name.startswith("mpi/")
            }
            includes.setdefault(path.stem, set()).update(names - {path.stem})
    while includes:
        lowest = [name for name, names in includes.items() if not names & includes.keys()]
        if not lowest:
            return [f"mpi: files include each other in a circle: {', '.join(sorted(includes))}"]
        for name in lowest:
            del includes[name]
    return []


def main() -> int:
    source = Path(sys.argv[1]) / "src"
    files = [
        path
        for path in sorted(source.rglob("*"))
        if path.suffix in {".c", ".h", ".def", ".S"} and path.is_file()
    ]
    if not files:
        print(f"no source files under {source}")
        return 1
    problems = [problem for path in files for problem in check_file(path, source)]
    problems += find_circle(files, source) + check_comments(files, source)
    print("\n".join(problems) if problems else f"{len(files)} files checked")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
