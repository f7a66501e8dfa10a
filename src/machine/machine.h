/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MACHINE_MACHINE_H
#define SB_MACHINE_MACHINE_H

/*
 * All that an algorithm does to memory shared between ranks. The machine exists behind this
 * interface so that the same algorithm source runs on real memory and on a simulated one; an
 * algorithm uses nothing else: no atomics, no memcpy to shared memory, no clock, no sleeping.
 *
 *   sb_flag_t         one writer, many readers, a 64-bit number that only grows
 *   sb_flag_read      read it; what its writer did before publishing is visible (acquire)
 *   sb_flag_publish   write it; what this rank did before is visible to who reads it (release)
 *   sb_flag_wait      wait until it is at least a given number; the only way to wait for memory
 *   sb_flag_wait_some the same, but not for long: for what may be had elsewhere
 *   sb_wait_for       wait for the network (net.h)
 *   sb_flag_set_note  write the 32 bits beside it, before publishing
 *   sb_flag_note      read them, after having read the flag
 *   sb_counter_t      several writers: an atomic counter, with fetch-and-add only
 *   sb_fetch_ahead    begin to bring bytes near that will be copied; they may still change
 *   sb_fetch_to_write begin to take lines from others that will be written, but not yet
 *   sb_flag_meanwhile before a wait: begin to bring private bytes near until the flag is there
 *   sb_copy           copy bytes to or from shared memory
 *   sb_copy_shared    the same, into memory that others read
 *   sb_copy_streaming the same, whole lines past the writer's caches (non-temporal)
 *   sb_flag_hope      look at it a few times, for what may never come
 *   sb_pull, sb_push  copy bytes out of, into the private memory of another rank's process
 *   sb_now_ns         a clock
 *
 * Below it are two layers: the primitives (primitive.h), which each machine gives in its own way,
 * and the protocol of flags (flag.h, wait.c), which is written once over the primitives.
 */

#include "machine/flag.h"

#endif
