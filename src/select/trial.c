/* SPDX-License-Identifier: BSD-3-Clause */
#include "select/trial.h"

enum { USUAL, OTHER };

/* Calls of each side in a round, of which the first is not timed. */
#define BLOCK 5
#define ROUND (2 * BLOCK)

/*
 * A rank that was off its processor makes a round worthless, so no single round decides. The first
 * trial and the second come within the first 200 calls: in the first one the memory of a side may
 * be new.
 */
#define WON_MOST 3
#define LOST_MOST 2

/* Calls to the second trial, and the least and the most to further ones. */
#define REST_FIRST 64
#define REST_LEAST 2048
#define REST_MOST (1u << 20)

/* Trials of a slower side take at most this part of all time. */
#define SHARE 64
#define REST_EVER (1u << 31)

bool sb_trial_is_due(const sb_trial_t *trial)
{
    return trial->at == ROUND;
}

/* So many that what the trial cost more than usual calls is a small part of what they cost; by the
 * best round of either side, as a spoilt one says nothing about the next trial. */
static uint64_t rest_by_time(const sb_trial_t *trial)
{
    uint64_t calls = (uint64_t)BLOCK * (trial->won + trial->lost);
    uint64_t usual = sb_max(trial->least[USUAL], 1);

    if (trial->least[OTHER] <= usual)
        return 0;
    return sb_min(SHARE * calls * (trial->least[OTHER] - usual) / usual, REST_EVER);
}

static uint64_t next_rest(const sb_trial_t *trial, bool changed)
{
    uint64_t rest = sb_min(sb_max(2 * trial->rest, REST_LEAST), REST_MOST);

    if (trial->fixed > 0)
        return trial->fixed;
    if (changed || trial->rest == 0)
        rest = REST_FIRST;
    return sb_max(rest, rest_by_time(trial));
}

static void end(sb_trial_t *trial, bool changed)
{
    trial->rest = next_rest(trial, changed);
    trial->hosted = trial->hosted != changed;
    trial->over = true;
    trial->won = trial->lost = 0;
}

void sb_spent_add(sb_spent_t *all, const sb_spent_t *some)
{
    for (int side = USUAL; side <= OTHER; side++) {
        all->slowest[side] = sb_max(all->slowest[side], some->slowest[side]);
        all->sum[side] += some->sum[side];
    }
}

void sb_trial_judge(sb_trial_t *trial, const sb_spent_t *all)
{
    const uint64_t *slowest = all->slowest, *sum = all->sum;
    bool won = slowest[OTHER] <= slowest[USUAL] - slowest[USUAL] / 10 && sum[OTHER] <= sum[USUAL];
    bool first = trial->won + trial->lost == 0;

    trial->at = 0;
    trial->won += won;
    trial->lost += !won;
    for (int side = USUAL; side <= OTHER; side++) {
        trial->least[side] = first ? slowest[side] : sb_min(trial->least[side], slowest[side]);
        trial->spent[side] = 0;
    }
    if (trial->won == WON_MOST || trial->lost == LOST_MOST)
        end(trial, trial->won == WON_MOST);
}

sb_status_t sb_trial_agree(sb_trial_t *trial, sb_team_t *team)
{
    sb_spent_t all = {.slowest = {0}};
    uint64_t theirs[2];

    sb_team_tell(team, trial->spent, sizeof trial->spent);
    for (uint32_t rank = 0; rank < team->size; rank++) {
        sb_status_t status = sb_team_hear(team, rank, theirs, sizeof theirs);
        if (status != SB_OK)
            return status;
        sb_spent_t one = sb_spent(theirs);
        sb_spent_add(&all, &one);
    }
    sb_trial_judge(trial, &all);
    return SB_OK;
}

uint32_t sb_trial_next(sb_trial_t *trial)
{
    bool over = trial->over;

    trial->over = false;
    trial->trying = !over && trial->at >= BLOCK;
    trial->timed = !over && trial->at % BLOCK > 0;
    if (over)
        return (uint32_t)trial->rest;
    trial->at++;
    return 1;
}
