/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/beyond.h"

#include "mpi/self.h"

#include <stdatomic.h>
#include <string.h>

/* Not whole vectors: what a host does with the elements behind the last one is seen too. */
#define SAMPLE_BYTES 1016

/*
 * Integers, whatever the type is called. Of other types hosts are known that accept an operation
 * and end the process when they come to do it.
 */
static bool may_be_asked(sb_operation_t operation, const sb_type_t *description)
{
    const unsigned integers = 1u << SB_GROUP_FORTRAN_INTEGER | 1u << SB_GROUP_MULTI_LANGUAGE |
                              1u << SB_GROUP_LOGICAL | 1u << SB_GROUP_BYTE | 1u << SB_GROUP_OTHER;
    size_t size = description->size;

    return operation < SB_MINLOC && (integers & 1u << description->group) != 0 &&
           description->contiguous && size <= sizeof(uint64_t) && (size & (size - 1)) == 0;
}

/* Errors are returned there: no handler of the user's hears of it. */
static bool is_accepted(MPI_Op op, MPI_Datatype type)
{
    MPI_Comm self = sb_private_self_take();
    uint64_t one = 1, result;

    if (self == sb_host.comm_null)
        return false;
    int error = sb_host.Allreduce(&one, &result, 1, type, op, self);
    sb_private_self_give();
    return error == MPI_SUCCESS;
}

/* Every fourth element is 0, so that logical operations find both of their values. Of a sum's
 * elements the highest two bits are equal, or the highest is 0: the sum has room. */
static void draw(char *at, size_t size, bool is_signed, bool is_sum, uint64_t *random)
{
    unsigned spare = 64 - 8 * (unsigned)size + (is_sum ? 1 : 0);

    for (size_t i = 0; i < SAMPLE_BYTES; i += size) {
        *random = *random * 6364136223846793005u + 1442695040888963407u;
        uint64_t value = is_signed ? (uint64_t)((int64_t)*random >> spare) : *random >> spare;
        if (*random >> 20 & 3)
            memcpy(at + i, &value, size);
        else
            memset(at + i, 0, size);
    }
}

/* Whether the host's result, of numbers read so, is that of our operator. */
static bool is_matched(sb_operation_t operation, sb_element_t element, MPI_Op op, MPI_Datatype type)
{
    const sb_operator_t *ours = sb_fold_operator(operation, element);
    char left[SAMPLE_BYTES], right[SAMPLE_BYTES], result[SAMPLE_BYTES];
    uint64_t random = 0;

    draw(left, ours->element, element < SB_UINT8, operation == SB_SUM, &random);
    draw(right, ours->element, element < SB_UINT8, operation == SB_SUM, &random);
    ours->fold(ours, result, (const void *const[]){left, right}, 2, SAMPLE_BYTES);
    int error = sb_host.Reduce_local(left, right, (int)(SAMPLE_BYTES / ours->element), type, op);
    return error == MPI_SUCCESS && memcmp(result, right, SAMPLE_BYTES) == 0;
}

static sb_element_t ask(sb_operation_t operation, MPI_Op op, MPI_Datatype type, size_t size)
{
    const sb_element_t narrowest[] = {SB_INT8, SB_UINT8};

    for (size_t i = 0; i < SB_COUNT_OF(narrowest) && is_accepted(op, type); i++) {
        sb_element_t element = narrowest[i] + (sb_element_t)__builtin_ctzl(size);
        if (is_matched(operation, element, op, type))
            return element;
    }
    return SB_NO_ELEMENT;
}

sb_element_t sb_beyond_element(sb_operation_t operation, MPI_Op op, MPI_Datatype type,
                               const sb_type_t *description)
{
    enum { UNKNOWN, REFUSED };
    static _Atomic uint8_t answers[SB_TYPES + 1][SB_OPERATIONS];
    _Atomic uint8_t *answer = &answers[description->number][operation];
    /* Relaxed: whoever asks at the same time finds the same, and nothing else is handed over. */
    uint8_t known = atomic_load_explicit(answer, memory_order_relaxed);

    if (SB_UNLIKELY(known == UNKNOWN)) {
        known = REFUSED;
        if (may_be_asked(operation, description)) {
            if (sb_private_self() == sb_host.comm_null)
                return SB_NO_ELEMENT; /* asked again when there is one */
            known = (uint8_t)(REFUSED + ask(operation, op, type, description->size));
        }
        atomic_store_explicit(answer, known, memory_order_relaxed);
    }
    return (sb_element_t)(known - REFUSED);
}
