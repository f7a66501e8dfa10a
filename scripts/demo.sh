#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Shows what Sobor does on this machine: the doctor's verdict, and Open MPI timed against Sobor.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

LAUNCHER=mpirun.openmpi
command -v "$LAUNCHER" >/dev/null || LAUNCHER=mpirun

echo "== What the doctor says: ./sobor doctor --short"
./sobor doctor --short
echo
CORES=$(lscpu -p=CORE,SOCKET | grep -v '^#' | sort -u | wc -l)
echo "== Barrier, broadcast and allreduce, $LAUNCHER alone against $LAUNCHER with Sobor (10 seconds for each number of ranks)"
./sobor bench --sizes 8,1K,64K,1M --seconds 0.2 --sync common --launcher "$LAUNCHER"
cat <<END

The same job calls both sides in turn. The ratio is host time over Sobor time: above 1 Sobor is faster.
Before each broadcast of either side comes the same barrier, so the figures do not depend on how a barrier lets ranks go.

== What to do next
Run a program of yours, as it is:
    ./sobor run -- $LAUNCHER -n $CORES ./your_program
See which of its calls Sobor served:
    ./sobor run --set VERBOSE=1 -- $LAUNCHER -n $CORES ./your_program
See all that the doctor found, and try each MPI:
    ./sobor doctor --try
Ask what would be chosen for a call, and why:
    ./sobor info --collective bcast --bytes 4096 --ranks $CORES
Time calls as other suites do, and see what the barriers before them hide:
    ./sobor bench bcast --ranks 2,4 --method single,row --explain
Compare several MPIs:
    ./sobor bench --launcher $LAUNCHER --peers mpirun.mpich
END
