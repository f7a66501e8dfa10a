/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What cache lines cost: each pair of cores works on the same lines in turn. One writes all of
 * them; the other follows a chain through them (a read has to end before the next can begin),
 * reads them independently, and adds to each while it is shared, owned, or owned by the other.
 */
#include "tools/calibrate.h"

#include <stdlib.h>

#define LINES 256
/* Processors that fetch two lines at once fetch nothing of use here. */
#define STRIDE SB_FLAG_STRIDE
#define HOPS 200
#define SHARE 0.5 /* of all seconds */
#define LEAST 5
/* A pair gets this long at least: machines with many cores take longer than asked. */
#define PAIR_SECONDS 0.0005
#define SERVICE_READERS 3
#define SERVICE_SHARE 0.05

typedef struct line {
    _Alignas(STRIDE) struct line *next;
    sb_word64_t value;
} line_t;

typedef struct flags {
    _Alignas(STRIDE) sb_word64_t here;
    _Alignas(STRIDE) sb_word64_t there;
} flags_t;

typedef struct board {
    line_t line[LINES];
    flags_t flags;
    line_t *order[LINES]; /* a random order, the same as that of the chain */
} board_t;

/* What one pair tells; each a time in ns for one line. */
typedef enum what { HOP, READ, OVERLAPPED, ADD_SHARED, ADD_OWNED, STORE, WHATS } what_t;

static void shuffle(board_t *board)
{
    uint64_t random = 88172645463325252;

    for (size_t i = 0; i < LINES; i++)
        board->order[i] = &board->line[i];
    for (size_t i = LINES - 1; i > 0; i--) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        size_t other = (size_t)(random % (i + 1));
        line_t *kept = board->order[i];
        board->order[i] = board->order[other];
        board->order[other] = kept;
    }
    for (size_t i = 0; i < LINES; i++)
        board->order[i]->next = board->order[(i + 1) % LINES];
}

static void write_all(void *argument)
{
    board_t *board = argument;

    for (size_t i = 0; i < LINES; i++)
        sb_store64(&board->line[i].value, 1, SB_RELEASE);
}

static double per_line(uint64_t started)
{
    return (double)(sb_now_ns() - started) / LINES;
}

static double follow(board_t *board)
{
    uint64_t started = sb_now_ns();
    const line_t *line = board->order[0];

    for (size_t i = 0; i < LINES; i++)
        line = line->next;
    SB_USE(line);
    return per_line(started);
}

static double look_at_all(board_t *board)
{
    uint64_t started = sb_now_ns();

    for (size_t i = 0; i < LINES; i++)
        (void)sb_load64(&board->order[i]->value, SB_ACQUIRE);
    return per_line(started);
}

/* Each addition tells where the next one is, so that they come one after the other. */
static double add_to_all(board_t *board)
{
    uint64_t started = sb_now_ns();

    for (size_t i = 0; i < LINES;)
        i += 1 + (sb_add64(&board->order[i]->value, 1, SB_ACQ_REL) >> 63);
    return per_line(started);
}

static double store_to_all(board_t *board)
{
    uint64_t started = sb_now_ns();

    write_all(board);
    return per_line(started);
}

static void answer(void *argument)
{
    flags_t *flags = argument;

    for (uint64_t round = 2; round <= HOPS + 1; round++) {
        sb_await(&flags->there, round);
        sb_store64(&flags->here, round, SB_RELEASE);
    }
}

static double hop(board_t *board, sb_partner_t *partner)
{
    flags_t *flags = &board->flags;

    sb_store64(&flags->here, 0, SB_RELAXED);
    sb_store64(&flags->there, 0, SB_RELAXED);
    sb_partner_begin(partner, answer, flags);
    uint64_t started = sb_now_ns();
    for (uint64_t round = 2; round <= HOPS + 1; round++) {
        sb_store64(&flags->there, round, SB_RELEASE);
        sb_await(&flags->here, round);
    }
    uint64_t ended = sb_now_ns();
    sb_partner_finish(partner);
    return (double)(ended - started) / (2 * HOPS);
}

static void look(void *argument)
{
    look_at_all(argument);
}

