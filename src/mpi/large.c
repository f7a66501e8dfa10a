/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/large.h"

#include "mpi/datatype.h"

#include <limits.h>
#include <stdlib.h>

/* A count and its type for a function whose counts are int. */
typedef struct small {
    int count;
    MPI_Datatype type;
    bool made; /* the type is one of ours */
} small_t;

/* Counts and displacements for such a function. */
typedef struct smalls {
    int *counts;
    int *places;
} smalls_t;

/*
 * More than an int counts become one element of a type that holds them all, which has the same
 * signature. What is insignificant is left as it is.
 */
static int shrink(bool counts, MPI_Count count, MPI_Datatype type, small_t *small)
{
    *small = (small_t){count < 0 ? -1 : 0, type, false};
    if (!counts)
        return MPI_SUCCESS;
    if (count <= INT_MAX) {
        small->count = count < 0 ? -1 : (int)count;
        return MPI_SUCCESS;
    }
    int error = sb_make_large_type(count, type, &small->type);
    small->made = error == MPI_SUCCESS;
    small->count = 1;
    return error;
}

static void release(small_t *small)
{
    if (small->made)
        sb_host.Type_free(&small->type);
}

/*
 * Arrays of large counts cannot be told to such a host where a number does not fit: that is an
 * error, as it is in language bindings that stand in for the missing functions.
 */
static int narrow(int n, const MPI_Count *counts, const MPI_Aint *places, smalls_t *smalls)
{
    *smalls = (smalls_t){NULL, NULL};
    if (n == 0 || counts == NULL || places == NULL)
        return MPI_SUCCESS;
    smalls->counts = malloc((size_t)n * sizeof *smalls->counts);
    smalls->places = malloc((size_t)n * sizeof *smalls->places);
    if (smalls->counts == NULL || smalls->places == NULL)
        return MPI_ERR_NO_MEM;
    for (int i = 0; i < n; i++) {
        if (counts[i] > INT_MAX || places[i] > INT_MAX || places[i] < INT_MIN)
            return MPI_ERR_COUNT;
        smalls->counts[i] = counts[i] < 0 ? -1 : (int)counts[i];
        smalls->places[i] = (int)places[i];
    }
    return MPI_SUCCESS;
}

static void discard(smalls_t *smalls)
{
    free(smalls->counts);
    free(smalls->places);
}

/* The first error, raised on the user's error handler. */
static int judge(MPI_Comm comm, int out_error, int in_error)
{
    int error = out_error != MPI_SUCCESS ? out_error : in_error;

    if (error != MPI_SUCCESS && comm != sb_host.comm_null)
        sb_host.Comm_call_errhandler(comm, error);
    return error;
}

/* The ranks that a collective's arrays speak of, and whether this rank is its root. */
static int members(MPI_Comm comm)
{
    int inter = 0, size = 0;

    if (comm == sb_host.comm_null || sb_host.Comm_test_inter(comm, &inter) != MPI_SUCCESS)
        return 0;
    if (inter)
        sb_host.Comm_remote_size(comm, &size);
    else
        sb_host.Comm_size(comm, &size);
    return size;
}

static bool is_root(MPI_Comm comm, int root)
{
    int inter = 0, rank = -1;

    if (comm == sb_host.comm_null || sb_host.Comm_test_inter(comm, &inter) != MPI_SUCCESS)
        return false;
    if (inter)
        return root == MPI_ROOT;
    sb_host.Comm_rank(comm, &rank);
    return rank == root;
}

int sb_host_scatter_c(const void *out, MPI_Count out_count, MPI_Datatype out_type, void *in,
                      MPI_Count in_count, MPI_Datatype in_type, int root, MPI_Comm comm)
{
    if (sb_host.scatter_c != NULL)
        return sb_host.scatter_c(out, out_count, out_type, in, in_count, in_type, root, comm);
    small_t out_small;
    small_t in_small;
    int out_error = shrink(is_root(comm, root), out_count, out_type, &out_small);
    int in_error = shrink(in != MPI_IN_PLACE, in_count, in_type, &in_small);
    int error = judge(comm, out_error, in_error);
    if (error == MPI_SUCCESS)
        error = sb_host.Scatter(out, out_small.count, out_small.type, in, in_small.count,
                                in_small.type, root, comm);
    release(&out_small);
    release(&in_small);
    return error;
}

