/* SPDX-License-Identifier: BSD-3-Clause */
/* The root may leave before anyone has come, and does as it likes with its buffer at once.
 * Receivers come late, each by its own time, and must still find every message whole. */
#include "moving.h"

#include <stdlib.h>
#include <string.h>

enum { ROW = 20, ROUNDS = 6 };

static void row(MPI_Comm comm, size_t bytes, int root, uint64_t seed)
{
    unsigned char *buffer = malloc(bytes);
    if (rank_of(comm) != root)
        sleep_ms((long)(mix(seed, (uint64_t)rank_of(comm)) % 12));
    for (int i = 0; i < ROW; i++) {
        uint64_t data = mix(seed, (uint64_t)i);
        fill(buffer, bytes, rank_of(comm) == root ? data : ~data);
        CALL(MPI_Bcast(buffer, (int)bytes, MPI_BYTE, root, comm));
        CHECK(mismatch(buffer, bytes, data) == bytes, "message %d of %zu bytes is wrong", i, bytes);
        memset(buffer, 0, bytes);
    }
    free(buffer);
}

/* The root's message tells the receivers that it has left, before they come at all. */
static void root_gone(MPI_Comm comm, int root)
{
    int token = 0;
    int value = 0;
    if (rank_of(comm) == root)
        value = 4711 + root;
    else
        sleep_ms(5);
    CALL(MPI_Bcast(&value, 1, MPI_INT, root, comm));
    CHECK(value == 4711 + root, "wrong value %d", value);
    for (int r = 0; rank_of(comm) == root && r < size_of(comm); r++)
        if (r != root)
            CALL(MPI_Send(&token, 1, MPI_INT, r, 9, comm));
    if (rank_of(comm) != root)
        CALL(MPI_Recv(&token, 1, MPI_INT, root, 9, comm, MPI_STATUS_IGNORE));
}

/* Between the root and all others, in this direction. */
static void pass_tokens(MPI_Comm comm, int root, bool send, bool to_others)
{
    int token = 0;
    bool is_root = rank_of(comm) == root;
    if (is_root != (send == to_others))
        return;
    for (int r = 0; r < size_of(comm); r++) {
        int other = is_root ? r : root;
        if (r == root || (!is_root && r != rank_of(comm)))
            continue;
        if (send)
            CALL(MPI_Send(&token, 1, MPI_INT, other, 8, comm));
        else
            CALL(MPI_Recv(&token, 1, MPI_INT, other, 8, comm, MPI_STATUS_IGNORE));
    }
}

/* So do ranks that scatter or gather a little: who sends does not wait for who receives, once the
 * function has been used on the communicator. */
static void parts_gone(MPI_Comm comm, enum moving which, int root, bool tokens)
{
    enum { PART = 100, RANKS_MOST = 64 };
    static unsigned char all[RANKS_MOST * PART], mine[PART];
    int counts[RANKS_MOST], places[RANKS_MOST];
    bool spread = which <= SCATTERV;
    for (int i = 0; i < size_of(comm); i++) {
        counts[i] = PART;
        places[i] = i * PART;
        fill(all + i * PART, PART, spread ? (uint64_t)(root + i) : 0);
    }
    struct side whole = {all, PART, counts, places, MPI_BYTE, NULL};
    struct side part = {mine, PART, counts, places, MPI_BYTE, NULL};
    fill(mine, PART, spread ? 0 : (uint64_t)(root + rank_of(comm)));
    if (tokens)
        pass_tokens(comm, root, false, spread);
    CALL(moving_call(which, PROGRAM, spread ? &whole : &part, spread ? &part : &whole, root, comm));
    if (tokens)
        pass_tokens(comm, root, true, spread);
    if (spread)
        CHECK(mismatch(mine, PART, (uint64_t)(root + rank_of(comm))) == PART, "scattered wrongly");
    for (int i = 0; !spread && rank_of(comm) == root && i < size_of(comm); i++)
        CHECK(mismatch(all + i * PART, PART, (uint64_t)(root + i)) == PART, "gathered wrongly");
}

int main(int argc, char **argv)
{
    static const size_t SIZES[] = {1, 8, 100, 1000, 5000, 40000, 300000};
    test_begin(&argc, &argv);
    moving_begin();
    int size = size_of(MPI_COMM_WORLD);
    for (int round = 0; round < ROUNDS; round++)
        for (size_t s = 0; s < sizeof SIZES / sizeof *SIZES; s++) {
            row(MPI_COMM_WORLD, SIZES[s], round % size, mix((uint64_t)round, s));
            root_gone(MPI_COMM_WORLD, (round + 1) % size);
        }
    for (int round = 0; round < 20 * size; round++)
        for (int which = SCATTER; which <= GATHERV; which++)
            parts_gone(MPI_COMM_WORLD, (enum moving)which, round % size, round > 0);
    return test_end();
}
