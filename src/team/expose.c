/* SPDX-License-Identifier: BSD-3-Clause */
#include "team/expose.h"

#include "base/config.h"

#include <string.h>

/* Here they are functions. */
#undef sb_expose_read
#undef sb_expose_write

/* What a member tells of itself. */
typedef struct card {
    uint64_t process;
    uint64_t block;
    uint64_t address; /* of a number, */
    uint64_t number;  /* and which it is */
} card_t;

_Static_assert(sizeof(card_t) <= SB_EXCHANGE_BYTES, "a card fits an exchange");

/* A pid may belong to a stranger in another namespace: only the right number counts. */
static bool reads(const card_t *card)
{
    uint64_t seen = 0;

    return sb_pull(card->process, &seen, card->address, sizeof seen) && seen == card->number;
}

/* Of the first member that can be read: what it takes when all that it needs has just been used. */
static bool try_kernel(sb_expose_t *expose, const card_t *card)
{
    if (!reads(card))
        return false;
    if (expose->call_ns == 0) {
        uint64_t began = sb_now_ns();
        (void)reads(card);
        expose->call_ns = sb_now_ns() - began;
    }
    return true;
}

/* The same by loads. */
static bool loads(const card_t *card)
{
    const char *here = card->address == 0
                           ? NULL
                           : sb_reach(card->process, card->address, sizeof card->number, true);

    return here != NULL && memcmp(here, &card->number, sizeof card->number) == 0;
}

sb_status_t sb_expose_loads(sb_team_t *team, uint64_t *process, bool *all)
{
    const uint64_t *number = sb_shared_number();
    card_t card = {.process = sb_process_self(), .address = (uintptr_t)number};
    sb_status_t status = SB_OK;
    bool mine = true;

    card.number = number != NULL ? *number : 0;
    sb_team_tell(team, &card, sizeof card);
    for (uint32_t i = 0; i < team->size; i++) {
        status = sb_team_hear(team, i, &card, sizeof card);
        if (status != SB_OK)
            return status;
        process[i] = card.process;
        mine = mine && (i == team->rank ? number != NULL : loads(&card));
    }
    return sb_team_agree(team, mine, all);
}

sb_status_t sb_expose_make(sb_expose_t *expose, sb_team_t *team, const sb_resource_t *resource,
                           sb_exposer_t *of, bool kernel)
{
    uint64_t number = (sb_now_ns() + 1) * 0x9e3779b97f4a7c15u + team->rank;
    card_t mine = {sb_process_self(), (uintptr_t)resource->bases[team->rank], (uintptr_t)&number,
                   number};
    bool all = kernel;
    sb_status_t status = SB_OK;

    *expose = (sb_expose_t){.self = team->rank, .bytes = resource->bytes, .of = of};
    sb_team_tell(team, &mine, sizeof mine);
    for (uint32_t i = 0; status == SB_OK && i < team->size; i++) {
        card_t card;
        status = sb_team_hear(team, i, &card, sizeof card);
        if (status != SB_OK)
            return status;
        of[i] = (sb_exposer_t){card.process, card.block, resource->bases[i], false, false};
        if (all && i != team->rank)
            all = try_kernel(expose, &card);
    }
    return kernel ? sb_team_agree(team, all, &expose->kernel) : status;
}

static bool is_within(uint64_t block, size_t room, uint64_t address, size_t bytes)
{
    uint64_t offset = address - block;

    return offset <= room && bytes <= room - offset;
}

bool sb_expose_pays(const sb_team_t *team)
{
    if (team->settings.cma == SB_CMA_AUTO)
        return team->size <= SB_EXPOSE_FEW && !team->oversubscribed &&
               team->settings.stores == SB_STORES_AUTO;
    return team->settings.cma == SB_CMA_ON;
}

bool sb_expose_is_tried(const sb_team_t *team)
{
    return team->oversubscribed && team->settings.cma == SB_CMA_AUTO &&
           team->settings.stores == SB_STORES_AUTO;
}

bool sb_expose_serves(const sb_expose_t *expose, uint32_t reader, const void *base, size_t bytes)
{
    bool blind = reader == SB_EXPOSE_TO_ALL ? expose->blind > 0 : expose->of[reader].blind;

    return (!blind && (expose->kernel || sb_shares(base, bytes))) ||
           is_within(expose->of[expose->self].there, expose->bytes, (uintptr_t)base, bytes);
}

void sb_expose_refused(sb_expose_t *expose, uint32_t reader)
{
    expose->blind += !expose->of[reader].blind;
    expose->of[reader].blind = true;
}

const char *sb_expose_map(sb_expose_t *expose, uint32_t owner, sb_exposure_t from, size_t bytes)
{
    const sb_exposer_t *of = &expose->of[owner];

    const char *here = is_within(of->there, expose->bytes, from.address, bytes)
                           ? of->here + (from.address - of->there)
                           : sb_reach(of->process, from.address, bytes, false);

    expose->mapped += here != NULL;
    return here;
}

/* Keeps in mind what came of a kernel copy. */
static bool learn(sb_expose_t *expose, uint32_t owner, bool done)
{
    expose->copied += done;
    expose->failed += !done;
    expose->of[owner].closed = !done;
    return done;
}

bool sb_expose_read(sb_expose_t *expose, uint32_t owner, void *to, sb_exposure_t from, size_t bytes)
{
    const sb_exposer_t *of = &expose->of[owner];

    return expose->kernel && !of->closed &&
           learn(expose, owner, sb_pull(of->process, to, from.address, bytes));
}

bool sb_expose_write(sb_expose_t *expose, uint32_t owner, sb_exposure_t to, const void *from,
                     size_t bytes)
{
    const sb_exposer_t *of = &expose->of[owner];

    return expose->kernel && !of->closed &&
           learn(expose, owner, sb_push(of->process, to.address, from, bytes));
}
