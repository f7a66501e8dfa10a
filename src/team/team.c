/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Set-up of a team. It is one to three rounds over the front end's exchange, and every decision in
 * it is taken from what all members have received, so that all decide alike: does everybody want
 * it, are all on one node, has everybody memory, has everybody attached to everybody. If memory
 * cannot be shared through /proc a second try is made with named memory made for the occasion.
 */
#include "team/team.h"

#include "base/config.h"
#include "base/log.h"
#include "team/hierarchy.h"
#include "team/leave.h"
#include "team/member.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Up to so many members, one round carries the census together with the rest. */
#define CENSUS_APART_ABOVE 64

static void forget_places(sb_team_t *team)
{
    sb_team_hierarchies_free(team);
    sb_homes_free(&team->homes);
}

static sb_team_t *new_team(const sb_front_t *front, uint32_t rank, uint32_t size)
{
    sb_team_t *team = calloc(1, sizeof *team);

    if (team == NULL)
        return NULL;
    team->rank = rank;
    team->size = size;
    team->front = *front;
    team->lanes = calloc(size, sizeof *team->lanes);
    team->attachments = calloc(size, sizeof *team->attachments);
    if (team->lanes == NULL || team->attachments == NULL) {
        sb_team_free(team);
        return NULL;
    }
    return team;
}

/* What a set-up needs of private memory: all of it is had before the first exchange. */
typedef struct papers {
    sb_census_t *censuses;
    sb_member_t *members;
    sb_verdict_t *verdicts;
    sb_place_t *places;
} papers_t;

static void free_papers(papers_t *papers)
{
    free(papers->censuses);
    free(papers->members);
    free(papers->verdicts);
    free(papers->places);
}

static bool get_papers(papers_t *papers, uint32_t size)
{
    papers->censuses = malloc(size * sizeof *papers->censuses);
    papers->members = malloc(size * sizeof *papers->members);
    papers->verdicts = malloc(size * sizeof *papers->verdicts);
    papers->places = malloc(size * sizeof *papers->places);
    return papers->censuses != NULL && papers->members != NULL && papers->verdicts != NULL &&
           papers->places != NULL;
}

static sb_refusal_t judge_census(const sb_census_t *first, size_t stride, uint32_t size)
{
    const char *at = (const char *)first;

    for (uint32_t i = 0; i < size; i++, at += stride) {
        const sb_census_t *census = (const sb_census_t *)(const void *)at;
        if (!census->enabled)
            return SB_REFUSAL_DISABLED;
        if (census->node != first->node)
            return SB_REFUSAL_NODES;
        if (census->objection != 0)
            return SB_REFUSAL_FRONT;
    }
    return SB_REFUSAL_NONE;
}

/* Spares large communicators that cannot be teams the exchange of members. */
static sb_status_t take_census(sb_team_t *team, sb_census_t *all, sb_refusal_t *refusal)
{
    sb_census_t mine;

    sb_census_self(&mine);
    mine.objection = team->front.objection;
    sb_status_t status = team->front.allgather(team->front.context, &mine, all, sizeof mine);
    if (status == SB_OK)
        *refusal = judge_census(all, sizeof *all, team->size);
    return status == SB_OK && *refusal != SB_REFUSAL_NONE ? SB_ERR_UNSUPPORTED : status;
}

/* A rank that has no memory of its own still takes part, so that all learn of it. */
static void introduce(sb_team_t *team, sb_arena_source_t source, sb_member_t *mine)
{
    *mine = (sb_member_t){0};
    sb_census_self(&mine->census);
    mine->census.objection = team->front.objection;
    if (team->front.place != NULL)
        mine->place = *team->front.place;
    else
        sb_place_self(&mine->place);
    sb_settings_self(&mine->settings);
    mine->rules = team->front.rules == NULL ? 0 : team->front.rules->count;
    if (!mine->census.enabled || mine->census.objection != 0)
        return;
    sb_status_t status =
        sb_arena_take(&team->block, sizeof(sb_lane_t), source, team->size, &mine->reason);
    mine->ready = status == SB_OK;
    mine->exhausted = status == SB_ERR_MEMORY;
    if (mine->ready) {
        mine->ticket = team->block.region->ticket;
        mine->offset = team->block.offset;
    }
}

