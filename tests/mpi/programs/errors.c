/* SPDX-License-Identifier: BSD-3-Clause */
/* The error class of every wrong argument, printed one a line: two runs of this program are
 * compared, one of them on the bare MPI.
 *
 * usage: errors CASE...   (no MPI survives all of them)
 * CASE is one of the table below, or FUNCTION-WRONG, such as gatherv-count */
#include "moving.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int buffer[64];
static MPI_Comm comm;

static int bad_root_high(void)
{
    return MPI_Bcast(buffer, 4, MPI_INT, size_of(comm), comm);
}

static int bad_root_low(void)
{
    return MPI_Bcast(buffer, 4, MPI_INT, -5, comm);
}

static int bad_root_proc_null(void)
{
    return MPI_Bcast(buffer, 4, MPI_INT, MPI_PROC_NULL, comm);
}

static int bad_count(void)
{
    return MPI_Bcast(buffer, -1, MPI_INT, 0, comm);
}

static int null_type(void)
{
    return MPI_Bcast(buffer, 4, MPI_DATATYPE_NULL, 0, comm);
}

static int null_type_zero_count(void)
{
    return MPI_Bcast(buffer, 0, MPI_DATATYPE_NULL, 0, comm);
}

static int invalid_type(void)
{
    return MPI_Bcast(buffer, 4, (MPI_Datatype)0, 0, comm);
}

static int invalid_op(void)
{
    return MPI_Allreduce(buffer, buffer + 32, 4, MPI_INT, (MPI_Op)12345, comm);
}

static int uncommitted_type(void)
{
    MPI_Datatype type;
    CALL(MPI_Type_vector(2, 1, 3, MPI_INT, &type));
    int status = MPI_Bcast(buffer, 1, type, 0, comm);
    MPI_Type_free(&type);
    return status;
}

static int null_comm_bcast(void)
{
    return MPI_Bcast(buffer, 4, MPI_INT, 0, MPI_COMM_NULL);
}

static int null_comm_barrier(void)
{
    return MPI_Barrier(MPI_COMM_NULL);
}

static int in_place(void)
{
    return MPI_Bcast(MPI_IN_PLACE, 4, MPI_INT, 0, comm);
}

static int null_buffer(void)
{
    return MPI_Bcast(NULL, 4, MPI_INT, 0, comm);
}

/* Types with gaps, whose first byte is at the buffer's address. */
static int null_buffer_vector(void)
{
    MPI_Datatype type;
    CALL(MPI_Type_vector(2, 1, 3, MPI_INT, &type));
    CALL(MPI_Type_commit(&type));
    int status = MPI_Bcast(NULL, 4, type, 0, comm);
    CALL(MPI_Type_free(&type));
    return status;
}

static int null_buffer_pair(void)
{
    return MPI_Allreduce(NULL, buffer, 1, MPI_DOUBLE_INT, MPI_MINLOC, comm);
}

static int bad_count_bad_root(void)
{
    return MPI_Bcast(buffer, -1, MPI_INT, -7, comm);
}

static int bad_root_zero_count(void)
{
    return MPI_Bcast(buffer, 0, MPI_INT, 1000, comm);
}

static int right_bcast(void)
{
    return MPI_Bcast(buffer, 4, MPI_INT, 0, comm);
}

static const struct {
    const char *name;
    int (*run)(void);
} CASES[] = {
    {"bad-root-high", bad_root_high},
    {"bad-root-low", bad_root_low},
    {"bad-root-proc-null", bad_root_proc_null},
    {"bad-count", bad_count},
    {"null-type", null_type},
    {"null-type-zero-count", null_type_zero_count},
    {"invalid-type", invalid_type},
    {"invalid-op", invalid_op},
    {"uncommitted-type", uncommitted_type},
    {"null-comm-bcast", null_comm_bcast},
    {"null-comm-barrier", null_comm_barrier},
    {"in-place", in_place},
    {"null-buffer", null_buffer},
    {"null-buffer-vector", null_buffer_vector},
    {"null-buffer-pair", null_buffer_pair},
    {"bad-count-bad-root", bad_count_bad_root},
    {"bad-root-zero-count", bad_root_zero_count},
    {"right", right_bcast},
};

/* The communicator must still work after an error that it returned. */
static void run_case(const char *name, int (*run)(void))
{
    checked_bcast(comm, 100, 0, 1);
    int status = run();
    int class = MPI_SUCCESS;
    MPI_Error_class(status, &class);
    printf("case %s rank %d class %d\n", name, rank_of(comm), class);
    checked_bcast(comm, 100, 0, 2);
    CALL(MPI_Barrier(comm));
}

