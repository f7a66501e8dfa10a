#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# as.sh NODES COMMAND...: runs a rank's command as if it were on the node that the list NODES, such
# as 0,0,1, names for its rank. By the shell alone: every rank of many jobs comes here.
nodes=$1
shift
rank=${PMIX_RANK:-$PMI_RANK}
rest=$nodes
while [ "$rank" -gt 0 ]; do
    rest=${rest#*,}
    rank=$((rank - 1))
done
export SOBOR_NODE="${rest%%,*}"
eval "here=\$SOBOR_TEST_NODE_$SOBOR_NODE"
IFS=,
for node in $nodes; do
    unset "SOBOR_TEST_NODE_$node"
done
unset IFS
exec ${here:+env $here} "$@"
