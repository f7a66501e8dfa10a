/* SPDX-License-Identifier: BSD-3-Clause */
/* What calls make of the program's memory and types before an algorithm has them, and what a user's
 * operation is called on. Host and algorithm are made up. */
#include "testing.h"

#include "mpi/operator.h"
#include "mpi/reduction.h"
#include "mpi/scratch.h"
#include "mpi/vector.h"

#include <string.h>

enum { RANKS = 4, RANK = 1, CALLS_MOST = 16, ATTRIBUTE = 7 };

/* ---- an algorithm that notes what it is given ---- */

static struct {
    int calls;
    sb_reduction_t reduction[CALLS_MOST];
    uint32_t holders; /* of `watched`, in the last call */
    int plain;        /* its streams that are plain memory */
} noted;

static sb_layout_t *watched;

/* The result is this rank's contribution: of what is dealt out its own part. */
static sb_status_t note_reduction(sb_team_t *team, const sb_reduction_t *reduction)
{
    const char *part = reduction->send;
    size_t bytes = reduction->bytes;

    assert_true(noted.calls < CALLS_MOST);
    noted.reduction[noted.calls++] = *reduction;
    if (reduction->parts != NULL) {
        for (uint32_t i = 0; i < team->rank; i++)
            part += reduction->parts[i];
        bytes = reduction->parts[team->rank];
    }
    if (reduction->receive != NULL)
        memmove(reduction->receive, part, bytes);
    return SB_OK;
}

static sb_status_t note_parts(sb_team_t *team, const sb_parts_t *parts)
{
    (void)team;
    noted.calls++;
    noted.holders = atomic_load(&watched->holders);
    noted.plain = parts->receive[0].base != NULL;
    return SB_OK;
}

static const sb_algorithm_t algorithm = {
    .name = "noting", .parts = note_parts, .reduction = note_reduction};

/* ---- the communicator ---- */

static sb_comm_t comm;
static sb_team_t team = {.rank = RANK, .size = RANKS};
static sb_plan_table_t plan;
static sb_planned_t planned[SB_SIZE_CLASSES];

static void be(int rank, int size)
{
    comm.rank = rank;
    comm.size = size;
    team.rank = (uint32_t)rank;
    team.size = (uint32_t)size;
    memset(&noted, 0, sizeof noted);
}

static MPI_Datatype a_type(int number)
{
    return (MPI_Datatype)(intptr_t)(32 * number);
}

/* The type that the communicator's last call had, and so knows. */
static void use_type(const sb_type_t *is)
{
    comm.type = a_type(1);
    comm.type_is = is;
}

/* ---- a host ---- */

static struct {
    sb_type_t *kept; /* the derived type's attribute */
    int asked;       /* for it */
    int users;       /* calls of the user's operation, */
    int into_result; /* that wrote where the result belongs */
} host;

static int fake_size(MPI_Datatype type, MPI_Count *size)
{
    (void)type;
    (void)size;
    return MPI_ERR_OTHER;
}

static int fake_keyval(MPI_Type_copy_attr_function *copy, MPI_Type_delete_attr_function *end,
                       int *key, void *extra)
{
    (void)copy;
    (void)end;
    (void)extra;
    *key = ATTRIBUTE;
    return MPI_SUCCESS;
}

static int fake_attribute(MPI_Datatype type, int key, void *value, int *found)
{
    assert_true(type == a_type(2) && key == ATTRIBUTE);
    host.asked++;
    *(sb_type_t **)value = host.kept;
    *found = 1;
    return MPI_SUCCESS;
}

static int fake_envelope(MPI_Datatype type, int *integers, int *addresses, int *types,
                         int *combiner)
{
    (void)type;
    *integers = *addresses = *types = 0;
    *combiner = MPI_COMBINER_VECTOR;
    return MPI_SUCCESS;
}

static int is_not_there(int *flag)
{
    *flag = 0;
    return MPI_SUCCESS;
}

static int fake_commutative(MPI_Op op, int *commutative)
{
    (void)op;
    *commutative = 0;
    return MPI_SUCCESS;
}

