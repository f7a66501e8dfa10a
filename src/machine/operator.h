/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MACHINE_OPERATOR_H
#define SB_MACHINE_OPERATOR_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * How elements are combined. An algorithm gives it whole elements, and combines by sb_combine
 * (primitive.h) alone, so that both machines see what is read and written.
 */
typedef struct sb_operator {
    size_t element;   /* bytes in memory; data is cut between elements only */
    bool commutative; /* the order of the contributions may be changed */
    /*
     * to[i] = from[0][i] op from[1][i] op ... op from[n - 1][i], from left to right; n >= 1. `to`
     * is one of `from`, or overlaps none of them. None needs to be aligned. Anything but SB_OK: the
     * contents of `to` are undefined; the caller goes on with the protocol and reports at the end.
     */
    sb_status_t (*fold)(const struct sb_operator *self, void *to, const void *const from[],
                        uint32_t n, size_t bytes);
    void *context; /* of fold */
    bool exact;    /* any order gives the same bits: none is kept for their sake */
    bool called;   /* by a function of the program, which may take long: alike on all ranks */
} sb_operator_t;

#endif