static sb_refusal_t judge_members(const sb_member_t *all, uint32_t size, sb_reason_t *reason)
{
    sb_refusal_t refusal = judge_census(&all[0].census, sizeof *all, size);

    for (uint32_t i = 0; i < size && refusal == SB_REFUSAL_NONE; i++) {
        if (all[i].ready)
            continue;
        *reason = all[i].reason;
        refusal = SB_REFUSAL_MEMORY;
    }
    return refusal;
}

static sb_status_t attach_lanes(sb_team_t *team, const sb_member_t *all, sb_reason_t *reason)
{
    for (uint32_t i = 0; i < team->size; i++) {
        if (i == team->rank) {
            team->lanes[i] = (sb_lane_t *)(void *)team->block.address;
            continue;
        }
        sb_status_t status = sb_arena_attach(&team->attachments[i], &all[i].ticket, reason);
        if (status != SB_OK)
            return status;
        char *base = sb_attachment_base(team->attachments[i]);
        team->lanes[i] = (sb_lane_t *)(void *)(base + all[i].offset);
    }
    team->self = team->lanes[team->rank];
    return SB_OK;
}

/* Everybody tells whether it has everybody's lane; then no name is needed any more. */
static sb_status_t agree_attached(sb_team_t *team, const sb_verdict_t *mine, sb_verdict_t *all,
                                  sb_refusal_t *refusal, sb_reason_t *reason)
{
    sb_status_t status = team->front.allgather(team->front.context, mine, all, sizeof *mine);

    sb_arena_settle(&team->block);
    for (uint32_t i = 0; status == SB_OK && i < team->size && *refusal == SB_REFUSAL_NONE; i++) {
        if (all[i].attached)
            continue;
        *refusal = SB_REFUSAL_MEMORY;
        *reason = all[i].reason;
    }
    return status;
}

/* What the team knows of its members, and the hierarchy that it will use. */
static sb_status_t survey(sb_team_t *team, const papers_t *papers)
{
    team->settings = papers->members[0].settings;
    team->rules.count = (uint32_t)sb_min(papers->members[0].rules, SB_RULES_MOST);
    for (uint32_t i = 0; i < team->size; i++)
        papers->places[i] = papers->members[i].place;
    sb_status_t status =
        sb_homes_make(&team->homes, sb_team_topology(team), papers->places, team->size);
    if (status != SB_OK)
        return status;
    bool made =
        sb_team_hierarchy(team, team->settings.levels, 0) != NULL && sb_team_parts(team) != NULL;
    return made ? SB_OK : SB_ERR_MEMORY;
}

/* Everything that this rank has to have of its own before it can say that it is ready. */
static void get_ready(sb_team_t *team, const papers_t *papers, sb_verdict_t *verdict)
{
    if (attach_lanes(team, papers->members, &verdict->reason) != SB_OK)
        return;
    if (survey(team, papers) != SB_OK) {
        snprintf(verdict->reason.text, sizeof verdict->reason.text, "private memory is exhausted");
        return;
    }
    verdict->homes = sb_homes_hash(&team->homes);
    verdict->attached = true;
}

static void adopt(sb_team_t *team, const papers_t *papers)
{
    bool same = true;

    for (uint32_t i = 1; i < team->size; i++)
        same = same && papers->verdicts[i].homes == papers->verdicts[0].homes;
    if (!same)
        sb_team_hierarchies_refuse(team, "the ranks see different machines");
    team->oversubscribed = sb_places_oversubscribed(papers->places, team->size);
    team->processors = (uint32_t)sb_places_processors(papers->places, team->size);
}

/* One try. On refusal nothing of it remains. */
static sb_status_t try_memory(sb_team_t *team, sb_arena_source_t source, const papers_t *papers,
                              sb_refusal_t *refusal, sb_reason_t *reason)
{
    sb_member_t mine, *all = papers->members;
    sb_verdict_t verdict = {0};

    introduce(team, source, &mine);
    sb_status_t status = team->front.allgather(team->front.context, &mine, all, sizeof mine);
    if (status == SB_OK) {
        *refusal = judge_members(all, team->size, reason);
        if (*refusal == SB_REFUSAL_NONE) {
            get_ready(team, papers, &verdict);
            status = agree_attached(team, &verdict, papers->verdicts, refusal, reason);
        }
    }
    if (status == SB_OK && *refusal == SB_REFUSAL_NONE) {
        adopt(team, papers);
        return SB_OK;
    }
    sb_team_detach(team);
    forget_places(team);
    sb_arena_give(&team->block);
    return status == SB_OK ? SB_ERR_UNSUPPORTED : status;
}

