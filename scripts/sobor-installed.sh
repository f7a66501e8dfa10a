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
    # A package of the system is for the system's Python. An environment of the user's, as of conda,
    # may have an older one.
    if [ "$python$here" = python3/usr/bin ]; then
        case $(readlink -f /usr/bin/python3) in
        *python3.[1-9][0-9]) python=/usr/bin/python3 ;;
        esac
    fi
fi
if ! command -v "$python" >/dev/null; then
    echo "sobor: ${SOBOR_PYTHON:+SOBOR_PYTHON: }expected Python 3.10 or later, found no program $python" >&2
    exit 2
fi
# -I: neither the current folder nor PYTHONPATH, which may be meant for the program that is run.
exec "$python" -I "$library/python/sobor" "$@"
