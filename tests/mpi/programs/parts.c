/* SPDX-License-Identifier: BSD-3-Clause */
/* Random calls of everything that moves parts of data between ranks, each drawn from a seed and its
 * number, compared byte by byte with what is worked out here and with what the host MPI's own
 * function leaves. What MPI calls insignificant is garbage.
 *
 * usage: parts --seed S --cases N [--first K] [--max-bytes B] [--only NAME] */
#include "cases.h"
#include "layout.h"
#include "moving.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GRAIN = 4, MARGIN = 64 };

/* A unit is so many elements in some order with some gaps; parts are whole numbers of units. */
enum unit_kind { UNIT_PLAIN, UNIT_CONTIGUOUS, UNIT_GAPS, UNIT_BACKWARDS, UNIT_LOWER, UNIT_KINDS };

enum pattern { EQUAL, LINEAR, HEAVY, RANDOM, HALF_ZERO, PATTERNS };

static struct cases options = {.seed = 1, .cases = 100, .max_bytes = 16384, .comms = COMMS_SPLIT};

struct draw {
    long number;
    enum moving which;
    enum entry entry;
    enum pattern pattern;
    int comm;
    int root;
    int heavy;
    bool in_place;
    int grain; /* elements of a unit */
    size_t base;
    const struct element *element;
    uint64_t data;
    int late_rank;
};

/* One rank's memory on one side, and where everything lies in it. */
struct store {
    struct side side;
    int parts;
    bool typed; /* each part has a type of its own */
    bool bottom;
    enum unit_kind *kinds; /* of each part */
    MPI_Aint *at;          /* of each part, from the start of the memory */
    size_t *elements;      /* of each part */
    unsigned char *memory;
    unsigned char *expected;
    size_t bytes;
};

/* ---- what is drawn ---- */

static enum moving draw_which(uint64_t *random)
{
    enum moving which = (enum moving)random_below(random, MOVING);
    for (int i = 0; options.only != NULL && i < MOVING; i++)
        if (strcmp(options.only, moving_name((enum moving)i)) == 0)
            which = (enum moving)i;
    return which;
}

/* MPICH 4.0 over UCX cannot receive a structure with unaligned members by its long protocol. */
static size_t bearable(const struct draw *draw)
{
#if defined(MPICH_NUMVERSION)
    size_t most = 4096 / draw->element->bytes / (size_t)(draw->grain * size_of(MPI_COMM_WORLD));
    if (draw->element->bytes % 2 == 1 && draw->element->bytes > 1)
        return draw->base % (most + 1);
#endif
    return draw->base;
}

/* The same on every rank. */
static struct draw draw_case(long number)
{
    uint64_t random = mix(options.seed ^ 0xa11, (uint64_t)number);
    int size = size_of(MPI_COMM_WORLD);
    struct draw draw = {.number = number, .which = draw_which(&random)};
    draw.entry = random_below(&random, 2) == 0 ? PROGRAM : PROGRAM_LARGE;
    draw.pattern =
        moving_varies(draw.which) ? (enum pattern)random_below(&random, PATTERNS) : EQUAL;
    draw.comm = (int)random_below(&random, COMMS_SPLIT);
    draw.root = (int)random_below(&random, 1 << 20);
    draw.heavy = (int)random_below(&random, 1 << 20);
    draw.in_place = random_below(&random, 4) == 0;
    draw.grain = 1 + (int)random_below(&random, GRAIN);
    draw.element = element_at(random_below(&random, elements_count()));
    draw.base = cases_bytes(&options, &random) / draw.element->bytes / (size_t)draw.grain;
    draw.base = bearable(&draw);
    draw.data = next_random(&random);
    draw.late_rank = random_below(&random, 40) == 0 ? (int)random_below(&random, (size_t)size) : -1;
    return draw;
}

/* Units that rank `from` sends to rank `to`. The same in both directions, as a call in place needs
 * it, where it depends on both. */
static size_t units(const struct draw *draw, int from, int to, int size)
{
    bool pairs = draw->which >= ALLTOALL;
    int index = pairs ? (from + to) % size : draw->which <= SCATTERV ? to : from;
    switch (draw->pattern) {
    case LINEAR:
        return draw->base * (size_t)index / (size_t)size;
    case HEAVY:
        return index == draw->heavy % size ? draw->base * (size_t)size : draw->base > 0;
    case RANDOM:
        return (size_t)(mix(draw->data, (uint64_t)index) % (draw->base + 1));
    case HALF_ZERO:
        return index % 2 == 0 ? 0 : draw->base;
    default:
        return draw->base;
    }
}

