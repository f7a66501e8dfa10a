/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/windows.h"

#include <pthread.h>

atomic_uint_fast32_t sb_windows;

static int keyval = MPI_KEYVAL_INVALID;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Windows are not duplicated. */
static int copy_nothing(MPI_Win window, int key, void *extra, void *in, void *out, int *flag)
{
    (void)window;
    (void)key;
    (void)extra;
    (void)in;
    (void)out;
    *flag = 0;
    return MPI_SUCCESS;
}

/* However the window ends: by the program's MPI_Win_free in any language, or in a callback. */
static int uncount(MPI_Win window, int key, void *attribute, void *extra)
{
    (void)window;
    (void)key;
    (void)attribute;
    (void)extra;
    /* Relaxed, as in sb_has_windows(). */
    atomic_fetch_sub_explicit(&sb_windows, 1, memory_order_relaxed);
    return MPI_SUCCESS;
}

static void make_keyval(void)
{
    if (sb_host.Win_create_keyval(copy_nothing, uncount, &keyval, NULL) != MPI_SUCCESS)
        keyval = MPI_KEYVAL_INVALID;
}

void sb_windows_count(MPI_Win window, MPI_Comm comm)
{
    int size = 0;

    if (sb_host.Comm_size(comm, &size) == MPI_SUCCESS && size == 1)
        return;
    pthread_once(&once, make_keyval);
    if (keyval == MPI_KEYVAL_INVALID)
        return;
    atomic_fetch_add_explicit(&sb_windows, 1, memory_order_relaxed);
    if (sb_host.Win_set_attr(window, keyval, NULL) != MPI_SUCCESS)
        atomic_fetch_sub_explicit(&sb_windows, 1, memory_order_relaxed);
}
