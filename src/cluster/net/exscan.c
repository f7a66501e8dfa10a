/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exscan over nodes of one segment each: in step k a node sends the combination of the 2^k nodes up
 * to itself to the one 2^k further, which puts it before what it has; so after ceil(log2 N) steps
 * each has all nodes before itself. Or a chain: each node sends all up to itself to the next. Cost:
 * ceil(log2 N) (a + m b) for short messages; of S segments of g bytes (N - 2 + S) (a + g b) in the
 * chain. Memory: two segments beside the program's own. The order of nodes is kept. Source: Hillis,
 * Steele, "Data parallel algorithms", 1986; the chain is folklore.
 */
#include "cluster/program.h"

/* What came goes before what is there, and before what goes on, if anything does. */
static void put_before(const sb_program_t *program, sb_step_t *step, uint32_t from, bool first,
                       bool goes_on)
{
    char *at = first ? program->before : program->scratch;
    sb_message_t *message = sb_step_add(step, from, at, program->bytes);

    message->receives = true;
    message->landing = first && !goes_on ? SB_STAYS : SB_FOLD_LEFT;
    message->into = goes_on ? program->bytes_at : program->before;
    message->also = goes_on && !first ? program->before : NULL;
}

bool sb_net_exscan_doubling(sb_program_t *program, uint32_t number, sb_step_t *step)
{
    uint64_t distance = (uint64_t)1 << number, self = program->self;

    if (distance >= program->nodes)
        return false;
    if (self >= distance)
        put_before(program, step, (uint32_t)(self - distance), number == 0,
                   self + 2 * distance < program->nodes);
    if (self + distance < program->nodes)
        sb_step_send(step, (uint32_t)(self + distance), program->bytes_at, program->bytes);
    return true;
}

bool sb_net_exscan_chain(sb_program_t *program, uint32_t number, sb_step_t *step)
{
    bool last = program->self + 1 == program->nodes;

    if (number == 0 && program->self > 0)
        put_before(program, step, program->self - 1, true, !last);
    else if (number == 1 && !last)
        sb_step_send(step, program->self + 1, program->bytes_at, program->bytes);
    return number < 2;
}
