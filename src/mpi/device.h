/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MPI_DEVICE_H
#define SB_MPI_DEVICE_H

#include <stdint.h>

/*
 * Whether this process may pass device memory to MPI, which is the host MPI's business: it may if
 * the host supports it and a device runtime is loaded. Not 0: this rank objects to a team.
 */
uint32_t sb_device_objection(void);

#endif
