/* SPDX-License-Identifier: BSD-3-Clause */
#include "team/block_policy.h"

#include "base/config.h"
#include "machine/machine.h"
#include "team/block_times.h"

#include <string.h>

/*
 * Calls of a short block, and of those that are not measured before one of another way: others
 * follow one after the other, and may be as much ahead as there is room for.
 */
#define SHORT 4
#define SHORT_SETTLING 2

/* Of a long one. */
#define LONG 16
#define LONG_SETTLING 4

/* Calls of the usual way: what takes as long is no glance, the program did something else. */
#define PAUSE (6 * (SHORT + SHORT_SETTLING))

/* So many pairs that one way has won decide. */
#define ENOUGH 2

/*
 * Calls from one comparison to the next: after the first one, which was in new memory, or one that
 * has changed the way, and then twice as many each time; at most, where a way is in use to see what
 * it takes then. What a comparison has cost more than usual calls is at most one part of SHARE.
 */
#define REST_FIRST 128
#define REST_STAY 256
#define REST_LONG 2048
#define REST_MOST 4096
#define SHARE 64

/* After so many calls of the usual way it is known what they take. */
#define KNOWN_UNTIL (2 * SHORT + SHORT_SETTLING)

/* Comparisons until a way that took longer in use may be again. */
#define KEPT_MOST 16

/* Short blocks that what a way takes while it is in use is smoothed over. */
#define SMOOTH 16

/* From a comparison to one because of a change, and twice as many after each that was in vain. */
#define ALARM_LEAST 16
#define ALARM_MOST 4096

/* Blocks one after the other in which it shows. */
#define ODD_ENOUGH 2

/* Calls of a class that it may take until all that it reads is mapped. */
#define MAPPING_MOST 1024

/* Calls of a stage that others may have been ahead by. If there are more, they will not follow. */
#define BEHIND_MOST UINT8_MAX

static bool never_followed(const sb_block_class_t *class)
{
    return class->behind == BEHIND_MOST;
}

/* A b a a b b a: neither way is always the first or the last of a pair. */
static bool is_other(const sb_block_class_t *class)
{
    return class->stage == SB_BLOCK_GLANCE ||
           (class->stage == SB_BLOCK_PAIRS && (class->block + 1) / 2 % 2 == 0);
}

static void enter(sb_block_class_t *class, sb_block_stage_t stage, uint64_t now)
{
    class->block = 0;
    class->stage = (uint8_t)stage;
    class->entered = now;
    class->behind = 0;
    class->call = 0;
    class->settling = stage == SB_BLOCK_PAIRS ? LONG_SETTLING : SHORT_SETTLING;
}

/* The way to compare after that one. */
static uint8_t next_way(const sb_block_class_t *class, uint8_t way)
{
    do
        way = way + 1 < class->ways ? way + 1 : 0;
    while (way == class->usual);
    return way;
}

/* When to look again because something has changed. */
static uint32_t next_alarm(const sb_block_class_t *class, bool changed)
{
    if (changed || class->alarm == 0)
        return ALARM_LEAST;
    return class->alarmed ? sb_min(2 * class->alarm, ALARM_MOST) : class->alarm;
}

/* What a short block of the usual way took in pairs. */
static uint64_t mean_of_pairs(const sb_block_class_t *class)
{
    return class->sum[0] / (class->block / 2 * (LONG / SHORT - 1));
}

/* What a comparison has come to. */
typedef enum verdict {
    KEEP,
    STAY, /* with the other way until the next one: neither was clearly ahead */
    CHANGE,
} verdict_t;

/* The other way is the usual one from now on. `ns`: what a short block of the one before took in
 * the comparison. Where much has changed, what others took before may have too. */
static void change(sb_block_class_t *class, verdict_t verdict, uint64_t ns)
{
    uint64_t before = class->steady[class->usual];

    if (verdict == CHANGE)
        memset(class->steady, 0, sizeof class->steady);
    class->steady[class->usual] = before > 0 ? before : ns;
    class->usual = class->other;
    class->steady[class->usual] = 0;
}

