/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_SEGMENT_LIMITS_H
#define SB_SEGMENT_LIMITS_H

#include <stdint.h>

/*
 * How much memory this process may still use. Reserving more than a control group allows does not
 * fail: the kernel kills a process of the group. So the limits are read before anything is
 * reserved.
 */
typedef struct sb_limits {
    uint64_t group_limit;       /* of the control group, v1 or v2, that has least left, or from
                                   where it is slowed down; UINT64_MAX: none */
    uint64_t group_available;   /* of that group: limit less use, reclaimable file pages not counted
                                   as use */
    uint64_t machine_available; /* the kernel's estimate for the whole machine */
    unsigned group_version;     /* of control groups, of that one; 0: there is no limit */
} sb_limits_t;

/* Reads the limits; `root` is "" or, in tests, a folder that stands for /. */
void sb_limits_read(const char *root, sb_limits_t *limits);

/* The smaller of the two: what may be reserved now. */
uint64_t sb_limits_available(const sb_limits_t *limits);

#endif
