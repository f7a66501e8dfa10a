/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/recording.h"

#include "machine/machine.h"
#include "mpi/clocks.h"
#include "mpi/described.h"
#include "mpi/host.h"

#include <stdio.h>
#include <string.h>

/* The first words of what the host says of itself. */
static void name_library(void)
{
    static char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;

    sb_host.Get_library_version(text, &length);
    text[strcspn(text, ",\n")] = '\0';
    snprintf(sb_trace_self.header.library, sizeof sb_trace_self.header.library, "%.63s", text);
}

void sb_recording_expect(void)
{
    if (sb_trace_is_wanted())
        sb_trace_note_signals();
}

void sb_recording_begin(void)
{
    int rank, size, threads;

    if (!sb_trace_is_wanted())
        return;
    sb_host.Comm_rank(sb_host.comm_world, &rank);
    sb_host.Comm_size(sb_host.comm_world, &size);
    sb_host.Query_thread(&threads);
    sb_trace_self.is_shared = threads == MPI_THREAD_MULTIPLE;
    bool records = sb_trace_begin(rank, size);
    /* Also a rank that cannot record takes part: the others wait for it. */
    sb_clocks_begin(&sb_trace_self.header);
    if (!records)
        return;
    name_library();
    sb_describe_world();
    sb_trace_watch_signals();
    sb_trace_self.header.opened = sb_now_ns();
}

void sb_recording_end(void)
{
    if (!sb_trace_is_wanted())
        return;
    if (sb_trace_self.header.closed == 0)
        sb_trace_self.header.closed = sb_now_ns();
    sb_clocks_end(&sb_trace_self.header);
    sb_trace_finish(SB_TRACE_FINALIZED);
}
