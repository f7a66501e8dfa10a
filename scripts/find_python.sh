#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Prints the first Python of at least 3.10 that can make virtual environments; fails if there is none.
# The system's comes before others in PATH: those that people build themselves are often built without
# optimisation, and take half as long again.
for python in "${SOBOR_PYTHON:-/usr/bin/python3}" /usr/bin/python3 python3 \
    python3.14 python3.13 python3.12 python3.11 python3.10; do
    if "$python" -c '
import sys, venv, ensurepip
sys.exit(sys.version_info < (3, 10))' >/dev/null 2>&1; then
        command -v "$python"
        exit 0
    fi
done
echo "no Python of at least 3.10 with the modules venv and ensurepip" >&2
exit 1