/* x -> ax + b: one after the other. */
typedef struct affine {
    _Alignas(8) uint32_t a;
    uint32_t b;
} affine_t;

static affine_t follow(affine_t first, affine_t second)
{
    return (affine_t){second.a * first.a, second.a * first.b + second.b};
}

static const char *result_at;

/* The program's function writes to its first operand too. */
static int fake_reduce_local(const void *left, void *right, int count, MPI_Datatype type, MPI_Op op)
{
    affine_t *first = (affine_t *)(uintptr_t)left, *second = right;

    (void)type;
    (void)op;
    assert_int_equal((uintptr_t)left % _Alignof(affine_t), 0);
    assert_int_equal((uintptr_t)right % _Alignof(affine_t), 0);
    host.users++;
    host.into_result += right == result_at;
    for (int i = 0; i < count; i++)
        first[i] = second[i] = follow(first[i], second[i]);
    return MPI_SUCCESS;
}

/* ---- reductions ---- */

static _Alignas(64) char sent[64 << 10], got[64 << 10];

static bool reduce(sb_collective_t collective, const void *out, void *in, int64_t count, MPI_Op op)
{
    sb_reduce_call_t call = {.collective = collective,
                             .rooted = collective == SB_REDUCE,
                             .out = out,
                             .in = in,
                             .count = count,
                             .type = comm.type,
                             .op = op};
    int result = MPI_ERR_OTHER;
    bool served = sb_reduction_serve(&comm, &call, &result);

    assert_true(!served || result == MPI_SUCCESS);
    return served;
}

static MPI_Op located(void)
{
    return (MPI_Op)(intptr_t)96;
}

/* Pairs with so many bytes of data, in this layout. */
static sb_type_t pair_of(sb_layout_t *layout)
{
    return (sb_type_t){.size = layout->bytes,
                       .extent = 16,
                       .permanent = true,
                       .layout = layout,
                       .group = SB_GROUP_PAIR,
                       .element = SB_PAIR_DOUBLE};
}

static void use_pair(const sb_type_t *pair)
{
    use_type(pair);
    comm.op = located();
    comm.op_type = comm.type;
    comm.operation = sb_fold_operator(SB_MINLOC, SB_PAIR_DOUBLE);
}

static void assert_given(const void *send, const void *receive)
{
    assert_int_equal(noted.calls, 1);
    assert_int_equal(noted.reduction[0].bytes, 12);
    assert_ptr_equal(noted.reduction[0].send, send);
    assert_ptr_equal(noted.reduction[0].receive, receive);
    assert_null(noted.reduction[0].parts);
}

/* One pair is 12 bytes in a row, whatever gap is behind it; that stays as it was. */
static void one_pair_is_not_packed(void **state)
{
    sb_layout_t *layout = sb_layout_bytes(12);
    const sb_type_t pair = pair_of(layout);
    const sb_collective_t all[] = {SB_ALLREDUCE, SB_SCAN, SB_EXSCAN};

    (void)state;
    use_pair(&pair);
    for (size_t i = 0; i < SB_COUNT_OF(all); i++) {
        be(RANK, RANKS);
        memset(got, 'g', 16);
        memset(sent, 's', 16);
        assert_true(reduce(all[i], sent, got, 1, located()));
        assert_given(sent, got);
        assert_memory_equal(got, "ssssssssssssgggg", 16);
        be(RANK, RANKS);
        assert_true(reduce(all[i], MPI_IN_PLACE, got, 1, located()));
        assert_given(got, got);
    }
    be(0, RANKS);
    assert_true(reduce(SB_EXSCAN, sent, NULL, 1, located()));
    assert_given(sent, NULL);
    be(RANK, RANKS);
    assert_true(reduce(SB_REDUCE, sent, NULL, 1, located()));
    assert_given(sent, NULL);
    be(0, RANKS);
    assert_true(reduce(SB_REDUCE, MPI_IN_PLACE, got, 1, located()));
    assert_given(got, got);
    sb_layout_release(layout);
}

