/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators and processes ended in every order.
 *
 * usage: teardown CASE...   one after the other in one process */
#include "support.h"

#include <stdio.h>
#include <string.h>

enum { COMMS = 8 };

static MPI_Comm comms[COMMS];

static void use(MPI_Comm comm)
{
    checked_bcast(comm, 700, size_of(comm) - 1, 1);
    CALL(MPI_Barrier(comm));
    checked_bcast(comm, 30000, 0, 2);
}

static void make(void)
{
    for (int i = 0; i < COMMS; i++) {
        CALL(MPI_Comm_dup(i == 0 ? MPI_COMM_WORLD : comms[i - 1], &comms[i]));
        use(comms[i]);
    }
}

static void in_order(void)
{
    make();
    for (int i = 0; i < COMMS; i++)
        CALL(MPI_Comm_free(&comms[i]));
}

static void in_reverse(void)
{
    make();
    for (int i = COMMS; i-- > 0;)
        CALL(MPI_Comm_free(&comms[i]));
}

static void parents_first(void)
{
    make();
    for (int i = 0; i + 1 < COMMS; i++) {
        CALL(MPI_Comm_free(&comms[i]));
        use(comms[i + 1]);
    }
    CALL(MPI_Comm_free(&comms[COMMS - 1]));
}

static void disconnect(void)
{
    make();
    for (int i = 0; i < COMMS; i++)
        CALL(MPI_Comm_disconnect(&comms[i]));
}

static void never(void)
{
    make();
}

/* One rank frees and makes on while another is late with its own last call. */
static void uneven(void)
{
    for (int i = 0; i < 100; i++) {
        MPI_Comm comm;
        CALL(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        checked_bcast(comm, 2000, i % size_of(comm), (uint64_t)i);
        if (i % 10 == 0 && rank_of(comm) == i / 10 % size_of(comm))
            sleep_ms(2);
        CALL(MPI_Comm_free(&comm));
    }
}

/* The delete callback of one communicator uses and frees another. */
static int use_other(MPI_Comm comm, int key, void *value, void *state)
{
    (void)comm, (void)key, (void)state;
    MPI_Comm *other = value;
    use(*other);
    return MPI_Comm_free(other);
}

static void in_callback(void)
{
    int key;
    make();
    CALL(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, use_other, &key, NULL));
    CALL(MPI_Comm_set_attr(comms[0], key, &comms[1]));
    CALL(MPI_Comm_set_attr(comms[2], key, &comms[3]));
    CALL(MPI_Comm_free(&comms[0]));
    CALL(MPI_Comm_free(&comms[2]));
    for (int i = 4; i < COMMS; i++)
        CALL(MPI_Comm_free(&comms[i]));
    CHECK(comms[1] == MPI_COMM_NULL && comms[3] == MPI_COMM_NULL, "a callback did not run");
    CALL(MPI_Comm_free_keyval(&key));
}

/* MPI_Finalize deletes the attributes of MPI_COMM_SELF while MPI still works. */
static int use_in_finalize(MPI_Comm comm, int key, void *value, void *state)
{
    (void)comm, (void)key, (void)state;
    use(MPI_COMM_WORLD);
    use(*(MPI_Comm *)value);
    CALL(MPI_Comm_free((MPI_Comm *)value));
    if (rank_of(MPI_COMM_WORLD) == 0)
        printf("callback in finalize\n");
    return MPI_SUCCESS;
}

static void in_finalize(void)
{
    int key;
    use(MPI_COMM_WORLD);
    CALL(MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]));
    use(comms[0]);
    CALL(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, use_in_finalize, &key, NULL));
    CALL(MPI_Comm_set_attr(MPI_COMM_SELF, key, &comms[0]));
}

/* The root of the last broadcast is in MPI_Finalize long before the others come. */
static void root_leaves(void)
{
    if (rank_of(MPI_COMM_WORLD) != 0)
        sleep_ms(50);
    checked_bcast(MPI_COMM_WORLD, 48, 0, 5);
    checked_bcast(MPI_COMM_WORLD, 3000, 0, 6);
}

static void nothing_used(void)
{
}

/* A receive that never comes is cancelled before the end. */
static void cancelled_receive(void)
{
    int value = 0;
    MPI_Request request;
    MPI_Status status;
    int cancelled = 0;
    CALL(MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, &request));
    use(MPI_COMM_WORLD);
    CALL(MPI_Cancel(&request));
    CALL(MPI_Wait(&request, &status));
    CALL(MPI_Test_cancelled(&status, &cancelled));
    CHECK(cancelled, "the receive was not cancelled");
    use(MPI_COMM_WORLD);
}

/* Nobody but the program itself may take its messages, whatever the tag. */
static void any_receive(void)
{
    int value = -1;
    MPI_Request request;
    int size = size_of(MPI_COMM_WORLD);
    int rank = rank_of(MPI_COMM_WORLD);
    CALL(MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request));
    use(MPI_COMM_WORLD);
    CALL(MPI_Send(&rank, 1, MPI_INT, (rank + 1) % size, 123, MPI_COMM_WORLD));
    CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(value == (rank + size - 1) % size, "received %d", value);
    use(MPI_COMM_WORLD);
}

static const struct {
    const char *name;
    void (*run)(void);
} CASES[] = {
    {"in-order", in_order},
    {"in-reverse", in_reverse},
    {"never", never},
    {"parents-first", parents_first},
    {"disconnect", disconnect},
    {"in-callback", in_callback},
    {"uneven", uneven},
    {"in-finalize", in_finalize},
    {"root-leaves", root_leaves},
    {"nothing-used", nothing_used},
    {"any-receive", any_receive},
    {"cancelled-receive", cancelled_receive},
};

static void run_case(const char *name)
{
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++)
        if (strcmp(name, CASES[i].name) == 0) {
            CASES[i].run();
            return;
        }
    test_fail(__FILE__, __LINE__, "no case %s", name);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    CHECK(argc > 1, "usage: teardown CASE...");
    for (int i = 1; i < argc; i++)
        run_case(argv[i]);
    return test_end();
}
