/* SPDX-License-Identifier: BSD-3-Clause */
/* On the last rank Sobor gets no memory in a call. The call returns an error there, on a
 * communicator that is to return errors, and does not become the host's: the others would be in
 * another of the host's calls.
 *
 * usage: no_memory record|set-up|trial */
#define _GNU_SOURCE
#include "support.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_memalign(size_t, size_t);

static bool armed;

/* Whether the one who asks, at this place, gets none. */
static bool is_refused(const void *place)
{
    Dl_info object;
    if (!armed || dladdr(place, &object) == 0)
        return false;
    const char *slash = strrchr(object.dli_fname, '/');
    return strncmp(slash == NULL ? object.dli_fname : slash + 1, "sobor-", 6) == 0;
}

void *malloc(size_t bytes)
{
    return is_refused(__builtin_return_address(0)) ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    return is_refused(__builtin_return_address(0)) ? NULL : __libc_calloc(count, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return is_refused(__builtin_return_address(0)) ? NULL : __libc_memalign(alignment, bytes);
}

static int call(MPI_Comm comm)
{
    int value = rank_of(comm), last = size_of(comm) - 1;
    int result = MPI_Bcast(&value, 1, MPI_INT, last, comm);
    CHECK(result != MPI_SUCCESS || value == last, "received %d", value);
    return result;
}

static void fail(MPI_Comm comm, bool for_good)
{
    int class = MPI_SUCCESS;
    armed = true;
    int result = call(comm);
    armed = false;
    MPI_Error_class(result, &class);
    CHECK(class == MPI_ERR_NO_MEM, "class %d", class);
    if (!for_good)
        return;
    MPI_Error_class(call(comm), &class);
    CHECK(class == MPI_ERR_NO_MEM, "then class %d", class);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    bool record = strcmp(what, "record") == 0;
    int before = record ? 0 : strcmp(what, "set-up") == 0 ? 1 : 2;
    MPI_Comm comm;
    test_begin(&argc, &argv);
    CALL(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    CALL(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    for (int i = 0; i < before; i++)
        CALL(call(comm));
    int rank = rank_of(comm), last = size_of(comm) - 1;
    if (rank == last)
        fail(comm, !record);
    /* The others wait until it is known. */
    if (rank < last)
        CALL(MPI_Recv(NULL, 0, MPI_BYTE, last, 1, comm, MPI_STATUS_IGNORE));
    for (int to = 0; rank == last && to < last; to++)
        CALL(MPI_Send(NULL, 0, MPI_BYTE, to, 1, comm));
    if (record)
        CALL(call(comm));
    CALL(MPI_Comm_free(&comm));
    return test_end();
}