/* Several have gaps between them, parts are for whom they are, and a gap may be within a pair. */
static void other_pairs_are_packed(void **state)
{
    sb_layout_t *layout = sb_layout_bytes(12), *half = sb_layout_bytes(6), *shifted;
    sb_builder_t builder;
    const int counts[RANKS] = {0, 1};

    (void)state;
    sb_builder_start(&builder);
    sb_builder_add(&builder, 0, 2, 8, half);
    sb_layout_t *gap_within = sb_builder_end(&builder);
    sb_builder_start(&builder);
    sb_builder_add(&builder, 4, 1, 0, layout);
    shifted = sb_builder_end(&builder);
    const sb_type_t pair = pair_of(layout), parted = pair_of(gap_within), moved = pair_of(shifted);

    use_pair(&pair);
    be(RANK, RANKS);
    assert_true(reduce(SB_ALLREDUCE, sent, got, 2, located()));
    assert_ptr_equal(noted.reduction[0].send, comm.scratch->out);
    assert_ptr_equal(noted.reduction[0].receive, comm.scratch->in);
    use_pair(&parted);
    be(RANK, RANKS);
    assert_true(reduce(SB_ALLREDUCE, sent, got, 1, located()));
    assert_given(comm.scratch->out, comm.scratch->in);
    use_pair(&moved);
    be(RANK, RANKS);
    assert_true(reduce(SB_ALLREDUCE, sent, got, 1, located()));
    assert_given(sent + 4, got + 4);
    use_pair(&pair);
    be(RANK, RANKS);
    sb_reduce_call_t call = {.collective = SB_REDUCE_SCATTER,
                             .out = MPI_IN_PLACE,
                             .in = got,
                             .counts = SB_SMALL(counts),
                             .type = comm.type,
                             .op = located()};
    int result;
    assert_true(sb_reduction_serve(&comm, &call, &result));
    assert_int_equal(noted.reduction[0].parts[RANK], 12);
    sb_layout_release(layout);
    sb_layout_release(half);
    sb_layout_release(gap_within);
    sb_layout_release(shifted);
}

/* The host says what it thinks of no buffer. */
static void no_buffer_is_the_hosts(void **state)
{
    sb_layout_t *layout = sb_layout_bytes(12);
    const sb_type_t pair = pair_of(layout);

    (void)state;
    use_pair(&pair);
    be(RANK, RANKS);
    assert_false(reduce(SB_ALLREDUCE, NULL, got, 1, located()));
    assert_false(reduce(SB_ALLREDUCE, sent, NULL, 1, located()));
    assert_int_equal(noted.calls, 0);
    sb_layout_release(layout);
}

/* ---- a user's operation ---- */

static sb_layout_t *affine_layout;
static sb_type_t affine = {
    .size = sizeof(affine_t), .extent = sizeof(affine_t), .contiguous = true};

static MPI_Op users(void)
{
    return (MPI_Op)(intptr_t)160;
}

/* In stages, but each where the data is. */
static void stages_have_the_programs_memory(void **state)
{
    const size_t stage = SB_STAGE_BYTES, bytes = 2 * stage + 80;
    const int64_t count = (int64_t)(bytes / sizeof(affine_t));

    (void)state;
    use_type(&affine);
    for (int in_place = 0; in_place < 2; in_place++) {
        const char *from = in_place ? got : sent;
        be(RANK, RANKS);
        memset(sent, 's', sizeof sent);
        memset(got, 'g', sizeof got);
        assert_true(reduce(SB_ALLREDUCE, in_place ? MPI_IN_PLACE : sent, got, count, users()));
        assert_int_equal(noted.calls, 3);
        for (int i = 0; i < 3; i++) {
            const sb_reduction_t *given = &noted.reduction[i];
            assert_int_equal(given->bytes, i < 2 ? stage : 80);
            assert_ptr_equal(given->send, from + (size_t)i * stage);
            assert_ptr_equal(given->receive, got + (size_t)i * stage);
        }
        assert_int_equal(got[bytes - 1], in_place ? 'g' : 's');
        assert_int_equal(got[bytes], 'g');
    }
}