int sb_host_scatterv_c(const void *out, const MPI_Count out_counts[], const MPI_Aint out_places[],
                       MPI_Datatype out_type, void *in, MPI_Count in_count, MPI_Datatype in_type,
                       int root, MPI_Comm comm)
{
    if (sb_host.scatterv_c != NULL)
        return sb_host.scatterv_c(out, out_counts, out_places, out_type, in, in_count, in_type,
                                  root, comm);
    smalls_t out_small;
    small_t in_small;
    int out_error =
        narrow(is_root(comm, root) ? members(comm) : 0, out_counts, out_places, &out_small);
    int in_error = shrink(in != MPI_IN_PLACE, in_count, in_type, &in_small);
    int error = judge(comm, out_error, in_error);
    if (error == MPI_SUCCESS)
        error = sb_host.Scatterv(out, out_small.counts, out_small.places, out_type, in,
                                 in_small.count, in_small.type, root, comm);
    discard(&out_small);
    release(&in_small);
    return error;
}

int sb_host_gather_c(const void *out, MPI_Count out_count, MPI_Datatype out_type, void *in,
                     MPI_Count in_count, MPI_Datatype in_type, int root, MPI_Comm comm)
{
    if (sb_host.gather_c != NULL)
        return sb_host.gather_c(out, out_count, out_type, in, in_count, in_type, root, comm);
    small_t out_small;
    small_t in_small;
    int out_error = shrink(out != MPI_IN_PLACE, out_count, out_type, &out_small);
    int in_error = shrink(is_root(comm, root), in_count, in_type, &in_small);
    int error = judge(comm, out_error, in_error);
    if (error == MPI_SUCCESS)
        error = sb_host.Gather(out, out_small.count, out_small.type, in, in_small.count,
                               in_small.type, root, comm);
    release(&out_small);
    release(&in_small);
    return error;
}

int sb_host_gatherv_c(const void *out, MPI_Count out_count, MPI_Datatype out_type, void *in,
                      const MPI_Count in_counts[], const MPI_Aint in_places[], MPI_Datatype in_type,
                      int root, MPI_Comm comm)
{
    if (sb_host.gatherv_c != NULL)
        return sb_host.gatherv_c(out, out_count, out_type, in, in_counts, in_places, in_type, root,
                                 comm);
    small_t out_small;
    smalls_t in_small;
    int out_error = shrink(out != MPI_IN_PLACE, out_count, out_type, &out_small);
    int in_error = narrow(is_root(comm, root) ? members(comm) : 0, in_counts, in_places, &in_small);
    int error = judge(comm, out_error, in_error);
    if (error == MPI_SUCCESS)
        error = sb_host.Gatherv(out, out_small.count, out_small.type, in, in_small.counts,
                                in_small.places, in_type, root, comm);
    release(&out_small);
    discard(&in_small);
    return error;
}

int sb_host_allgather_c(const void *out, MPI_Count out_count, MPI_Datatype out_type, void *in,
                        MPI_Count in_count, MPI_Datatype in_type, MPI_Comm comm)
{
    if (sb_host.allgather_c != NULL)
        return sb_host.allgather_c(out, out_count, out_type, in, in_count, in_type, comm);
    small_t out_small;
    small_t in_small;
    int out_error = shrink(out != MPI_IN_PLACE, out_count, out_type, &out_small);
    int in_error = shrink(in != MPI_IN_PLACE, in_count, in_type, &in_small);
    int error = judge(comm, out_error, in_error);
    if (error == MPI_SUCCESS)
        error = sb_host.Allgather(out, out_small.count, out_small.type, in, in_small.count,
                                  in_small.type, comm);
    release(&out_small);
    release(&in_small);
    return error;
}

