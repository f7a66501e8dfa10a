/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MPI_HOST_H
#define SB_MPI_HOST_H

#include "base/collectives.h"
#include "base/compiler.h"
#include "mpi/abi.h"

#include <stdatomic.h>
#include <stdbool.h>

/*
 * The parameters of the functions of collectives.def, with counts of `count_t` and displacements of
 * `place_t`. A side of a vector collective has the buffer `out` or `in`; what else it has begins
 * with that name.
 */
#define SB_TAKES_EQUAL(side, count_t, place_t) count_t side##_count, MPI_Datatype side##_type
#define SB_TAKES_VARYING(side, count_t, place_t)                                                   \
    const count_t side##_counts[], const place_t side##_places[], MPI_Datatype side##_type
#define SB_TAKES_TYPED(side, count_t, place_t)                                                     \
    const count_t side##_counts[], const place_t side##_places[], const MPI_Datatype side##_types[]
#define SB_COUNTS_EQUAL(count_t) count_t count
#define SB_COUNTS_VARYING(count_t) const count_t counts[]
#define SB_TAKES_ROOTED int root,
#define SB_TAKES_ROOTLESS
#define SB_TAKES_MESSAGE(count_t, place_t, rooted)                                                 \
    (void *buffer, count_t count, MPI_Datatype type, SB_TAKES_##rooted MPI_Comm handle)
#define SB_TAKES_VECTOR(count_t, place_t, sends, out_how, receives, in_how, rooted)                \
    (const void *out, SB_TAKES_##out_how(out, count_t, place_t), void *in,                         \
     SB_TAKES_##in_how(in, count_t, place_t), SB_TAKES_##rooted MPI_Comm handle)
#define SB_TAKES_REDUCTION(count_t, place_t, how, rooted)                                          \
    (const void *out, void *in, SB_COUNTS_##how(count_t), MPI_Datatype type, MPI_Op op,            \
     SB_TAKES_##rooted MPI_Comm handle)

/* The same as arguments. */
#define SB_GIVES_EQUAL(side) side##_count, side##_type
#define SB_GIVES_VARYING(side) side##_counts, side##_places, side##_type
#define SB_GIVES_TYPED(side) side##_counts, side##_places, side##_types
#define SB_GIVES_COUNTS_EQUAL count
#define SB_GIVES_COUNTS_VARYING counts
#define SB_GIVES_ROOTED root,
#define SB_GIVES_ROOTLESS
#define SB_GIVES_MESSAGE(rooted) (buffer, count, type, SB_GIVES_##rooted handle)
#define SB_GIVES_VECTOR(sends, out_how, receives, in_how, rooted)                                  \
    (out, SB_GIVES_##out_how(out), in, SB_GIVES_##in_how(in), SB_GIVES_##rooted handle)
#define SB_GIVES_REDUCTION(how, rooted)                                                            \
    (out, in, SB_GIVES_COUNTS_##how, type, op, SB_GIVES_##rooted handle)

/*
 * The host MPI: its own functions, taken from its library by handle, never through the names that
 * Sobor stands in for.
 */
typedef struct sb_host {
#define SB_HOST(name) __typeof__(&PMPI_##name) name;
#define SB_HOST_OBJECT(type, name, handle) type name;
#define SB_COLLECTIVE(kind, enumerator, name, ...)                                                 \
    __typeof__(&PMPI_##name) name;                                                                 \
    int(*name##_c) SB_TAKES_##kind(MPI_Count, MPI_Aint, __VA_ARGS__); /* NULL: it has none */
#include "mpi/host.def"
    /* What only some hosts have; NULL elsewhere. */
    int (*Type_get_envelope_c)(MPI_Datatype, MPI_Count *integers, MPI_Count *addresses,
                               MPI_Count *counts, MPI_Count *types, int *combiner);
    int (*Type_get_contents_c)(MPI_Datatype, MPI_Count integers, MPI_Count addresses,
                               MPI_Count counts, MPI_Count types, int *, MPI_Aint *, MPI_Count *,
                               MPI_Datatype *);
    int (*Win_create_c)(void *, MPI_Aint size, MPI_Aint unit, MPI_Info, MPI_Comm, MPI_Win *);
    int (*Win_allocate_c)(MPI_Aint size, MPI_Aint unit, MPI_Info, MPI_Comm, void *, MPI_Win *);
    int (*Win_allocate_shared_c)(MPI_Aint size, MPI_Aint unit, MPI_Info, MPI_Comm, void *,
                                 MPI_Win *);
    int (*is_revoked)(MPI_Comm, int *);
    int (*test_threadcomm)(MPI_Comm, int *);
    int (*revoke)(MPI_Comm);
    const bool *fault_tolerance; /* whether it is on */
    int class_proc_failed;       /* MPI_SUCCESS: the host has no such class of errors */
    int class_revoked;
    void (*opal_progress)(void);
    bool (*opal_set_yield)(bool); /* returns the value before */
    int (*cuda_support)(void);    /* NULL too: the host knows no such memory */
    int (*rocm_support)(void);
    const void *ze_component;
    int (*device_kind_support)(int kind, int *supported);
} sb_host_t;

extern sb_host_t sb_host;

/* Fills sb_host. Returns false if the library lacks a function of this ABI. */
bool sb_host_open(void *libmpi);

/* What a function of the host takes of a side: which of these follows from the function. */
typedef struct sb_given {
    int count;
    MPI_Datatype type;
    int *counts;
    int *places;
    const MPI_Datatype *types;
} sb_given_t;

/* What the host calls itself. By the thread that calls MPI_Init, or before any other does. */
const char *sb_host_version(void);

/* Whether communicators may be revoked: the host has fault tolerance, and it is on. */
bool sb_host_revokes(void);

/*
 * Another communicator of the same ranks, without the attributes of the given one: what its
 * callbacks do is the user's business. Collective. The null communicator: the host makes none.
 */
MPI_Comm sb_host_comm_like(MPI_Comm comm);

/* The host's function for this collective: of those that move blocks, and of the reductions. */
int sb_host_vector(sb_collective_t collective, const void *from, const sb_given_t *out, void *to,
                   const sb_given_t *in, int root, MPI_Comm comm);
int sb_host_reduction(sb_collective_t collective, const void *from, void *to,
                      const sb_given_t *given, MPI_Op op, int root, MPI_Comm comm);

/*
 * Verdicts by call site, so that asking costs one look. An entry is the return address, shifted up
 * by one, with the verdict in its lowest bit; two threads that fill one entry write whole words.
 */
#define SB_CALL_SITES 1024 /* a power of two */

#define SB_VERDICT_ON(site) (&sb_host_verdicts[sb_hash(site) % SB_CALL_SITES])

extern _Atomic uint64_t sb_host_verdicts[SB_CALL_SITES];

/* Fills the entry of a call site. */
bool sb_host_judge(uint64_t site);

/* Whether who called there is the host MPI itself (its library or one of its plug-ins), and not the
 * user's program or a language binding. */
static inline bool sb_host_calls_from(uint64_t site)
{
    /* Relaxed: an entry is complete in itself. */
    uint64_t verdict = atomic_load_explicit(SB_VERDICT_ON(site), memory_order_relaxed);

    return SB_UNLIKELY(verdict != site << 1) && (verdict == (site << 1 | 1) || sb_host_judge(site));
}

/* Return address of the function that uses it: who called. */
#define SB_CALLER() __builtin_return_address(0)

#endif