/* What a rank gets in place of a reduce_scatter comes to where its contribution begins. */
static void parts_in_place_are_right(void **state)
{
    const int64_t each = 5 * (int64_t)SB_STAGE_BYTES / 4 / (int64_t)sizeof(affine_t) / 2;
    const size_t part = (size_t)each * sizeof(affine_t);

    (void)state;
    use_type(&affine);
    for (int rank = 0; rank < RANKS; rank++) {
        for (int in_place = 0; in_place < 2; in_place++) {
            char *from = in_place ? got : sent;
            be(rank, RANKS);
            for (size_t i = 0; i < RANKS * part; i++)
                from[i] = (char)(i / 7 + i / part);
            memcpy(in_place ? sent : got, from, RANKS * part);
            assert_true(reduce(SB_REDUCE_SCATTER_BLOCK, in_place ? MPI_IN_PLACE : sent, got, each,
                               users()));
            assert_true(noted.calls > 1);
            assert_memory_equal(got, sent + (size_t)rank * part, part);
            for (int i = 0; i < noted.calls; i++)
                assert_true(in_place == (noted.reduction[i].send == comm.scratch->out));
        }
    }
}

enum { SOURCES = 5, ELEMENTS = 1200 };

static char sources[SOURCES][8 + ELEMENTS * sizeof(affine_t)] __attribute__((__aligned__(64)));
static char outcome[8 + ELEMENTS * sizeof(affine_t)] __attribute__((__aligned__(64)));
static affine_t expected[ELEMENTS], before[SOURCES][ELEMENTS];

static void draw_sources(uint32_t n, const size_t shift[SOURCES])
{
    for (uint32_t k = 0; k < n; k++) {
        for (uint32_t i = 0; i < ELEMENTS; i++) {
            before[k][i] = (affine_t){3 + 2 * i + k, 11 * i + 7 * k};
            expected[i] = k == 0 ? before[0][i] : follow(expected[i], before[k][i]);
        }
        memcpy(sources[k] + shift[k], before[k], sizeof before[k]);
    }
}

/* Source `into` is the result too, if there is one. */
static void fold_one(sb_combination_t *user, uint32_t n, uint32_t into, const size_t shift[SOURCES])
{
    const void *from[SOURCES] = {NULL};
    char *to = into < n ? sources[into] + shift[into] : outcome + shift[0];

    draw_sources(n, shift);
    for (uint32_t k = 0; k < n; k++)
        from[k] = sources[k] + shift[k];
    result_at = to;
    assert_int_equal(user->operation->fold(user->operation, to, from, n, sizeof expected), SB_OK);
    assert_memory_equal(to, expected, sizeof expected);
    for (uint32_t k = 0; k < n; k++)
        assert_true(k == into || memcmp(from[k], before[k], sizeof before[k]) == 0);
}

/* The function finds its operands aligned, and no source but the result is written to. */
static void operands_are_where_they_may_be(void **state)
{
    const size_t shifts[][SOURCES] = {
        {0}, {8, 0, 8, 0, 8}, {4, 4, 4, 4, 4}, {0, 4, 0, 1, 2}, {4, 0, 0, 0, 0}};
    sb_combination_t user;

    (void)state;
    assert_true(sb_combination_find(&user, users(), a_type(1), &affine, sb_host.comm_null));
    user.blocks = comm.scratch->fold;
    for (size_t s = 0; s < SB_COUNT_OF(shifts); s++) {
        for (uint32_t n = 1; n <= SOURCES; n++) {
            for (uint32_t into = 0; into <= n; into++)
                fold_one(&user, n, into, shifts[s]);
        }
    }
}

/* Where it may the function writes what it gives to where that belongs. */
static void results_are_not_copied(void **state)
{
    const size_t aligned[SOURCES] = {0}, odd[SOURCES] = {4};
    sb_combination_t user;

    (void)state;
    assert_true(sb_combination_find(&user, users(), a_type(1), &affine, sb_host.comm_null));
    user.blocks = comm.scratch->fold;
    for (uint32_t n = 2; n <= SOURCES; n++) {
        memset(&host, 0, sizeof host);
        fold_one(&user, n, n, aligned);
        assert_int_equal(host.into_result, 1); /* the other blocks lie behind the first */
        fold_one(&user, n, n - 1, aligned);
        assert_int_equal(host.into_result, 2);
        fold_one(&user, n, n, odd);
        assert_int_equal(host.into_result, 2);
    }
}

