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
exec "$python" -I "$library/python/sobor" "$@"
