/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MPI_DEVICE_H
#define SB_MPI_DEVICE_H

#include "base/compiler.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Memory of a device, which is the host MPI's business: a program may pass it to MPI if the host
 * supports that and a device runtime is loaded. Where a runtime is loaded before a team is made,
 * its communicator is the host's. One that comes later is noticed at the next call of this rank,
 * which then asks it whose memory a buffer is; such buffers are packed and unpacked by the host.
 */

/* Not 0: this process may pass device memory to MPI, so this rank objects to a team. From now on a
 * runtime that comes is noticed. */
uint32_t sb_device_objection(void);

extern bool sb_device_watched; /* a runtime may come, or has come */

bool sb_device_may_hold(const void *address);

/* Whether the memory at this address may be a device's. */
#define SB_DEVICE_HOLDS(address) (SB_UNLIKELY(sb_device_watched) && sb_device_may_hold(address))

#endif
