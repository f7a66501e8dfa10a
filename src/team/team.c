/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How ranks become a team. Every decision is taken from what all members have received, so that all
 * decide alike:
 *
 *   profiles   is everybody on this node, with this build of Sobor, and willing? Known beforehand,
 *              or exchanged;
 *   hellos     where is each rank's control block? One exchange of a few dozen bytes;
 *   verdicts   has everybody attached to everybody? Told in the control blocks themselves: a rank
 *              that cannot see one of them knows without it that its own verdict is no.
 *
 * A rank that lacks memory takes part and says so. If memory cannot be shared through /proc a
 * second try is made with named memory made for the occasion.
 */
#include "base/config.h"
#include "base/lines.h"
#include "team/hello.h"
#include "team/hierarchy.h"
#include "team/leave.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One set-up. What it exchanges lies in one piece of private memory, which is had before. */
typedef struct setup {
    const sb_front_t *front;
    uint32_t size;
    sb_team_t *team; /* NULL: this rank has no memory for it, and will say so */
    sb_greeting_t *greetings;
    sb_profile_t *profiles; /* NULL: the front end knows them */
    sb_hello_t *hellos;
    sb_place_t *places;
    sb_reason_t *reasons;
    sb_refusal_t refusal;
    sb_reason_t reason; /* this rank's own; at last the first one of all */
} setup_t;

static sb_team_t *new_team(const sb_front_t *front, uint32_t rank, uint32_t size)
{
    sb_team_t *team = sb_alloc_lines(sizeof *team);

    if (team == NULL)
        return NULL;
    team->rank = rank;
    team->size = size;
    team->front = *front;
    team->controls = calloc(size, sizeof *team->controls);
    team->attachments = calloc(size, sizeof *team->attachments);
    if (team->controls == NULL || team->attachments == NULL) {
        sb_team_free(team);
        return NULL;
    }
    return team;
}

static const sb_profile_t *profile_of(const setup_t *setup, uint32_t rank)
{
    return setup->profiles != NULL ? &setup->profiles[rank]
                                   : setup->front->profile(setup->front->profile_context, rank);
}

static sb_status_t exchange(const setup_t *setup, const void *mine, void *all, size_t bytes)
{
    return setup->front->allgather(setup->front->context, mine, all, bytes);
}

/* Room that is there when no other is to be had, for one set-up at a time. */
typedef struct reserve {
    _Alignas(64) char bytes[64 << 10];
} reserve_t;

SB_PROCESS_STATE(reserve_t, reserve, {.bytes = {0}})
SB_PROCESS_STATE(sb_counter_t, reserve_users, {0})

static char *take_scratch(size_t bytes)
{
    char *scratch = malloc(bytes);

    if (scratch != NULL || bytes > sizeof(reserve_t))
        return scratch;
    if (sb_counter_add(reserve_users(), 1) == 0)
        return reserve()->bytes;
    sb_counter_add(reserve_users(), UINT64_MAX);
    return NULL;
}

/* Who has the reserve is counted, so where nobody is, it is not looked at. */
static void give_scratch(char *scratch)
{
    if (sb_counter_read(reserve_users()) > 0 && scratch == reserve()->bytes)
        sb_counter_add(reserve_users(), UINT64_MAX);
    else
        free(scratch);
}

static void *part_of(char **scratch, size_t count, size_t bytes)
{
    char *part = *scratch;

    *scratch += sb_round_up(count * bytes, 16);
    return part;
}

/* Divides the scratch, or with NULL finds how large it has to be. */
static size_t divide_scratch(setup_t *setup, char *scratch)
{
    char *at = scratch;
    uint32_t size = setup->size;

    setup->hellos = part_of(&at, size, sizeof *setup->hellos);
    setup->places = part_of(&at, size, sizeof *setup->places);
    setup->reasons = part_of(&at, size, sizeof *setup->reasons);
    if (setup->front->profile == NULL) {
        setup->greetings = part_of(&at, size, sizeof *setup->greetings);
        setup->profiles = part_of(&at, size, sizeof *setup->profiles);
    }
    return (size_t)(at - scratch);
}

static sb_status_t exchange_profiles(setup_t *setup)
{
    sb_profile_t mine;

    sb_profile_self(&mine);
    if (setup->front->place != NULL)
        mine.place = *setup->front->place;
    if (setup->front->settings != NULL)
        mine.settings = *setup->front->settings;
    mine.rules = setup->front->rules == NULL ? 0 : setup->front->rules->count;
    sb_status_t status = exchange(setup, &mine.greeting, setup->greetings, sizeof mine.greeting);
    for (uint32_t i = 0; i < setup->size && setup->refusal == SB_REFUSAL_NONE; i++)
        setup->refusal = sb_greetings_judge(&setup->greetings[0], &setup->greetings[i]);
    if (status != SB_OK || setup->refusal != SB_REFUSAL_NONE)
        return status;
    return exchange(setup, &mine, setup->profiles, sizeof mine);
}

