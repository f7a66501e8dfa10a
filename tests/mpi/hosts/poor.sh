#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# poor.sh COMMAND...: runs a command, on the second host with hardly any memory for Sobor.
if [ "$(hostname)" = node2 ]; then
    export SOBOR_MEMORY=4KiB
fi
exec "$@"
