/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/operator.h"

#include "mpi/beyond.h"
#include "mpi/scratch.h"
#include "mpi/self.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* ---- predefined operations ---- */

#define GROUP(name) (1u << SB_GROUP_##name)
#define ANY_INTEGER (GROUP(C_INTEGER) | GROUP(FORTRAN_INTEGER) | GROUP(MULTI_LANGUAGE))

/* The groups of types that MPI defines each operation on. */
static const unsigned defined_on[SB_OPERATIONS] = {
    [SB_SUM] = ANY_INTEGER | GROUP(FLOATING) | GROUP(COMPLEX),
    [SB_PROD] = ANY_INTEGER | GROUP(FLOATING) | GROUP(COMPLEX),
    [SB_MINIMUM] = ANY_INTEGER | GROUP(FLOATING),
    [SB_MAXIMUM] = ANY_INTEGER | GROUP(FLOATING),
    [SB_LAND] = GROUP(C_INTEGER) | GROUP(LOGICAL),
    [SB_LOR] = GROUP(C_INTEGER) | GROUP(LOGICAL),
    [SB_LXOR] = GROUP(C_INTEGER) | GROUP(LOGICAL),
    [SB_BAND] = ANY_INTEGER | GROUP(BYTE),
    [SB_BOR] = ANY_INTEGER | GROUP(BYTE),
    [SB_BXOR] = ANY_INTEGER | GROUP(BYTE),
    [SB_MINLOC] = GROUP(PAIR),
    [SB_MAXLOC] = GROUP(PAIR),
};

/* By sb_operation_t; behind them those that no reduction takes. */
static MPI_Op predefined[SB_OPERATIONS + 2];

void sb_operations_start(void)
{
    const MPI_Op known[] = {MPI_SUM,    MPI_PROD,   MPI_MIN,     MPI_MAX,  MPI_LAND,
                            MPI_LOR,    MPI_LXOR,   MPI_BAND,    MPI_BOR,  MPI_BXOR,
                            MPI_MINLOC, MPI_MAXLOC, MPI_REPLACE, MPI_NO_OP};

    memcpy(predefined, known, sizeof predefined);
}

/* SB_COUNT_OF(predefined): a user's. */
static size_t operation_of(MPI_Op op)
{
    size_t i = 0;

    while (i < SB_COUNT_OF(predefined) && predefined[i] != op)
        i++;
    return i;
}

/* ---- a user's operation ---- */

/* Elements are combined some at a time: what is copied of them meanwhile stays in the cache. */
static sb_status_t apply(sb_combination_t *user, const void *left, void *right, size_t count)
{
    int error = sb_host.Reduce_local(left, right, (int)count, user->type, user->op);

    if (error == MPI_SUCCESS)
        return SB_OK;
    user->error = error;
    return SB_ERR_DATA;
}

/* Brings packed elements into the user's layout, or back from there. */
static sb_status_t convert(const sb_combination_t *user, void *elements, void *packed, size_t count,
                           bool pack)
{
    size_t bytes = count * user->description->size;
    sb_packer_t packer;
    sb_stream_t stream;

    if (user->description->contiguous) {
        if (elements != packed)
            sb_copy(pack ? packed : elements, pack ? elements : packed, bytes);
        return SB_OK;
    }
    sb_packer_open(&packer, &stream, elements, count, user->type, user->description, user->comm);
    sb_status_t status = pack ? sb_stream_read(&stream, 0, packed, bytes)
                              : sb_stream_write(&stream, 0, packed, bytes);
    return sb_packer_close(&packer) == MPI_SUCCESS ? status : SB_ERR_DATA;
}

/* Whether the user's function may be called on packed elements where they are. It may expect any
 * alignment that the type can have: elements of so many bytes cannot have more. */
static bool is_usual_place(const sb_combination_t *user, const char *packed)
{
    size_t size = user->description->size;

    return user->description->contiguous && ((uintptr_t)packed & ((size & -size) - 1)) == 0;
}

/*
 * `right` = left op right, and becomes the left operand of the next; the last one is the result, if
 * it may be there. origin[i] is the address of the elements in a buffer: sources are copied, as
 * they may be the program's or read by others, and there are functions that write to both operands.
 */
static sb_status_t fold_block(sb_combination_t *user, char *to, const void *const from[],
                              uint32_t n, size_t at, size_t count, char *const origin[2])
{
    char *left = origin[0], *result = to + at;
    sb_status_t status = convert(user, left, (char *)(uintptr_t)from[0] + at, count, false);

    for (uint32_t k = 1; k < n && status == SB_OK; k++) {
        bool in_result = k + 1 == n && is_usual_place(user, result);
        char *right = in_result ? result : origin[k % 2];
        status = convert(user, right, (char *)(uintptr_t)from[k] + at, count, false);
        if (status == SB_OK)
            status = apply(user, left, right, count);
        left = right;
    }
    return status == SB_OK ? convert(user, left, result, count, true) : status;
}

/* The address that elements have whose lowest byte is the first aligned one of `memory`. */
static char *origin_in(const sb_combination_t *user, char *memory, size_t count)
{
    MPI_Aint extent = user->description->extent;
    MPI_Aint lowest = user->lower + (extent < 0 ? (MPI_Aint)(count - 1) * extent : 0);
    uintptr_t address = (uintptr_t)memory - (uintptr_t)lowest;

    return (char *)((address + SB_FOLD_ALIGNMENT - 1) & ~(uintptr_t)(SB_FOLD_ALIGNMENT - 1));
}