static void say_hello(setup_t *setup, sb_arena_source_t source, sb_hello_t *mine)
{
    sb_team_t *team = setup->team;

    *mine = (sb_hello_t){.objection = setup->front->objection, .exhausted = 1};
    snprintf(setup->reason.text, sizeof setup->reason.text, "private memory is exhausted");
    if (team == NULL || mine->objection != 0)
        return;
    sb_status_t status = sb_arena_take(&team->block, sb_control_bytes(team->slots), source,
                                       setup->size, &setup->reason);
    mine->ready = status == SB_OK;
    mine->exhausted = status == SB_ERR_MEMORY;
    if (!mine->ready)
        return;
    setup->reason.text[0] = '\0';
    mine->key = team->block.region->key;
    mine->offset = team->block.offset;
}

static sb_refusal_t judge_hellos(const setup_t *setup)
{
    sb_refusal_t refusal = SB_REFUSAL_NONE;

    for (uint32_t i = 0; i < setup->size; i++) {
        if (setup->hellos[i].objection != 0)
            return SB_REFUSAL_FRONT;
        if (!setup->hellos[i].ready)
            refusal = SB_REFUSAL_MEMORY;
    }
    return refusal;
}

/* Attaches to as many as it can: those learn of it, and this rank learns of their verdicts. */
static bool attach_controls(setup_t *setup)
{
    sb_team_t *team = setup->team;
    bool all = true;

    for (uint32_t i = 0; i < team->size; i++) {
        const sb_hello_t *hello = &setup->hellos[i];
        team->controls[i] = (sb_control_t *)(void *)team->block.address;
        if (i == team->rank)
            continue;
        team->controls[i] = NULL;
        if (sb_arena_attach(&team->attachments[i], &hello->key, &setup->reason) == SB_OK)
            team->controls[i] =
                (sb_control_t *)(void *)(sb_attachment_base(team->attachments[i]) + hello->offset);
        all = all && team->controls[i] != NULL;
    }
    team->self = team->controls[team->rank];
    return all;
}

/* The settings and rules of rank 0, the members' places, and the hierarchies to be used. */
static bool learn(setup_t *setup)
{
    sb_team_t *team = setup->team;
    const sb_profile_t *first = profile_of(setup, 0);

    team->settings = first->settings;
    team->rules = first->rules == 0 ? NULL : calloc(1, sizeof *team->rules);
    if (first->rules != 0 && team->rules == NULL)
        return false;
    if (team->rules != NULL)
        team->rules->count = (uint32_t)sb_min(first->rules, SB_RULES_MOST);
    return sb_locality_make(&team->locality, sb_team_topology(team), setup->places, team->size) ==
               SB_OK &&
           sb_team_hierarchy(team, team->settings.levels, 0) != NULL &&
           sb_team_subgroups(team) != NULL;
}

/* Everything that this rank has to have of its own before it can say that it is ready. */
static void get_ready(setup_t *setup, sb_verdict_t *verdict)
{
    if (!attach_controls(setup))
        return;
    if (!learn(setup)) {
        snprintf(setup->reason.text, sizeof setup->reason.text, "private memory is exhausted");
        return;
    }
    verdict->locality = sb_locality_hash(&setup->team->locality);
    verdict->attached = true;
}

/*
 * The team's first exchange, in which a member may lack some of the others' control blocks. Ranks
 * leave it when everybody has come: a host's allgather may return while what it sent still needs
 * the receiver's progress, which the wait here makes.
 */
static sb_status_t agree(sb_team_t *team, const sb_verdict_t *mine, bool *everybody)
{
    sb_box_t *box = &team->self->box[1];
    sb_status_t status = SB_OK;
    bool same = true;

    team->exchanges = 1;
    sb_copy(box->payload, mine, sizeof *mine);
    sb_flag_publish(&box->flag, 1);
    *everybody = mine->attached;
    for (uint32_t i = 0; i < team->size && status == SB_OK; i++) {
        sb_verdict_t verdict = {0};
        if (team->controls[i] != NULL) {
            status = sb_flag_wait(&team->controls[i]->box[1].flag, 1, &team->waiter);
            sb_copy(&verdict, team->controls[i]->box[1].payload, sizeof verdict);
        }
        *everybody = *everybody && verdict.attached;
        same = same && verdict.locality == mine->locality;
    }
    if (*everybody && !same)
        sb_team_hierarchies_refuse(team, "the ranks see different machines");
    return status;
}

static void find_places(setup_t *setup)
{
    for (uint32_t i = 0; i < setup->size; i++)
        setup->places[i] = profile_of(setup, i)->place;
    if (setup->team == NULL)
        return;
    setup->team->oversubscribed = sb_places_oversubscribed(setup->places, setup->size);
    setup->team->processors = (uint32_t)sb_places_processors(setup->places, setup->size);
    setup->team->slots = setup->team->oversubscribed ? SB_SLOTS_CROWDED : SB_SLOTS;
    sb_team_set_waiter(setup->team);
}