/*
 * Both have all lines in the end: a line that was written may move to the first that reads it, but
 * not on and on.
 */
static void share_all(board_t *board, sb_partner_t *partner)
{
    for (int i = 0; i < 3; i++) {
        sb_partner_run(partner, look, board);
        look_at_all(board);
    }
}

/* One sample of everything; the order brings the lines into the state that each needs. */
static void sample_pair(board_t *board, sb_partner_t *partner, sb_samples_t *samples)
{
    sb_partner_run(partner, write_all, board);
    sb_sample(&samples[READ], follow(board));
    sb_partner_run(partner, write_all, board);
    sb_sample(&samples[OVERLAPPED], look_at_all(board));
    share_all(board, partner);
    sb_sample(&samples[ADD_SHARED], add_to_all(board));
    sb_sample(&samples[ADD_OWNED], add_to_all(board));
    sb_sample(&samples[STORE], store_to_all(board));
    sb_sample(&samples[HOP], hop(board, partner));
}

static void measure_pair(board_t *board, sb_partner_t *partner, double seconds, double *result)
{
    sb_samples_t *samples = sb_tool_take(WHATS, sizeof *samples);
    uint64_t until = sb_until(seconds);

    sample_pair(board, partner, samples); /* warms up */
    for (unsigned what = 0; what < WHATS; what++)
        samples[what].count = 0;
    while (sb_sample_more(&samples[HOP], LEAST, until))
        sample_pair(board, partner, samples);
    for (unsigned what = 0; what < WHATS; what++)
        result[what] = sb_median(&samples[what]);
    free(samples);
}

/* Medians over the pairs of each nearness. */
typedef struct summary {
    sb_samples_t of[SB_NEARNESS][WHATS];
    size_t pairs[SB_NEARNESS];
} summary_t;

static void measure_pairs(sb_calibration_t *calibration, summary_t *summary)
{
    size_t count = calibration->count;
    size_t pairs = sb_calibration_pairs(calibration->partners, count);
    double seconds = SHARE * calibration->seconds / (double)pairs;
    sb_partner_t *partner = sb_partner_start();
    double result[WHATS];

    for (size_t a = 0; a < count; a++) {
        sb_pin(calibration->cores[a].cpu);
        board_t *board = sb_map(sizeof *board, calibration->cores[a].unit[SB_LEVEL_NUMA]);
        shuffle(board);
        for (size_t b = a + 1; b < count; b++) {
            if (!sb_calibration_has_pair(calibration->partners, a, b))
                continue;
            sb_partner_move(partner, calibration->cores[b].cpu);
            measure_pair(board, partner, seconds < PAIR_SECONDS ? PAIR_SECONDS : seconds, result);
            sb_level_kind_t near = sb_cores_level(&calibration->cores[a], &calibration->cores[b]);
            for (unsigned what = 0; what < WHATS; what++)
                sb_sample(&summary->of[near][what], result[what]);
            calibration->hops[a * count + b] = calibration->hops[b * count + a] = result[HOP];
            summary->pairs[near]++;
        }
        sb_unmap(board, sizeof *board);
    }
    sb_partner_stop(partner);
}

static double at_least(double value, double least)
{
    return value > least ? value : least;
}

static void report_near(sb_calibration_t *calibration, summary_t *summary, unsigned near)
{
    sb_samples_t *of = summary->of[near];
    double read = sb_median(&of[READ]);
    double shared = sb_median(&of[ADD_SHARED]) - sb_median(&of[ADD_OWNED]);

    sb_measured(calibration, (sb_number_t)(SB_NUMBER_READ_L2 + near), read,
                "chain of reads through %d lines that the other core wrote; pairs: %zu", LINES,
                summary->pairs[near]);
    sb_measured(calibration, (sb_number_t)(SB_NUMBER_INVALIDATE_L2 + near), at_least(shared, 0.1),
                "addition to a line that the other core has too, less that to an own line; "
                "pairs: %zu",
                summary->pairs[near]);
}

