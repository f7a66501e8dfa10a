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
if ! command -v "$python" >/dev/null; then
    echo "sobor: ${SOBOR_PYTHON:+SOBOR_PYTHON: }expected Python 3.10 or later, found no program $python" >&2
    exit 2
fi
# -I: neither the current folder nor PYTHONPATH, which may be meant for the program that is run.
exec "$python" -I "$library/python/sobor" "$@"