/* ---- all that moves parts ---- */

static struct side wrong_side(enum moving which, const char *wrong, MPI_Datatype *types)
{
    static int counts[64], places[64];
    bool typed = which == ALLTOALLW;
    struct side side = {.buffer = buffer, .count = 1, .counts = counts, .places = places};
    side.type = strcmp(wrong, "type") == 0 ? MPI_DATATYPE_NULL : MPI_INT;
    if (strcmp(wrong, "uncommitted") == 0)
        CALL(MPI_Type_vector(2, 1, 3, MPI_INT, &side.type));
    if (strcmp(wrong, "count") == 0)
        side.count = -1;
    if (strcmp(wrong, "in-place") == 0)
        side.buffer = MPI_IN_PLACE;
    if (strcmp(wrong, "null") == 0) {
        side.buffer = NULL;
        side.type = MPI_SHORT_INT;
    }
    for (int i = 0; i < size_of(comm); i++) {
        counts[i] = side.count;
        places[i] = typed ? 4 * i : i;
        types[i] = side.type;
    }
    side.types = types;
    return side;
}

/* What is sent lies where it is to arrive. Hosts that look for that tell the rank that is wrong
 * alone; only the root of a rooted call makes it, so that nobody waits for a host that refuses it.
 */
static int aliased_parts(enum moving which, MPI_Comm on)
{
    MPI_Datatype types[64];
    struct side all = wrong_side(which, "alias", types), one = all;
    bool each = which >= ALLTOALL, deals = which == SCATTER || which == SCATTERV;
    one.buffer = buffer + (each ? 0 : rank_of(comm));
    if (which <= GATHERV && rank_of(comm) != 0)
        return MPI_SUCCESS;
    return moving_call(which, PROGRAM, deals ? &all : &one, deals ? &one : &all, 0, on);
}

/* Also on a communicator that was never used: its set-up would wait for the other ranks. */
static int aliased_parts_twice(enum moving which)
{
    MPI_Comm fresh;
    CALL(MPI_Comm_dup(comm, &fresh));
    int first = aliased_parts(which, fresh), class[2];
    CALL(MPI_Comm_free(&fresh));
    int second = aliased_parts(which, comm);
    MPI_Error_class(first, &class[0]);
    MPI_Error_class(second, &class[1]);
    CHECK(class[0] == class[1], "class %d, then %d", class[0], class[1]);
    return second;
}

/* Everything is wrong where data arrives, but for "send": that is wrong where data leaves. */
static int wrong_parts(enum moving which, const char *wrong)
{
    static int other[64];
    MPI_Datatype types[2][64];
    bool sending = strncmp(wrong, "send-", 5) == 0;
    bool bad_root = strcmp(wrong, "root") == 0, bad_comm = strcmp(wrong, "comm") == 0;
    wrong += sending ? 5 : 0;
    struct side bad = wrong_side(which, wrong, types[0]);
    int counts[64], places[64];
    memcpy(places, bad.places, sizeof places);
    for (int i = 0; i < 64; i++) {
        counts[i] = 1;
        types[1][i] = MPI_INT;
    }
    struct side good = {other, 1, counts, places, MPI_INT, types[1]};
    int status = moving_call(which, PROGRAM, sending ? &bad : &good, sending ? &good : &bad,
                             bad_root ? 1000 : 0, bad_comm ? MPI_COMM_NULL : comm);
    if (strcmp(wrong, "uncommitted") == 0)
        MPI_Type_free(&bad.type);
    return status;
}

static bool names(const char *name, enum moving which)
{
    const char *function = moving_name(which);
    size_t length = strlen(function);
    for (size_t i = 0; i < length; i++)
        if (tolower((unsigned char)function[i]) != name[i])
            return false;
    return name[length] == '-';
}

static void run_parts(const char *name, enum moving which)
{
    checked_bcast(comm, 100, 0, 1);
    const char *wrong = name + strlen(moving_name(which)) + 1;
    int status =
        strcmp(wrong, "alias") == 0 ? aliased_parts_twice(which) : wrong_parts(which, wrong);
    int class = MPI_SUCCESS;
    MPI_Error_class(status, &class);
    printf("case %s rank %d class %d\n", name, rank_of(comm), class);
    checked_bcast(comm, 100, 0, 2);
    CALL(MPI_Barrier(comm));
}

/* ---- reductions ---- */

static const char *const REDUCTIONS[] = {
    "reduce", "allreduce", "reduce_scatter", "reduce_scatter_block", "scan", "exscan",
};
enum { REDUCE, ALLREDUCE, REDUCE_SCATTER, REDUCE_SCATTER_BLOCK, SCAN, REDUCTION_COUNT = 6 };

