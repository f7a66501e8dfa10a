#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# as.sh NODES COMMAND...: runs a rank's command as if it were on the node that the list NODES, such
# as 0,0,1, names for its rank.
nodes=$1
shift
SOBOR_NODE=$(echo "$nodes" | cut -d, -f$((${PMIX_RANK:-$PMI_RANK} + 1)))
export SOBOR_NODE
eval "here=\$SOBOR_TEST_NODE_$SOBOR_NODE"
unset $(env | sed -n 's/^\(SOBOR_TEST_NODE_[^=]*\)=.*/\1/p')
exec env $here "$@"
