/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/reduction/slices.h"

#include "coll/reduction/halves.h"
#include "coll/reduction/placed.h"
#include "coll/reduction/ways.h"

/* A slice is made of whole lines if a window has so many for each rank. */
#define LINES_FOR_EACH 2
/* But all ranks help with shorter windows than this. */
#define SHORT ((size_t)4 << 10)
/* The same of ranks that are one group: what is at most four lines is hardly read as a run. */
#define SLICE_LEAST_ALONE ((size_t)5 * SB_LINE)
#define SHORT_ALONE ((size_t)1 << 10)

typedef struct slices {
    sb_team_t *team;
    const sb_reduction_t *reduction;
    sb_wanted_t wanted;
    size_t window; /* bytes */
    uint64_t count;
    uint32_t groups; /* that a window passes */
    size_t least;    /* bytes of a slice; fewer ranks have one */
    size_t few;      /* bytes of a window with which all ranks help */
    bool relays;
    sb_copy_mode_t mode; /* of copying in */
    bool entire;         /* what is combined here is copied in too */
    bool both;           /* goes in slices only if both ranks' contributions stay; */
    bool chosen;         /* and so far that is the way, see ways.h */
    bool stays;          /* this rank's does; as a way, if its result goes elsewhere */
    bool all;            /* ranks want the whole result */
    bool placing;        /* results go where they belong, */
    bool placed;         /* and this rank's */
    bool non_temporal;   /* the result goes past the caches */
    sb_status_t data;
} slices_t;

static inline uint64_t turn_of(const slices_t *slices, uint64_t number)
{
    return sb_workspace(slices->team)->turns + number;
}

static inline char *buffer_of(const slices_t *slices, uint32_t rank, uint64_t number,
                              sb_window_kind_t kind)
{
    return sb_workspace_buffer(slices->team, rank, turn_of(slices, number), kind);
}

/* Bytes of the window of this number. */
static inline size_t bytes_of(const slices_t *slices, uint64_t number)
{
    return sb_min(slices->window, slices->reduction->bytes - (size_t)number * slices->window);
}

static size_t common_divisor(size_t a, size_t b)
{
    return b == 0 ? a : common_divisor(b, a % b);
}

/*
 * What slices of such a window are made of: whole elements, and whole lines if there are many. Of
 * a reduction a slice is a run of lines, and some ranks may have none: where two write to
 * neighbouring lines these go to and fro between all that want them, and short runs are dear to
 * read.
 */
static size_t grain_of(const slices_t *slices, size_t bytes, uint32_t n)
{
    size_t element = slices->reduction->operation->element;
    size_t lined = element / common_divisor(element, SB_LINE) * SB_LINE;

    if (lined <= slices->least && bytes >= slices->few && bytes < slices->least * n)
        return slices->least / lined * lined;
    return bytes >= lined * n * LINES_FOR_EACH ? lined : element;
}

/* Slice i of n of a window of so many bytes. */
static sb_range_t slice_of(const slices_t *slices, size_t bytes, uint32_t i, uint32_t n)
{
    size_t grain = grain_of(slices, bytes, n);
    size_t grains = sb_divide_up(bytes, grain);

    return (sb_range_t){sb_min(bytes, grains * i / n * grain),
                        sb_min(bytes, grains * (i + 1) / n * grain)};
}

/* This rank's slice within its group. */
static sb_range_t own_slice(const slices_t *slices, size_t bytes)
{
    const sb_team_t *team = slices->team;
    const sb_workspace_t *space = sb_workspace(team);

    if (slices->groups == 1)
        return slice_of(slices, bytes, team->rank, team->size);
    return slice_of(slices, bytes, team->rank - space->first[space->group],
                    sb_group_size(space, space->group));
}

/* The ranks that slices of a window are dealt to: a group, or all. */
static void dealt_to(const slices_t *slices, uint32_t group, uint32_t *first, uint32_t *count)
{
    const sb_workspace_t *space = sb_workspace(slices->team);

    *first = slices->groups == 1 ? 0 : space->first[group];
    *count = slices->groups == 1 ? slices->team->size : sb_group_size(space, group);
}

/* This rank has its own slice at hand; the others want it if they combine everything. */
static void copy_in(slices_t *slices, uint64_t number)
{
    if (slices->stays || slices->both)
        return;
    size_t bytes = bytes_of(slices, number);
    sb_range_t own = slices->entire ? (sb_range_t){bytes, bytes} : own_slice(slices, bytes);
    const char *from = slices->reduction->send + (size_t)number * slices->window;
    char *to = buffer_of(slices, slices->team->rank, number, SB_WINDOW_IN);

    if (own.from > 0)
        sb_workspace_copy(slices->mode, to, from, own.from);
    if (own.to < bytes)
        sb_workspace_copy(slices->mode, to + own.to, from + own.to, bytes - own.to);
}

