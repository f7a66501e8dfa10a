/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_COLL_VECTOR_MESSAGE_H
#define SB_COLL_VECTOR_MESSAGE_H

/* What the files of the mesh know of its messages; algorithms use mesh.h. */

#include "coll/vector/short.h"

/* A slot's note: bytes of a short message, or that there is a plan. */
#define SB_NOTE_PLAN 0x80000000u
#define SB_NOTE_PUSHED 0x80000001u

/* The note of a reader's `consumed`, when it is done with what was exposed. */
#define SB_NOTE_READ 0u
#define SB_NOTE_REFUSED 1u

/* Bytes of `bounce`, through which exposed ones pass that are not to lie in one row. */
#define SB_MESH_BOUNCE ((size_t)16 << 10)

/* The shortest message that is exposed by itself where it is read by loads. */
#define SB_LOADS_LEAST ((size_t)4 << 10)

/* What the slot of a long message holds: whole words (sb_copy_words). */
typedef struct sb_vector_plan {
    uint64_t position;
    uint64_t bytes;
    sb_exposure_t exposed;
    uint64_t started; /* when its sender began, if `mode` is one, or it asks how long it takes */
    uint64_t fragment;
    uint64_t mode; /* sb_copy_mode_t of the call, or of this message and SB_PLAN_SOLE; and what
                    * SB_PLAN_SWAPPED says */
} sb_vector_plan_t;

/* Its sender has chosen the mode for its only reader. */
#define SB_PLAN_SOLE 0x100u

/* Its bytes are in a swapped window, of the number that is in the bit above. */
#define SB_PLAN_SWAPPED 0x200u
#define SB_PLAN_WINDOW 0x400u
#define SB_PLAN_MODE 0xffu

_Static_assert(sizeof(sb_vector_plan_t) <= SB_SLOT_IN_LINE, "a plan travels in the flag's line");

/* The first of a block. */
typedef struct sb_mesh_head {
    sb_wide_flag_t done;
    sb_wide_flag_t wanted; /* of a root, see collecting.c */
    sb_wide_flag_t begun;  /* likewise: the last call that this rank has begun as a root */
} sb_mesh_head_t;

static inline sb_mesh_head_t *sb_mesh_head(const sb_mesh_t *mesh, uint32_t rank)
{
    return (sb_mesh_head_t *)(void *)mesh->peer[rank].base;
}

/* How far a reader has come with one writer's flows: it alone writes the flags. */
typedef struct sb_mesh_reader {
    _Alignas(SB_FLAG_STRIDE) sb_flag_t one;
    sb_flag_t all;
    sb_flag_t timed;     /* sb_copy_told of the last message that was asked about */
    sb_counter_t claims; /* see single_copy.c: the writer adds too */
} sb_mesh_reader_t;

/* The reader's word beside what it has consumed of the writer's flow to it, or to all. */
static inline sb_mesh_reader_t *sb_reader(const sb_mesh_t *mesh, uint32_t reader, uint32_t writer)
{
    return (sb_mesh_reader_t *)(void *)((char *)mesh->peer[reader].base + mesh->readers) + writer;
}

static inline sb_outlet_t *sb_outlet(sb_mesh_t *mesh, uint32_t to)
{
    return to == SB_TO_ALL ? &mesh->all : &mesh->peer[to].out;
}

static inline sb_inlet_t *sb_inlet(sb_mesh_t *mesh, const sb_receiving_t *receiving)
{
    sb_mesh_peer_t *peer = &mesh->peer[receiving->peer];

    return receiving->of_all ? &peer->all : &peer->one;
}

/* Where the next bytes of a staged message are. */
static inline const char *sb_arrived_at(const sb_inlet_t *in, const sb_receiving_t *receiving)
{
    return receiving->window != NULL ? receiving->window + receiving->offset
                                     : in->area + sb_cursor_place(&receiving->cursor);
}

/* Whether messages may go round in so much that it makes a difference. */
static inline bool sb_mesh_is_wide(const sb_mesh_t *mesh)
{
    return mesh->wide >= 2 * SB_FLOW_PIECES * mesh->bytes;
}

/* Bytes that a message to one rank goes round in; `sole`: to the only other one. */
static inline size_t sb_window_of(const sb_mesh_t *mesh, sb_copy_mode_t mode, bool sole)
{
    size_t usual = sole ? mesh->sole.window : mesh->bytes;

    return mode == SB_COPY_WIDE ? mesh->wide : usual;
}

/* Where that ends in the sender's block. */
static inline size_t sb_window_end(const sb_mesh_t *mesh, sb_copy_mode_t mode, bool sole)
{
    size_t end = mesh->annexes - mesh->swap.bytes;

    return end - (mesh->wide - sb_window_of(mesh, mode, sole));
}