/* ---- one side ---- */

/* Elements from one unit of the kind to the next, and where element e of a unit lies. */
static MPI_Aint unit_extent(enum unit_kind kind, int grain)
{
    static const int factor[UNIT_KINDS] = {1, 1, 2, 1, 1}, more[UNIT_KINDS] = {0, 0, 1, 2, 2};
    return grain * factor[kind] + more[kind];
}

static MPI_Aint unit_place(enum unit_kind kind, int grain, int e)
{
    return kind == UNIT_GAPS ? 2 * e : kind == UNIT_BACKWARDS ? grain - 1 - e : e;
}

static MPI_Datatype inner_type(enum unit_kind kind, const struct draw *draw)
{
    MPI_Aint bytes = (MPI_Aint)draw->element->bytes;
    MPI_Aint places[GRAIN];
    MPI_Datatype type;
    for (int e = 0; e < draw->grain; e++)
        places[e] = unit_place(kind, draw->grain, e) * bytes;
    if (kind == UNIT_PLAIN || kind == UNIT_CONTIGUOUS || kind == UNIT_LOWER)
        CALL(MPI_Type_contiguous(draw->grain, draw->element->type, &type));
    else if (kind == UNIT_GAPS)
        CALL(MPI_Type_vector(draw->grain, 1, 2, draw->element->type, &type));
    else
        CALL(MPI_Type_create_hindexed_block(draw->grain, 1, places, draw->element->type, &type));
    return type;
}

/* A type for units of the kind, from `origin` on. */
static MPI_Datatype unit_type(enum unit_kind kind, const struct draw *draw, MPI_Aint origin)
{
    MPI_Aint bytes = (MPI_Aint)draw->element->bytes;
    MPI_Aint lower = kind == UNIT_LOWER ? -bytes : 0;
    MPI_Datatype inner = inner_type(kind, draw);
    MPI_Datatype moved = inner;
    MPI_Datatype type;
    int one = 1;
    if (origin != 0)
        CALL(MPI_Type_create_struct(1, &one, &origin, &inner, &moved));
    CALL(MPI_Type_create_resized(moved, lower, unit_extent(kind, draw->grain) * bytes, &type));
    CALL(MPI_Type_commit(&type));
    CALL(MPI_Type_free(&inner));
    if (origin != 0)
        CALL(MPI_Type_free(&moved));
    return type;
}

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count > 0 ? count : 1, size);
    CHECK(memory != NULL, "no memory for %zu x %zu bytes", count, size);
    return memory;
}

