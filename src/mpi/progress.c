/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Three ways, the cheapest that the host has:
 *   Open MPI exports its progress engine;
 *   elsewhere a test of a receive that never matches, on a private duplicate of MPI_COMM_SELF,
 * makes every host turn its engine (an empty test or a probe of MPI_COMM_SELF does not); without
 * MPI_COMM_SELF (sessions, or after MPI_Finalize) a probe of the team's communicator for a tag that
 * nobody is likely to use.
 *
 * MPICH may have several engines. A test turns that of its request, and all only now and then, if
 * at all. So there the team's communicator is probed too: its own engine is the one that the host's
 * call would turn.
 */
#include "mpi/progress.h"

#include "mpi/self.h"

#include <stdatomic.h>
#include <stdlib.h>

/* The largest tag that every MPI allows. */
#define UNLIKELY_TAG 32767

static MPI_Request never;
static char nothing[1];
static atomic_bool have_request;
static atomic_flag testing = ATOMIC_FLAG_INIT;

static bool opal_yields; /* what the user or the launcher has set */
static bool has_engines; /* more than one: MPICH's "virtual communication interfaces" */

/* MPICH's setting goes by several names. */
static bool is_told_of_engines(void)
{
    static const char *const names[] = {"MPIR_CVAR_CH4_NUM_VCIS", "MPIR_PARAM_CH4_NUM_VCIS",
                                        "MPICH_CH4_NUM_VCIS"};

    for (size_t i = 0; i < SB_COUNT_OF(names); i++) {
        const char *value = getenv(names[i]);
        if (value != NULL && strtol(value, NULL, 10) > 1)
            return true;
    }
    return false;
}

void sb_progress_start(void)
{
    if (sb_host.opal_set_yield != NULL) {
        opal_yields = sb_host.opal_set_yield(false);
        sb_host.opal_set_yield(opal_yields);
    }
    has_engines = is_told_of_engines();
    MPI_Comm self = sb_host.opal_progress != NULL ? sb_host.comm_null : sb_private_self();

    if (self == sb_host.comm_null)
        return;
    if (sb_host.Irecv(nothing, 1, sb_host.byte, 0, 0, self, &never) == MPI_SUCCESS)
        /* Release: pairs with the load in sb_progress. */
        atomic_store_explicit(&have_request, true, memory_order_release);
}

static void test_request(void)
{
    int done = 0;

    /* A request may be tested by one thread at a time; who comes second lets the first one poke.
     * Acquire and release: pair with each other, from one holder to the next. */
    if (atomic_flag_test_and_set_explicit(&testing, memory_order_acquire))
        return;
    sb_host.Test(&never, &done, MPI_STATUS_IGNORE);
    atomic_flag_clear_explicit(&testing, memory_order_release);
}

/*
 * Open MPI's engine gives the processor away when it finds nothing to do, if it was told that ranks
 * share processors. Here that is the wait function's business, and after a barrier nobody's.
 */
static void poke_opal(void)
{
    if (opal_yields)
        sb_host.opal_set_yield(false);
    sb_host.opal_progress();
    if (opal_yields)
        sb_host.opal_set_yield(true);
}

void sb_progress(void *context)
{
    const MPI_Comm *comm = context;
    int found = 0;

    if (sb_host.opal_progress != NULL) {
        poke_opal();
        return;
    }
    /* Acquire: pairs with the store in sb_progress_start(). */
    bool can_test = atomic_load_explicit(&have_request, memory_order_acquire);
    if (can_test)
        test_request();
    if (!can_test || has_engines)
        sb_host.Iprobe(MPI_ANY_SOURCE, UNLIKELY_TAG, *comm, &found, MPI_STATUS_IGNORE);
}

void sb_progress_stop(void)
{
    /* Acquire: pairs with the store in sb_progress_start(). */
    if (!atomic_exchange_explicit(&have_request, false, memory_order_acquire))
        return;
    sb_host.Cancel(&never);
    sb_host.Wait(&never, MPI_STATUS_IGNORE);
}
