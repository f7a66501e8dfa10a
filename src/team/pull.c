/* SPDX-License-Identifier: BSD-3-Clause */
#include "team/pull.h"

/* Where a member's number is. */
typedef struct card {
    uint64_t process;
    uint64_t address;
    uint64_t number;
} card_t;

_Static_assert(sizeof(card_t) <= SB_EXCHANGE_BYTES, "a card fits an exchange");

/* A pid may belong to a stranger in another namespace: only the right number counts. */
static bool reads(const card_t *card)
{
    uint64_t seen = 0;

    return sb_pull(card->process, &seen, card->address, sizeof seen) && seen == card->number;
}

static bool reads_all(const sb_team_t *team, const card_t *cards)
{
    bool all = true;

    for (uint32_t i = 0; i < team->size && all; i++)
        all = i == team->rank || reads(&cards[i]);
    return all;
}

sb_status_t sb_pull_prove(sb_team_t *team, uint64_t *process, bool *proved)
{
    uint64_t number = (sb_now_ns() + 1) * 0x9e3779b97f4a7c15u + team->rank;
    card_t mine = {sb_process_self(), (uint64_t)(uintptr_t)&number, number};
    card_t cards[team->size];
    uint32_t word, words[team->size];
    sb_status_t status = sb_team_exchange(team, &mine, cards, sizeof mine);

    *proved = false;
    if (status != SB_OK)
        return status;
    word = reads_all(team, cards);
    status = sb_team_exchange(team, &word, words, sizeof word);
    *proved = status == SB_OK;
    for (uint32_t i = 0; i < team->size; i++) {
        *proved = *proved && words[i] != 0;
        process[i] = cards[i].process;
    }
    return status;
}
