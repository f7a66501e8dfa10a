/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/comm.h"

#include "base/config.h"
#include "base/log.h"
#include "mpi/datatype.h"
#include "mpi/device.h"
#include "mpi/parts.h"
#include "mpi/progress.h"
#include "mpi/reduction.h"
#include "mpi/report.h"
#include "mpi/self.h"
#include "select/tuning.h"

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

static sb_status_t exchange(void *context, const void *mine, void *all, size_t bytes)
{
    sb_comm_t *comm = context;
    int error = sb_host.Allgather(mine, (int)bytes, sb_host.byte, all, (int)bytes, sb_host.byte,
                                  comm->comm);

    return error == MPI_SUCCESS ? SB_OK : SB_ERR_BOOTSTRAP;
}

static void progress(void *context)
{
    sb_comm_t *comm = context;

    sb_progress(&comm->comm);
}

/* A rank may wait for ranks that have turned away from a communicator that one of them revoked. */
static sb_status_t check(void *context)
{
    sb_comm_t *comm = context;
    int revoked = 0;

    if (sb_host.is_revoked == NULL)
        return SB_OK;
    return sb_host.is_revoked(comm->comm, &revoked) == MPI_SUCCESS && revoked ? SB_ERR_REVOKED
                                                                              : SB_OK;
}

static sb_why_host_t why_refused(sb_status_t status, sb_refusal_t refusal)
{
    if (status != SB_ERR_UNSUPPORTED)
        return SB_WHY_SETUP_FAILED;
    switch (refusal) {
    case SB_REFUSAL_NODES:
        return SB_WHY_SPANS_NODES;
    case SB_REFUSAL_DISABLED:
        return SB_WHY_DISABLED;
    case SB_REFUSAL_FRONT:
        return SB_WHY_DEVICE_MEMORY;
    default:
        return SB_WHY_NO_SHARED_MEMORY;
    }
}

/* Said once: it is the same for every communicator of the job. */
static void complain(sb_comm_t *comm, const sb_reason_t *reason)
{
    static atomic_flag said = ATOMIC_FLAG_INIT;

    if (comm->why != SB_WHY_NO_SHARED_MEMORY || comm->rank != 0)
        return;
    if (!atomic_flag_test_and_set_explicit(&said, memory_order_relaxed))
        sb_log_once("shared memory not available (%s); calls go to the host MPI", reason->text);
}

/* Said once, like the above: an algorithm that was asked for by name cannot serve. */
static void tell_refused(sb_comm_t *comm)
{
    static atomic_flag said = ATOMIC_FLAG_INIT;
    const sb_choice_t *choice = sb_planned(&comm->plan, SB_BARRIER, 0);

    if (choice->refused == NULL || comm->rank != 0)
        return;
    if (!atomic_flag_test_and_set_explicit(&said, memory_order_relaxed))
        sb_log_once("%s: %s cannot serve a communicator of %d ranks (%s); using %s",
                    (comm->plan.ruled & (1u << SB_BARRIER)) != 0 ? "SOBOR_TUNING"
                                                                 : "SOBOR_BARRIER_ALGORITHM",
                    choice->refused->name, comm->size, choice->reason, choice->algorithm->name);
}

/* This process may be the only one to object: that is agreed with the rest of the set-up. */
static uint32_t objection(const sb_comm_t *comm)
{
    return comm->room == NULL || comm->reduction_room == NULL ? 1 : sb_device_objection();
}

static void make_team(sb_comm_t *comm)
{
    comm->room = sb_parts_room_new(comm->size);
    comm->reduction_room = sb_reduction_room_new(comm->size);
    sb_front_t front = {.context = comm,
                        .allgather = exchange,
                        .progress = progress,
                        .check = check,
                        .objection = objection(comm),
                        .rules = sb_tuning_self()};
    sb_refusal_t refusal;
    sb_reason_t reason;
    sb_status_t status = sb_team_create(&comm->team, &front, (uint32_t)comm->rank,
                                        (uint32_t)comm->size, &refusal, &reason);

    /* A host's allgather may return while what it sent still needs the receiver's progress; the
     * receiver may turn to something that makes none, such as MPI_Comm_spawn. Nobody leaves before
     * everybody's exchange is complete. */
    if (status != SB_ERR_MEMORY)
        sb_host.Barrier(comm->comm);
    if (status != SB_OK) {
        comm->why = why_refused(status, refusal);
        if (status == SB_ERR_MEMORY)
            sb_host.Comm_call_errhandler(comm->comm, MPI_ERR_NO_MEM);
        complain(comm, &reason);
        return;
    }
    sb_shape_t shape = sb_team_shape(comm->team);
    sb_plan_start(&comm->plan, &shape, &comm->team->settings);
    tell_refused(comm);
    sb_report_team(comm);
}

static bool translate_all(MPI_Group group, MPI_Group world, int size)
{
    bool all = true;

    /* One by one: a buffer that this rank alone could not have would make it decide by itself. */
    for (int here = 0; all && here < size; here++) {
        int there;
        all = sb_host.Group_translate_ranks(group, 1, &here, world, &there) == MPI_SUCCESS &&
              there != MPI_UNDEFINED;
    }
    return all;
}

/*
 * Whether all members were started together with this process. Processes that were spawned, or that
 * have connected, may run without Sobor, and would not take part in its set-up. Every member of
 * such a communicator finds one that is foreign to it, so all decide alike.
 */
static bool are_of_one_world(MPI_Comm comm, int size)
{
    MPI_Group group, world;

    if (comm == sb_host.comm_world || !sb_world_is_open())
        return true;
    sb_host.Comm_group(comm, &group);
    sb_host.Comm_group(sb_host.comm_world, &world);
    bool all = translate_all(group, world, size);
    sb_host.Group_free(&group);
    sb_host.Group_free(&world);
    return all;
}

static void survey(sb_comm_t *comm)
{
    int inter = 0;

    sb_host.Comm_rank(comm->comm, &comm->rank);
    sb_host.Comm_size(comm->comm, &comm->size);
    sb_host.Comm_test_inter(comm->comm, &inter);
    if (inter)
        comm->why = SB_WHY_INTERCOMMUNICATOR;
    else if (comm->size == 1)
        comm->why = SB_WHY_SIZE_1;
    else if (!are_of_one_world(comm->comm, comm->size))
        comm->why = SB_WHY_FOREIGN_RANKS;
    else
        make_team(comm);
}

static sb_comm_t *make(MPI_Comm handle)
{
    sb_comm_t *comm = take_record();

    if (comm == NULL)
        return NULL;
    comm->comm = handle;
    survey(comm);
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
