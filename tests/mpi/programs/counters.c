/* SPDX-License-Identifier: BSD-3-Clause */
/* What Sobor says of its own calls: on MPI_COMM_WORLD, on MPI_COMM_SELF, and on a communicator that
 * has been freed. */
#include "support.h"

#include "../../../include/sobor/sobor.h"

#include <dlfcn.h>

int main(int argc, char **argv)
{
    int (*ask)(sobor_counters_t *) =
        (int (*)(sobor_counters_t *))dlsym(RTLD_DEFAULT, "sobor_counters");
    sobor_counters_t before = {0, 0, 0}, after;
    MPI_Comm copy;
    int number = 1;

    test_begin(&argc, &argv);
    int (*ask_node)(sobor_node_t *) = (int (*)(sobor_node_t *))dlsym(RTLD_DEFAULT, "sobor_node");
    sobor_node_t node = {0, 0, -1};
    CHECK(ask != NULL && ask_node != NULL, "nobody to ask");
    CHECK(ask_node(&node) == -1 && node.oversubscribed == -1, "an answer before the first call");
    CHECK(ask(&before) == 0, "no answer");
    for (int i = 0; i < 5; i++)
        CALL(MPI_Bcast(&number, 1, MPI_INT, 0, MPI_COMM_WORLD));
    CALL(MPI_Barrier(MPI_COMM_SELF));
    CALL(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
    CALL(MPI_Barrier(copy));
    CALL(MPI_Barrier(copy));
    CALL(MPI_Comm_free(&copy));
    CHECK(ask(&after) == 0, "no answer");
    CHECK(after.served - before.served == 5, "%llu served", after.served - before.served);
    CHECK(after.passed - before.passed == 3, "%llu passed", after.passed - before.passed);
    CHECK(after.bytes - before.bytes == 20, "%llu bytes", after.bytes - before.bytes);
    CHECK(ask_node(&node) == 0, "no answer");
    CHECK(node.ranks == (unsigned)size_of(MPI_COMM_WORLD), "%u ranks", node.ranks);
    CHECK(node.oversubscribed == (node.ranks > node.processors), "%u ranks on %u processors: %d",
          node.ranks, node.processors, node.oversubscribed);
    return test_end();
}
