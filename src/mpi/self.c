/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/self.h"

#include <pthread.h>
#include <stdatomic.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t in_use = PTHREAD_MUTEX_INITIALIZER;
static MPI_Comm self;
static bool is_shared; /* by threads that call at once: else nobody is to be kept away */
enum { NOT_MADE, MADE, GONE };
static _Atomic int state;

bool sb_world_is_open(void)
{
    int initialized = 0, finalized = 0;

    sb_host.Initialized(&initialized);
    sb_host.Finalized(&finalized);
    return initialized && !finalized;
}

#if defined(SB_ABI_MPIABI1)
/* Intel's library has MPI_ERRORS_RETURN and MPI_ERRORS_ABORT the other way round than MPICH's
 * header, of which the back end is made. MPI says which of them files have at first: the former. */
static MPI_Errhandler errors_return(void)
{
    MPI_Errhandler found, returned = sb_host.errors_return;

    if (sb_host.File_get_errhandler(MPI_FILE_NULL, &found) != MPI_SUCCESS)
        return returned;
    if (found == MPI_ERRORS_ABORT)
        returned = found;
    sb_host.Errhandler_free(&found);
    return returned;
}
#else
static MPI_Errhandler errors_return(void)
{
    return sb_host.errors_return;
}
#endif

bool sb_return_errors(MPI_Comm comm)
{
    return sb_host.Comm_set_errhandler(comm, errors_return()) == MPI_SUCCESS;
}

static bool is_made(void)
{
    /* Acquire: pairs with the store in make_self(), behind which all about it stays as it is. */
    return atomic_load_explicit(&state, memory_order_acquire) == MADE;
}

/* Under the lock. */
static void make_self(void)
{
    int threads = MPI_THREAD_MULTIPLE;

    self = sb_host_comm_like(sb_host.comm_self);
    if (self == sb_host.comm_null)
        return;
    sb_return_errors(self);
    sb_host.Query_thread(&threads);
    is_shared = threads == MPI_THREAD_MULTIPLE;
    atomic_store_explicit(&state, MADE, memory_order_release);
}

MPI_Comm sb_private_self(void)
{
    if (SB_LIKELY(is_made()))
        return self;
    pthread_mutex_lock(&lock);
    /* Relaxed: it changes under the lock alone. */
    if (atomic_load_explicit(&state, memory_order_relaxed) == NOT_MADE && sb_world_is_open())
        make_self();
    MPI_Comm result = is_made() ? self : sb_host.comm_null;
    pthread_mutex_unlock(&lock);
    return result;
}

MPI_Comm sb_private_self_take(void)
{
    MPI_Comm comm = sb_private_self();

    if (comm != sb_host.comm_null && is_shared)
        pthread_mutex_lock(&in_use);
    return comm;
}

void sb_private_self_give(void)
{
    if (is_shared)
        pthread_mutex_unlock(&in_use);
}

static void (*at_end)(void);

int sb_attribute_stays(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    (void)comm;
    (void)key;
    (void)extra;
    (void)in;
    (void)out;
    *flag = 0;
    return MPI_SUCCESS;
}

static int delete_attribute(MPI_Comm comm, int key, void *attribute, void *extra)
{
    (void)comm;
    (void)key;
    (void)attribute;
    (void)extra;
    at_end();
    return MPI_SUCCESS;
}

bool sb_self_ends_by(void (*end)(void))
{
    int keyval;

    at_end = end;
    return sb_host.Comm_create_keyval(sb_attribute_stays, delete_attribute, &keyval, NULL) ==
               MPI_SUCCESS &&
           sb_host.Comm_set_attr(sb_host.comm_self, keyval, NULL) == MPI_SUCCESS;
}

void sb_private_self_free(void)
{
    pthread_mutex_lock(&lock);
    bool made = is_made();
    /* Relaxed: nothing is handed over with it. */
    atomic_store_explicit(&state, GONE, memory_order_relaxed);
    if (made)
        sb_host.Comm_free(&self);
    pthread_mutex_unlock(&lock);
}

/* What the host does is asked of it: on a communicator of this rank alone such a call does nothing
 * but raise the error, or move a byte or two to where they are. */
static int try_on_self(sb_collective_t collective, int count, MPI_Comm own)
{
    char bytes[2] = {0};
    int place = 0;
    sb_given_t given = {count, sb_host.byte, &count, &place, &sb_host.byte};

    return collective < SB_REDUCE
               ? sb_host_vector(collective, bytes, &given, bytes, &given, 0, own)
               : sb_host_reduction(collective, bytes, bytes, &given, MPI_BOR, 0, own);
}

bool sb_alias_is_error(sb_collective_t collective, int64_t count)
{
    enum { UNKNOWN, NO_ERROR, ERROR };
    static _Atomic char found[SB_COLLECTIVES][2];
    _Atomic char *known = &found[collective][count > 1];
    /* Relaxed: whoever asks at the same time finds the same, and nothing else is handed over. */
    char answer = atomic_load_explicit(known, memory_order_relaxed);

    if (answer != UNKNOWN)
        return answer == ERROR;
    MPI_Comm own = sb_private_self_take();
    if (own == sb_host.comm_null)
        return false;
    answer = try_on_self(collective, count > 1 ? 2 : 1, own) == MPI_SUCCESS ? NO_ERROR : ERROR;
    sb_private_self_give();
    atomic_store_explicit(known, answer, memory_order_relaxed);
    return answer == ERROR;
}

/* Of a call of no elements hosts look at little; they are asked with what it was given. */
static bool ask_of_nothing(sb_collective_t collective, void *buffer, MPI_Datatype type)
{
    MPI_Comm own = sb_private_self_take();
    char bytes[2] = {0};
    int none = 0, place = 0;
    sb_given_t given = {0, type, &none, &place, &type};

    if (own == sb_host.comm_null)
        return false;
    int error = collective == SB_BCAST
                    ? sb_host.Bcast(buffer, 0, type, 0, own)
                    : sb_host_vector(collective, &bytes[0], &given, &bytes[1], &given, 0, own);
    sb_private_self_give();
    return error == MPI_SUCCESS;
}

bool sb_nothing_passes(sb_collective_t collective, void *buffer, MPI_Datatype type)
{
    enum { UNKNOWN, ERROR, PASSES };
    static _Atomic char known[SB_COLLECTIVES];

    if (type != sb_host.datatype_null || buffer == MPI_IN_PLACE)
        return ask_of_nothing(collective, buffer, type);
    /* Relaxed, as above. */
    char answer = atomic_load_explicit(&known[collective], memory_order_relaxed);
    if (answer != UNKNOWN)
        return answer == PASSES;
    if (sb_private_self() == sb_host.comm_null)
        return false; /* asked again when there is one */
    answer = ask_of_nothing(collective, buffer, type) ? PASSES : ERROR;
    atomic_store_explicit(&known[collective], answer, memory_order_relaxed);
    return answer == PASSES;
}
