/* SPDX-License-Identifier: BSD-3-Clause */
/* Reductions between nodes, each way of each schedule on any number of nodes: what all of them have
 * at the end, in which order it came about, and how many messages and bytes a node has sent. */
#include "testing.h"

#include "cluster/net/cube.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODES_MOST = 20, ELEMENTS = 37, DIGITS_MOST = 3, LETTERS = 4 };

/* What nodes [from, to) have given. */
typedef struct interval {
    uint32_t from, to;
} interval_t;

/* What does not follow what is before it makes nothing of both. */
static sb_status_t join(const sb_operator_t *self, void *to, const void *const from[], uint32_t n,
                        size_t bytes)
{
    interval_t *result = to;

    (void)self;
    for (size_t i = 0; i < bytes / sizeof *result; i++) {
        interval_t all = ((const interval_t *)from[0])[i];
        for (uint32_t k = 1; k < n; k++) {
            interval_t next = ((const interval_t *)from[k])[i];
            all = (interval_t){all.from, all.to == next.from ? next.to : UINT32_MAX};
        }
        result[i] = all;
    }
    return SB_OK;
}

static const sb_operator_t ordered = {.element = sizeof(interval_t), .fold = join};

/* Messages from one node to another that nobody has taken. */
typedef struct box {
    uint32_t count;
    size_t bytes[LETTERS];
    interval_t letter[LETTERS][ELEMENTS];
} box_t;

typedef struct node {
    sb_program_t program;
    interval_t data[ELEMENTS];
    interval_t scratch[ELEMENTS << DIGITS_MOST];
    bool came[SB_MESSAGES_MOST];
    uint32_t messages; /* that it sent, */
    size_t bytes;      /* and what was in them */
} node_t;

static node_t node[NODES_MOST];
static size_t most_folded; /* bytes of one step */
static box_t box[NODES_MOST][NODES_MOST];

static void send(node_t *from, const sb_message_t *message)
{
    box_t *at = &box[from->program.self][message->node];

    assert_true(at->count < LETTERS && message->bytes > 0);
    memcpy(at->letter[at->count], message->data, message->bytes);
    at->bytes[at->count++] = message->bytes;
    from->messages++;
    from->bytes += message->bytes;
}

/* False: it has not been sent yet. */
static bool receive(node_t *to, const sb_message_t *message)
{
    box_t *at = &box[message->node][to->program.self];

    if (at->count == 0)
        return false;
    assert_int_equal(at->bytes[0], message->bytes);
    memcpy(message->data, at->letter[0], message->bytes);
    at->count--;
    memmove(at->bytes, at->bytes + 1, at->count * sizeof *at->bytes);
    memmove(at->letter, at->letter + 1, at->count * sizeof *at->letter);
    return true;
}

static void begin_step(node_t *at)
{
    sb_program_t *program = &at->program;

    memset(at->came, 0, sizeof at->came);
    program->step.count = program->step.folds = 0;
    program->open = program->write_step(program, program->number++, &program->step);
    size_t folded = 0;
    for (uint32_t i = 0; program->open && i < program->step.count; i++) {
        const sb_message_t *message = &program->step.message[i];
        folded += message->landing != SB_STAYS ? message->bytes : 0;
        most_folded = folded > most_folded ? folded : most_folded;
        at->came[i] = !program->step.message[i].receives;
        if (at->came[i])
            send(at, &program->step.message[i]);
    }
}

static bool is_step_over(node_t *at)
{
    bool over = true;

    for (uint32_t i = 0; i < at->program.step.count; i++) {
        at->came[i] = at->came[i] || receive(at, &at->program.step.message[i]);
        over = over && at->came[i];
    }
    return over;
}

static uint32_t list(const sb_step_t *step, sb_landing_t landing, const void **from)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < step->count; i++) {
        if (step->message[i].landing == landing)
            from[count++] = step->message[i].data;
    }
    return count;
}

/* As clusters do it: those from the left, what is there, and those from the right. */
static void land(const sb_step_t *step)
{
    const void *from[SB_MESSAGES_MOST + 1];
    const sb_message_t *one = step->message, *end = one + step->count;

    while (one < end && one->landing == SB_STAYS)
        one++;
    if (one == end)
        return;
    uint32_t count = list(step, SB_FOLD_LEFT, from);
    from[count++] = one->into;
    count += list(step, SB_FOLD_RIGHT, from + count);
    join(&ordered, one->into, from, count, one->bytes);
}

