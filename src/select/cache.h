/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_SELECT_CACHE_H
#define SB_SELECT_CACHE_H

#include "team/rules.h"
#include "team/team.h"

#include <sys/types.h>

/*
 * What was measured on machines, kept in a file that is found without being named: prices, and
 * rules for the choice of algorithms that a program wrote from what it had timed. The file is text
 * in lines, numbers are whole: no locale changes how it is read.
 *
 *     sobor-prices 1
 *     machine Intel(R) Xeon(R) Gold 6130     the processors' model; begins an entry
 *     processors 64                          of the machine
 *     ranks 8                                on the node, when it was measured
 *     mpi Open MPI 4.1.4                     of the rules; absent: any
 *     by tune                                or start: by a job, at its start
 *     made 1700000000                        seconds since 1970
 *     price line 71200                       a name of prices.def, and thousandths of its unit
 *     rule bcast 1024 65536 8 0 ring         sizes from, to (-: all); ranks; shared processors
 *     end
 *
 * A file that is not as this says, or that another user owns or may write, counts for nothing.
 *
 * A line of an entry whose word, price, collective or algorithm is not known is a newer Sobor's: it
 * is passed over, and kept when the file is written anew. What older ones would read wrongly has
 * another number in the first line.
 */

/* The first line. */
#define SB_CACHE_FORMAT "sobor-prices 1"

#define SB_CACHE_ENTRIES_MOST 32
#define SB_CACHE_MODEL 128
#define SB_CACHE_MPI 64
#define SB_CACHE_PATH 1024
#define SB_CACHE_NEWER 4096

/* What prices and rules are for. */
typedef struct sb_cache_key {
    char processor[SB_CACHE_MODEL];
    uint32_t processors;
    uint32_t ranks;
    char mpi[SB_CACHE_MPI]; /* empty: any */
} sb_cache_key_t;

typedef struct sb_cache_entry {
    sb_cache_key_t key;
    char by[16];
    uint64_t made;
    sb_known_prices_t known;
    sb_prices_t prices; /* of which those are set that are known */
    sb_rules_t rules;   /* all measured, all for so many ranks, none for reductions */
} sb_cache_entry_t;

typedef struct sb_cache {
    uint32_t count;
    bool other_format; /* it is Sobor's, but of another version's format */
    sb_cache_entry_t entry[SB_CACHE_ENTRIES_MOST];
    char newer[SB_CACHE_ENTRIES_MOST][SB_CACHE_NEWER]; /* lines of each that are not known, as far
                                                        * as there is room */
} sb_cache_t;

/* The places in which the file is looked for, best first: the user's, the system's, Sobor's own. */
enum { SB_CACHE_USER, SB_CACHE_SYSTEM, SB_CACHE_INSTALLED, SB_CACHE_PLACES };

/* The file there. False: there is no such place. */
bool sb_cache_path(int place, char *path, size_t room);

/*
 * Whom the program or the library belongs to in which this is: what that user has put beside it may
 * be believed, since it runs. In a namespace of users that may be nobody. False: it is not known.
 */
bool sb_cache_installer(uid_t *owner);

/* What comes of reading one file. */
typedef enum sb_cache_read {
    SB_CACHE_READ,
    SB_CACHE_ABSENT,
    SB_CACHE_BROKEN, /* `error` says what is wrong, "FILE: line 3: ..." */
} sb_cache_read_t;

sb_cache_read_t sb_cache_read(const char *path, sb_cache_t *cache, char *error, size_t room);

/*
 * Adds a rule as it stands in the file, without the word "rule". False: `error` says what was
 * expected and found.
 */
bool sb_cache_rule(sb_cache_entry_t *entry, const char *text, char *error, size_t room);

/* Whatever their ranks and MPIs are. */
bool sb_cache_same_machine(const sb_cache_key_t *a, const sb_cache_key_t *b);

/*
 * The entry whose prices are for such a machine and nearly so many ranks: half to twice as many;
 * any, where it is 0. NULL: there is none.
 */
const sb_cache_entry_t *sb_cache_fit(const sb_cache_t *cache, const sb_cache_key_t *key);

/*
 * Adds to `rules` those for such a machine and MPI, and for at most so many ranks; any, where it is
 * 0. As far as there is room: first what was measured with so many.
 */
void sb_cache_rules(const sb_cache_t *cache, const sb_cache_key_t *key, sb_rules_t *rules);

/*
 * Keeps the entry in the user's file, in place of the one with its key. Others see the file as it
 * was or as it is then. False: it is not kept, and `error` says why. Where another process keeps
 * something at this moment, it is not, nor in a file of another format.
 */
bool sb_cache_keep(const sb_cache_entry_t *entry, char *error, size_t room);

#endif