/* Where the contribution of a rank of this rank's group to its slice is. */
static const char *contribution(slices_t *slices, uint64_t number, uint32_t rank)
{
    if (rank == slices->team->rank)
        return slices->reduction->send + (size_t)number * slices->window;
    const char *sent = sb_workspace_sent(slices->team, rank, (size_t)number * slices->window,
                                         bytes_of(slices, number), &slices->data);
    return sent != NULL ? sent : buffer_of(slices, rank, number, SB_WINDOW_IN);
}

/* Where this rank combines a window. */
static char *result_of(const slices_t *slices, uint64_t number)
{
    if (slices->placed)
        return slices->reduction->receive + (size_t)number * slices->window;
    return buffer_of(slices, slices->team->rank, number, SB_WINDOW_RESULT);
}

/* Combines a range of this rank's slice; `before`: what the groups before have of it, or NULL. */
static void combine(slices_t *slices, uint64_t number, sb_range_t range, const char *before)
{
    const sb_team_t *team = slices->team;
    sb_fold_t fold;
    uint32_t first, count;

    if (range.from >= range.to)
        return;
    sb_fold_begin(&fold, slices->reduction->operation, result_of(slices, number) + range.from,
                  range.to - range.from);
    dealt_to(slices, sb_workspace(team)->group, &first, &count);
    if (before != NULL)
        sb_fold_add(&fold, before + range.from);
    for (uint32_t i = 0; i < count; i++)
        sb_fold_add(&fold, contribution(slices, number, first + i) + range.from);
    slices->data = sb_first(slices->data, sb_fold_end(&fold));
}

/* The whole window, where it belongs. */
static void combine_all(slices_t *slices, uint64_t number)
{
    combine(slices, number, (sb_range_t){0, bytes_of(slices, number)}, NULL);
}

/* Tells the others where this rank's slice of the result is. */
static void show_place(const slices_t *slices, uint64_t number, sb_range_t own)
{
    char *window = buffer_of(slices, slices->team->rank, number, SB_WINDOW_RESULT) + own.from;
    const char *placed = slices->placed ? result_of(slices, number) + own.from : NULL;

    sb_placed_show(slices->team, turn_of(slices, number), slices->reduction, placed, window,
                   sb_range_bytes(own));
}

/* This rank's slice of the window, in the parts that the ranks of the group before have. */
static void combine_slice(slices_t *slices, uint64_t number)
{
    const sb_workspace_t *space = sb_workspace(slices->team);
    size_t bytes = bytes_of(slices, number);
    sb_range_t own = own_slice(slices, bytes);
    uint32_t first, count;

    if (slices->groups == 1 || space->group == 0) {
        combine(slices, number, own, NULL);
        if (slices->placing)
            show_place(slices, number, own);
        return;
    }
    dealt_to(slices, space->group - 1, &first, &count);
    for (uint32_t i = 0; i < count; i++)
        combine(slices, number, sb_overlap(own, slice_of(slices, bytes, i, count)),
                buffer_of(slices, first + i, number, SB_WINDOW_RESULT));
}

/* Where a range of that rank's window is, which is its slice or part of it. */
static const char *combined(slices_t *slices, uint64_t number, sb_range_t range, uint32_t rank,
                            sb_window_kind_t kind)
{
    const char *placed = NULL;

    if (slices->placing)
        placed = sb_placed_at(slices->team, rank, turn_of(slices, number),
                              (size_t)number * slices->window + range.from, range.to - range.from,
                              &slices->data);
    return placed != NULL ? placed : buffer_of(slices, rank, number, kind) + range.from;
}

/* Copies a range of the window out of the slices of a group, beginning with the own place. */
static void collect(slices_t *slices, uint64_t number, sb_range_t range, uint32_t group,
                    sb_window_kind_t kind, char *to, bool non_temporal)
{
    const sb_team_t *team = slices->team;
    size_t bytes = bytes_of(slices, number);
    uint32_t first, count;

    dealt_to(slices, group, &first, &count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t place = (team->rank + i) % count;
        sb_range_t part = sb_overlap(range, slice_of(slices, bytes, place, count));
        bool placed = slices->placed && first + place == team->rank;
        if (part.from >= part.to || placed)
            continue;
        char *target = to + (part.from - range.from);
        const char *from = combined(slices, number, part, first + place, kind);
        if (non_temporal)
            sb_copy_streaming(target, from, part.to - part.from);
        else if (first + place == team->rank)
            sb_copy(target, from, part.to - part.from);
        else
            sb_copy_far(target, from, part.to - part.from);
    }
}