int sb_host_allgatherv_c(const void *out, MPI_Count out_count, MPI_Datatype out_type, void *in,
                         const MPI_Count in_counts[], const MPI_Aint in_places[],
                         MPI_Datatype in_type, MPI_Comm comm)
{
    if (sb_host.allgatherv_c != NULL)
        return sb_host.allgatherv_c(out, out_count, out_type, in, in_counts, in_places, in_type,
                                    comm);
    small_t out_small;
    smalls_t in_small;
    int out_error = shrink(out != MPI_IN_PLACE, out_count, out_type, &out_small);
    int in_error = narrow(in != MPI_IN_PLACE ? members(comm) : 0, in_counts, in_places, &in_small);
    int error = judge(comm, out_error, in_error);
    if (error == MPI_SUCCESS)
        error = sb_host.Allgatherv(out, out_small.count, out_small.type, in, in_small.counts,
                                   in_small.places, in_type, comm);
    release(&out_small);
    discard(&in_small);
    return error;
}

int sb_host_alltoall_c(const void *out, MPI_Count out_count, MPI_Datatype out_type, void *in,
                       MPI_Count in_count, MPI_Datatype in_type, MPI_Comm comm)
{
    if (sb_host.alltoall_c != NULL)
        return sb_host.alltoall_c(out, out_count, out_type, in, in_count, in_type, comm);
    small_t out_small;
    small_t in_small;
    int out_error = shrink(out != MPI_IN_PLACE, out_count, out_type, &out_small);
    int in_error = shrink(in != MPI_IN_PLACE, in_count, in_type, &in_small);
    int error = judge(comm, out_error, in_error);
    if (error == MPI_SUCCESS)
        error = sb_host.Alltoall(out, out_small.count, out_small.type, in, in_small.count,
                                 in_small.type, comm);
    release(&out_small);
    release(&in_small);
    return error;
}

int sb_host_alltoallv_c(const void *out, const MPI_Count out_counts[], const MPI_Aint out_places[],
                        MPI_Datatype out_type, void *in, const MPI_Count in_counts[],
                        const MPI_Aint in_places[], MPI_Datatype in_type, MPI_Comm comm)
{
    if (sb_host.alltoallv_c != NULL)
        return sb_host.alltoallv_c(out, out_counts, out_places, out_type, in, in_counts, in_places,
                                   in_type, comm);
    smalls_t out_small;
    smalls_t in_small;
    int out_error =
        narrow(out != MPI_IN_PLACE ? members(comm) : 0, out_counts, out_places, &out_small);
    int in_error = narrow(in != MPI_IN_PLACE ? members(comm) : 0, in_counts, in_places, &in_small);
    int error = judge(comm, out_error, in_error);
    if (error == MPI_SUCCESS)
        error = sb_host.Alltoallv(out, out_small.counts, out_small.places, out_type, in,
                                  in_small.counts, in_small.places, in_type, comm);
    discard(&out_small);
    discard(&in_small);
    return error;
}

int sb_host_alltoallw_c(const void *out, const MPI_Count out_counts[], const MPI_Aint out_places[],
                        const MPI_Datatype out_types[], void *in, const MPI_Count in_counts[],
                        const MPI_Aint in_places[], const MPI_Datatype in_types[], MPI_Comm comm)
{
    if (sb_host.alltoallw_c != NULL)
        return sb_host.alltoallw_c(out, out_counts, out_places, out_types, in, in_counts, in_places,
                                   in_types, comm);
    smalls_t out_small;
    smalls_t in_small;
    int out_error =
        narrow(out != MPI_IN_PLACE ? members(comm) : 0, out_counts, out_places, &out_small);
    int in_error = narrow(in != MPI_IN_PLACE ? members(comm) : 0, in_counts, in_places, &in_small);
    int error = judge(comm, out_error, in_error);
    if (error == MPI_SUCCESS)
        error = sb_host.Alltoallw(out, out_small.counts, out_small.places, out_types, in,
                                  in_small.counts, in_small.places, in_types, comm);
    discard(&out_small);
    discard(&in_small);
    return error;
}
