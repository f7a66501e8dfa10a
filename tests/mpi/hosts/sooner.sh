#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# sooner.sh COMMAND...: runs a command, on the second host with the first call of a communicator
# served there.
if [ "$(hostname)" = node2 ]; then
    export SOBOR_SERVE_AFTER=1
fi
exec "$@"
