/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_CLUSTER_NET_CUBE_H
#define SB_CLUSTER_NET_CUBE_H

#include "cluster/program.h"
#include "coll/reduction/reduction.h"

/*
 * The nodes as corners of a cube. Where N is not a power of two, the first nodes work in pairs of
 * neighbours as one corner: one gives its bytes to the other before, and gets the result after. So
 * the order of corners is that of nodes.
 */
typedef struct sb_cube {
    uint32_t rounds;
    uint32_t pairs;
    uint32_t place; /* this node's corner */
    bool paired;
    bool idle; /* the pair's other node works */
} sb_cube_t;

static inline sb_cube_t sb_cube(const sb_program_t *program)
{
    uint32_t self = program->self;
    sb_cube_t cube = {.rounds = sb_rounds(program->nodes + 1) - 1};

    cube.pairs = program->nodes - (1u << cube.rounds);
    cube.paired = self < 2 * cube.pairs;
    cube.idle = cube.paired && self % 2 == 1;
    cube.place = cube.paired ? self / 2 : self - cube.pairs;
    return cube;
}

/* The node that works at the corner. */
static inline uint32_t sb_cube_node(const sb_cube_t *cube, uint32_t place)
{
    return place < cube->pairs ? 2 * place : place + cube->pairs;
}

/* The pair's contributions come together. */
static inline void sb_cube_begins(const sb_program_t *program, const sb_cube_t *cube,
                                  sb_step_t *step)
{
    if (cube->idle)
        sb_step_send(step, program->self ^ 1, program->bytes_at, program->bytes);
    else if (cube->paired)
        sb_step_fold(program, step, program->self ^ 1, program->bytes_at, program->bytes,
                     SB_FOLD_RIGHT);
}

/* The idle node gets the result. */
static inline void sb_cube_ends(const sb_program_t *program, const sb_cube_t *cube, sb_step_t *step)
{
    if (cube->paired)
        sb_step_pass(program, step, program->self & ~1u, program->self | 1);
}

/* The corner that differs from another in these digits, as the bits of `by` say. */
static inline uint32_t sb_cube_beside(uint32_t place, uint32_t first, uint32_t by)
{
    return place ^ by << first;
}

/* The corner of that number among those that differ in these digits alone. */
static inline uint32_t sb_cube_member(uint32_t place, uint32_t first, uint32_t digits, uint32_t i)
{
    return (place & ~(((1u << digits) - 1) << first)) | i << first;
}

/* At most so many digits of a round, whose messages together have so much room; those of others
 * have the elements that are left after so many halvings, and `split`: after those of the round. */
static inline uint32_t sb_cube_fits(uint32_t digits, size_t elements, size_t element,
                                    uint32_t halvings, bool split, size_t room)
{
    for (; digits > 1; digits--) {
        size_t parts = (size_t)1 << (split ? digits : halvings);
        if (((1u << digits) - 1) * sb_divide_up(elements, parts) * element <= room)
            break;
    }
    return digits;
}

/* What comes from all others of a group, of this range, is combined in the order of nodes. */
static inline void sb_cube_folds(const sb_program_t *program, const sb_cube_t *cube,
                                 sb_step_t *step, uint32_t first, uint32_t digits, sb_range_t range)
{
    for (uint32_t i = 0; i < 1u << digits && range.from < range.to; i++) {
        uint32_t place = sb_cube_member(cube->place, first, digits, i);
        uint32_t partner = sb_cube_node(cube, place);
        if (place != cube->place)
            sb_step_fold(program, step, partner, program->bytes_at + range.from,
                         range.to - range.from,
                         partner < program->self ? SB_FOLD_LEFT : SB_FOLD_RIGHT);
    }
}

#endif
