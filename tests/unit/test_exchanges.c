/* SPDX-License-Identifier: BSD-3-Clause */
/* The schedule of BAGDS: its published shape, the same for all, and everything for everybody. */
#include "../long_form.h"
#include "testing.h"

#include "baseline/exchanges.h"

#include <stdlib.h>
#include <string.h>

typedef struct counted {
    uint32_t stages;
    uint32_t exchanges;
    uint32_t blocks; /* sum over stages of the largest block */
    uint32_t largest;
    uint32_t members;
} counted_t;

static uint32_t given(const uint64_t *from, const uint64_t *to, uint32_t members)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < members; i++)
        count += sb_block_in(from, i) && !sb_block_in(to, i);
    return count;
}

static void count(void *context, uint32_t stage, const uint32_t pair[2],
                  const uint64_t *const has[2])
{
    counted_t *counted = context;
    uint32_t there = given(has[0], has[1], counted->members);
    uint32_t back = given(has[1], has[0], counted->members);

    assert_int_not_equal(pair[0], pair[1]);
    if (stage == counted->stages) {
        counted->stages++;
        counted->blocks += counted->largest;
        counted->largest = 0;
    }
    counted->exchanges++;
    counted->largest = there > counted->largest ? there : counted->largest;
    counted->largest = back > counted->largest ? back : counted->largest;
}

static void is_as_specified(void **state)
{
    static const uint32_t known[][4] = {
        {3, 3, 3, 4},    {4, 2, 4, 3},    {5, 5, 8, 9},        {6, 4, 9, 9},      {7, 4, 12, 10},
        {8, 3, 12, 7},   {10, 6, 21, 19}, {12, 5, 24, 19},     {16, 4, 32, 15},   {20, 7, 52, 39},
        {31, 6, 90, 46}, {32, 5, 80, 31}, {100, 10, 428, 167}, {128, 7, 448, 127}};

    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        counted_t counted = {.members = known[i][0]};
        assert_int_equal(sb_exchanges(known[i][0], count, &counted), known[i][1]);
        assert_int_equal(counted.stages, known[i][1]);
        assert_int_equal(counted.exchanges, known[i][2]);
        assert_int_equal(counted.blocks + counted.largest, known[i][3]);
    }
}

/* The published example: what send_mask is when the pair (2, 3) of five has been made. */
typedef struct masks {
    uint32_t mask[5];
    bool seen;
} masks_t;

static void note_pair(void *context, uint32_t stage, const uint32_t pair[2],
                      const uint64_t *const has[2])
{
    masks_t *masks = context;

    if (stage > 0 || masks->seen)
        return;
    if (pair[0] == 2) {
        assert_int_equal(pair[1], 3);
        assert_int_equal(has[0][0], 1 << 2);
        assert_int_equal(has[1][0], 1 << 3);
        masks->seen = true;
    }
    masks->mask[pair[0]] = pair[1];
    masks->mask[pair[1]] = pair[0];
}

static void pairs_as_in_the_example(void **state)
{
    masks_t masks = {{5, 5, 5, 5, 5}, false};

    (void)state;
    sb_exchanges(5, note_pair, &masks);
    assert_true(masks.seen);
    assert_memory_equal(masks.mask, ((const uint32_t[]){1, 0, 3, 2, 5}), sizeof masks.mask);
}

/* --- everything for everybody -------------------------------------------------------------- */

#define MEMBERS_MOST 70

typedef struct job {
    uint32_t members;
    uint32_t bytes[MEMBERS_MOST];
    size_t begin[MEMBERS_MOST + 1];
    sb_bagds_t *bagds[MEMBERS_MOST];
    unsigned char *memory[MEMBERS_MOST];
} job_t;

static unsigned char byte_of(uint32_t member, size_t place)
{
    return (unsigned char)(1 + (member * 37 + place * 11) % 255);
}

static void begin(job_t *job, unsigned *seed)
{
    job->members = 1 + (uint32_t)rand_r(seed) % MEMBERS_MOST;
    for (uint32_t i = 0; i < job->members; i++) {
        job->bytes[i] = rand_r(seed) % 3 == 0 ? 0 : (uint32_t)rand_r(seed) % 40;
        job->begin[i + 1] = job->begin[i] + job->bytes[i];
    }
    for (uint32_t i = 0; i < job->members; i++) {
        job->bagds[i] = sb_bagds_new(job->members, i);
        job->memory[i] = calloc(1, job->begin[job->members] + 1);
        for (size_t k = 0; k < job->bytes[i]; k++)
            job->memory[i][job->begin[i] + k] = byte_of(i, k);
    }
}

/* What a member sends in a stage comes to its partner, who expects just that. */
static void send(job_t *job, uint32_t stage, uint32_t from)
{
    uint32_t to = sb_bagds_partner(job->bagds[from], stage);

    if (to == job->members)
        return;
    assert_int_equal(sb_bagds_partner(job->bagds[to], stage), from);
    for (uint32_t i = 0; i < job->members; i++) {
        bool goes = sb_bagds_moves(job->bagds[from], stage, i, false);
        assert_int_equal(goes, sb_bagds_moves(job->bagds[to], stage, i, true));
        if (goes)
            memcpy(job->memory[to] + job->begin[i], job->memory[from] + job->begin[i],
                   job->bytes[i]);
    }
}

static void check(const job_t *job, uint32_t member)
{
    for (uint32_t i = 0; i < job->members; i++)
        for (size_t k = 0; k < job->bytes[i]; k++)
            assert_int_equal(job->memory[member][job->begin[i] + k], byte_of(i, k));
}

static void gives_everybody_everything(void **state)
{
    unsigned seed = 1;

    (void)state;
    for (unsigned n = 0; n < (is_long_form() ? 20000 : drawn(300)); n++) {
        job_t job = {.members = 0};
        begin(&job, &seed);
        for (uint32_t stage = 0; stage < job.bagds[0]->stages; stage++)
            for (uint32_t i = 0; i < job.members; i++)
                send(&job, stage, i);
        for (uint32_t i = 0; i < job.members; i++) {
            check(&job, i);
            free(job.bagds[i]);
            free(job.memory[i]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_as_specified),
        cmocka_unit_test(pairs_as_in_the_example),
        cmocka_unit_test(gives_everybody_everything),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
