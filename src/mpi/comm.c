/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/comm.h"

#include "mpi/operator.h"
#include "mpi/progress.h"
#include "mpi/self.h"
#include "mpi/world.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

_Atomic(sb_comm_t *) sb_comm_chains[SB_COMM_CHAINS];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sb_comm_t *records;      /* all, free ones too: a record is never given back */
static sb_comm_t *free_records; /* of these, those in no communicator's use */
static uint64_t generations;
static int keyval = MPI_KEYVAL_INVALID;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* All with the lock held. Relaxed: records are chained under it. */

static sb_comm_t *first_of(MPI_Comm handle)
{
    return atomic_load_explicit(SB_COMM_CHAIN(handle), memory_order_relaxed);
}

static void put_first(sb_comm_t *comm)
{
    comm->next_chained = first_of(comm->comm);
    /* Release: pairs with the load in sb_comm_seen(). */
    atomic_store_explicit(SB_COMM_CHAIN(comm->comm), comm, memory_order_release);
}

static void unchain(sb_comm_t *comm)
{
    sb_comm_t *before = first_of(comm->comm);

    if (before == comm) {
        atomic_store_explicit(SB_COMM_CHAIN(comm->comm), comm->next_chained, memory_order_relaxed);
        return;
    }
    while (before->next_chained != comm)
        before = before->next_chained;
    before->next_chained = comm->next_chained;
}

/* The attribute: a record, and which of its uses is meant. */
typedef struct sb_use {
    sb_comm_t *record;
    uint64_t generation;
} use_t;

/* Takes the record from the communicator, if this use of it is not over yet. 0: of no use. */
static bool take_away(sb_comm_t *comm, uint64_t generation)
{
    pthread_mutex_lock(&lock);
    bool live = generation != 0 && comm->generation == generation;
    if (live) {
        comm->generation = 0;
        if (!comm->leaving)
            unchain(comm);
        /* Relaxed: who compares the handle has a communicator of its own. */
        atomic_store_explicit(&comm->handle, 0, memory_order_relaxed);
    }
    pthread_mutex_unlock(&lock);
    return live;
}

static void give_back(sb_comm_t *comm)
{
    pthread_mutex_lock(&lock);
    comm->next_chained = free_records;
    free_records = comm;
    pthread_mutex_unlock(&lock);
}

/* One may be under way, where an error handler frees the communicator. */
static void free_trials(sb_comm_t *comm)
{
    comm->trial = NULL;
    while (comm->trials != NULL) {
        sb_tried_t *next = comm->trials->next;
        free(comm->trials);
        comm->trials = next;
    }
}

static void end(sb_comm_t *comm, uint64_t generation)
{
    if (!take_away(comm, generation))
        return;
    sb_report_end(&comm->usage);
    if (sb_server_exists(&comm->server)) {
        free_trials(comm);
        sb_plan_end(comm->plan);
    }
    if (comm->server.team != NULL)
        sb_team_destroy(comm->server.team);
    if (comm->server.cluster != NULL)
        comm->leave_cluster(comm);
    sb_scratch_free(comm->scratch);
    free(comm->plan);
    give_back(comm);
}

static int delete_attribute(MPI_Comm comm, int key, void *attribute, void *extra)
{
    use_t *use = attribute;

    (void)comm;
    (void)key;
    (void)extra;
    end(use->record, use->generation);
    free(use);
    return MPI_SUCCESS;
}

static void start(void)
{
    if (sb_host.Comm_create_keyval(sb_attribute_stays, delete_attribute, &keyval, NULL) !=
        MPI_SUCCESS)
        keyval = MPI_KEYVAL_INVALID;
    sb_report_start();
    sb_types_start();
    sb_operations_start();
    sb_progress_start();
}

/* A record for this communicator, zeroed but for that. NULL: no memory. */
static sb_comm_t *take_record(MPI_Comm handle)
{
    pthread_mutex_lock(&lock);
    sb_comm_t *record = free_records, *next = records;
    if (record != NULL) {
        free_records = record->next_chained;
        next = record->next;
    } else {
        record = sb_alloc_lines(sizeof *record);
        records = record == NULL ? records : record;
    }
    if (record != NULL) {
        *record = (sb_comm_t){
            .next = next, .comm = handle, .generation = ++generations, .near = {record, record}};
        /* Relaxed: others read it only to compare. */
        atomic_store_explicit(&record->handle, SB_HANDLE_BITS(handle), memory_order_relaxed);
        put_first(record);
    }
    pthread_mutex_unlock(&lock);
    return record;
}