/* Everybody tells why not; and nobody looks at the others' control blocks any more. */
static sb_status_t tell_reasons(setup_t *setup)
{
    sb_status_t status = exchange(setup, &setup->reason, setup->reasons, sizeof setup->reason);

    for (uint32_t i = setup->size; status == SB_OK && i-- > 0;) {
        if (setup->reasons[i].text[0] != '\0')
            setup->reason = setup->reasons[i];
    }
    return status;
}

/* Nothing of a try remains. */
static void forget_try(sb_team_t *team)
{
    sb_team_detach(team);
    sb_team_hierarchies_free(team);
    sb_locality_free(&team->locality);
    free(team->rules);
    team->rules = NULL;
    sb_arena_give(&team->block);
}

/* One try. */
static sb_status_t try_memory(setup_t *setup, sb_arena_source_t source)
{
    sb_hello_t mine;
    sb_verdict_t verdict = {0};
    bool everybody = false;

    say_hello(setup, source, &mine);
    sb_status_t status = exchange(setup, &mine, setup->hellos, sizeof mine);
    setup->refusal = status == SB_OK ? judge_hellos(setup) : SB_REFUSAL_NONE;
    if (status == SB_OK && setup->refusal == SB_REFUSAL_NONE) {
        get_ready(setup, &verdict);
        status = agree(setup->team, &verdict, &everybody);
        setup->refusal = everybody ? SB_REFUSAL_NONE : SB_REFUSAL_MEMORY;
    }
    if (setup->team != NULL)
        sb_arena_settle(&setup->team->block);
    if (status == SB_OK && setup->refusal == SB_REFUSAL_MEMORY)
        status = tell_reasons(setup);
    if (setup->team != NULL && status == SB_OK && setup->refusal != SB_REFUSAL_NONE)
        forget_try(setup->team);
    return status;
}

/*
 * Memory that cannot be had anonymously, or not be handed over through /proc, may still be had and
 * found by a name. Memory that is used up may not.
 */
static bool is_worth_a_name(const setup_t *setup)
{
    uint32_t segment = profile_of(setup, 0)->settings.segment;
    bool exhausted = false;

    for (uint32_t i = 0; i < setup->size; i++)
        exhausted = exhausted || setup->hellos[i].exhausted;
    return setup->refusal == SB_REFUSAL_MEMORY && !exhausted &&
           (segment == SB_SEGMENT_AUTO || segment == SB_SEGMENT_NAMED);
}

static sb_status_t set_up(setup_t *setup)
{
    sb_status_t status = SB_OK;

    if (setup->profiles != NULL)
        status = exchange_profiles(setup);
    if (status != SB_OK || setup->refusal != SB_REFUSAL_NONE)
        return status;
    find_places(setup);
    status = try_memory(setup, SB_ARENA_ANY);
    if (status == SB_OK && is_worth_a_name(setup))
        status = try_memory(setup, SB_ARENA_FRESH_NAMED);
    return status;
}

sb_status_t sb_team_create(sb_team_t **team, const sb_front_t *front, uint32_t rank, uint32_t size,
                           sb_refusal_t *refusal, sb_reason_t *reason)
{
    setup_t setup = {.front = front, .size = size};
    char *scratch = take_scratch(divide_scratch(&setup, NULL));
    sb_status_t status = SB_ERR_MEMORY;

    *team = NULL;
    sb_team_sweep();
    if (scratch != NULL) {
        divide_scratch(&setup, scratch);
        setup.team = new_team(front, rank, size);
        status = set_up(&setup);
        give_scratch(scratch);
    }
    *refusal = setup.refusal;
    *reason = setup.reason;
    if (status != SB_OK || setup.refusal != SB_REFUSAL_NONE) {
        sb_team_free(setup.team);
        return status == SB_OK ? SB_ERR_UNSUPPORTED : status;
    }
    sb_rules_adopt(setup.team);
    *team = setup.team;
    return SB_OK;
}

void sb_team_tell(sb_team_t *team, const void *mine, size_t bytes)
{
    uint64_t number = ++team->exchanges;
    sb_box_t *box = &team->self->box[number & 1];

    /* The box was last used two exchanges ago. Everybody has published the one since, and had read
     * this box before. */
    sb_copy(box->payload, mine, bytes);
    sb_flag_publish(&box->flag, number);
}

sb_status_t sb_team_hear(sb_team_t *team, uint32_t rank, void *theirs, size_t bytes)
{
    sb_box_t *box = &team->controls[rank]->box[team->exchanges & 1];
    sb_status_t status = sb_flag_wait(&box->flag, team->exchanges, &team->waiter);

    if (status == SB_OK)
        sb_copy(theirs, box->payload, bytes);
    return status;
}

sb_status_t sb_team_agree(sb_team_t *team, bool mine, bool *all)
{
    uint32_t word = mine, theirs = 0;
    sb_status_t status = SB_OK;

    sb_team_tell(team, &word, sizeof word);
    *all = true;
    for (uint32_t i = 0; i < team->size && status == SB_OK; i++) {
        status = sb_team_hear(team, i, &theirs, sizeof theirs);
        *all = *all && status == SB_OK && theirs != 0;
    }
    return status;
}
