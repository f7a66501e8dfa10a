#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# vendor_packages.sh FOLDER: called by cpack. Puts the Python packages of the sobor command, which
# are of Python alone, into the folder of its own: a package must not depend on a network.
set -eu
# For all users, whatever the umask of who makes the package.
umask 022
folder=$1
here=$(dirname "$0")
# Debian's Python has no pip unless python3-pip is there; that of make build has.
python=$here/../.venv/bin/python
"$python" -m pip --version >/dev/null 2>&1 || python=$("$here/find_python.sh")
requirements=$("$python" "$here/list_requirements.py")
# As a variable, which a pip before 22.1 passes over: as an option it refuses it.
export PIP_ROOT_USER_ACTION=ignore
# Wheels of Python alone, whichever versions have them: the package is for every Python.
# shellcheck disable=SC2086 # the requirements are words
"$python" -m pip install --quiet --disable-pip-version-check --no-input --no-compile \
    --no-warn-conflicts \
    --only-binary :all: --platform any --implementation py --abi none --target "$folder" $requirements
rm -rf "$folder/bin"
