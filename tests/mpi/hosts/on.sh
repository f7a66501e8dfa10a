#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Remote shell agent for a launcher: on.sh [options] HOST COMMAND...
# Runs the command on an emulated host, whose process id lies in $SOBOR_TEST_HOSTS/HOST.pid.
while :; do
    case "$1" in
        -l | -p | -o) shift 2 ;;
        -*) shift ;;
        *) break ;;
    esac
done
host=$1
shift
pid=$(cat "$SOBOR_TEST_HOSTS/$host.pid") || exit 255
exec nsenter --target "$pid" --net --uts --ipc --mount -- /bin/sh -c "cd '$PWD' 2>/dev/null; $*"