/* The comparison is over. `cost`: what it has taken more than usual calls would have, in calls. */
static void end(sb_block_class_t *class, verdict_t verdict, uint64_t cost, uint64_t now)
{
    bool anew = verdict == CHANGE || !class->compared;

    class->rest_even = anew ? REST_FIRST : sb_min(2 * class->rest_even, REST_LONG);
    class->rest =
        anew ? REST_FIRST : (uint32_t)sb_min(sb_max(SHARE * cost, class->rest_even), REST_MOST);
    if (verdict == STAY)
        class->rest = sb_min(class->rest, REST_STAY);
    class->alarm = next_alarm(class, verdict == CHANGE);
    if (verdict != KEEP)
        change(class, verdict, class->block > 0 ? mean_of_pairs(class) : class->recent);
    class->other = next_way(class, class->other);
    class->compared = true;
    class->since = 0;
    class->odd = 0;
    enter(class, SB_BLOCK_WATCH, now);
}

/* What so many calls have cost that took so long, in calls of the usual way. A glance is broken off
 * before it has cost PAUSE. */
static uint64_t cost_of(const sb_block_class_t *class, uint64_t ns, uint32_t calls)
{
    uint64_t as_many = ns * SHORT / sb_max(class->recent, 1);

    return as_many > calls && as_many < PAUSE ? as_many - calls : 0;
}

/* Whether the usual way has come to take longer, or shorter, and a comparison for that is due. */
static bool has_changed(sb_block_class_t *class)
{
    /* Of two: the first may have had something else in it. */
    if (class->known == 0 || class->since <= KNOWN_UNTIL)
        class->known = class->known == 0 ? class->recent : sb_min(class->known, class->recent);
    bool odd = sb_is_far_above(class->recent, class->known) ||
               sb_is_far_above(class->known, class->recent);

    class->odd = odd ? (uint8_t)sb_min(class->odd + 1, ODD_ENOUGH) : 0;
    return class->odd == ODD_ENOUGH && class->since >= class->alarm;
}

/* What the usual way takes while it is in use; not what came just after a comparison, or with
 * something else in it. */
static void learn(sb_block_class_t *class)
{
    uint64_t *steady = &class->steady[class->usual];

    if (class->odd > 0 || class->since <= KNOWN_UNTIL)
        return;
    *steady = *steady == 0 ? class->recent : *steady - *steady / SMOOTH + class->recent / SMOOTH;
}

/* A short block of the usual way is over. */
static void watched(sb_block_class_t *class, uint64_t now)
{
    class->recent = now - class->began;
    class->call = 0;
    class->settling = 0;
    class->alarmed = has_changed(class);
    learn(class);
    if (now < class->earliest || (!class->alarmed && class->since < class->rest))
        return;
    class->known = 0;
    enter(class, SB_BLOCK_GLANCE, now);
}

static void begin_pairs(sb_block_class_t *class, uint64_t now)
{
    class->sum[0] = class->sum[1] = 0;
    class->won = class->lost = 0;
    enter(class, SB_BLOCK_PAIRS, now);
}

/* Whether the other way is taken if one more short block of the usual way agrees. Most of the
 * hundred calls that many programs make of a size would be over when pairs have decided. */
static bool wins_clearly(const sb_block_class_t *class)
{
    return class->compared || class->fresh ? sb_is_far_above(class->recent, class->glanced)
                                           : sb_is_slower(class->recent, class->glanced);
}

/* The short block of the other way is over. Early in a program only a clear gain is followed up;
 * in other buffers each time, of which pages may still be mapped, what does not clearly lose. */
static void glanced(sb_block_class_t *class, uint64_t now)
{
    bool hopeless = sb_is_far_above(class->glanced, class->recent);
    bool loses = class->fresh ? class->glanced > sb_beyond(class->recent)
                              : sb_beyond(class->glanced) >= class->recent;

    if (wins_clearly(class))
        enter(class, SB_BLOCK_CONFIRM, now);
    else if (hopeless || (loses && !class->compared))
        end(class, KEEP, cost_of(class, now - class->entered, class->call), now);
    else
        begin_pairs(class, now);
}

/* A short block of the usual way is over, which the other one seems to be better than. */
static void confirmed(sb_block_class_t *class, uint64_t now)
{
    class->recent = now - class->began;
    if (!wins_clearly(class)) {
        begin_pairs(class, now);
        return;
    }
    class->known = class->glanced;
    end(class, CHANGE, 0, now);
}

