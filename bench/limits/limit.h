/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What two processes can reach: the best simple loops over private buffers and a shared segment,
 * without MPI and without anything that a library has to do. Each direction has a ring of chunks
 * and two counts of bytes, given and taken. Chunks are written by ordinary stores (memcpy), which
 * go round in what a core's own cache holds or in so much that lines have left it before they are
 * written again, or by non-temporal ones. Short messages of the first form go through slots, each
 * with its number on its first line, so that one of a line costs no other. Who only gives leaves as
 * soon as it has written; it waits only where it would write over what was not taken yet. Where
 * each can read the other's buffers there is one more form, without rings: each says where its data
 * is, reads the other's there, and leaves when its own was read.
 */
#ifndef SOBOR_BENCH_LIMIT_H
#define SOBOR_BENCH_LIMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum limit_form { LIMIT_ORDINARY, LIMIT_WIDE, LIMIT_NON_TEMPORAL, LIMIT_DIRECT, LIMIT_FORMS };

extern const char *const limit_forms[LIMIT_FORMS];

enum limit_element { LIMIT_BYTE, LIMIT_FLOAT, LIMIT_DOUBLE };

/* Shared by both processes. */
struct limit_segment;

extern const size_t limit_segment_bytes;

/* Before any process has a view of it, and again before both begin with new ones. */
void limit_begin(struct limit_segment *segment);

/* One process's view; `rank` is 0 or 1. */
struct limit {
    struct limit_segment *segment;
    int rank;
    enum limit_form form;
    /* Where the other's bytes can be read, for the direct form. */
    const void *(*reach)(uint64_t address, size_t bytes);
    bool halves;    /* and sums: each combines one half, and reads the other's */
    uint64_t calls; /* of that form */
    uint64_t given; /* bytes so far, by this rank */
    uint64_t taken;
    uint64_t freed; /* of those given, as last seen */
    uint64_t sent;  /* short messages so far, by this rank */
    uint64_t received;
    uint64_t emptied; /* of those sent, as last seen */
    uint64_t met;     /* barriers */
};

void limit_barrier(struct limit *limit);
void limit_broadcast(struct limit *limit, void *buffer, size_t bytes, int root);

/* `bytes` of each rank; the root has those of both in the order of ranks. */
void limit_gather(struct limit *limit, const void *send, void *receive, size_t bytes, int root);
void limit_scatter(struct limit *limit, const void *send, void *receive, size_t bytes, int root);

/* The same, of which every rank has both. */
void limit_allgather(struct limit *limit, const void *send, void *receive, size_t bytes);
void limit_alltoall(struct limit *limit, const void *send, void *receive, size_t bytes);

/* Sums; the first one at the root alone. */
void limit_reduce(struct limit *limit, const void *send, void *receive, size_t bytes,
                  enum limit_element element, int root);
void limit_allreduce(struct limit *limit, const void *send, void *receive, size_t bytes,
                     enum limit_element element);

#endif