/* All programs to their end. */
static void run(sb_program_t way, uint32_t nodes, size_t elements)
{
    bool moved = true;

    most_folded = 0;
    memset(box, 0, sizeof box);
    for (uint32_t self = 0; self < nodes; self++) {
        node_t *at = &node[self];
        *at = (node_t){.program = way};
        for (size_t i = 0; i < elements; i++)
            at->data[i] = (interval_t){self, self + 1};
        at->program.nodes = nodes;
        at->program.self = self;
        at->program.operation = &ordered;
        at->program.bytes_at = (char *)at->data;
        at->program.bytes = elements * sizeof *at->data;
        at->program.scratch = (char *)at->scratch;
        begin_step(at);
    }
    while (moved) {
        moved = false;
        for (node_t *at = node; at < node + nodes; at++) {
            if (!at->program.open || !is_step_over(at))
                continue;
            land(&at->program.step);
            begin_step(at);
            moved = true;
        }
    }
}

/* All have everything, of all nodes in order, and nothing is left. */
static bool is_right(uint32_t nodes, size_t elements)
{
    for (uint32_t self = 0; self < nodes; self++) {
        if (node[self].program.open)
            return false;
        for (size_t i = 0; i < elements; i++) {
            if (node[self].data[i].from != 0 || node[self].data[i].to != nodes)
                return false;
        }
        for (uint32_t other = 0; other < nodes; other++) {
            if (box[self][other].count > 0)
                return false;
        }
    }
    return true;
}

static void check(sb_program_t way, const char *name, uint32_t nodes)
{
    static const size_t lengths[] = {1, 2, 7, ELEMENTS};

    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        run(way, nodes, lengths[i]);
        if (!is_right(nodes, lengths[i]))
            fail_msg("%s of %zu elements, %u nodes, %u halvings of %u digits, then %u", name,
                     lengths[i], nodes, way.halvings, way.split_digits, way.digits);
    }
}

static uint32_t rounds_of(uint32_t nodes)
{
    uint32_t rounds = 0;

    while (2u << rounds <= nodes)
        rounds++;
    return rounds;
}

static void test_every_way(void **unused)
{
    (void)unused;
    for (uint32_t nodes = 2; nodes <= NODES_MOST; nodes++) {
        for (uint32_t digits = 1; digits <= DIGITS_MOST; digits++) {
            sb_program_t way = {.write_step = sb_net_halving, .digits = digits};
            for (way.halvings = 0; way.halvings <= rounds_of(nodes); way.halvings++) {
                for (way.split_digits = 1; way.split_digits <= DIGITS_MOST; way.split_digits++)
                    check(way, "halving", nodes);
            }
        }
    }
}

/* Of several digits at a time halving sends as many bytes in more messages and fewer steps. */
static void test_what_is_sent(void **unused)
{
    static const struct {
        uint32_t halvings, split_digits, digits, messages, elements;
    } ways[] = {{4, 1, 1, 8, 30}, {4, 2, 1, 12, 30}, {2, 1, 1, 6, 32},
                {2, 2, 1, 8, 32}, {2, 2, 2, 9, 36},  {1, 1, 1, 5, 40}};

    (void)unused;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        run((sb_program_t){.write_step = sb_net_halving,
                           .halvings = ways[i].halvings,
                           .split_digits = ways[i].split_digits,
                           .digits = ways[i].digits},
            16, 16);
        for (uint32_t self = 0; self < 16; self++) {
            assert_int_equal(node[self].messages, ways[i].messages);
            assert_int_equal(node[self].bytes, ways[i].elements * sizeof(interval_t));
        }
    }
}

/* However few and long the elements are, what comes at a time has room. */
static void test_room(void **unused)
{
    (void)unused;
    for (size_t elements = 1; elements <= ELEMENTS; elements++) {
        for (uint32_t digits = 1; digits <= DIGITS_MOST; digits++) {
            size_t room = elements * sizeof(interval_t);
            sb_program_t way = {
                .write_step = sb_net_halving,
                .halvings = 3,
                .split_digits = sb_cube_fits(digits, elements, sizeof(interval_t), 0, true, room),
                .digits = sb_cube_fits(digits, elements, sizeof(interval_t), 3, false, room)};
            run(way, 19, elements);
            assert_true(is_right(19, elements));
            assert_true(most_folded <= room);
            assert_true(elements % 8 > 0 || way.split_digits == digits);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_way),
        cmocka_unit_test(test_what_is_sent),
        cmocka_unit_test(test_room),
    };

    return cmocka_run_group_tests_name("programs", tests, NULL, NULL);
}