/*
 * What the pairs say. They say little of ways that are near each other: most of what is in whose
 * caches is what the usual way has left there, and a program may go through many buffers. So the
 * other one is in use until the next comparison, and from then on the one that takes less in use.
 */
static verdict_t judge(sb_block_class_t *class)
{
    uint64_t usual = class->steady[class->usual], *other = &class->steady[class->other];

    if (class->won == ENOUGH)
        return CHANGE;
    if (!class->fresh || class->sum[1] > sb_beyond(class->sum[0]) || never_followed(class))
        return KEEP;
    if (*other == 0)
        return class->sum[1] > sb_a_little_above(class->sum[0]) ? KEEP : STAY;
    if (usual > sb_a_little_above(*other))
        return STAY;
    if (++class->kept == KEPT_MOST)
        *other = class->kept = 0;
    return KEEP;
}

/* A long block is over; a pair, if it is its second. */
static void paired(sb_block_class_t *class, uint64_t now)
{
    uint8_t way = is_other(class) ? class->other : class->usual;
    uint64_t more = sb_block_weight(class, way, LONG - SHORT);

    class->ns[is_other(class)] = now - class->began - class->longest + more;
    class->block++;
    class->call = 0;
    if (class->block % 2 != 0)
        return;
    bool back = more > 0 && class->other == 0;
    bool won = (back ? class->ns[1] : sb_beyond(class->ns[1])) < class->ns[0];
    bool loses = class->fresh && sb_is_slower(class->ns[1], class->ns[0]) &&
                 sb_is_slower(class->glanced, class->recent);
    bool hopeless = loses || class->ns[1] / 2 > class->ns[0];
    class->sum[0] += class->ns[0];
    class->sum[1] += class->ns[1];
    class->won += won;
    class->lost += !won;
    if (class->won != ENOUGH && class->lost != ENOUGH && !hopeless)
        return;
    uint64_t slower = sb_max(class->sum[0], class->sum[1]);
    uint64_t faster = sb_max(sb_min(class->sum[0], class->sum[1]), 1);
    uint32_t calls = class->block / 2 * (uint32_t)(LONG_SETTLING + LONG);
    end(class, judge(class), (slower - faster) * calls / faster, now);
}

/* A block that says nothing is over. If it was of a comparison, the next one comes later. */
static void pass_over(sb_block_class_t *class, uint64_t now)
{
    if (class->stage != SB_BLOCK_WATCH) {
        end(class, KEEP, 0, now);
        return;
    }
    class->call = 0;
    class->settling = 0;
}

static void end_block(sb_block_class_t *class, uint64_t now)
{
    uint64_t calls = (uint64_t)(class->call - class->settling);
    bool differs = sb_block_sizes_differ(&class->sizes, calls);

    if (differs || sb_block_gaps_uneven(&class->gaps, now - class->began, calls)) {
        pass_over(class, now);
        return;
    }
    switch (class->stage) {
    case SB_BLOCK_WATCH:
        watched(class, now);
        break;
    case SB_BLOCK_GLANCE:
        class->glanced = now - class->began + sb_block_weight(class, class->other, SHORT);
        class->glanced -= sb_min(class->glanced, sb_block_weight(class, class->usual, SHORT));
        glanced(class, now);
        break;
    case SB_BLOCK_CONFIRM:
        confirmed(class, now);
        break;
    default:
        paired(class, now);
    }
}

/*
 * Whether pages were mapped in this block of the other way, which it will not need again: it says
 * little then, and another one follows. Early in a program too few calls are to be expected.
 */
static bool has_mapped(sb_block_class_t *class, uint64_t now)
{
    bool counts = class->fresh && class->compared && is_other(class);
    bool hopeless =
        class->stage == SB_BLOCK_GLANCE && sb_is_far_above(now - class->began, class->recent);

    if (!counts || hopeless || class->mapping >= MAPPING_MOST || sb_page_faults() == class->faults)
        return false;
    class->mapping += class->call;
    class->call = 0;
    class->entered = now;
    return true;
}

