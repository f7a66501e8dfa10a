#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# install_command.sh FOLDER: called by cmake --install. Makes the virtual environment in which the
# installed sobor command runs. Without a network the rest of the installation stands.
folder=$1
here=$(dirname "$0")
# The command does not look there, so pip must not take for installed what it finds there.
unset PYTHONPATH
# For all users, whatever the umask of who installs.
umask 022

make_environment() {
    python=$("$here/find_python.sh") &&
        requirements=$("$python" "$here/list_requirements.py") &&
        "$python" -m venv "$folder" &&
        # shellcheck disable=SC2086 # the requirements are words
        "$folder/bin/python" -m pip install --quiet --disable-pip-version-check --no-input \
            $requirements
}

# Those who use the command may not write there what Python compiles, and would wait for it each time.
compile_command() {
    "$folder/bin/python" -m compileall -q "$(dirname "$folder")/python" || true
}

if make_environment; then
    compile_command
else
    rm -rf "$folder"
    echo "The sobor command needs the Python packages typer and rich, which could not be installed" >&2
    echo "into $folder. Install them for python3, of 3.10 or later, where all users find them (not with" >&2
    echo "pip --user), or set SOBOR_PYTHON to a Python that has them." >&2
fi
