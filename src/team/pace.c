/* SPDX-License-Identifier: BSD-3-Clause */
#include "team/pace.h"

/* Messages of a class before its first trial: who sends fewer keeps to what is safe everywhere. */
#define FIRST_TRIAL_AFTER 8

/* A lap of a trial has so many messages at least. */
#define WARMING_LEAST 2
#define TIMING_LEAST 4

/*
 * From one trial to the next there are so many times its messages. After the first trial it is
 * REST_FIRST: what was measured in a new ring may mislead. Then it doubles with each trial, up to
 * REST, and after bad ones further.
 */
#define REST_FIRST 2
#define REST 32
#define REST_MOST 256

/* Outside trials one message of so many is timed. */
#define TIMED_EVERY 8

/* So many samples that are longer than twice the other way's time end a trial. */
#define BAD_MOST 3

size_t sb_pace_class(size_t bytes)
{
    size_t class = 0;

    while (class + 1 < SB_PACE_CLASSES && bytes > SB_PACE_LEAST << class)
        class ++;
    return class;
}

bool sb_pace_again(sb_pace_seen_t *seen, size_t bytes, const void *buffer)
{
    const void **last = seen->buffer[sb_pace_class(bytes)];

    for (size_t i = 0; i < SB_PACE_BUFFERS; i++) {
        if (last[i] == buffer)
            return true;
    }
    for (size_t i = SB_PACE_BUFFERS - 1; i > 0; i--)
        last[i] = last[i - 1];
    last[0] = buffer;
    return false;
}

/*
 * The way that is safe everywhere is left only for a gain of a twentieth. One sample is enough to
 * try: whatever is in use is timed all the time.
 */
static sb_way_t usual_way(const sb_pace_class_t *class)
{
    bool known = class->ns[SB_WAY_CACHED] > 0 && class->ns[SB_WAY_STREAMING] > 0;
    bool better = 20 * class->ns[SB_WAY_CACHED] < 19 * class->ns[SB_WAY_STREAMING];

    return known && better ? SB_WAY_CACHED : SB_WAY_STREAMING;
}

static sb_way_t other(sb_way_t way)
{
    return way == SB_WAY_CACHED ? SB_WAY_STREAMING : SB_WAY_CACHED;
}

static bool on_trial(const sb_pace_class_t *class)
{
    return class->warming + class->timing > 0;
}

/* Messages of a lap, of the first or the second in a trial. */
static uint32_t lap_messages(size_t lap, size_t bytes, uint32_t least)
{
    return (uint32_t)sb_max(lap / bytes, least);
}

static bool time_for_trial(const sb_pace_class_t *class, sb_way_t usual, size_t lap, size_t bytes)
{
    uint64_t length =
        lap_messages(lap, bytes, WARMING_LEAST) + lap_messages(lap, bytes, TIMING_LEAST);
    uint64_t rest = class->rest > 0 ? class->rest * length : FIRST_TRIAL_AFTER;

    return class->ns[usual] > 0 && class->since >= rest;
}

static void start_trial(sb_pace_class_t *class, sb_way_t way, size_t lap, size_t bytes)
{
    class->tried = way;
    class->warming = lap_messages(lap, bytes, WARMING_LEAST);
    class->timing = lap_messages(lap, bytes, TIMING_LEAST);
    class->rest = class->rest == 0 ? REST_FIRST : (uint32_t)sb_min(2 * class->rest, REST);
    class->fresh = true;
    class->since = 0;
    class->bad = 0;
}

/* The next message of the trial. */
static sb_step_t go_on_trying(sb_pace_class_t *class)
{
    sb_step_t step = {class->tried, true, class->warming > 0};

    if (class->warming > 0)
        class->warming--;
    else if (--class->timing == 0)
        class->spoilt = 0;
    return step;
}

sb_step_t sb_pace_next(sb_pace_t *pace, size_t bytes, const size_t laps[SB_WAYS])
{
    sb_pace_class_t *class = &pace->of[sb_pace_class(bytes)];
    sb_way_t usual = usual_way(class);
    size_t lap = laps[other(usual)];

    if (!on_trial(class) && time_for_trial(class, usual, lap, bytes))
        start_trial(class, other(usual), lap, bytes);
    if (on_trial(class))
        return go_on_trying(class);
    bool early = class->rest == 0 && class->since < FIRST_TRIAL_AFTER;
    bool timed = early || class->doubtful || class->since % TIMED_EVERY == 0;
    class->since++;
    return (sb_step_t){usual, timed, false};
}

/* Ends a trial that goes badly. */
static void judge_trial(sb_pace_class_t *class, sb_way_t way, uint64_t ns)
{
    uint64_t rival = class->ns[other(way)];

    class->bad = rival > 0 && ns > 2 * rival ? class->bad + 1 : 0;
    if (class->bad < BAD_MOST)
        return;
    class->warming = class->timing = 0;
    class->spoilt = (uint32_t)sb_min(sb_max(2 * class->spoilt, REST), REST_MOST);
    class->rest = class->spoilt;
    class->ns[way] = ns;
}

/*
 * A rank that was off its processor makes a sample long: longer samples count for less than shorter
 * ones, and as twice the usual at most. What an earlier trial has found is forgotten with the first
 * sample of the next.
 */
static void smooth(sb_pace_class_t *class, sb_way_t way, uint64_t sample)
{
    uint64_t *usual = &class->ns[way];
    uint64_t rival = class->ns[other(way)];
    bool forget = on_trial(class) && class->fresh && way == class->tried;

    if (*usual == 0 || forget) {
        *usual = rival > 0 ? sb_min(sample, 2 * rival) : sample;
        class->fresh = false;
    } else if (sample < *usual) {
        *usual -= (*usual - sample) / 2;
    } else {
        *usual += (sb_min(sample, 2 * *usual) - *usual) / 8;
    }
    class->doubtful = rival > 0 && 4 * sample > 5 * rival;
}

void sb_pace_record(sb_pace_t *pace, size_t bytes, const sb_step_t *step, uint64_t ns)
{
    sb_pace_class_t *class = &pace->of[sb_pace_class(bytes)];

    if (on_trial(class) && step->way == class->tried)
        judge_trial(class, step->way, ns);
    if (!step->warming)
        smooth(class, step->way, ns);
}
