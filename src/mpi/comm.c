/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/comm.h"

#include "mpi/datatype.h"
#include "mpi/parts.h"
#include "mpi/progress.h"
#include "mpi/reduction.h"
#include "mpi/report.h"
#include "mpi/setup.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define CACHED_COMMS 1024 /* a power of two */

/* By handle; a record is found here or by its attribute. */
static _Atomic(sb_comm_t *) cache[CACHED_COMMS];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sb_comm_t *records; /* all, free ones too: a record is never given back */
static int keyval = MPI_KEYVAL_INVALID;
static pthread_once_t once = PTHREAD_ONCE_INIT;

const char *sb_why_host_name(sb_why_host_t why)
{
    static const char *const names[SB_WHY_COUNT] = {
        [SB_WHY_NONE] = "-",
        [SB_WHY_INTERCOMMUNICATOR] = "intercommunicator",
        [SB_WHY_SIZE_1] = "size-1",
        [SB_WHY_FOREIGN_RANKS] = "foreign-ranks",
        [SB_WHY_DISABLED] = "disabled",
        [SB_WHY_SPANS_NODES] = "spans-nodes",
        [SB_WHY_NO_SHARED_MEMORY] = "no-shared-memory",
        [SB_WHY_DEVICE_MEMORY] = "device-memory",
        [SB_WHY_SETUP_FAILED] = "setup-failed",
        [SB_WHY_ALGORITHM] = "algorithm-host",
        [SB_WHY_NO_RING] = "no-ring",
        [SB_WHY_ARGUMENTS] = "arguments",
        [SB_WHY_OPERATOR] = "operator",
    };

    return names[why];
}

static _Atomic(sb_comm_t *) *cache_entry(MPI_Comm comm)
{
    uint64_t bits = (uint64_t)SB_HANDLE_BITS(comm) * 0x9e3779b97f4a7c15u;

    return &cache[(bits >> 32) % CACHED_COMMS];
}

sb_comm_t *sb_comm_known(MPI_Comm comm)
{
    /* Acquire: pairs with the store in remember(). */
    sb_comm_t *found = atomic_load_explicit(cache_entry(comm), memory_order_acquire);

    /* Relaxed: if the handles agree the record is this thread's own communicator, made or found by
     * it before, or by a thread that it has synchronised with since. */
    if (SB_LIKELY(found != NULL && atomic_load_explicit(&found->handle, memory_order_relaxed) ==
                                       SB_HANDLE_BITS(comm)))
        return found;
    return NULL;
}

static void remember(sb_comm_t *comm)
{
    /* Release: pairs with the load in sb_comm_known(). */
    atomic_store_explicit(cache_entry(comm->comm), comm, memory_order_release);
}

static int copy_nothing(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    (void)comm;
    (void)key;
    (void)extra;
    (void)in;
    (void)out;
    *flag = 0;
    return MPI_SUCCESS;
}

static int delete_attribute(MPI_Comm comm, int key, void *record, void *extra)
{
    (void)comm;
    (void)key;
    (void)extra;
    sb_comm_end(record);
    return MPI_SUCCESS;
}

static void start(void)
{
    if (sb_host.Comm_create_keyval(copy_nothing, delete_attribute, &keyval, NULL) != MPI_SUCCESS)
        keyval = MPI_KEYVAL_INVALID;
    sb_types_start();
    sb_operations_start();
    sb_progress_start();
}

/* A record that is in no communicator's use, zeroed. */
static sb_comm_t *take_record(void)
{
    pthread_mutex_lock(&lock);
    sb_comm_t *record = records;
    /* Acquire: pairs with the store in sb_comm_end(). */
    while (record != NULL && atomic_load_explicit(&record->handle, memory_order_acquire) != 0)
        record = record->next;
    if (record == NULL) {
        record = calloc(1, sizeof *record);
        if (record != NULL) {
            record->next = records;
            records = record;
        }
    } else {
        sb_comm_t *next = record->next;
        memset(record, 0, sizeof *record);
        record->next = next;
    }
    if (record != NULL) /* taken: any number but 0 and a handle */
        atomic_store_explicit(&record->handle, UINTPTR_MAX, memory_order_relaxed);
    pthread_mutex_unlock(&lock);
    return record;
}

static sb_comm_t *make(MPI_Comm handle)
{
    sb_comm_t *comm = take_record();

    if (comm == NULL)
        return NULL;
    comm->comm = handle;
    sb_comm_setup(comm);
    /* Relaxed: see sb_comm_known(); others read it only to compare. */
    atomic_store_explicit(&comm->handle, SB_HANDLE_BITS(handle), memory_order_relaxed);
    sb_host.Comm_set_attr(handle, keyval, comm);
    remember(comm);
    return comm;
}

bool sb_comm_start(void)
{
    pthread_once(&once, start);
    return keyval != MPI_KEYVAL_INVALID;
}

sb_comm_t *sb_comm_get(MPI_Comm handle)
{
    sb_comm_t *comm = sb_comm_known(handle);
    int found = 0;

    if (SB_LIKELY(comm != NULL))
        return comm;
    if (handle == sb_host.comm_null || !sb_comm_start())
        return NULL;
    if (sb_host.Comm_get_attr(handle, keyval, &comm, &found) != MPI_SUCCESS)
        return NULL;
    if (!found)
        return make(handle);
    remember(comm);
    return comm;
}

void sb_comm_end(sb_comm_t *comm)
{
    sb_comm_t *expected = comm;

    /* Relaxed: only this thread may use the communicator that ends. */
    atomic_compare_exchange_strong_explicit(cache_entry(comm->comm), &expected, NULL,
                                            memory_order_relaxed, memory_order_relaxed);
    sb_report_end(comm);
    if (comm->team != NULL)
        sb_team_destroy(comm->team);
    sb_parts_room_free(comm->room);
    sb_reduction_room_free(comm->reduction_room);
    comm->team = NULL;
    comm->room = NULL;
    comm->reduction_room = NULL;
    /* Release: pairs with the load in take_record(). */
    atomic_store_explicit(&comm->handle, 0, memory_order_release);
}

void sb_comm_visit(void (*visit)(sb_comm_t *comm))
{
    pthread_mutex_lock(&lock);
    for (sb_comm_t *comm = records; comm != NULL; comm = comm->next) {
        if (atomic_load_explicit(&comm->handle, memory_order_acquire) != 0)
            visit(comm);
    }
    pthread_mutex_unlock(&lock);
}