/* Brings this rank's slice of the result near, for its group. */
static void relay(slices_t *slices, uint64_t number)
{
    uint32_t rank = slices->team->rank;
    sb_range_t own = own_slice(slices, bytes_of(slices, number));

    if (own.from < own.to)
        collect(slices, number, own, slices->groups - 1, SB_WINDOW_RESULT,
                buffer_of(slices, rank, number, SB_WINDOW_RELAY) + own.from, false);
}

static void copy_out(slices_t *slices, uint64_t number)
{
    const sb_workspace_t *space = sb_workspace(slices->team);
    size_t start = (size_t)number * slices->window;
    size_t end = start + bytes_of(slices, number);
    size_t from = sb_max(start, slices->wanted.from), to = sb_min(end, slices->wanted.to);
    bool near = slices->relays && space->group + 1 < slices->groups;

    if (from < to)
        collect(slices, number, (sb_range_t){from - start, to - start},
                near ? space->group : slices->groups - 1, near ? SB_WINDOW_RELAY : SB_WINDOW_RESULT,
                slices->reduction->receive + (from - slices->wanted.from), slices->non_temporal);
}

typedef void part_t(slices_t *slices, uint64_t number);

/* One thing of a step: windows come to it `lag` steps after they were copied in. */
typedef struct job {
    uint64_t lag;
    part_t *part;
} job_t;

/* How this rank's contribution comes to the others, and what rank 0 has all do with results. */
static void begin(slices_t *slices)
{
    sb_team_t *team = slices->team;

    sb_buffers_reach(team, slices->reduction->bytes);
    if (!slices->chosen)
        slices->mode =
            sb_workspace_copy_mode(team, &sb_buffers(team)->copies, slices->reduction, true);
    slices->stays = sb_workspace_show_sent(team, slices->reduction,
                                           slices->chosen ? SB_COPY_WHOLE : slices->mode);
    slices->entire = sb_placed_show_entire(team, slices->all, slices->mode);
    sb_placed_say(team, slices->reduction, slices->all, slices->mode);
    if (slices->both)
        sb_placed_say_elsewhere(team, slices->reduction);
}

/* A time stands for how it is copied in; of ways for what comes of them. */
static sb_status_t through_rings(slices_t *slices)
{
    bool lent = slices->mode == SB_COPY_PULLED || slices->mode == SB_COPY_WHOLE;
    sb_copy_mode_t mode = slices->chosen ? SB_COPY_HALVED : slices->mode;

    if (lent && !slices->chosen)
        sb_workspace(slices->team)->choice.timed = false;
    slices->chosen = false;
    return sb_halves_as(slices->team, slices->reduction, mode);
}

/* After the first barrier: whether what follows is done in two jobs, that and combining all. */
static bool go_on(slices_t *slices, sb_placing_t said)
{
    slices->placing = said != SB_PLACING_NONE;
    slices->placed = said == SB_PLACING_EACH ||
                     (said == SB_PLACING_PARTS && sb_placed_may_be(slices->reduction));
    if (said == SB_PLACING_WHOLE)
        slices->data = sb_placed_combine(slices->team, slices->reduction);
    return said == SB_PLACING_EACH;
}

static void do_jobs(slices_t *slices, const job_t *jobs, size_t count, uint64_t step)
{
    for (size_t i = 0; i < count; i++) {
        /* Ranks begin with different things, so that not all want the same part of the machine. */
        const job_t *job = &jobs[(i + slices->team->rank) % count];
        if (step >= job->lag && step - job->lag < slices->count)
            job->part(slices, step - job->lag);
    }
}

static sb_status_t go(slices_t *slices, const job_t *jobs, size_t count)
{
    static const job_t each[] = {{0, copy_in}, {1, combine_all}};
    sb_workspace_t *space = sb_workspace(slices->team);
    sb_status_t status = SB_OK;
    sb_placing_t said = SB_PLACING_NONE;

    begin(slices);
    for (uint64_t step = 0; said != SB_PLACING_WHOLE && status == SB_OK; step++) {
        uint64_t last = slices->count + jobs[count - 1].lag - 1;
        do_jobs(slices, jobs, count, step);
        uint64_t began = step == 0 ? sb_workspace_wait_begins(space) : 0;
        if (step == last)
            break;
        status = sb_workspace_meet(slices->team);
        if (step > 0 || status != SB_OK)
            continue;
        sb_workspace_wait_ends(space, began);
        said = sb_placed_said(slices->team);
        if (slices->both && !sb_placed_both_stay(slices->team, slices->reduction->bytes)) {
            status = through_rings(slices);
            break;
        }
        if (go_on(slices, said)) {
            jobs = each;
            count = SB_COUNT_OF(each);
        }
    }
    /* The others still read what is where it belongs. */
    if (slices->placing && status == SB_OK)
        status = sb_workspace_meet(slices->team);
    sb_workspace_copied(space);
    if (slices->chosen)
        sb_ways_pass(slices->team);
    space->turns += slices->count;
    return sb_first(status, slices->data);
}

