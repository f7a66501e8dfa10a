/* SPDX-License-Identifier: BSD-3-Clause */
#include "team/block_policy.h"

#include "base/config.h"

/* Calls of a class before its first comparison: who makes fewer keeps to what is safe. */
#define FIRST_AFTER 8

/* Calls of a block before those that are measured: the others follow one after the other, and may
 * be as much ahead as there is room for. */
#define SETTLING 4
#define MEASURED 16

/* So many pairs that one way has won decide. */
#define ENOUGH 2

/*
 * From one comparison to the next there are so many times its calls: after the first few, which
 * were in new memory, and then twice as many each time. Where the slower way takes r times as long,
 * at least SHARE (r - 1) times as many: then it costs a 64th of all time, half of the comparison
 * being the faster way.
 */
#define REST_FIRST 4
#define REST 32
#define REST_MOST 128
#define SHARE 32

/* A u b b a a b: neither way is always the first or the last of a pair. */
static bool is_other(const sb_block_class_t *class)
{
    return (class->block + 1) / 2 % 2 == 1;
}

static void begin(sb_block_class_t *class)
{
    class->comparing = true;
    class->sum[0] = class->sum[1] = 0;
    class->call = class->block = class->won = class->lost = 0;
}

/* The comparison is over. */
static void end(sb_block_class_t *class)
{
    uint64_t slower = sb_max(class->sum[0], class->sum[1]);
    uint64_t faster = sb_max(sb_min(class->sum[0], class->sum[1]), 1);
    uint64_t share = class->comparisons == 0 ? 0 : SHARE * (slower - faster) / faster;
    uint32_t calls = class->block * (uint32_t)(SETTLING + MEASURED);

    class->lengths = class->rest == 0 ? REST_FIRST : sb_min(2 * class->lengths, REST);
    class->rest = calls * (uint32_t)sb_min(sb_max(share, class->lengths), REST_MOST);
    if (class->won == ENOUGH)
        class->usual = !class->usual;
    class->comparisons = (uint8_t)sb_min(class->comparisons + 1, UINT8_MAX);
    class->comparing = false;
    class->since = 0;
}

/* A pair has been measured. What takes more than twice as long is given up at once. */
static void judge(sb_block_class_t *class)
{
    bool won = class->ns[1] + class->ns[1] / 16 < class->ns[0];
    bool hopeless = class->ns[1] / 2 > class->ns[0];

    class->sum[0] += class->ns[0];
    class->sum[1] += class->ns[1];
    class->won += won;
    class->lost += !won;
    if (class->won == ENOUGH || class->lost == ENOUGH || hopeless)
        end(class);
}

static void end_block(sb_block_class_t *class, uint64_t ns)
{
    class->ns[is_other(class)] = ns;
    class->block++;
    class->call = 0;
    if (class->block % 2 == 0)
        judge(class);
}

uint8_t sb_block_choose(sb_block_policy_t *policy, size_t bytes, uint64_t now)
{
    sb_block_class_t *class = &policy->of[sb_copy_class(bytes)];

    if (!class->comparing && class->since >= sb_max(class->rest, FIRST_AFTER))
        begin(class);
    else if (class->comparing && class->call == SETTLING + MEASURED)
        end_block(class, now - class->began);
    if (!class->comparing) {
        class->since++;
        return class->usual;
    }
    if (class->call++ == SETTLING)
        class->began = now;
    return is_other(class) ? !class->usual : class->usual;
}
