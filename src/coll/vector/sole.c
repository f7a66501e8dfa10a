/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Long messages to the only other rank of a team, in calls that have a root: nobody shares the
 * work, so what decides is which copy is faster, one by the kernel, or two through the area, of
 * which the first may pass the caches by. Ordinary stores have to take every line back from who has
 * read it: what they cost depends on how far the ranks are from each other, by a factor of eight,
 * and where they run may change. So the choice begins with the others. All go round in twice as
 * much as messages of an exchange: lines that their reader has just read would be waited for
 * longer. The sender chooses, and says so in the plan; now and then it asks how long a message
 * takes. The time is the longer of both ranks'. The reader's is counted from when the sender began,
 * or it came later itself; the sender's until it was done, so that a sender that has to wait for
 * one who comes late counts.
 */
#include "coll/vector/message.h"

void sb_sole_prepare(sb_team_t *team)
{
    sb_mesh_t *mesh = sb_mesh(team);
    sb_sole_t *sole = &mesh->sole;

    sole->measured = true;
    sole->window = sb_mesh_is_wide(mesh) ? 2 * mesh->bytes : mesh->bytes;
    sole->policy = sb_copy_policy(SB_COPY_NON_TEMPORAL, SB_COPY_CACHED, SB_STORES_AUTO);
    if (team->settings.loads)
        sb_copy_policy_add_loads(&sole->policy, SB_COPY_ANY, 0, mesh->expose.call_ns, mesh->lone);
    else if (mesh->expose.kernel)
        sb_copy_policy_add(&sole->policy, SB_COPY_ANY, 0, mesh->expose.call_ns);
    if (sb_mesh_is_wide(mesh))
        sb_copy_policy_add(&sole->policy, SB_COPY_WIDE, 0, 0);
    sb_mesh_charge(mesh, &sole->policy, true);
}

/* Bytes that messages of so many go round in, in that mode. */
static size_t lap_of(const sb_mesh_t *mesh, sb_copy_mode_t mode, size_t bytes)
{
    return mode == SB_COPY_ANY ? bytes : sb_window_of(mesh, mode, true);
}

/* Whether a message is one that there is a choice for. */
static bool is_measured(const sb_team_t *team, const sb_stream_t *stream)
{
    return sb_mesh(team)->sole.measured && stream->base != NULL && stream->bytes >= SB_COPY_LEAST;
}

/* Sender: what its last timed message took, if its reader has told. One that it never looked at,
 * because it expected none, is given up. */
static void learn(sb_team_t *team)
{
    sb_mesh_t *mesh = sb_mesh(team);
    sb_copy_timed_t *timed = &mesh->sole.timed;
    uint64_t told = sb_flag_read(&sb_reader(mesh, 1 - team->rank, team->rank)->timed);
    bool heard = told >> SB_COPY_TIME_BITS == timed->use + 1;

    if (heard)
        sb_copy_record(&mesh->sole.policy, &timed->choice,
                       sb_max(timed->own, told & SB_COPY_TIME_MOST));
    if (heard || mesh->calls > timed->use + mesh->slots)
        timed->open = false;
}

void sb_sole_choose(sb_team_t *team, sb_sending_t *sending)
{
    sb_mesh_t *mesh = sb_mesh(team);
    sb_sole_t *sole = &mesh->sole;
    const sb_stream_t *stream = sending->stream;
    size_t laps[SB_COPY_MODES];

    if (!is_measured(team, stream))
        return;
    for (uint8_t i = 0; i < sole->policy.modes; i++)
        laps[i] = lap_of(mesh, sole->policy.mode[i], stream->bytes);
    if (sole->timed.open)
        learn(team);
    sb_copy_choice_t choice = sb_copy_choose(&sole->policy, stream->bytes, stream->base, laps);
    sending->mode = choice.mode;
    sending->sole = true;
    if (choice.mode == SB_COPY_ANY && sending->prefer == SB_PREFER_BY_SIZE)
        sending->prefer = SB_PREFER_EXPOSED;
    sole->started = 0;
    if (!choice.timed || sole->timed.open)
        return;
    sole->started = sb_now_ns();
    sole->timed = (sb_copy_timed_t){.use = mesh->calls, .choice = choice, .open = true};
    mesh->sole_ends = true;
}

/* Whether the message has come, and it can be seen that its time is not wanted. */
static bool is_untimed(const sb_mesh_t *mesh, const sb_slot_t *slot)
{
    sb_vector_plan_t plan;

    if (sb_flag_read(&slot->flag) <= mesh->calls)
        return false;
    if (sb_flag_note(&slot->flag) < SB_NOTE_PLAN)
        return true;
    sb_copy(&plan, slot->payload, sizeof plan);
    return (plan.mode & SB_PLAN_SOLE) == 0 || plan.started == 0;
}

/*
 * Who has to wait for the message has the time to read the clock. Who has something else to do
 * first does not look whether it has: its sender would have to take the slot's line back.
 */
void sb_sole_arrive(sb_team_t *team, uint32_t from, const sb_stream_t *part, bool looks)
{
    sb_mesh_t *mesh = sb_mesh(team);

    if (!is_measured(team, part) ||
        (looks && is_untimed(mesh, sb_slot_now(mesh, mesh->peer[from].one.slot))))
        return;
    mesh->sole.arrived = sb_now_ns();
}

void sb_sole_heard(sb_mesh_t *mesh, const sb_vector_plan_t *plan)
{
    sb_sole_t *sole = &mesh->sole;

    sole->heard[sb_copy_class((size_t)plan->bytes)] = (sb_copy_mode_t)(plan->mode & ~SB_PLAN_SOLE);
    sole->asked = plan->started;
    mesh->sole_ends = plan->started != 0;
}

void sb_sole_end(sb_team_t *team)
{
    sb_mesh_t *mesh = sb_mesh(team);
    sb_sole_t *sole = &mesh->sole;
    uint64_t now = sb_now_ns(), since = sb_max(sole->asked, sole->arrived);

    if (sole->asked != 0)
        sb_flag_publish(&sb_reader(mesh, team->rank, 1 - team->rank)->timed,
                        sb_copy_told(mesh->calls, now - sb_min(now, since)));
    else
        sole->timed.own = now - sole->started;
    sole->asked = sole->arrived = 0;
    mesh->sole_ends = false;
}