static void shuffle(int *order, int n, uint64_t *random)
{
    for (int i = 0; i < n; i++)
        order[i] = i;
    for (int i = n - 1; i > 0; i--) {
        int j = (int)random_below(random, (size_t)i + 1), kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
}

/* Places the parts: in order and close if they have one count, else in any order with gaps. */
static void place_parts(struct store *store, const struct draw *draw, bool varies, int *low,
                        uint64_t *random)
{
    int *order = allocate((size_t)store->parts, sizeof *order);
    MPI_Aint at = 0;
    shuffle(order, store->parts, random);
    *low = varies ? (int)random_below(random, 2 * (size_t)draw->base + 3) : 0;
    for (int i = 0; i < store->parts; i++) {
        int part = varies ? order[i] : i;
        MPI_Aint extent = unit_extent(store->kinds[part], draw->grain);
        MPI_Aint count = (MPI_Aint)store->elements[part] / draw->grain;
        at += varies ? (MPI_Aint)random_below(random, 3) * extent : 0;
        store->at[part] = at;
        at += count * extent;
    }
    free(order);
    store->bytes = (size_t)(at + 2 * GRAIN) * draw->element->bytes + 2 * MARGIN;
}

static void give_types(struct store *store, const struct draw *draw, MPI_Aint origin)
{
    store->side.types = allocate((size_t)store->parts, sizeof *store->side.types);
    for (int i = 0; i < (store->typed ? store->parts : 1); i++)
        store->side.types[i] = unit_type(store->kinds[i], draw, origin);
    store->side.type = store->side.types[0];
}

/* The arguments that describe the parts; displacements are negative before `low`. */
static void give_arguments(struct store *store, const struct draw *draw, int low)
{
    MPI_Aint bytes = (MPI_Aint)draw->element->bytes;
    MPI_Aint step = unit_extent(store->kinds[0], draw->grain);
    MPI_Aint shift = MARGIN + GRAIN * bytes, address = 0;
    store->memory = allocate(store->bytes, 1);
    store->expected = allocate(store->bytes, 1);
    store->side.counts = allocate((size_t)store->parts, sizeof *store->side.counts);
    store->side.places = allocate((size_t)store->parts, sizeof *store->side.places);
    for (int i = 0; i < store->parts; i++) {
        store->side.counts[i] = (int)(store->elements[i] / (size_t)draw->grain);
        store->side.places[i] =
            (int)(store->typed ? (store->at[i] - low * step) * bytes : store->at[i] / step - low);
        store->at[i] = store->at[i] * bytes + shift;
    }
    store->side.count = store->side.counts[0];
    unsigned char *origin = store->memory + shift + low * step * bytes;
    CALL(MPI_Get_address(origin, &address));
    store->side.buffer = store->bottom ? MPI_BOTTOM : origin;
    give_types(store, draw, store->bottom ? address : 0);
}

/* A side of `parts` parts; part i has counts[i] units. */
static void create(struct store *store, const struct draw *draw, int parts, const size_t *counts,
                   bool varies, uint64_t *random)
{
    int low = 0;
    *store = (struct store){.parts = parts, .typed = draw->which == ALLTOALLW};
    store->kinds = allocate((size_t)parts, sizeof *store->kinds);
    store->at = allocate((size_t)parts, sizeof *store->at);
    store->elements = allocate((size_t)parts, sizeof *store->elements);
    for (int i = 0; i < parts; i++) {
        bool new = i == 0 || store->typed;
        store->kinds[i] = new ? (enum unit_kind)random_below(random, UNIT_KINDS) : store->kinds[0];
        store->elements[i] = counts[i] * (size_t)draw->grain;
    }
    store->bottom = random_below(random, 8) == 0;
    place_parts(store, draw, varies, &low, random);
    give_arguments(store, draw, low);
}

static void destroy(struct store *store)
{
    for (int i = 0; i < (store->typed ? store->parts : 1); i++)
        CALL(MPI_Type_free(&store->side.types[i]));
    free(store->side.types);
    free(store->side.counts);
    free(store->side.places);
    free(store->kinds);
    free(store->at);
    free(store->elements);
    free(store->memory);
    free(store->expected);
}

/* ---- what must be where ---- */

/* Writes the elements of the message with this seed into a part. */
static void write_part(const struct store *store, const struct draw *draw, unsigned char *memory,
                       int part, uint64_t seed)
{
    MPI_Aint bytes = (MPI_Aint)draw->element->bytes;
    MPI_Aint extent = unit_extent(store->kinds[part], draw->grain);
    for (size_t k = 0; k < store->elements[part]; k++) {
        MPI_Aint unit = (MPI_Aint)k / draw->grain;
        MPI_Aint place = unit_place(store->kinds[part], draw->grain, (int)k % draw->grain);
        fill(memory + store->at[part] + (unit * extent + place) * bytes, (size_t)bytes,
             mix(seed, k));
    }
}

static uint64_t message(const struct draw *draw, int from, int to)
{
    bool same_for_all = draw->which == ALLGATHER || draw->which == ALLGATHERV;
    return mix(draw->data, (uint64_t)from * 4096 + (uint64_t)(same_for_all ? 0 : to));
}

struct exchange {
    struct draw draw;
    MPI_Comm comm;
    int rank;
    int size;
    bool sends; /* has a side of its own for sending, and for receiving */
    bool receives;
    bool keeps; /* its own part stays where it is: MPI_IN_PLACE */
    struct store out;
    struct store in;
};

static int sender_of(const struct exchange *x, int part)
{
    return x->draw.which <= SCATTERV ? x->draw.root : part;
}

static int receiver_of(const struct exchange *x, int part)
{
    return x->draw.which == GATHER || x->draw.which == GATHERV ? x->draw.root
           : x->out.parts == 1                                 ? 0
                                                               : part;
}

/* Before the call. */
static void prepare(struct exchange *x)
{
    const struct draw *draw = &x->draw;
    if (x->sends) {
        fill(x->out.memory, x->out.bytes, draw->data + 1);
        for (int i = 0; i < x->out.parts; i++)
            write_part(&x->out, draw, x->out.memory, i, message(draw, x->rank, receiver_of(x, i)));
        memcpy(x->out.expected, x->out.memory, x->out.bytes);
    }
    if (!x->receives)
        return;
    fill(x->in.memory, x->in.bytes, draw->data + 2);
    memcpy(x->in.expected, x->in.memory, x->in.bytes);
    for (int i = 0; i < x->in.parts; i++) {
        write_part(&x->in, draw, x->in.expected, i, message(draw, sender_of(x, i), x->rank));
        bool given = x->keeps && (draw->which >= ALLTOALL || i == x->rank);
        write_part(&x->in, draw, x->in.memory, i,
                   given ? message(draw, x->rank, i) : ~message(draw, sender_of(x, i), x->rank));
        if (given && draw->which < ALLTOALL)
            write_part(&x->in, draw, x->in.memory, i, message(draw, x->rank, x->rank));
    }
}

static void compare(const struct exchange *x, const struct store *store, const char *what)
{
    size_t i = 0;
    if (memcmp(store->memory, store->expected, store->bytes) == 0)
        return;
    while (store->memory[i] == store->expected[i])
        i++;
    test_fail(
        __FILE__, __LINE__,
        "MPI_%s: %s: byte %zu of %zu; comm %d, rank %d of %d, root %d, %zu x %d x %s, pattern "
        "%d, kind %d, in place %d; replay: --seed %llu --first %ld --cases 1 --max-bytes %zu",
        moving_name(x->draw.which), what, i, store->bytes, x->draw.comm, x->rank, x->size,
        x->draw.root, x->draw.base, x->draw.grain, x->draw.element->name, x->draw.pattern,
        (int)store->kinds[0], x->draw.in_place, (unsigned long long)options.seed, x->draw.number,
        options.max_bytes);
}

static void run_by(struct exchange *x, enum entry entry, const char *what)
{
    static const struct side garbage = {
        (void *)16, -77, (int *)8, (int *)24, MPI_DATATYPE_NULL, (MPI_Datatype *)40};
    struct side send = x->sends ? x->out.side : garbage;
    struct side receive = x->receives ? x->in.side : garbage;
    if (x->keeps && !x->sends)
        send.buffer = MPI_IN_PLACE;
    else if (x->keeps)
        receive.buffer = MPI_IN_PLACE;
    prepare(x);
    CALL(moving_call(x->draw.which, entry, &send, &receive, x->draw.root, x->comm));
    if (x->sends)
        compare(x, &x->out, what);
    if (x->receives)
        compare(x, &x->in, what);
}

/* ---- one case ---- */

static void create_sides(struct exchange *x)
{
    enum moving which = x->draw.which;
    bool root = x->rank == x->draw.root;
    bool spread = which <= SCATTERV, gathered = which == GATHER || which == GATHERV;
    uint64_t random = mix(x->draw.data, 99 + (uint64_t)rank_of(MPI_COMM_WORLD));
    size_t *out = allocate((size_t)x->size, sizeof *out);
    size_t *in = allocate((size_t)x->size, sizeof *in);
    int out_parts = spread || which >= ALLTOALL ? x->size : 1, in_parts = spread ? 1 : x->size;
    x->keeps = x->draw.in_place && (root || !moving_has_root(which));
    x->sends = spread ? root : !x->keeps;
    x->receives = spread ? !x->keeps : !gathered || root;
    for (int i = 0; i < x->size; i++) {
        out[i] = units(&x->draw, x->rank, out_parts == 1 ? x->draw.root : i, x->size);
        in[i] = spread ? units(&x->draw, x->draw.root, x->rank, x->size)
                       : units(&x->draw, i, x->rank, x->size);
    }
    bool out_varies = moving_varies(which) && out_parts > 1;
    bool in_varies = moving_varies(which) && in_parts > 1;
    if (x->sends)
        create(&x->out, &x->draw, out_parts, out, out_varies, &random);
    if (x->receives)
        create(&x->in, &x->draw, in_parts, in, in_varies, &random);
    free(out);
    free(in);
}

static void run_case(long number, MPI_Comm const *comms)
{
    struct exchange x = {.draw = draw_case(number)};
    x.comm = comms[x.draw.comm];
    if (x.draw.late_rank == rank_of(MPI_COMM_WORLD))
        sleep_ms(1);
    if (x.comm == MPI_COMM_NULL)
        return;
    x.rank = rank_of(x.comm);
    x.size = size_of(x.comm);
    x.draw.root %= x.size;
    create_sides(&x);
    run_by(&x, x.draw.entry, "differs from what must be there");
    run_by(&x, HOST, "the host's own result differs");
    if (x.sends)
        destroy(&x.out);
    if (x.receives)
        destroy(&x.in);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    cases_parse(&options, argc, argv);
    moving_begin();
    elements_begin();
    cases_run(&options, run_case);
    elements_end();
    return test_end();
}
