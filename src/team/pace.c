/* SPDX-License-Identifier: BSD-3-Clause */
#include "team/pace.h"

/* One trial in so many turns; one message of so many is timed. */
#define TURNS 64
#define TIMED_EVERY 8

/* So many samples that are longer than twice the other way's time end a trial. */
#define BAD_MOST 3

typedef enum phase { USUAL, WARMING, TIMING } phase_t;

/* Not in the first turn: a team that sends little keeps to the way that is safe everywhere. */
static phase_t phase_of(uint64_t turn)
{
    switch (turn % TURNS) {
    case 1:
        return WARMING;
    case 2:
        return TIMING;
    default:
        return USUAL;
    }
}

static uint64_t trial_of(uint64_t turn)
{
    return turn / TURNS + 1;
}

static size_t class_of(size_t bytes)
{
    size_t class = 0;

    while (class + 1 < SB_PACE_CLASSES && bytes > SB_PACE_LEAST << class)
        class ++;
    return class;
}

/*
 * The way that is safe everywhere is left only for a gain of a tenth. One sample is enough to try:
 * whatever is in use is timed all the time.
 */
static sb_way_t usual_way(const sb_pace_class_t *class)
{
    bool known = class->ns[SB_WAY_CACHED] > 0 && class->ns[SB_WAY_STREAMING] > 0;
    bool better = 10 * class->ns[SB_WAY_CACHED] < 9 * class->ns[SB_WAY_STREAMING];

    return known && better ? SB_WAY_CACHED : SB_WAY_STREAMING;
}

static sb_way_t other(sb_way_t way)
{
    return way == SB_WAY_CACHED ? SB_WAY_STREAMING : SB_WAY_CACHED;
}

sb_way_t sb_pace_choose(const sb_pace_t *pace, size_t bytes, uint64_t turn)
{
    const sb_pace_class_t *class = &pace->of[class_of(bytes)];
    bool trial = phase_of(turn) != USUAL && class->abandoned != trial_of(turn);
    sb_way_t usual = usual_way(class);

    return trial ? other(usual) : usual;
}

bool sb_pace_times(uint64_t use, uint64_t turn)
{
    return use % TIMED_EVERY == 0 || phase_of(turn) != USUAL;
}

/* A rank that was off its processor makes a sample long: it counts as twice the usual at most. */
static void smooth(uint64_t *usual, uint64_t sample)
{
    *usual = *usual - *usual / 4 + sb_min(sample, 2 * *usual) / 4;
}

static void judge_trial(sb_pace_class_t *class, sb_way_t way, uint64_t turn, uint64_t ns)
{
    uint64_t rival = class->ns[other(way)];

    class->bad = rival > 0 && ns > 2 * rival ? class->bad + 1 : 0;
    if (class->bad < BAD_MOST)
        return;
    class->abandoned = trial_of(turn);
    class->bad = 0;
    class->ns[way] = ns;
}

void sb_pace_record(sb_pace_t *pace, size_t bytes, sb_way_t way, uint64_t turn, uint64_t ns)
{
    sb_pace_class_t *class = &pace->of[class_of(bytes)];
    phase_t phase = phase_of(turn);

    if (phase != USUAL && way != usual_way(class))
        judge_trial(class, way, turn, ns);
    if (phase == WARMING)
        return;
    if (class->ns[way] == 0)
        class->ns[way] = ns;
    smooth(&class->ns[way], ns);
}
