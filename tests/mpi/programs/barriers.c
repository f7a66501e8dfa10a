/* SPDX-License-Identifier: BSD-3-Clause */
/* Barriers with random delays over random communicators that come and go. Before each barrier a
 * member notes its number; behind it all members must have noted it: nobody leaves early.
 *
 * usage: barriers [BARRIERS [SEED]]; 1000000 barriers are the long run. */
#include "support.h"

#include <stdlib.h>
#include <string.h>

enum { ALIVE = 6, LIFE = 400 };

/* A communicator of the ranks that drew the same colour, and who they are. */
struct part {
    MPI_Comm comm;
    int *members;
    int size;
};

static void make_part(struct part *part, uint64_t *common)
{
    int size = size_of(MPI_COMM_WORLD), rank = rank_of(MPI_COMM_WORLD);
    size_t colours = 1 + random_below(common, 3), mine = 0;
    size_t *colour = calloc((size_t)size, sizeof *colour);
    part->members = malloc((size_t)size * sizeof *part->members);
    CHECK(colour != NULL && part->members != NULL, "no memory");
    for (int i = 0; i < size; i++)
        colour[i] = random_below(common, colours);
    mine = colour[rank];
    part->size = 0;
    for (int i = 0; i < size; i++)
        if (colour[i] == mine)
            part->members[part->size++] = i;
    CALL(MPI_Comm_split(MPI_COMM_WORLD, (int)mine, rank, &part->comm));
    CHECK(size_of(part->comm) == part->size, "%d members", size_of(part->comm));
    free(colour);
}

static void end_part(struct part *part)
{
    CALL(MPI_Comm_free(&part->comm));
    free(part->members);
}

static void dawdle(uint64_t *own)
{
    size_t kind = random_below(own, 400);
    volatile size_t idle = kind < 100 ? 20 * kind : 0;
    while (idle > 0)
        idle = idle - 1;
    if (kind == 399)
        sleep_ms(1);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    uint64_t barriers = argc > 1 ? strtoull(argv[1], NULL, 10) : 20000;
    uint64_t common = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    uint64_t own = mix(common, (uint64_t)rank_of(MPI_COMM_WORLD) + 1);
    struct part parts[ALIVE];
    watch_begin();
    for (int i = 0; i < ALIVE; i++)
        make_part(&parts[i], &common);
    for (uint64_t tick = 1; tick <= barriers; tick++) {
        struct part *part = &parts[random_below(&common, ALIVE)];
        if (tick % LIFE == 0) {
            end_part(part);
            make_part(part, &common);
        }
        dawdle(&own);
        watched_barrier(part->comm, part->members, part->size, tick);
    }
    for (int i = 0; i < ALIVE; i++)
        end_part(&parts[i]);
    watch_end();
    return test_end();
}