/* Fills the record with what this rank knows by itself. */
static void survey(sb_comm_t *comm, bool inter)
{
    sb_host.Comm_rank(comm->comm, &comm->rank);
    sb_host.Comm_size(comm->comm, &comm->size);
    if (inter)
        comm->why = SB_WHY_INTERCOMMUNICATOR;
    else if (comm->size == 1)
        comm->why = SB_WHY_SIZE_1;
    if (comm->why == SB_WHY_NONE)
        sb_count_calls(comm);
    comm->usage.comm = comm->comm;
    comm->usage.rank = comm->rank;
    comm->usage.size = comm->size;
    sb_report_begin(&comm->usage);
    comm->timed = comm->usage.by_algorithm != NULL;
}

static sb_comm_t *make(MPI_Comm handle, bool inter)
{
    sb_comm_t *comm = take_record(handle);

    if (comm != NULL)
        survey(comm, inter);
    return comm;
}

void sb_comm_tie(sb_comm_t *comm)
{
    use_t *use = malloc(sizeof *use);

    if (use == NULL)
        return;
    *use = (use_t){comm, comm->generation};
    sb_host.Comm_set_attr(comm->comm, keyval, use);
}

sb_comm_t *sb_comm_find(MPI_Comm handle)
{
    pthread_mutex_lock(&lock);
    sb_comm_t *comm = first_of(handle);
    while (comm != NULL && comm->comm != handle)
        comm = comm->next_chained;
    if (comm != NULL) {
        unchain(comm);
        put_first(comm);
    }
    pthread_mutex_unlock(&lock);
    return comm;
}

/*
 * What this thread is freeing, linked by next_chained: a callback of one communicator's attribute
 * may free another. Such a callback may also make collective calls on its own communicator. They
 * are the host's on all ranks, whether the program's attribute or ours is deleted first. And they
 * leave no record behind, as nobody would tell of its end: the host soon gives the handle to
 * another communicator, not on every rank to the same one.
 *
 * The program's error handler may leave MPI_Comm_free for good, by longjmp or an exception, where
 * such a callback has refused: nobody tells of that. The communicator lives on then, on all ranks,
 * and so it stays here, and the host's, until it is freed after all.
 */
static _Thread_local sb_comm_t *being_freed;

/* The end of the list: it is not there. */
static sb_comm_t **place_among_freed(MPI_Comm handle)
{
    sb_comm_t **place = &being_freed;

    while (*place != NULL && (*place)->comm != handle)
        place = &(*place)->next_chained;
    return place;
}

/* Whether it is one, and of which kind. Else the host has raised that, and *result is what the call
 * has to return. MPICH 5 returns no error that a handler heard of, but answers nothing then. */
static bool is_communicator(MPI_Comm handle, bool *inter, int *result)
{
    int is_inter = -1;

    *result = sb_host.Comm_test_inter(handle, &is_inter);
    *inter = is_inter > 0;
    return *result == MPI_SUCCESS && is_inter >= 0;
}

/*
 * A communicator of threads, as MPICH has them (MPIX_Threadcomm_init): each thread of a process is
 * a rank of its own behind one handle, and none of the functions that end such a one is stood in
 * for. It has no record, and all its calls are the host's.
 */
static bool is_of_threads(MPI_Comm handle)
{
    int is = 0;

    return sb_host.test_threadcomm != NULL && sb_host.test_threadcomm(handle, &is) == MPI_SUCCESS &&
           is != 0;
}

/* What is the host's in any case is so from the first call on: its arguments are not looked at,
 * where there may be no communicator that returns the errors of what is none. */
static void judge_early(sb_comm_t *comm)
{
    if (comm->why != SB_WHY_NONE || !sb_world_goes_without())
        return;
    comm->why = SB_WHY_ABSENT;
    comm->open = comm->asking = 0;
}

bool sb_comm_get(MPI_Comm handle, sb_comm_t **comm, int *result)
{
    bool inter;

    *comm = NULL;
    if (handle == sb_host.comm_null)
        return true;
    *comm = sb_comm_find(handle);
    if (*comm != NULL || *place_among_freed(handle) != NULL)
        return true;
    sb_world_catch_up();
    /* Before our own communicators are made, which may get the handle of one that was freed. */
    if (!is_communicator(handle, &inter, result))
        return false;
    pthread_once(&once, start);
    if (keyval == MPI_KEYVAL_INVALID || is_of_threads(handle))
        return true;
    *comm = make(handle, inter);
    if (*comm != NULL) {
        judge_early(*comm);
        return true;
    }
    /* This rank would go its own way, and the others would wait for it in the set-up. */
    *result = MPI_ERR_NO_MEM;
    sb_host.Comm_call_errhandler(handle, *result);
    return false;
}

