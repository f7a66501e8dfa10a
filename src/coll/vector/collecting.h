/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_COLL_VECTOR_COLLECTING_H
#define SB_COLL_VECTOR_COLLECTING_H

#include "team/block_policy.h"

/*
 * How long parts go to the root of a gather, or from that of a scatter, where ranks share
 * processors (collecting.c): staged, or copied by the kernel, as the root has measured it.
 */
typedef struct sb_collecting {
    sb_block_policy_t policy;  /* of this rank as a root: 1 is the kernel */
    sb_block_policy_t dealing; /* and of scatters, too */
} sb_collecting_t;

/* What an algorithm would have of a message that is too long for a slot. */
typedef enum sb_prefer {
    SB_PREFER_BY_SIZE, /* exposed, if it is long enough */
    SB_PREFER_STAGED,
    SB_PREFER_EXPOSED, /* even if it is shorter than most that are */
    SB_PREFER_PUSHED,  /* if there is an invitation; otherwise by its size */
} sb_prefer_t;

struct sb_receiving;
struct sb_sending;

/* Whether there is a choice for a part of so many bytes. */
bool sb_collecting_measures(const sb_team_t *team, size_t bytes);

/* Root: chooses for these messages, and shows that. Whether the kernel is to copy them. */
bool sb_collecting_choose(sb_team_t *team, const struct sb_receiving *receiving, uint32_t count);

/*
 * The root of a scatter, for these messages: BY_SIZE, or what was measured to be faster where ranks
 * share processors. The plans say it.
 */
sb_prefer_t sb_dealing_choose(sb_team_t *team, const struct sb_sending *sending, uint32_t count);

/* The same root: its call is over. */
void sb_dealing_ended(sb_team_t *team);

/* Root: its call has begun, and who is to push has been invited. */
void sb_collecting_begun(sb_team_t *team);

/* Another rank: whether that root wants the kernel to copy a part of so many bytes. */
bool sb_collecting_asked(const sb_team_t *team, uint32_t root, size_t bytes);

/* Another rank, which was asked: waits until it can see whether it is invited. */
sb_status_t sb_collecting_await(sb_team_t *team, uint32_t root);

#endif
