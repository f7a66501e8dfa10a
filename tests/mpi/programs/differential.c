/* SPDX-License-Identifier: BSD-3-Clause */
/* Random barriers and broadcasts, each drawn from a seed and its number, compared byte by byte with
 * what is worked out here and with what the host MPI's own broadcast leaves.
 *
 * usage: differential --seed S --cases N [--first K] [--max-bytes B] */
#include "cases.h"
#include "layout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int bcast_function(void *, int, MPI_Datatype, int, MPI_Comm);

static struct cases options = {.seed = 1, .cases = 100, .max_bytes = 65536, .comms = COMMS_MOST};

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

/* The same on every rank, but for the layout of a mixed case. */
static struct draw draw_case(long number)
{
    uint64_t random = mix(options.seed ^ 0xd1ffe7, (uint64_t)number);
    struct draw draw = {.number = number};
    draw.barrier = random_below(&random, 10) < 3;
    draw.comm = (int)random_below(&random, COMMS_MOST);
    draw.root = (int)random_below(&random, 1 << 20);
    draw.element = element_at(random_below(&random, elements_count()));
    draw.elements = 1 + cases_bytes(&options, &random) / draw.element->bytes;
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

static void run_case(long number, MPI_Comm const *comms)
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
    cases_parse(&options, argc, argv);
    *(void **)&host_bcast = host_function("PMPI_Bcast");
    watch_begin();
    elements_begin();
    cases_run(&options, run_case);
    elements_end();
    watch_end();
    return test_end();
}
