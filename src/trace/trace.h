/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_TRACE_TRACE_H
#define SB_TRACE_TRACE_H

#include "base/collectives.h"
#include "base/compiler.h"
#include "machine/machine.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * The trace of one process: when it entered and left each collective call. Records go into a ring
 * in private memory, whose oldest are lost where there is no more room, and from there into a file
 * at the end. These structures are what the file holds, in this order: the header, the
 * communicators, the names of algorithms, the records with the oldest first, the cells and the
 * counts of a profile, and the text of /proc/self/maps, by which call sites get names. Whoever
 * reads the file knows them too: a change of theirs is a change of SB_TRACE_VERSION. All times in
 * the file are of CLOCK_MONOTONIC, in nanoseconds; those of records and cells are in ticks of
 * trace/clock.h until then.
 */

#define SB_TRACE_MAGIC "sobortrc"
#define SB_TRACE_VERSION 2
#define SB_TRACE_NAME 40          /* of an algorithm or a communicator, with its end */
#define SB_TRACE_COMMS_MOST 65535 /* the first stands for all that came when it was full */
#define SB_TRACE_ALGORITHMS 255

/* One call. */
typedef struct sb_trace_record {
    uint64_t entered, left;
    uint64_t bytes;     /* as docs/trace.md defines them for each operation */
    uint64_t site;      /* address after the call */
    uint32_t number;    /* of the call on its communicator, from 1 */
    int32_t root;       /* -1: the operation has none */
    int32_t error;      /* what the call returned */
    uint16_t comm;      /* index of the communicator */
    uint8_t collective; /* sb_collective_t */
    uint8_t algorithm;  /* index of its name, from 1; 0: the host MPI served the call */
} sb_trace_record_t;

/*
 * A profile: the calls of one operation, size and communicator, summed. Records are kept of a
 * sample alone, the same calls on all members of a communicator.
 */
typedef struct sb_trace_cell {
    uint64_t calls, time, bytes; /* sums; time from entry to exit */
    uint16_t comm;               /* index of the communicator */
    uint8_t collective;          /* sb_collective_t */
    uint8_t size;                /* 0: no bytes; n: 2^(n-1) bytes and fewer than twice as many */
    uint8_t served;              /* 0: by the host MPI */
    uint8_t unused[3];
} sb_trace_cell_t;

/* Calls of a function of the host MPI that Sobor only counts. */
typedef struct sb_trace_count {
    uint64_t calls;
    char name[SB_TRACE_NAME];
} sb_trace_count_t;

/* The name of the function at `index` of those that are counted and the number of its calls; NULL:
 * there are no more. Signal handlers may call it. */
typedef const char *sb_trace_counted_t(uint64_t index, uint64_t *calls);

/* A communicator: the same one on each of its members. */
typedef struct sb_trace_comm {
    uint64_t members; /* hash of its members' ranks in MPI_COMM_WORLD */
    uint64_t calls;
    uint32_t ordinal; /* among those of the same members, in the order of their first calls */
    int32_t rank;     /* of this process */
    int32_t size;
    uint32_t between; /* 1: between two groups */
    char name[SB_TRACE_NAME];
} sb_trace_comm_t;

/* What this process's clock said, and what is known of the clock of rank 0 at that time. */
typedef struct sb_trace_clock {
    uint64_t own;
    int64_t offset; /* to be added to have rank 0's */
    uint64_t error; /* the offset is right within this */
    uint64_t known; /* 0: the node's first rank knows it, or nobody does */
} sb_trace_clock_t;

typedef enum sb_trace_end {
    SB_TRACE_FINALIZED,
    SB_TRACE_EXITED, /* without MPI_Finalize */
    SB_TRACE_SIGNAL, /* this and the signal's number */
} sb_trace_end_t;

typedef struct sb_trace_header {
    char magic[8];
    uint32_t version;
    uint32_t header_bytes, record_bytes, comm_bytes; /* of these structures */
    int32_t rank, size;                              /* of MPI_COMM_WORLD */
    int32_t pid;
    uint32_t end;   /* sb_trace_end_t */
    uint64_t world; /* the same on all of its ranks */
    uint64_t node;  /* the same on those that share a clock */
    uint64_t opened, closed;
    sb_trace_clock_t clock[2]; /* at both of these times */
    uint64_t records;          /* that follow */
    uint64_t calls;            /* that there were: the first of them are lost if they are more */
    uint64_t comms, algorithms;
    uint64_t cells, counts; /* of a profile */
    char host[64];
    char library[64]; /* the host MPI's name for itself */
} sb_trace_header_t;