/* ---- types with gaps ---- */

static int move(sb_collective_t collective, MPI_Datatype type)
{
    bool all = collective == SB_ALLTOALL;
    sb_side_t side = {.kind = SB_BLOCKS_EQUAL, .buffer = got, .type = type, .count = 2};
    sb_vector_call_t call = {.collective = collective, .send = side, .receive = side};
    int result = MPI_ERR_OTHER;

    call.send.buffer = sent;
    call.send.all = all;
    call.receive.all = true;
    be(RANK, RANKS);
    assert_true(sb_vector_serve(&comm, &call, &result));
    assert_int_equal(noted.calls, 1);
    assert_false(noted.plain);
    return result;
}

/* A derived type is asked for once in a call, and held once. */
static void looked_at_and_held_once(void **state)
{
    sb_layout_t *layout = sb_layout_bytes(8);
    sb_type_t kept = {.size = 8, .extent = 24, .layout = layout};
    const sb_collective_t moves[] = {SB_ALLGATHER, SB_ALLTOALL};

    (void)state;
    watched = layout;
    host.kept = &kept;
    use_type(&affine);
    assert_int_equal(move(SB_ALLGATHER, a_type(2)), MPI_SUCCESS); /* which makes it known */
    for (size_t i = 0; i < SB_COUNT_OF(moves); i++) {
        host.asked = 0;
        assert_int_equal(move(moves[i], a_type(2)), MPI_SUCCESS);
        assert_int_equal(host.asked, 1);
        assert_int_equal(noted.holders, 2);
        assert_int_equal(atomic_load(&layout->holders), 1);
    }
    sb_layout_release(layout);
}

/* What never ends is not held at all. */
static void permanent_types_are_not_held(void **state)
{
    sb_layout_t *layout = sb_layout_bytes(12);
    const sb_type_t pair = pair_of(layout);

    (void)state;
    watched = layout;
    use_type(&pair);
    assert_int_equal(move(SB_ALLTOALL, comm.type), MPI_SUCCESS);
    assert_int_equal(noted.holders, 1);
    assert_int_equal(atomic_load(&layout->holders), 1);
    sb_layout_release(layout);
}

static int start(void **state)
{
    (void)state;
    sb_host = (sb_host_t){
        .Initialized = is_not_there,
        .Finalized = is_not_there,
        .Type_size_x = fake_size,
        .Type_create_keyval = fake_keyval,
        .Type_get_attr = fake_attribute,
        .Type_get_envelope = fake_envelope,
        .Op_commutative = fake_commutative,
        .Reduce_local = fake_reduce_local,
        .comm_null = (MPI_Comm)(intptr_t)2,
        .datatype_null = (MPI_Datatype)(intptr_t)2,
    };
    sb_types_start();
    for (size_t i = 0; i < SB_SIZE_CLASSES; i++)
        planned[i] = (sb_planned_t){.algorithm = &algorithm, .made = true, .ready = true};
    for (size_t i = 0; i < SB_PLAN_ROWS; i++)
        plan.row[i] = planned;
    affine_layout = sb_layout_bytes(sizeof(affine_t));
    affine.layout = affine_layout;
    comm.server.team = &team;
    comm.plan = &plan;
    comm.scratch = sb_scratch_make(RANKS);
    return comm.scratch == NULL || affine_layout == NULL ? -1 : 0;
}

static int end(void **state)
{
    (void)state;
    sb_scratch_free(comm.scratch);
    sb_layout_release(affine_layout);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_pair_is_not_packed),
        cmocka_unit_test(other_pairs_are_packed),
        cmocka_unit_test(no_buffer_is_the_hosts),
        cmocka_unit_test(stages_have_the_programs_memory),
        cmocka_unit_test(parts_in_place_are_right),
        cmocka_unit_test(operands_are_where_they_may_be),
        cmocka_unit_test(results_are_not_copied),
        cmocka_unit_test(looked_at_and_held_once),
        cmocka_unit_test(permanent_types_are_not_held),
    };

    return cmocka_run_group_tests(tests, start, end);
}
