/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads that want the one private communicator at a time: each has it alone, whatever it is
 * wanted for. The host is made up, and takes its time. */
#include "testing.h"

#include "mpi/beyond.h"
#include "mpi/datatype.h"
#include "mpi/packer.h"
#include "mpi/self.h"

#include <limits.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 8, MOMENT_US = 1000 };

/* Calls that are in the host now, the most that were there together, and how many came in all. */
static struct {
    atomic_int within;
    atomic_int most;
    atomic_int calls;
    atomic_int made;
} host;

static int stay(void)
{
    int within = atomic_fetch_add(&host.within, 1) + 1;

    if (within > atomic_load(&host.most))
        atomic_store(&host.most, within);
    usleep(MOMENT_US);
    atomic_fetch_add(&host.calls, 1);
    atomic_fetch_sub(&host.within, 1);
    return MPI_ERR_OTHER;
}

/* Whether the program has called MPI_Init. */
static atomic_int initialised;

static int is_there(int *flag)
{
    *flag = atomic_load(&initialised);
    return MPI_SUCCESS;
}

static int is_not_there(int *flag)
{
    *flag = 0;
    return MPI_SUCCESS;
}

static int fake_query_thread(int *level)
{
    *level = MPI_THREAD_MULTIPLE;
    return MPI_SUCCESS;
}

static int fake_group(MPI_Comm comm, MPI_Group *group)
{
    (void)comm;
    *group = (MPI_Group)(intptr_t)1;
    return MPI_SUCCESS;
}

static int fake_group_free(MPI_Group *group)
{
    (void)group;
    return MPI_SUCCESS;
}

static int fake_create(MPI_Comm from, MPI_Group group, MPI_Comm *to)
{
    (void)from, (void)group;
    usleep(MOMENT_US); /* so long that the others come to make one too, if nothing keeps them */
    *to = (MPI_Comm)(intptr_t)1;
    atomic_fetch_add(&host.made, 1);
    return MPI_SUCCESS;
}

static int fake_set_errhandler(MPI_Comm comm, MPI_Errhandler handler)
{
    (void)comm;
    (void)handler;
    return MPI_SUCCESS;
}

static int fake_bcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    (void)data, (void)count, (void)type, (void)root, (void)comm;
    return stay();
}

static int fake_allreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op,
                          MPI_Comm comm)
{
    (void)from, (void)to, (void)count, (void)type, (void)op, (void)comm;
    return stay();
}

static int fake_alltoall(const void *from, int out, MPI_Datatype out_type, void *to, int in,
                         MPI_Datatype in_type, MPI_Comm comm)
{
    (void)from, (void)out, (void)out_type, (void)to, (void)in, (void)in_type, (void)comm;
    return stay();
}

static int fake_sendrecv(const void *from, int out, MPI_Datatype out_type, int receiver,
                         int out_tag, void *to, int in, MPI_Datatype in_type, int sender,
                         int in_tag, MPI_Comm comm, MPI_Status *status)
{
    (void)from, (void)out, (void)out_type, (void)receiver, (void)out_tag;
    (void)to, (void)in, (void)in_type, (void)sender, (void)in_tag, (void)comm, (void)status;
    stay();
    return MPI_SUCCESS;
}

static int fake_extent(MPI_Datatype type, MPI_Aint *lower, MPI_Aint *extent)
{
    (void)type;
    *lower = 0;
    *extent = 1;
    return MPI_SUCCESS;
}

static int fake_contiguous(int count, MPI_Datatype type, MPI_Datatype *new)
{
    (void)count;
    *new = type;
    return MPI_SUCCESS;
}

static int fake_struct(int n, const int lengths[], const MPI_Aint places[],
                       const MPI_Datatype types[], MPI_Datatype *new)
{
    (void)n, (void)lengths, (void)places;
    *new = types[0];
    return MPI_SUCCESS;
}

static int fake_resized(MPI_Datatype type, MPI_Aint lower, MPI_Aint extent, MPI_Datatype *new)
{
    (void)lower, (void)extent;
    *new = type;
    return MPI_SUCCESS;
}

static int done(MPI_Datatype *type)
{
    (void)type;
    return MPI_SUCCESS;
}

/* Handles are numbers or pointers; nobody follows these. */
static MPI_Datatype some_type(void)
{
    return (MPI_Datatype)(intptr_t)8;
}

