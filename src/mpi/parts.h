/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MPI_PARTS_H
#define SB_MPI_PARTS_H

#include "mpi/comm.h"
#include "mpi/datatype.h"

#include <string.h>

/*
 * The calls that move parts of data between ranks: scatter, gather, allgather, alltoall and their
 * variants. Each function turns its arguments into an sb_parts_call_t; one function for each
 * collective then says which of them count at this rank, and what the choice of an algorithm
 * follows from (sb_parts_rules_t); the rest is the same for all.
 *
 * What goes to the host is found out before any array is read, but for wrong arguments. These go
 * to the host too, so that it raises its own error. That the buffers of a call overlap, which MPI
 * forbids, is noticed as far as the host would notice it (alias.h), and no further: a rank that
 * asked the host about it alone would hang where the host does not check.
 */

/* Counts or displacements: of int, or of 64 bits in the functions for large counts. */
typedef struct sb_numbers {
    const void *at;
    bool large;
} sb_numbers_t;

#define SB_SMALL(array) ((sb_numbers_t){(array), false})
#define SB_LARGE(array) ((sb_numbers_t){(array), true})

static inline int64_t sb_number(const sb_numbers_t *numbers, int i)
{
    int64_t value;

    if (!numbers->large)
        return ((const int *)numbers->at)[i];
    memcpy(&value, (const char *)numbers->at + (size_t)i * sizeof value, sizeof value);
    return value;
}

/* How the parts of a side are given. */
typedef enum sb_parts_kind {
    SB_PARTS_EQUAL,   /* one count; each part behind the one before */
    SB_PARTS_VARYING, /* counts; displacements by the type's extent */
    SB_PARTS_TYPED,   /* counts, types; displacements in bytes */
} sb_parts_kind_t;

/* What a rank sends or receives, as it gave it. */
typedef struct sb_side {
    sb_parts_kind_t kind;
    void *buffer;
    MPI_Datatype type;
    const MPI_Datatype *types;
    int64_t count;
    sb_numbers_t counts;
    sb_numbers_t places;
    int parts; /* set by the rules: that count at this rank; 0: the arguments are insignificant */
} sb_side_t;

static inline sb_side_t sb_equal_parts(const void *buffer, MPI_Count count, MPI_Datatype type)
{
    return (sb_side_t){
        .kind = SB_PARTS_EQUAL, .buffer = (void *)(uintptr_t)buffer, .type = type, .count = count};
}

static inline sb_side_t sb_varying_parts(const void *buffer, sb_numbers_t counts,
                                         sb_numbers_t places, MPI_Datatype type)
{
    return (sb_side_t){.kind = SB_PARTS_VARYING,
                       .buffer = (void *)(uintptr_t)buffer,
                       .type = type,
                       .counts = counts,
                       .places = places};
}

static inline sb_side_t sb_typed_parts(const void *buffer, sb_numbers_t counts, sb_numbers_t places,
                                       const MPI_Datatype *types)
{
    return (sb_side_t){.kind = SB_PARTS_TYPED,
                       .buffer = (void *)(uintptr_t)buffer,
                       .types = types,
                       .counts = counts,
                       .places = places};
}

typedef struct sb_parts_call sb_parts_call_t;

typedef struct sb_parts_rules {
    sb_collective_t collective;
    bool rooted;
    bool regular; /* all parts are of one size, which all members know */
    bool counted; /* all members are given the sizes of all parts that each receives */
    /*
     * Sets which parts of each side count at this rank, whether MPI_IN_PLACE keeps its own part
     * where it is, and `known`. Returns false if the host has to judge the arguments. Reads no
     * array.
     */
    bool (*judge)(sb_parts_call_t *call, int rank, int size);
} sb_parts_rules_t;

struct sb_parts_call {
    const sb_parts_rules_t *rules;
    MPI_Comm handle;
    int root;
    sb_side_t send;
    sb_side_t receive;
    /* Set by the rules: */
    bool in_place;
    size_t known; /* packed bytes of one part, as all members know it; 0: they do not know it */
};

/*
 * For the rules. The side keeps `parts` parts, unless it is MPI_IN_PLACE: then it has none, and the
 * call is in place. Returns false if that is not `allowed` here.
 */
bool sb_parts_keep(sb_parts_call_t *call, sb_side_t *side, int parts, bool allowed);

/* For the rules: one part's packed bytes, of a side whose parts are equal, are known to all. */
bool sb_parts_know(sb_parts_call_t *call, const sb_side_t *side);

/* Returns false if the call is the host's; else the call's result is in *result. */
bool sb_parts_serve(sb_parts_call_t *call, int *result);

/* The room in which a communicator's calls lay out their parts. NULL: no memory. */
sb_parts_room_t *sb_parts_room_new(int size);
void sb_parts_room_free(sb_parts_room_t *room); /* NULL is fine */

#endif
