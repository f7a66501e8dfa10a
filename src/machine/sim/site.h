/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MACHINE_SIM_SITE_H
#define SB_MACHINE_SIM_SITE_H

/* A place in the source that touches shared memory. Lives as long as the program. */
typedef struct sb_site {
    const char *file;
    int line;
} sb_site_t;

#endif
