#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# first.sh PRELOAD COMMAND...: runs a command, with Sobor on the first host alone.
if [ "$(hostname)" = node1 ]; then
    export LD_PRELOAD="$1" SOBOR_VERBOSE=1 SOBOR_SERVE_AFTER=1
fi
shift
exec "$@"