/* A part of a long block may be over. */
static void pass_part(sb_block_class_t *class, uint64_t now)
{
    uint32_t measured = class->call > class->settling ? class->call - class->settling : 0;

    if (measured == 0 || measured % SHORT != 0)
        return;
    class->longest = sb_max(class->longest, now - class->part);
    class->part = now;
}

/* Whether a glance has taken twice what it may in the end. */
static bool goes_badly(const sb_block_class_t *class, uint64_t now)
{
    uint64_t calls = class->settling + SHORT;

    return class->stage == SB_BLOCK_GLANCE &&
           (now - class->entered) * SHORT > 2 * calls * class->recent;
}

/* The class of such messages, which may be the first ones. */
static sb_block_class_t *class_of(sb_block_policy_t *policy, size_t bytes, sb_block_ways_t ways,
                                  uint64_t now)
{
    size_t number = sb_copy_class(bytes);
    sb_block_class_t *class = &policy->of[number];

    if (!class->begun) {
        class->begun = true;
        class->ways = ways.count;
        class->fresh = ways.fresh;
        class->gaps.evened = ways.evened;
        class->earliest = now + ways.wait;
        bool known = number > 0 && class[-1].compared && class[-1].usual != 0;
        class->usual = known ? class[-1].usual : ways.first;
        bool named = ways.rival != 0 && ways.rival != class->usual;
        class->other = named ? ways.rival : next_way(class, class->usual);
        enter(class, SB_BLOCK_WATCH, now);
    }
    return class;
}

uint8_t sb_block_choose(sb_block_policy_t *policy, size_t bytes, sb_block_ways_t ways,
                        uint64_t clock)
{
    sb_block_class_t *class = class_of(policy, bytes, ways, clock);
    uint32_t length = class->stage == SB_BLOCK_PAIRS ? LONG : SHORT;
    uint64_t now = sb_block_gaps_pass(&class->gaps, clock);

    pass_part(class, now);
    if (class->call == class->settling + length) {
        if (!has_mapped(class, now))
            end_block(class, now);
    } else if (goes_badly(class, now))
        end(class, KEEP, cost_of(class, now - class->entered, class->call), now);
    sb_block_sizes_pass(&class->sizes, bytes, class->call == class->settling);
    if (class->call++ == class->settling) {
        class->began = class->part = now;
        class->longest = 0;
        sb_block_gaps_reset(&class->gaps);
        if (class->fresh && is_other(class))
            class->faults = sb_page_faults();
    }
    policy->open = class;
    class->since += class->stage == SB_BLOCK_WATCH;
    return is_other(class) ? class->other : class->usual;
}

bool sb_block_looks(const sb_block_policy_t *policy, size_t bytes)
{
    const sb_block_class_t *class = &policy->of[sb_copy_class(bytes)];
    bool bound = class->call >= class->settling && (class->call - class->settling) % SHORT == 0;

    return bound || !class->begun || class->gaps.told || class->stage == SB_BLOCK_GLANCE;
}

void sb_block_renew(sb_block_policy_t *policy)
{
    for (size_t number = 0; number < SB_COPY_CLASSES; number++) {
        sb_block_class_t *class = &policy->of[number];
        memset(class->steady, 0, sizeof class->steady);
        class->since = sb_max(class->since, class->rest);
        class->rest_even = sb_min(class->rest_even, REST_FIRST);
        class->known = 0;
        enter(class, SB_BLOCK_WATCH, class->entered);
    }
}

void sb_block_ended(sb_block_policy_t *policy, uint64_t clock)
{
    sb_block_gaps_end(&policy->open->gaps, clock);
    policy->open = NULL;
}

void sb_block_interrupt(sb_block_policy_t *policy, size_t bytes)
{
    sb_block_class_t *class = &policy->of[sb_copy_class(bytes)];

    enter(class, SB_BLOCK_WATCH, class->entered);
}

void sb_block_lag(sb_block_policy_t *policy, size_t bytes, uint64_t now)
{
    sb_block_class_t *class = &policy->of[sb_copy_class(bytes)];

    if (never_followed(class))
        return;
    class->behind++;
    class->call = 0;
    class->entered = now;
}