/*
 * Takes our attribute away, and leaves its record alone. Where a callback of the program refuses,
 * some hosts do not come to the other attributes, and some return what the last one's callback
 * said: the communicator would live on, with its record on some ranks and without on others, or be
 * freed though the program was not done with it.
 */
static void untie(const sb_comm_t *comm)
{
    use_t *use;
    int found = 0;

    if (sb_server_exists(&comm->server) &&
        sb_host.Comm_get_attr(comm->comm, keyval, &use, &found) == MPI_SUCCESS && found) {
        use->generation = 0;
        sb_host.Comm_delete_attr(comm->comm, keyval);
    }
}

/* Takes the record out of its chain while the host frees the communicator, or puts it back. False:
 * it has ended, or that was done before. */
static bool set_leaving(sb_comm_t *comm, uint64_t generation, bool leaving)
{
    pthread_mutex_lock(&lock);
    bool changes = comm->generation == generation && comm->leaving != leaving;
    if (changes) {
        comm->leaving = leaving;
        if (leaving)
            unchain(comm);
        else
            put_first(comm);
    }
    pthread_mutex_unlock(&lock);
    return changes;
}

/* The host has not freed it. */
static void keep(sb_comm_t *comm, uint64_t generation)
{
    if (set_leaving(comm, generation, false) && sb_server_exists(&comm->server))
        sb_comm_tie(comm);
}

/* Its record is among the freed, which it may have been before, as where a tool's function frees it
 * in turn by PMPI's. NULL: there is no memory for one. */
static sb_comm_t *begin_free(MPI_Comm handle, bool inter)
{
    sb_comm_t *comm = *place_among_freed(handle);

    if (comm != NULL)
        return comm;
    comm = sb_comm_find(handle);
    if (comm != NULL)
        sb_report_name(&comm->usage);
    else
        comm = make(handle, inter);
    if (comm == NULL)
        return NULL;
    set_leaving(comm, comm->generation, true);
    untie(comm);
    comm->next_chained = being_freed;
    being_freed = comm;
    return comm;
}

static void end_free(MPI_Comm handle)
{
    sb_comm_t **place = place_among_freed(handle);

    if (*place != NULL)
        *place = (*place)->next_chained;
}

static int free_recorded(MPI_Comm *handle, bool inter, int (*host_free)(MPI_Comm *))
{
    MPI_Comm freed = *handle;
    sb_comm_t *comm = begin_free(freed, inter);

    if (comm == NULL)
        return host_free(handle);
    uint64_t generation = comm->generation;
    int error = host_free(handle);
    end_free(freed);
    if (error == MPI_SUCCESS)
        end(comm, generation);
    else
        keep(comm, generation);
    return error;
}

int sb_comm_free(MPI_Comm *handle, int (*host_free)(MPI_Comm *))
{
    bool inter;
    int result;

    /* Nothing is noted of what the host refuses: a handler may not come back from there. */
    if (handle == NULL || *handle == sb_host.comm_null || *handle == sb_host.comm_world ||
        *handle == sb_host.comm_self)
        return host_free(handle);
    if (!is_communicator(*handle, &inter, &result))
        return result;
    return is_of_threads(*handle) ? host_free(handle) : free_recorded(handle, inter, host_free);
}

/* Some communicator that is served on several nodes; NULL: there is none. */
static sb_comm_t *find_spanning(uint64_t *generation)
{
    pthread_mutex_lock(&lock);
    sb_comm_t *comm = records;
    while (comm != NULL && (comm->generation == 0 || comm->server.cluster == NULL))
        comm = comm->next;
    *generation = comm == NULL ? 0 : comm->generation;
    pthread_mutex_unlock(&lock);
    return comm;
}

void sb_comm_finalize(void)
{
    uint64_t generation;

    for (sb_comm_t *comm; (comm = find_spanning(&generation)) != NULL;)
        end(comm, generation);
}

void sb_comm_totals(sb_usage_t *sum)
{
    sb_report_add_ended(sum);
    pthread_mutex_lock(&lock);
    for (const sb_comm_t *comm = records; comm != NULL; comm = comm->next) {
        if (comm->generation != 0)
            sb_report_add(sum, &comm->usage);
    }
    pthread_mutex_unlock(&lock);
}

void sb_comm_report(void)
{
    if (!sb_report_ended())
        return;
    pthread_mutex_lock(&lock);
    for (sb_comm_t *comm = records; comm != NULL; comm = comm->next) {
        if (comm->generation != 0)
            sb_report_live(&comm->usage);
        if (comm->generation != 0 && comm->usage.comm == sb_host.comm_world)
            sb_report_heap(&comm->usage);
    }
    pthread_mutex_unlock(&lock);
}