/*
 * Memory that cannot be had anonymously, or not be handed over through /proc, may still be had and
 * found by a name. Memory that is used up may not.
 */
static bool worth_a_name(const sb_member_t *all, uint32_t size, sb_refusal_t refusal)
{
    uint32_t segment = all[0].settings.segment;
    bool exhausted = false;

    for (uint32_t i = 0; i < size; i++)
        exhausted = exhausted || all[i].exhausted;
    return refusal == SB_REFUSAL_MEMORY && !exhausted &&
           (segment == SB_SEGMENT_AUTO || segment == SB_SEGMENT_NAMED);
}

static sb_status_t set_up(sb_team_t *team, const papers_t *papers, sb_refusal_t *refusal,
                          sb_reason_t *reason)
{
    sb_status_t status = SB_OK;

    if (team->size > CENSUS_APART_ABOVE)
        status = take_census(team, papers->censuses, refusal);
    if (status != SB_OK)
        return status;
    status = try_memory(team, SB_ARENA_ANY, papers, refusal, reason);
    if (status == SB_ERR_UNSUPPORTED && worth_a_name(papers->members, team->size, *refusal)) {
        *refusal = SB_REFUSAL_NONE;
        status = try_memory(team, SB_ARENA_FRESH_NAMED, papers, refusal, reason);
    }
    return status;
}

/*
 * Everybody gets the rules of rank 0, in as many exchanges as they need: none, where it has none.
 */
static sb_status_t share_rules(sb_team_t *team)
{
    size_t bytes = team->rules.count * sizeof team->rules.rule[0];
    char piece[SB_EXCHANGE_BYTES] = {0}, all[(size_t)team->size * SB_EXCHANGE_BYTES];
    sb_status_t status = SB_OK;

    for (size_t offset = 0; offset < bytes && status == SB_OK; offset += SB_EXCHANGE_BYTES) {
        size_t part = sb_min(bytes - offset, SB_EXCHANGE_BYTES);
        if (team->rank == 0)
            memcpy(piece, (const char *)team->front.rules->rule + offset, part);
        status = sb_team_exchange(team, piece, all, part);
        memcpy((char *)team->rules.rule + offset, all, part);
    }
    return status;
}

/* Settings by size and by team. Who fails here fails in the team's first call, like the others. */
static void adopt_rules(sb_team_t *team)
{
    if (team->rules.count == 0)
        return;
    team->failure = share_rules(team);
    if (team->failure != SB_OK)
        return;
    sb_rules_keep(&team->rules, team->size, team->oversubscribed);
    team->settings.rules = team->rules.count > 0 ? &team->rules : NULL;
}

sb_status_t sb_team_create(sb_team_t **team, const sb_front_t *front, uint32_t rank, uint32_t size,
                           sb_refusal_t *refusal, sb_reason_t *reason)
{
    papers_t papers;
    bool complete = get_papers(&papers, size);
    sb_team_t *made = complete ? new_team(front, rank, size) : NULL;
    sb_status_t status = SB_ERR_MEMORY;

    *team = NULL;
    *refusal = SB_REFUSAL_NONE;
    *reason = (sb_reason_t){""};
    sb_team_sweep();
    if (made != NULL)
        status = set_up(made, &papers, refusal, reason);
    free_papers(&papers);
    if (status != SB_OK) {
        sb_team_free(made);
        return status;
    }
    sb_team_set_waiter(made);
    adopt_rules(made);
    *team = made;
    return SB_OK;
}

sb_status_t sb_team_exchange(sb_team_t *team, const void *mine, void *all, size_t bytes)
{
    uint64_t number = ++team->exchanges;
    sb_box_t *box = &team->self->box[number & 1];

    /* The box was last used two exchanges ago. Everybody has published the one since, and had read
     * this box before. */
    sb_copy(box->payload, mine, bytes);
    sb_flag_publish(&box->flag, number);
    for (uint32_t i = 0; i < team->size; i++) {
        sb_box_t *theirs = &team->lanes[i]->box[number & 1];
        sb_status_t status = sb_flag_wait(&theirs->flag, number, &team->waiter);
        if (status != SB_OK)
            return status;
        sb_copy((char *)all + i * bytes, theirs->payload, bytes);
    }
    return SB_OK;
}
