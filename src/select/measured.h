/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_SELECT_MEASURED_H
#define SB_SELECT_MEASURED_H

#include "select/cache.h"

/* What is known of this machine by measurement, for this process. */
typedef struct sb_measured {
    sb_cache_key_t key;
    sb_known_prices_t known; /* the others follow, or are built in */
    sb_prices_t prices;
    sb_prices_from_t from;
    char file[SB_CACHE_PATH]; /* in which they are, or are kept; empty: none */
    char by[16];              /* who measured */
    sb_rules_t rules;
    char error[SB_CACHE_PATH + 256]; /* of the last file that is not right; empty: all are */
} sb_measured_t;

/* Whether prices may be other than those that are built in, by SOBOR and SOBOR_PRICES. */
bool sb_measured_wanted(void);

/*
 * Looks for this machine in the files, where SOBOR_CACHE lets it. `ranks`: on this node; `mpi`: the
 * host's name, or empty.
 */
void sb_measured_find(sb_measured_t *measured, uint32_t ranks, const char *mpi);

/* Sets one price as measured now; what cannot be is left out. */
void sb_measured_price(sb_measured_t *measured, const char *name, double value);

/*
 * Ends the measuring: the other prices follow, and where all that was asked for is there, it is
 * kept for later jobs if SOBOR_CACHE lets it. False: it is not kept; `error` says why, if it is no
 * wish of the user.
 */
bool sb_measured_keep(const sb_measured_t *measured, const char *by, char *error, size_t room);

/* Keeps its rules for this machine, MPI and number of ranks, in place of those from before. */
bool sb_measured_keep_rules(const sb_measured_t *measured, const sb_rules_t *rules, const char *by,
                            char *error, size_t room);

/* Makes this process's settings and rules go by it. Before there is a team. */
void sb_measured_adopt(const sb_measured_t *measured);

#endif