/* What is the same for all: the arguments, one of them wrong. */
struct reduction {
    void *in;
    int count;
    MPI_Datatype type;
    MPI_Op op;
    int root;
    MPI_Comm comm;
};

static struct reduction wrong_reduction(const char *wrong)
{
    static int result[64];
    struct reduction call = {result, 1, MPI_INT, MPI_SUM, 0, comm};
    if (strcmp(wrong, "count") == 0)
        call.count = -1;
    else if (strcmp(wrong, "type") == 0)
        call.type = MPI_DATATYPE_NULL;
    else if (strcmp(wrong, "op") == 0)
        call.op = MPI_OP_NULL;
    else if (strcmp(wrong, "replace") == 0)
        call.op = MPI_REPLACE;
    else if (strcmp(wrong, "root") == 0)
        call.root = 1000;
    else if (strcmp(wrong, "comm") == 0)
        call.comm = MPI_COMM_NULL;
    else if (strcmp(wrong, "in-place") == 0)
        call.in = MPI_IN_PLACE;
    else if (strcmp(wrong, "alias") == 0)
        call.in = buffer;
    else if (strcmp(wrong, "aliases") == 0) {
        call.in = buffer;
        call.count = 2;
    } else if (strcmp(wrong, "undefined") == 0) {
        call.type = MPI_DOUBLE;
        call.op = MPI_BAND;
    } else if (strcmp(wrong, "wide") == 0)
        call.type = MPI_WCHAR;
    else if (strcmp(wrong, "bytes") == 0)
        call.type = MPI_BYTE;
    else if (strcmp(wrong, "derived") == 0) {
        CALL(MPI_Type_contiguous(2, MPI_INT, &call.type));
        CALL(MPI_Type_commit(&call.type));
    } else
        CHECK(strcmp(wrong, "right") == 0, "no wrong %s", wrong);
    return call;
}

static int call_reduction(int which, const struct reduction *call)
{
    int counts[64];
    for (int i = 0; i < 64; i++)
        counts[i] = call->count;
    switch (which) {
    case REDUCE:
        return MPI_Reduce(buffer, call->in, call->count, call->type, call->op, call->root,
                          call->comm);
    case ALLREDUCE:
        return MPI_Allreduce(buffer, call->in, call->count, call->type, call->op, call->comm);
    case REDUCE_SCATTER:
        return MPI_Reduce_scatter(buffer, call->in, counts, call->type, call->op, call->comm);
    case REDUCE_SCATTER_BLOCK:
        return MPI_Reduce_scatter_block(buffer, call->in, call->count, call->type, call->op,
                                        call->comm);
    case SCAN:
        return MPI_Scan(buffer, call->in, call->count, call->type, call->op, call->comm);
    default:
        return MPI_Exscan(buffer, call->in, call->count, call->type, call->op, call->comm);
    }
}

static bool run_reduction(const char *name)
{
    const char *dash = strchr(name, '-');
    int class = MPI_SUCCESS, which = 0;
    while (which < REDUCTION_COUNT && dash != NULL &&
           (strncmp(name, REDUCTIONS[which], (size_t)(dash - name)) != 0 ||
            REDUCTIONS[which][dash - name] != '\0'))
        which++;
    if (dash == NULL || which == REDUCTION_COUNT)
        return false;
    struct reduction call = wrong_reduction(dash + 1);
    checked_bcast(comm, 100, 0, 1);
    bool called = which != REDUCE || strncmp(dash, "-alias", 6) != 0 || rank_of(comm) == 0;
    int status = called ? call_reduction(which, &call) : MPI_SUCCESS;
    MPI_Error_class(status, &class);
    printf("case %s rank %d class %d\n", name, rank_of(comm), class);
    checked_bcast(comm, 100, 0, 2);
    CALL(MPI_Barrier(comm));
    if (strcmp(dash, "-derived") == 0)
        CALL(MPI_Type_free(&call.type));
    return true;
}

static void find_and_run(const char *name)
{
    if (run_reduction(name))
        return;
    for (int which = 0; which < MOVING; which++)
        if (names(name, (enum moving)which)) {
            run_parts(name, (enum moving)which);
            return;
        }
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++)
        if (strcmp(name, CASES[i].name) == 0) {
            run_case(CASES[i].name, CASES[i].run);
            return;
        }
    test_fail(__FILE__, __LINE__, "no case %s", name);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    moving_begin();
    CALL(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    CALL(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    CALL(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    CALL(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    for (int i = 1; i < argc; i++)
        find_and_run(argv[i]);
    CALL(MPI_Comm_free(&comm));
    return test_end();
}