static sb_status_t fold_in(sb_combination_t *user, void *to, const void *const from[], uint32_t n,
                           size_t count, char *const memory[2], size_t most)
{
    size_t size = user->description->size;
    char *origin[2] = {origin_in(user, memory[0], most), origin_in(user, memory[1], most)};
    sb_status_t status = SB_OK;

    for (size_t done = 0; done < count && status == SB_OK; done += most)
        status = fold_block(user, to, from, n, done * size, sb_min(most, count - done), origin);
    return status;
}

static sb_status_t fold(const sb_operator_t *self, void *to, const void *const from[], uint32_t n,
                        size_t bytes)
{
    sb_combination_t *user = self->context;
    size_t step = (size_t)llabs((long long)user->description->extent), span = (size_t)user->span;
    /* Of one element nothing is divided: that takes as long as to call the user's function. */
    size_t count = bytes == user->description->size ? 1 : bytes / user->description->size;

    if (user->error != MPI_SUCCESS)
        return SB_ERR_DATA;
    if (span <= SB_FOLD_BYTES) {
        size_t most = count == 1 || step == 0 ? 1 : 1 + (SB_FOLD_BYTES - span) / step;
        for (int i = 0; i < 2 && !user->description->contiguous; i++) /* gaps hold zeroes */
            memset(user->blocks[i], 0, SB_FOLD_BYTES + SB_FOLD_ALIGNMENT);
        return fold_in(user, to, from, n, count, user->blocks, most);
    }
    char *large = calloc(2, span + SB_FOLD_ALIGNMENT);
    if (large == NULL) {
        user->error = MPI_ERR_NO_MEM;
        return SB_ERR_DATA;
    }
    sb_status_t status = fold_in(user, to, from, n, count,
                                 (char *const[]){large, large + span + SB_FOLD_ALIGNMENT}, 1);
    free(large);
    return status;
}

static const sb_operator_t *find_predefined(sb_operation_t operation, MPI_Op op, MPI_Datatype type,
                                            const sb_type_t *description)
{
    sb_element_t element = SB_LIKELY(defined_on[operation] & 1u << description->group)
                               ? description->element
                               : sb_beyond_element(operation, op, type, description);

    return sb_fold_operator(operation, element);
}

/*
 * The memory of an element, with its gaps: the user's function may move whole structures, and what
 * it writes behind one must not be another's. With an extent below 0 there are none to move.
 */
static bool find_span(sb_combination_t *combination)
{
    const sb_type_t *description = combination->description;
    MPI_Aint lower, extent;

    combination->lower = 0;
    combination->span = (MPI_Aint)description->size;
    if (description->contiguous)
        return true;
    if (sb_host.Type_get_true_extent(combination->type, &combination->lower, &combination->span) !=
            MPI_SUCCESS ||
        sb_host.Type_get_extent(combination->type, &lower, &extent) != MPI_SUCCESS)
        return false;
    if (extent > 0) {
        MPI_Aint end = combination->lower + combination->span;
        end = end > lower + extent ? end : lower + extent;
        combination->lower = lower < combination->lower ? lower : combination->lower;
        combination->span = end - combination->lower;
    }
    return true;
}

/* Whether the host takes it, in a scan of nothing: Op_commutative of a handle that is none raises
 * its error on MPI_COMM_WORLD. Asked each time: nobody tells of an operation's end. */
static bool is_usable(const sb_combination_t *combination)
{
    MPI_Comm self = sb_private_self_take();
    char from, to;

    if (self == sb_host.comm_null)
        return true;
    int error = sb_host.Scan(&from, &to, 0, combination->type, combination->op, self);
    sb_private_self_give();
    return error == MPI_SUCCESS;
}

static bool find_user(sb_combination_t *combination)
{
    const sb_type_t *description = combination->description;
    int commutative = 0;

    if (!is_usable(combination) ||
        sb_host.Op_commutative(combination->op, &commutative) != MPI_SUCCESS ||
        !find_span(combination))
        return false;
    combination->user = (sb_operator_t){.element = description->size,
                                        .commutative = commutative != 0,
                                        .fold = fold,
                                        .context = combination,
                                        .called = true};
    if (description->size <= SB_ELEMENT_MOST)
        combination->operation = &combination->user;
    return true;
}

bool sb_combination_find(sb_combination_t *combination, MPI_Op op, MPI_Datatype type,
                         const sb_type_t *description, MPI_Comm comm)
{
    size_t operation = operation_of(op);

    combination->error = MPI_SUCCESS;
    combination->operation = NULL;
    if (SB_LIKELY(operation < SB_OPERATIONS)) {
        combination->operation = find_predefined((sb_operation_t)operation, op, type, description);
        return true;
    }
    if (op == sb_host.op_null)
        return false;
    if (operation < SB_COUNT_OF(predefined) || SB_IS_HOSTS_OPERATION(op))
        return true;
    combination->op = op;
    combination->type = type;
    combination->description = description;
    combination->comm = comm;
    return find_user(combination);
}
