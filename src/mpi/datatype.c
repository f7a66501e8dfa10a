/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/datatype.h"

#include "base/lines.h"
#include "mpi/contents.h"
#include "mpi/self.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static int keyval = MPI_KEYVAL_INVALID;

/* Types are described by one thread at a time; looking one up needs no lock. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The description as an attribute; it holds its layout. NULL: no memory. */
static sb_type_t *keep(const sb_type_t *description)
{
    sb_type_t *kept = malloc(sizeof *kept);

    if (kept == NULL)
        return NULL;
    *kept = *description;
    if (kept->layout != NULL)
        sb_layout_hold(kept->layout);
    return kept;
}

static void drop(sb_type_t *kept)
{
    if (kept != NULL)
        sb_layout_release(kept->layout);
    free(kept);
}

/* ---- handles that are known to be good ---- */

/*
 * A handle that is none must not be asked for its attribute: such a function has no communicator,
 * and hosts raise its error on MPI_COMM_WORLD, which ends the job, whatever the program has set for
 * the communicator of its call. Here are the handles that have our attribute. The host tells of
 * their end. Of another it is asked first whether it is good, also of one that found no room.
 *
 * All relaxed: nothing else is handed over, and what a thread finds of a handle that it was given
 * is as new as that.
 */
#define WAYS (SB_LINE / sizeof(uintptr_t))
#define SETS 64 /* a power of two */

static _Alignas(SB_LINE) _Atomic uintptr_t good[SETS][WAYS];

static _Atomic uintptr_t *set_of(MPI_Datatype type)
{
    return good[sb_hash(SB_HANDLE_BITS(type)) % SETS];
}

/* NULL: the set does not hold it. */
static _Atomic uintptr_t *find_in(_Atomic uintptr_t *set, uintptr_t handle)
{
    for (size_t i = 0; i < WAYS; i++) {
        if (atomic_load_explicit(&set[i], memory_order_relaxed) == handle)
            return &set[i];
    }
    return NULL;
}

static bool is_good(MPI_Datatype type)
{
    return SB_HANDLE_BITS(type) != 0 && find_in(set_of(type), SB_HANDLE_BITS(type)) != NULL;
}

/* With the lock held, so that a handle is there once: leaving takes it from one place. */
static void enter(MPI_Datatype type)
{
    _Atomic uintptr_t *set = set_of(type), *place = find_in(set, 0);

    if (!is_good(type))
        atomic_store_explicit(place == NULL ? set : place, SB_HANDLE_BITS(type),
                              memory_order_relaxed);
}

/* Perhaps while another is entered there, which is asked about once more then. */
static void leave(MPI_Datatype type)
{
    _Atomic uintptr_t *place = find_in(set_of(type), SB_HANDLE_BITS(type));

    if (place != NULL)
        atomic_store_explicit(place, 0, memory_order_relaxed);
}

/* ---- attributes ---- */

static int forget(MPI_Datatype type, int key, void *description, void *extra)
{
    (void)key;
    (void)extra;
    leave(type);
    drop(description);
    return MPI_SUCCESS;
}

/* A duplicate is described as its original. */
static int copy(MPI_Datatype type, int key, void *extra, void *in, void *out, int *flag)
{
    sb_type_t *kept = keep(in);

    (void)type;
    (void)key;
    (void)extra;
    *(sb_type_t **)out = kept;
    *flag = kept != NULL;
    return MPI_SUCCESS;
}

void sb_types_start(void)
{
    sb_predefined_start();
    if (sb_host.Type_create_keyval(copy, forget, &keyval, NULL) != MPI_SUCCESS)
        keyval = MPI_KEYVAL_INVALID;
}

/* The host's own check, in a broadcast to nobody, which moves nothing. Of no elements at all MPICH
 * would not ask the type. */
static bool is_usable(MPI_Datatype type)
{
    MPI_Comm self = sb_private_self_take();
    char nothing[1];

    if (self == sb_host.comm_null)
        return true;
    int error = sb_host.Bcast(nothing, 1, type, 0, self);
    sb_private_self_give();
    return error == MPI_SUCCESS;
}

static bool find_kept(MPI_Datatype type, sb_type_t *description)
{
    sb_type_t *kept = NULL;
    int found = 0;

    if (keyval == MPI_KEYVAL_INVALID ||
        sb_host.Type_get_attr(type, keyval, &kept, &found) != MPI_SUCCESS || !found)
        return false;
    *description = *kept;
    return true;
}