/* A message is about to go through the outlet's area, up to there, or in a window: touches that. */
void sb_outlet_reach(const sb_team_t *team, sb_outlet_t *out, const sb_sending_t *sending,
                     size_t end);

/* Whether a message would be in a window if this rank had one now, and there are no pages of the
 * area that it would go through instead. */
bool sb_lacks_window(const sb_mesh_t *mesh, const sb_sending_t *sending);

/* Has the policy know what memory its modes go through. Of messages that all send each other those
 * by ordinary stores are in windows. */
static inline void sb_mesh_charge(const sb_mesh_t *mesh, sb_copy_policy_t *policy, bool sole)
{
    static const sb_copy_mode_t stored[] = {SB_COPY_NON_TEMPORAL, SB_COPY_CACHED, SB_COPY_WIDE};

    for (size_t i = 0; i < SB_COUNT_OF(stored); i++)
        sb_copy_policy_reaches(policy, stored[i], &mesh->resource,
                               sb_window_end(mesh, stored[i], sole));
    policy->window = sole ? 0 : mesh->swap.bytes;
    policy->window_touched = &mesh->swap.touched;
}

/* The same of its sender's area, and of that to all. */
static inline size_t sb_outlet_window(const sb_mesh_t *mesh, const sb_sending_t *sending)
{
    size_t window = sb_window_of(mesh, sending->mode, sending->sole);

    return sending->peer == SB_TO_ALL ? mesh->bytes_all : window;
}

/* Where its bytes are, as a plan's mode says it. */
static inline uint64_t sb_window_said(const sb_mesh_t *mesh, const sb_sending_t *sending)
{
    if (sending->window == NULL)
        return 0;
    return SB_PLAN_SWAPPED | (sending->window == mesh->swap.window[1] ? SB_PLAN_WINDOW : 0);
}

/* Bytes that a message goes round in, as its plan says. */
static inline size_t sb_plan_window(const sb_mesh_t *mesh, const sb_vector_plan_t *plan)
{
    sb_copy_mode_t mode = (sb_copy_mode_t)(plan->mode & SB_PLAN_MODE);

    return sb_window_of(mesh, mode, (plan->mode & SB_PLAN_SOLE) != 0);
}

/* What every plan says of how its message goes. */
static inline sb_vector_plan_t sb_plan_of(const sb_mesh_t *mesh, const sb_sending_t *sending)
{
    return (sb_vector_plan_t){
        .bytes = sending->stream->bytes,
        .mode = (sending->sole ? SB_PLAN_SOLE : 0) | sending->mode | sb_window_said(mesh, sending),
        .started = sending->sole ? mesh->sole.started : mesh->call->started,
    };
}

static inline void sb_put_plan(const sb_mesh_t *mesh, const sb_outlet_t *out, uint32_t note,
                               const sb_vector_plan_t *plan)
{
    sb_slot_t *slot = sb_slot_now(mesh, out->slot);

    sb_copy_words(slot->payload, plan, sizeof *plan);
    sb_flag_set_note(&slot->flag, note);
    sb_flag_publish(&slot->flag, mesh->calls + 1);
}

/* Looks at a flag of which there is hope: at least so often, and the more the longer the message.
 */
uint32_t sb_looks(const sb_team_t *team, size_t bytes);

/* Bytes of a fragment of a staged message. */
size_t sb_staged_fragment(const sb_team_t *team, const sb_sending_t *sending, size_t area);

/* Copies what of the next bytes of a message this rank has room for. */
void sb_land(sb_receiving_t *receiving, const char *from, size_t bytes);

/* Reads the announcement, and takes a short message. */
sb_status_t sb_open_message(sb_team_t *team, sb_receiving_t *receiving);

/* The message lies where the plan says; it counts as sent. */
void sb_offer(sb_team_t *team, sb_sending_t *sending);

/*
 * Puts the message where its reader has asked for it. False if it was not asked for, or cannot be
 * put there.
 */
bool sb_push_invited(sb_team_t *team, sb_sending_t *sending);

/* Receives what was exposed, up to `limit`, or refuses it: then it counts as received. */
void sb_receive_exposed(sb_team_t *team, sb_receiving_t *receiving, size_t limit);

/* The receiver's side of sb_sole_choose: reads what the plan says of it. */
void sb_sole_heard(sb_mesh_t *mesh, const sb_vector_plan_t *plan);

/* Both sides, at the end of a call that was `busy`. */
void sb_sole_end(sb_team_t *team);

/* At the end of a call: passes on what was exposed, or takes back the invitations that are open. */
sb_status_t sb_settle_exposed(sb_team_t *team);
void sb_withdraw(sb_team_t *team);

#endif
