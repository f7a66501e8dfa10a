/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_SELECT_TUNING_H
#define SB_SELECT_TUNING_H

#include "team/team.h"

/*
 * The tuning file: rules in JSON that say by collective, bytes and ranks what is to be used.
 *
 *     {"rules": [{"collective": "bcast", "bytes": {"to": "4KiB"}, "algorithm": "tree"}, ...]}
 *
 * docs/tuning.md describes it. A file with an error counts for nothing.
 */

/*
 * Reads the rules of a file. False: `error` says what is wrong, "FILE: rule 3: ...", or where the
 * text is no JSON, "FILE: line 12: ...".
 */
bool sb_tuning_read(const char *path, sb_rules_t *rules, char *error, size_t room);

/*
 * The variable by which this process's environment overrules what the rule sets: what a user says
 * for one run counts more than a file. NULL: none.
 */
const char *sb_tuning_overruled(const sb_rule_t *rule, sb_tunable_t tunable);

/*
 * The rules of SOBOR_TUNING, without what is overruled, read once; NULL: there are none. An error
 * is reported once per job.
 */
const sb_rules_t *sb_tuning_self(void);

/* More rules for this process, behind those of its file. Before there is a team. */
void sb_tuning_add(const sb_rules_t *rules);

/* Whether all members know the bytes of such a call alike, so that rules may go by them. */
bool sb_tuning_sized(sb_collective_t collective);

/* Has the rule name that algorithm of its collective; false: there is none. And a value's name. */
bool sb_tuning_algorithm(sb_rule_t *rule, const char *name);
const char *sb_tuning_algorithm_name(uint64_t value);

/* "algorithm", "fragment", ... as in the file. */
const char *sb_tunable_name(sb_tunable_t tunable);

#endif