/* Describes a derived type and attaches the description. Where that fails, the host has to pack. */
static bool describe_derived(MPI_Datatype type, sb_type_t *description)
{
    MPI_Count size = 0;
    MPI_Aint lower, extent;

    if (sb_host.Type_size_x(type, &size) != MPI_SUCCESS || size < 0 ||
        sb_host.Type_get_extent(type, &lower, &extent) != MPI_SUCCESS)
        return false;
    sb_layout_t *layout = sb_contents_layout(type);
    *description = (sb_type_t){
        .size = (size_t)size,
        .extent = extent,
        .contiguous =
            layout != NULL && sb_layout_is_one_run(layout) && extent == size && layout->low == 0,
        .layout = layout,
    };
    sb_type_t *kept = keyval == MPI_KEYVAL_INVALID ? NULL : keep(description);
    if (kept == NULL || sb_host.Type_set_attr(type, keyval, kept) != MPI_SUCCESS) {
        drop(kept);
        description->layout = NULL;
    } else {
        enter(type);
    }
    sb_layout_release(layout);
    return true;
}

static bool describe_permanent(MPI_Datatype type, sb_type_t *description)
{
    const sb_type_t *known = sb_predefined_add(type);

    if (known == NULL)
        return false;
    *description = *known;
    return true;
}

/* A duplicate has its original's description from the beginning; or another thread was faster. */
static bool find_or_describe(MPI_Datatype type, sb_type_t *description)
{
    if (!find_kept(type, description))
        return describe_derived(type, description);
    enter(type);
    return true;
}

static bool describe_new(MPI_Datatype type, sb_type_t *description)
{
    bool done = false;

    pthread_mutex_lock(&lock);
    if (is_usable(type))
        done = sb_type_is_permanent(type) ? describe_permanent(type, description)
                                          : find_or_describe(type, description);
    pthread_mutex_unlock(&lock);
    return done;
}

bool sb_type_recall(MPI_Datatype type, sb_type_t *description)
{
    return is_good(type) && find_kept(type, description);
}

bool sb_type_describe(MPI_Datatype type, sb_type_t *description)
{
    const sb_type_t *known = sb_predefined_find(type);

    if (SB_LIKELY(known != NULL)) {
        *description = *known;
        return true;
    }
    if (type == sb_host.datatype_null)
        return false;
    return sb_type_recall(type, description) || describe_new(type, description);
}

bool sb_type_begins_at_buffer(MPI_Datatype type, const sb_type_t *is)
{
    MPI_Aint lowest, extent;

    if (is->contiguous || is->group != SB_GROUP_NONE)
        return true;
    if (is->layout != NULL)
        return is->layout->low == 0;
    return sb_host.Type_get_true_extent(type, &lowest, &extent) == MPI_SUCCESS && lowest == 0;
}

int sb_make_large_type(MPI_Count count, MPI_Datatype type, MPI_Datatype *large)
{
    const MPI_Count unit = (MPI_Count)1 << 30;
    MPI_Aint lower, extent;
    MPI_Datatype all, parts[2] = {type, type};
    int lengths[2] = {(int)(count / unit), (int)(count % unit)};

    /* Bytes are our own choice, and need no message of this rank to itself. */
    if (type != sb_host.byte && !is_usable(type))
        return MPI_ERR_TYPE;
    int error = sb_host.Type_get_extent(type, &lower, &extent);

    if (error == MPI_SUCCESS)
        error = sb_host.Type_contiguous((int)unit, type, &parts[0]);
    if (error != MPI_SUCCESS)
        return error;
    MPI_Aint places[2] = {0, (MPI_Aint)(count / unit * unit) * extent};
    error = sb_host.Type_create_struct(2, lengths, places, parts, &all);
    if (error == MPI_SUCCESS) {
        /* A structure may be padded; several of these must lie as close as their elements. */
        error = sb_host.Type_create_resized(all, lower, (MPI_Aint)count * extent, large);
        sb_host.Type_free(&all);
    }
    if (error == MPI_SUCCESS)
        error = sb_host.Type_commit(large);
    sb_host.Type_free(&parts[0]);
    return error;
}
