/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/vector/ahead.h"

/* Messages of a turn, turns of each way, and messages from one trial to the next. A way that takes
 * twice as long then costs a hundredth. */
#define TURN 16
#define TURNS 4
#define REST 8192

#define CLASS_LEAST ((size_t)512)

size_t sb_ahead_class(size_t bytes)
{
    size_t number = 0;

    while (number + 1 < SB_AHEAD_CLASSES && bytes > CLASS_LEAST << number)
        number++;
    return number;
}

static void end_turn(sb_ahead_t *ahead, uint64_t now)
{
    uint64_t *best = &ahead->best[ahead->on];
    uint64_t ns = now - ahead->began;

    *best = ns < *best ? ns : *best;
    ahead->turns--;
}

bool sb_ahead_turn(sb_ahead_t *ahead, uint64_t now)
{
    if (ahead->turns > 0) {
        end_turn(ahead, now);
        if (ahead->turns == 0) {
            ahead->on = ahead->best[true] < ahead->best[false];
            ahead->left = REST;
            return ahead->on;
        }
    } else {
        ahead->best[false] = ahead->best[true] = UINT64_MAX;
        ahead->turns = 2 * TURNS;
    }
    ahead->on = !ahead->on;
    ahead->began = now;
    ahead->left = TURN - 1;
    return ahead->on;
}
