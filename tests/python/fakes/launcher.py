# SPDX-License-Identifier: BSD-3-Clause
"""Stands in for a launcher: a banner for --version; else runs the program among its arguments.

The program is taken to begin at the first argument that is the path of an executable file. Like
Open MPI's -x and Hydra's -genv, variables before it are set for it.
"""

import os
import sys

BANNER = "@BANNER@"
words = sys.argv[1:]
if words == ["--version"]:
    print(BANNER)
    sys.exit(0)
start = next(i for i, w in enumerate(words) if os.path.isfile(w) and os.access(w, os.X_OK))
options, program = words[:start], words[start:]
for index, word in enumerate(options):
    if word == "-x" and "=" in options[index + 1]:
        name, _, value = options[index + 1].partition("=")
        os.environ[name] = value
    elif word == "-genv":
        os.environ[options[index + 1]] = options[index + 2]
os.environ["FAKE_LAUNCHER_OPTIONS"] = " ".join(options)
os.environ.pop("LD_PRELOAD", None)
os.execv(program[0], program)
