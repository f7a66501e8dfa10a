/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_TEAM_COPY_LOSS_H
#define SB_TEAM_COPY_LOSS_H

#include "team/copy_policy.h"

/*
 * What trials of the copy policy cost, for that alone. A mode that was slower, here or with shorter
 * messages, is tried when all that trials of the class have lost so far, and what this one may be
 * expected to lose, are little of the time of all its messages: however many modes there are. What
 * a trial lost is measured, for it is more than what the mode takes in use: caches hold what the
 * one before has left in them, at its beginning and again when it is over.
 */

/* The place of a policy's first mode. */
enum { SB_COPY_SAFE };

/* So many samples, one after the other, that are longer than twice another mode's time end a trial.
 */
#define SB_COPY_BAD_MOST 3

/* Whether it is by the kernel: such a copy takes its time by the byte, whatever is in whose caches.
 */
bool sb_copy_is_steady(const sb_copy_policy_t *policy, uint8_t mode,
                       const sb_copy_choice_t *choice);

/* Whether a trial of that mode, of so many messages, may begin with this one. */
bool sb_copy_may_lose(const sb_copy_policy_t *policy, const sb_copy_choice_t *choice, uint8_t usual,
                      uint8_t mode, uint32_t messages);

/* A message of the trial that goes on, or the first one after it, has taken so long, as its class
 * keeps it. */
void sb_copy_charge(sb_copy_class_t *class, size_t bytes, uint64_t kept);

#endif
