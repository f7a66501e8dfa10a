/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allreduce over nodes by recursive doubling: in round k the nodes whose numbers differ in digit k
 * exchange what they have and combine it, the lower node's first: so both get the same bits, and
 * the order of nodes is kept. Where N is not a power of two, the first nodes work in pairs of
 * neighbours: one gives its bytes to the other before, and gets the result after. Cost: ceil(log2
 * N) (a + m b), and 2 (a + m b) more for such N. Memory: a segment. Source: Thakur, Rabenseifner,
 * Gropp, "Optimization of collective communication operations in MPICH", 2005.
 */
#include "cluster/program.h"
#include "coll/coll.h"

bool sb_net_recursive_doubling(sb_program_t *program, uint32_t number, sb_step_t *step)
{
    uint32_t rounds = sb_rounds(program->nodes + 1) - 1;
    uint32_t pairs = program->nodes - (1u << rounds), self = program->self;
    bool paired = self < 2 * pairs, idle = paired && self % 2 == 1;
    char *data = program->bytes_at;
    size_t bytes = program->bytes;

    if (number > rounds + 1)
        return false;
    if (number == 0 || number == rounds + 1) {
        if (idle == (number == 0) && paired)
            sb_step_send(step, self ^ 1, data, bytes);
        else if (paired && number == 0)
            sb_step_fold(program, step, self ^ 1, data, bytes, SB_FOLD_RIGHT);
        else if (paired)
            sb_step_receive(step, self ^ 1, data, bytes);
        return true;
    }
    uint32_t place = paired ? self / 2 : self - pairs, other = place ^ (1u << (number - 1));
    uint32_t partner = other < pairs ? 2 * other : other + pairs;
    if (idle)
        return true;
    sb_step_fold(program, step, partner, data, bytes,
                 partner < self ? SB_FOLD_LEFT : SB_FOLD_RIGHT);
    sb_step_send(step, partner, data, bytes);
    return true;
}
