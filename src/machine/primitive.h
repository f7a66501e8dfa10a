/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MACHINE_PRIMITIVE_H
#define SB_MACHINE_PRIMITIVE_H

/*
 * What a machine gives; everything else is made of it, for both machines from the same source.
 *
 *   sb_load64, sb_store64, sb_add64   atomic, with the memory order written at each use; sb_add
 *   sb_load32, sb_store32, sb_add32   returns the value before
 *   sb_note_read, sb_note_write       32 bits of plain data, ordered by an atomic nearby
 *   sb_copy                           bytes of plain data
 *   sb_copy_few                       the same, of SB_COPY_FEW at most
 *   sb_copy_shared                    the same, to where other ranks have read: lines are taken
 *                                     from them without fetching what is overwritten, where the
 *                                     processor can do that
 *   sb_copy_far                       the same, of what another rank has just written
 *   sb_copy_fresh                     the same, of a piece of `whole` bytes, which another rank has
 *                                     just written if it is `far`, to memory that may be in no
 *                                     cache
 *   sb_copy_streaming                 the same, past the writer's caches where the processor can:
 *                                     lines are not read from memory first, nor near afterwards
 *   sb_fetch_ahead                    begin to bring so many bytes into this core's caches
 *   sb_fetch_to_write                 begin to take so many bytes' lines from other cores, for
 *                                     this one to write them later
 *   sb_fetch_until                    both for bytes of this rank's own, until a word is at least
 *                                     `value`: so many of `write`, and of `read` unless it is NULL
 *   sb_pull, sb_push                  bytes from, to another process's private memory, by the
 *                                     kernel; false: it would not
 *   sb_reach                          where bytes of another process's memory can be read by loads;
 *                                     NULL: they cannot. `told`: their owner has said so, and no
 *                                     fork since matters
 *   sb_shares                         whether others can read these bytes so
 *   sb_may_share                      the same without a fence: for choices alone
 *   sb_shared_number                  a number of this process alone that they can; NULL: none
 *   sb_process_self                   the number by which sb_pull knows this process
 *   sb_combine                        the operator's fold: bytes of plain data are read and written
 *   sb_spin                           look at a word up to `looks` times, with a pause after each
 *                                     look or without, until it is at least `value`; returns what
 *                                     was seen last (acquire), 0 if `looks` is 0
 *   sb_keep_order                     the compiler keeps the order of what is before and after
 *   sb_order_streamed                 what this thread has stored before is ordered before what it
 *                                     stores next, also what went past its caches
 *   sb_fence_all                      every running process executes a full fence, where the
 *                                     system can do that
 *   sb_anyone_sleeps                  false: no rank of the job is in sb_futex_wait
 *   sb_futex_wait, sb_futex_wake      sleep, while the word has the expected value, for at most so
 *                                     many nanoseconds; wake all that sleep on the word
 *   sb_pause, sb_give_processor       between two looks: rest a moment; let another process run
 *   sb_lend_processor                 the same of a rank that has a processor of its own
 *   sb_patience_ns                    how long a wait keeps that: `usual`, or longer where others
 *                                     had it for long lately
 *   sb_patience_among                 some team of this process has so many processors
 *   sb_until_mail                     a look at the network was in vain: it may be left out until
 *                                     something has come
 *   sb_handle_message                 baselines: what a library does for a message besides
 *   sb_page_faults                    of this thread so far, by which pages were mapped for it
 *   sb_now_ns                         nanoseconds of a clock that never goes back
 *   sb_machine_start                  to be called once in a process, before the first team
 *   SB_PROCESS_STATE(type, name, {})  state that a process has once, zero or as given: name()
 *                                     returns its address
 *   SB_SITED(call)                    the call, which reports name by the line it stands in
 */

#include "base/compiler.h"
#include "base/lines.h"
#include "machine/operator.h"

#include <stdatomic.h>
#include <stdbool.h>

typedef _Atomic uint64_t sb_word64_t;
typedef _Atomic uint32_t sb_word32_t;

/* Memory orders: those of C11, as constants to be written at each use. */
typedef enum sb_order {
    SB_RELAXED = memory_order_relaxed,
    SB_ACQUIRE = memory_order_acquire,
    SB_RELEASE = memory_order_release,
    SB_ACQ_REL = memory_order_acq_rel,
    SB_SEQ_CST = memory_order_seq_cst,
} sb_order_t;

/* Up to so many bytes a copy is made in place: no call, and as few stores as can be. */
#define SB_COPY_FEW ((size_t)64)

#ifdef SB_ALIKE
#error "this differs between the machines: of sobor_alike nobody may include it"
#endif

#ifdef SB_SIMULATED
#include "machine/sim/primitive_sim.h"
#else
#include "machine/real/primitive_real.h"
#endif

#endif