static void *check_types(void *unused)
{
    sb_type_t description;

    (void)unused;
    for (int i = 0; i < ROUNDS; i++)
        assert_false(sb_type_describe(some_type(), &description));
    return NULL;
}

static void *ask_operations(void *unused)
{
    const sb_type_t byte = {.size = 1, .extent = 1, .contiguous = true, .group = SB_GROUP_BYTE};

    (void)unused;
    for (sb_operation_t operation = SB_SUM; operation < SB_MINLOC; operation++)
        assert_int_equal(sb_beyond_element(operation, MPI_SUM, some_type(), &byte), SB_NO_ELEMENT);
    return NULL;
}

static void *ask_aliases(void *unused)
{
    const sb_collective_t asked[] = {SB_ALLREDUCE, SB_ALLTOALL};

    (void)unused;
    for (size_t i = 0; i < SB_COUNT_OF(asked); i++)
        assert_true(sb_alias_is_error(asked[i], 1));
    return NULL;
}

/* Elements beyond what MPI_Pack can count. Nothing is moved, so their memory is never touched. */
static void *pack_huge(void *unused)
{
    const sb_type_t huge = {.size = (size_t)INT_MAX + 1, .extent = (ptrdiff_t)INT_MAX + 1};
    char first[8];
    sb_packer_t packer;
    sb_stream_t stream;

    (void)unused;
    for (int i = 0; i < ROUNDS; i++) {
        sb_packer_open(&packer, &stream, first, 1, some_type(), &huge, sb_host.comm_null);
        assert_int_equal(stream.read(stream.context, 0, first, sizeof first), SB_OK);
        assert_int_equal(sb_packer_close(&packer), MPI_SUCCESS);
    }
    return NULL;
}

static void one_thread_at_a_time(void **state)
{
    void *(*const work[])(void *) = {check_types, ask_operations, ask_aliases, pack_huge,
                                     pack_huge};
    pthread_t threads[SB_COUNT_OF(work)];

    (void)state;
    atomic_store(&initialised, 1);
    for (size_t i = 0; i < SB_COUNT_OF(work); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work[i], NULL), 0);
    for (size_t i = 0; i < SB_COUNT_OF(work); i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(atomic_load(&host.made), 1);
    assert_true(atomic_load(&host.calls) >= 3 * ROUNDS + 2 + 1);
    assert_int_equal(atomic_load(&host.most), 1);
}

/* Where there are sessions alone nothing can be asked, which says nothing of later. */
static void asked_once_it_can_be(void **state)
{
    const sb_type_t logical = {.size = 1, .contiguous = true, .group = SB_GROUP_LOGICAL};

    (void)state;
    for (int round = 0; round < 2; round++) {
        atomic_store(&initialised, round);
        assert_false(sb_nothing_passes(SB_BCAST, NULL, sb_host.datatype_null));
        assert_int_equal(atomic_load(&host.calls), round);
        assert_int_equal(sb_beyond_element(SB_SUM, MPI_SUM, some_type(), &logical), SB_NO_ELEMENT);
        assert_int_equal(atomic_load(&host.calls), 2 * round);
    }
}

static int make_host(void **state)
{
    (void)state;
    sb_host = (sb_host_t){
        .Initialized = is_there,
        .Finalized = is_not_there,
        .Query_thread = fake_query_thread,
        .Comm_group = fake_group,
        .Comm_create = fake_create,
        .Group_free = fake_group_free,
        .Comm_set_errhandler = fake_set_errhandler,
        .Bcast = fake_bcast,
        .Allreduce = fake_allreduce,
        .Alltoall = fake_alltoall,
        .Sendrecv = fake_sendrecv,
        .Type_get_extent = fake_extent,
        .Type_contiguous = fake_contiguous,
        .Type_create_struct = fake_struct,
        .Type_create_resized = fake_resized,
        .Type_commit = done,
        .Type_free = done,
        .comm_null = (MPI_Comm)(intptr_t)2,
        .datatype_null = (MPI_Datatype)(intptr_t)2,
    };
    return 0;
}

/* The communicator is made once in a process, and all threads are to come while there is none. */
static bool is_asked_elsewhere(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(asked_once_it_can_be)};
    int status = 1;
    pid_t child = fork();

    if (child == 0)
        _exit(cmocka_run_group_tests(tests, make_host, NULL));
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_thread_at_a_time)};
    bool well = is_asked_elsewhere();

    return cmocka_run_group_tests(tests, make_host, NULL) != 0 || !well;
}