/* What the nearest pairs tell of one core alone. */
static void report_core(sb_calibration_t *calibration, summary_t *summary, unsigned near)
{
    sb_samples_t *of = summary->of[near];
    double store = at_least(sb_median(&of[STORE]), 0.1);

    sb_measured(calibration, SB_NUMBER_STORE, store, "stores to %d lines that the core owns",
                LINES);
    sb_measured(calibration, SB_NUMBER_ATOMIC_EXTRA, sb_median(&of[ADD_OWNED]),
                "addition to a line that the core owns");
    sb_measured(calibration, SB_NUMBER_READ_OVERLAP,
                at_least(sb_median(&of[READ]) / sb_median(&of[OVERLAPPED]), 1),
                "chained reads of %d lines that another core wrote, over independent ones", LINES);
}

typedef struct reader {
    const sb_word64_t *flag;
    uint64_t round;
    uint64_t seen_at;
} reader_t;

static void await_flag(void *argument)
{
    reader_t *reader = argument;

    sb_await(reader->flag, reader->round);
    reader->seen_at = sb_now_ns();
}

/* Time between the first and the last of some readers that wait for one line, for each of them. */
static double spread(flags_t *flags, sb_partner_t **partners, uint64_t round)
{
    reader_t readers[SERVICE_READERS];
    uint64_t first = UINT64_MAX;
    uint64_t last = 0;

    for (size_t i = 0; i < SERVICE_READERS; i++) {
        readers[i] = (reader_t){.flag = &flags->here, .round = round};
        sb_partner_begin(partners[i], await_flag, &readers[i]);
    }
    for (uint64_t until = sb_until(20e-6); sb_now_ns() < until;)
        sb_pause();
    sb_store64(&flags->here, round, SB_RELEASE);
    for (size_t i = 0; i < SERVICE_READERS; i++) {
        sb_partner_finish(partners[i]);
        first = readers[i].seen_at < first ? readers[i].seen_at : first;
        last = readers[i].seen_at > last ? readers[i].seen_at : last;
    }
    return (double)(last - first) / (SERVICE_READERS - 1);
}

static void measure_service(sb_calibration_t *calibration)
{
    sb_partner_t *partners[SERVICE_READERS];
    sb_samples_t samples = {0};
    flags_t *flags = sb_map(sizeof *flags, calibration->cores[0].unit[SB_LEVEL_NUMA]);

    sb_pin(calibration->cores[0].cpu);
    for (size_t i = 0; i < SERVICE_READERS; i++) {
        partners[i] = sb_partner_start();
        sb_partner_move(partners[i], calibration->cores[i + 1].cpu);
    }
    uint64_t until = sb_until(SERVICE_SHARE * calibration->seconds);
    for (uint64_t round = 1; sb_sample_more(&samples, LEAST, until); round++)
        sb_sample(&samples, spread(flags, partners, round));
    for (size_t i = 0; i < SERVICE_READERS; i++)
        sb_partner_stop(partners[i]);
    sb_unmap(flags, sizeof *flags);
    sb_measured(calibration, SB_NUMBER_LINE_SERVICE, at_least(sb_median(&samples), 0.1),
                "%d cores wait for one line; time between the first and the last that sees it, "
                "for each",
                SERVICE_READERS);
}

static void measure_hit(sb_calibration_t *calibration)
{
    sb_samples_t samples = {0};
    board_t *board = sb_map(sizeof *board, calibration->cores[0].unit[SB_LEVEL_NUMA]);

    sb_pin(calibration->cores[0].cpu);
    shuffle(board);
    follow(board);
    while (samples.count < LEAST * LEAST)
        sb_sample(&samples, follow(board));
    sb_measured(calibration, SB_NUMBER_READ_HIT, sb_median(&samples),
                "chain of reads through %d lines in the core's own cache", LINES);
    sb_unmap(board, sizeof *board);
}

void sb_calibrate_lines(sb_calibration_t *calibration)
{
    summary_t *summary = sb_tool_take(1, sizeof *summary);

    measure_hit(calibration);
    if (calibration->count > 1)
        measure_pairs(calibration, summary);
    for (unsigned near = SB_NEARNESS; near-- > 0;) {
        if (summary->pairs[near] > 0) {
            report_near(calibration, summary, near);
            report_core(calibration, summary, near);
        }
    }
    if (calibration->count > SERVICE_READERS)
        measure_service(calibration);
    free(summary);
}
