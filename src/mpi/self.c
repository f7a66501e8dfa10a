/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/self.h"

#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t in_use = PTHREAD_MUTEX_INITIALIZER;
static MPI_Comm self;
static enum { NOT_MADE, MADE, GONE } state;

bool sb_world_is_open(void)
{
    int initialized = 0, finalized = 0;

    sb_host.Initialized(&initialized);
    sb_host.Finalized(&finalized);
    return initialized && !finalized;
}

MPI_Comm sb_private_self(void)
{
    pthread_mutex_lock(&lock);
    if (state == NOT_MADE && sb_world_is_open() &&
        sb_host.Comm_dup(sb_host.comm_self, &self) == MPI_SUCCESS) {
        sb_host.Comm_set_errhandler(self, sb_host.errors_return);
        state = MADE;
    }
    MPI_Comm result = state == MADE ? self : sb_host.comm_null;
    pthread_mutex_unlock(&lock);
    return result;
}

MPI_Comm sb_private_self_take(void)
{
    MPI_Comm comm = sb_private_self();

    if (comm != sb_host.comm_null)
        pthread_mutex_lock(&in_use);
    return comm;
}

void sb_private_self_give(void)
{
    pthread_mutex_unlock(&in_use);
}

void sb_private_self_free(void)
{
    pthread_mutex_lock(&lock);
    if (state == MADE)
        sb_host.Comm_free(&self);
    state = GONE;
    pthread_mutex_unlock(&lock);
}