/* The trace of this process; its parts are written by those who know. */
typedef struct sb_trace {
    sb_trace_header_t header;
    _Alignas(SB_LINE) sb_trace_record_t *records; /* NULL: nothing is recorded */
    sb_trace_comm_t *comms;
    uint64_t room;  /* of records, a power of two */
    bool is_shared; /* several threads may record at the same time */
    bool is_profile;
    _Atomic uint64_t next;
    sb_trace_cell_t *cells;
    uint16_t *cell_at; /* indices of cells, by their hash; 0: none */
    sb_trace_counted_t *counted;
    char folder[4096];        /* where its file goes, */
    char name[80];            /* and what that is called, without its ending */
    char path[4096 + 128];    /* of the file */
    char partial[4096 + 128]; /* until it is complete */
    char algorithms[SB_TRACE_ALGORITHMS][SB_TRACE_NAME];
} sb_trace_t;

extern sb_trace_t sb_trace_self;

/* Touches the first pages of memory that calls write to: to do so in a call takes microseconds. */
void sb_trace_touch(void *memory, size_t bytes);

/* Whether SOBOR_TRACE or SOBOR_PROFILE names a folder. */
bool sb_trace_is_wanted(void);

/* Begins to record. False, and told: there is no folder or no memory. */
bool sb_trace_begin(int rank, int size);

/* The communicator of these members; never NULL. */
sb_trace_comm_t *sb_trace_add_comm(const sb_trace_comm_t *comm);

/* Records a call that is about to return, of this communicator and by the algorithm of this name
 * (which stays where it is; NULL: by the host); when it leaves is seen last of all. The rest is in
 * `call`. */
void sb_trace_add(sb_trace_comm_t *comm, uint8_t collective, const char *algorithm,
                  const sb_trace_record_t *call);

/* What the last call of an operation had: the next one most likely has the same. */
typedef struct sb_trace_last {
    _Alignas(SB_LINE) sb_trace_cell_t *cell;
    _Atomic uint8_t algorithm;
} sb_trace_last_t;

extern sb_trace_last_t sb_trace_last[SB_COLLECTIVES];

/* Before such a call: brings near what its record will be written to. Where the program computed
 * since the last one, none of it is in the cache. */
static inline void sb_trace_expect(sb_trace_comm_t *comm, uint8_t collective)
{
    /* Relaxed: a guess. */
    uint64_t place = atomic_load_explicit(&sb_trace_self.next, memory_order_relaxed);

    __builtin_prefetch(&sb_trace_self.records[place & (sb_trace_self.room - 1)], 1);
    __builtin_prefetch(sb_trace_last[collective].cell, 1);
    __builtin_prefetch(comm, 1);
}

/* Adds the call to the sums of a profile, and returns when it left. */
uint64_t sb_trace_sum(const sb_trace_record_t *record);

/* Takes memory for the sums. False: there is none. */
bool sb_trace_begin_sums(void);

/* Whether a profile keeps the times of this call of a communicator. */
bool sb_trace_samples(uint64_t number);

/* Calls the file, and what it is until it is complete, by the name and this number; 0: by the name
 * alone. Signal handlers may call it. */
void sb_trace_name_files(unsigned same);

/* Writes the file, once; nothing in a child of fork. Calls only what a signal handler may call.
 * False: the system refused, errno says why. `late` becomes the number of the signal by which the
 * caller is to end the process then, if one has come meanwhile. */
bool sb_trace_write(uint32_t end, int *late);

/* Whether the file is being written just now: who writes it will end the process by this signal. */
bool sb_trace_leave(int number);

/* Waits until the file is written if another thread is at it, though not for ever: for who is about
 * to end the process. */
void sb_trace_await(void);

/* Waits a little for another thread to end the process. */
void sb_trace_await_end(void);

/* By who has written: has a signal that was left to it do what it does without us. */
void sb_trace_end_late(int number);

/* Stops recording and writes the file; told if it cannot be. */
void sb_trace_finish(sb_trace_end_t end);

/* Before the host is initialised: what is handled afterwards and not yet now the host handles. */
void sb_trace_note_signals(void);

/* From now on a signal that ends the process has the file written before, if the program does not
 * handle it. */
void sb_trace_watch_signals(void);

#endif
