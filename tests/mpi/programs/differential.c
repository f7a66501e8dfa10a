/* SPDX-License-Identifier: BSD-3-Clause */
/* Random barriers and broadcasts, each drawn from a seed and its number, compared byte by byte with
 * what is worked out here and with what the host MPI's own broadcast leaves.
 *
 * usage: differential --seed S --cases N [--first K] [--max-bytes B] */
#include "layout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EPOCH = 64, COMMS = 7 };

typedef int bcast_function(void *, int, MPI_Datatype, int, MPI_Comm);

static struct cases options = {.seed = 1, .cases = 100, .max_bytes = 65536};

static MPI_Comm comms[COMMS];
static bcast_function *host_bcast;

struct draw {
    long number;
    int comm;
    int root;
    bool barrier;
    bool same_layout;
    size_t elements;
    const struct element *element;
    enum layout_kind kind;
    uint64_t data;
    int late_rank;
};

static void make_comms(long epoch)
{
    uint64_t random = mix(options.seed, (uint64_t)epoch);
    int rank = rank_of(MPI_COMM_WORLD);
    int size = size_of(MPI_COMM_WORLD);
    int shift = (int)random_below(&random, (size_t)size);
    int excluded = (int)random_below(&random, (size_t)size);
    int colour = (int)(mix(next_random(&random), (uint64_t)rank) % 2);
    int periodic = 1;
    comms[0] = MPI_COMM_WORLD;
    CALL(MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]));
    CALL(MPI_Comm_split(MPI_COMM_WORLD, colour, rank, &comms[2]));
    CALL(MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comms[3]));
    CALL(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, (rank + shift) % size, &comms[4]));
    CALL(MPI_Comm_split(MPI_COMM_WORLD, rank == excluded ? MPI_UNDEFINED : 1, rank, &comms[5]));
    CALL(MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 1, &comms[6]));
}

static void free_comms(void)
{
    for (int i = 1; i < COMMS; i++)
        if (comms[i] != MPI_COMM_NULL)
            CALL(MPI_Comm_free(&comms[i]));
}

/* Small messages are as likely as large ones: the exponent is uniform. */
static size_t draw_bytes(uint64_t *random)
{
    size_t limit = 1;
    size_t doublings = 0;
    while (limit < options.max_bytes) {
        limit *= 2;
        doublings++;
    }
    size_t top = (size_t)1 << random_below(random, doublings + 1);
    return top + random_below(random, top);
}

/* The same on every rank, but for the layout of a mixed case. */
static struct draw draw_case(long number)
{
    uint64_t random = mix(options.seed ^ 0xd1ffe7, (uint64_t)number);
    struct draw draw = {.number = number};
    draw.barrier = random_below(&random, 10) < 3;
    draw.comm = (int)random_below(&random, COMMS);
    draw.root = (int)random_below(&random, 1 << 20);
    draw.element = element_at(random_below(&random, elements_count()));
    draw.elements = 1 + draw_bytes(&random) / draw.element->bytes;
    draw.same_layout = random_below(&random, 2) == 0;
    draw.kind = (enum layout_kind)random_below(&random, LAYOUT_KINDS);
    draw.data = next_random(&random);
    draw.late_rank = random_below(&random, 40) == 0
                         ? (int)random_below(&random, (size_t)size_of(MPI_COMM_WORLD))
                         : -1;
    return draw;
}

static void report(const struct draw *draw, const char *what, size_t byte, size_t bytes)
{
    test_fail(__FILE__, __LINE__,
              "%s: byte %zu of %zu; comm %d root %d, %zu x %s, layout %s here; replay: "
              "--seed %llu --first %ld --cases 1 --max-bytes %zu",
              what, byte, bytes, draw->comm, draw->root, draw->elements, draw->element->name,
              layout_name(draw->kind), (unsigned long long)options.seed, draw->number,
              options.max_bytes);
}

static void run_bcast(struct draw *draw, MPI_Comm comm)
{
    uint64_t random = draw->data;
    draw->root %= size_of(comm);
    if (!draw->same_layout) {
        random = mix(draw->data, (uint64_t)rank_of(MPI_COMM_WORLD));
        draw->kind = (enum layout_kind)random_below(&random, LAYOUT_KINDS);
    }
    bool sender = rank_of(comm) == draw->root;
    struct layout layout;
    layout_create(&layout, draw->kind, draw->element, draw->elements, &random);
    layout_fill(&layout, draw->data, sender);
    CALL(MPI_Bcast(layout.buffer, layout.count, layout.type, draw->root, comm));
    size_t wrong = layout_mismatch(&layout);
    if (wrong != layout.memory_bytes)
        report(draw, "differs from what must be there", wrong, layout.memory_bytes);
    layout_fill(&layout, draw->data, sender);
    CALL(host_bcast(layout.buffer, layout.count, layout.type, draw->root, comm));
    wrong = layout_mismatch(&layout);
    if (wrong != layout.memory_bytes)
        report(draw, "the host's own result differs", wrong, layout.memory_bytes);
    layout_destroy(&layout);
}

static void run_case(long number)
{
    struct draw draw = draw_case(number);
    MPI_Comm comm = comms[draw.comm];
    if (draw.late_rank == rank_of(MPI_COMM_WORLD))
        sleep_ms(1);
    if (comm == MPI_COMM_NULL)
        return;
    if (draw.barrier)
        checked_barrier(comm, (uint64_t)number + 1);
    else
        run_bcast(&draw, comm);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    cases_parse(&options, argc, argv, false);
    *(void **)&host_bcast = host_function("PMPI_Bcast");
    watch_begin();
    elements_begin();
    long end = options.first + options.cases;
    make_comms(options.first / EPOCH);
    for (long number = options.first; number < end; number++) {
        if (number != options.first && number % EPOCH == 0) {
            free_comms();
            make_comms(number / EPOCH);
        }
        run_case(number);
    }
    free_comms();
    elements_end();
    watch_end();
    if (rank_of(MPI_COMM_WORLD) == 0)
        printf("cases %ld\n", options.cases);
    return test_end();
}
