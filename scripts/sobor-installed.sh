#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The sobor command of an installation made by cmake --install.
set -eu
here=$(dirname "$(readlink -f "$0")")
library="$here/../lib/sobor"
python=${SOBOR_PYTHON:-}
if [ -z "$python" ]; then
    python="$library/venv/bin/python"
    [ -x "$python" ] || python=python3
fi
# -I: neither the current folder nor PYTHONPATH, which may be meant for the program that is run.
exec "$python" -I -c '
import sys
sys.path.insert(0, sys.argv.pop(1))
try:
    import rich, typer
except ModuleNotFoundError as error:
    sys.exit(f"sobor: {sys.executable} has no {error.name}; install the Python packages typer and "
             "rich for it, or set SOBOR_PYTHON to a Python that has them")
from sobor.cli import main
sys.exit(main())
' "$library/python" "$@"
