/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MPI_SELF_H
#define SB_MPI_SELF_H

#include "mpi/host.h"

/*
 * A communicator of this rank alone that is our own and returns errors; made at the first call. The
 * null communicator where the host has no MPI_COMM_SELF now (sessions; after MPI_Finalize).
 */
MPI_Comm sb_private_self(void);

/*
 * The same for messages and collective calls, which several threads must not make on one
 * communicator at a time: nobody else has it until it is given back. Not the null communicator, it
 * has to be given back.
 */
MPI_Comm sb_private_self_take(void);
void sb_private_self_give(void);

/* Whether MPI_COMM_WORLD and MPI_COMM_SELF may be used now. */
bool sb_world_is_open(void);

/*
 * Whether the host raises an error if both buffers of this collective begin at one address; found
 * out once for each, of one element and of more: Open MPI's allreduce looks at those alone. MPI
 * forbids it. Some hosts look for that, MPICH and its relatives; others do not, and often give the
 * result that was meant. With Sobor it has to be as with the host alone: an error at the rank that
 * is wrong, before it waits for anybody, or a call that is served.
 */
bool sb_alias_is_error(sb_collective_t collective, int64_t count);

/*
 * Whether the host lets no elements pass with this type, which is of no use, or with this buffer:
 * in a broadcast, or of one rank in an alltoallw. MPI knows no such calls. MPICH and its relatives
 * take the null type there, and others; programs give it where nothing is exchanged, other ranks
 * give another: a call that is wrong nowhere has to be served on all ranks or on none, and counted.
 */
bool sb_nothing_passes(sb_collective_t collective, void *buffer, MPI_Datatype type);

/* Errors on this communicator are returned to who calls, from now on. */
bool sb_return_errors(MPI_Comm comm);

/* The copy function of attributes that duplicates of their communicator do not have. */
int sb_attribute_stays(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag);

/* Has `end` called, if it can, when the host's MPI_Finalize begins, with the attributes of
 * MPI_COMM_SELF, which are deleted before anything else: ours, which is the first, after those of
 * the program. */
bool sb_self_ends_by(void (*end)(void));

/* Frees it, and hands out the null communicator from then on. */
void sb_private_self_free(void);

#endif