static slices_t start(sb_team_t *team, const sb_reduction_t *reduction, sb_wanted_t wanted,
                      uint32_t groups, size_t most)
{
    slices_t slices = {.team = team, .reduction = reduction, .wanted = wanted, .groups = groups};

    slices.window = sb_slices_window(team, reduction, groups, most);
    slices.count = sb_divide_up(reduction->bytes, slices.window);
    return slices;
}

sb_status_t sb_slices_reduce(sb_team_t *team, const sb_reduction_t *reduction, sb_wanted_t wanted,
                             bool all, sb_copy_mode_t mode)
{
    const sb_workspace_t *space = sb_workspace(team);
    slices_t slices = start(team, reduction, wanted, space->groups, space->buffer);
    uint64_t group = space->group, groups = space->groups;

    slices.all = all;
    slices.both = sb_placed_both(team, reduction, all);
    slices.mode = mode;
    slices.chosen = mode != SB_COPY_ANY;
    if (slices.both && !slices.chosen && sb_placed_passes(team, reduction->bytes))
        return sb_allreduce_rings.reduction(team, reduction);
    slices.relays = all && groups > 1;
    slices.least = groups > 1 ? SB_SLICE_LEAST : SLICE_LEAST_ALONE;
    slices.few = groups > 1 ? SHORT : SHORT_ALONE;
    slices.non_temporal = all && sb_copy_past_caches(space->cached_most, reduction->bytes);
    const job_t jobs[] = {{0, copy_in},
                          {1 + group, combine_slice},
                          {1 + groups, slices.relays ? relay : copy_out},
                          {2 + groups, copy_out}};
    return slices.count == 0 ? SB_OK : go(&slices, jobs, slices.relays ? 4 : 3);
}

/* Where the first ranks' combination of a slice is, in the slice's owner's result. */
static size_t prefix_stride(const slices_t *slices, size_t bytes)
{
    uint32_t size = slices->team->size;
    size_t grain = grain_of(slices, bytes, size);
    size_t each = sb_divide_up(sb_divide_up(bytes, grain), size);

    return sb_round_up(each * grain, SB_LINE);
}

/* The combinations of the first ranks, for each number of them, of this rank's slice. */
static void combine_prefixes(slices_t *slices, uint64_t number)
{
    const sb_team_t *team = slices->team;
    const sb_operator_t *operation = slices->reduction->operation;
    size_t bytes = bytes_of(slices, number), stride = prefix_stride(slices, bytes);
    sb_range_t own = own_slice(slices, bytes);
    char *to = buffer_of(slices, team->rank, number, SB_WINDOW_RESULT);
    const void *from[2] = {NULL, NULL};

    for (uint32_t rank = 0; rank < team->size && own.from < own.to; rank++) {
        from[rank > 0] = contribution(slices, number, rank) + own.from;
        sb_status_t status = sb_combine(operation, to, from, rank > 0 ? 2 : 1, own.to - own.from);
        slices->data = sb_first(slices->data, status);
        from[0] = to;
        to += stride;
    }
}

static void copy_prefix(slices_t *slices, uint64_t number)
{
    const sb_team_t *team = slices->team;
    size_t bytes = bytes_of(slices, number), stride = prefix_stride(slices, bytes);
    char *to = slices->reduction->receive + (size_t)number * slices->window;

    for (uint32_t i = 0; i < team->size && slices->wanted.sources > 0; i++) {
        uint32_t owner = sb_team_after(team, i);
        sb_range_t slice = slice_of(slices, bytes, owner, team->size);
        const char *from = buffer_of(slices, owner, number, SB_WINDOW_RESULT) +
                           (slices->wanted.sources - 1) * stride;
        if (slice.from < slice.to)
            sb_copy(to + slice.from, from, slice.to - slice.from);
    }
}

sb_status_t sb_slices_scan(sb_team_t *team, const sb_reduction_t *reduction, uint32_t sources)
{
    /* All prefixes of a slice are in two buffers: half a window more, and two lines for each. */
    size_t room = 2 * sb_workspace(team)->buffer - 2 * SB_LINE * (size_t)team->size;
    size_t most = sb_min(sb_workspace(team)->buffer, room / 3 * 2);
    slices_t slices = start(team, reduction, (sb_wanted_t){.sources = sources}, 1, most);

    /* A run for each rank has to fit as well. */
    if (SLICE_LEAST_ALONE * team->size <= 2 * sb_workspace(team)->buffer) {
        slices.least = SLICE_LEAST_ALONE;
        slices.few = SHORT_ALONE;
    }
    const job_t jobs[] = {{0, copy_in}, {1, combine_prefixes}, {2, copy_prefix}};

    return slices.count == 0 ? SB_OK : go(&slices, jobs, SB_COUNT_OF(jobs));
}
