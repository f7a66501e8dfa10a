/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_DATA_FOLD_H
#define SB_DATA_FOLD_H

#include "base/instructions.h"
#include "machine/operator.h"

/*
 * Operators that Sobor computes itself: the predefined operations on elements of the predefined
 * types. Several sources are combined in one pass, always from left to right, so the bits of a
 * result follow from the sources and their order alone: not from how memory is aligned, how data is
 * cut, or which instructions the processor has.
 */
/* clang-format off */
/*
 *   integers          wrap around
 *   minimum, maximum  the right operand, if it is less (greater); else the left one. Of 0 and -0
 *                     the leftmost stays. A NaN stays if it is the leftmost, else it is passed over
 *   minloc, maxloc    of equal values the lower index; NaN as above
 *   logical           0 and 1; of Fortran's logicals an operand that is true, as it was given
 */
/* clang-format on */
typedef enum sb_operation {
    SB_SUM,
    SB_PROD,
    SB_MINIMUM,
    SB_MAXIMUM,
    SB_LAND,
    SB_LOR,
    SB_LXOR,
    SB_BAND,
    SB_BOR,
    SB_BXOR,
    SB_MINLOC,
    SB_MAXLOC,
    SB_OPERATIONS,
} sb_operation_t;

/* Elements in memory. Pairs are a value with its index straight behind it, without gaps. */
typedef enum sb_element {
    SB_NO_ELEMENT,
    SB_INT8,
    SB_INT16,
    SB_INT32,
    SB_INT64,
    SB_UINT8,
    SB_UINT16,
    SB_UINT32,
    SB_UINT64,
    SB_LOGICAL8,
    SB_LOGICAL16,
    SB_LOGICAL32,
    SB_LOGICAL64,
    SB_FLOAT,
    SB_DOUBLE,
    SB_LONG_DOUBLE,
    SB_COMPLEX_FLOAT,
    SB_COMPLEX_DOUBLE,
    SB_COMPLEX_LONG_DOUBLE,
    SB_PAIR_SHORT, /* each of these with an int */
    SB_PAIR_INT,
    SB_PAIR_LONG,
    SB_PAIR_FLOAT,
    SB_PAIR_DOUBLE,
    SB_PAIR_LONG_DOUBLE,
    SB_PAIR_2FLOAT, /* the index is of the value's type, as in Fortran */
    SB_PAIR_2DOUBLE,
    SB_ELEMENTS,
} sb_element_t;

extern const size_t sb_element_bytes[SB_ELEMENTS];

/* The operator; NULL: there is none of this operation on such elements. Lives for ever. */
const sb_operator_t *sb_fold_operator(sb_operation_t operation, sb_element_t element);

/* For tests: uses this set from now on. False: this processor or build does not have it. */
bool sb_fold_use(sb_instructions_t set);

#endif
