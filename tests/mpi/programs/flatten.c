/* SPDX-License-Identifier: BSD-3-Clause */
/* The datatype engine from within: Sobor's own sources over the MPI's types, against the places of
 * the bytes by the standard's definitions, and against the MPI's own pack and unpack.
 *
 * usage: flatten --seed S --cases N [--first K] [--only own]
 *
 * own: the engine alone, where the MPI's pack is wrong itself. */
#include "cases.h"
#include "typemap.h"

#include "mpi/datatype.h"
#include "mpi/packer.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD = 64 };

static struct cases options = {.seed = 1, .cases = 100};

/* The data of one case in memory of its own. */
struct data {
    long number;
    struct typemap map;
    sb_type_t description;
    size_t count;
    size_t bytes;
    unsigned char *memory;
    size_t memory_bytes;
    MPI_Aint shift; /* of the buffer's address in memory */
    unsigned char *stream;
};

#define EXPECT(data, condition, what)                                                              \
    CHECK(condition, "%s: --seed %llu --first %ld --cases 1: %zu x %s", what,                      \
          (unsigned long long)options.seed, (data)->number, (data)->count, (data)->map.text)

static MPI_Aint place_of(const struct data *data, size_t position)
{
    size_t element = position / data->map.bytes, byte = position % data->map.bytes;
    return data->shift + (MPI_Aint)element * data->map.extent + data->map.at[byte];
}

static void create(struct data *data, long number, uint64_t *random)
{
    MPI_Aint low, high;
    *data = (struct data){.number = number};
    typemap_draw(&data->map, 1 + (unsigned)random_below(random, 3), random);
    data->count = 1 + random_below(random, random_below(random, 4) == 0 ? 60 : 3);
    while (data->count > 1 && data->count * data->map.bytes > 1 << 18)
        data->count /= 2;
    data->bytes = data->count * data->map.bytes;
    typemap_span(&data->map, data->count, &low, &high);
    data->shift = GUARD - low;
    data->memory_bytes = (size_t)(high - low) + 2 * GUARD;
    data->memory = malloc(data->memory_bytes);
    data->stream = malloc(data->bytes + 1);
    fill(data->memory, data->memory_bytes, mix(options.seed, (uint64_t)number));
    for (size_t i = 0; i < data->bytes; i++)
        data->stream[i] = data->memory[place_of(data, i)];
}

static void destroy(struct data *data)
{
    typemap_free(&data->map);
    free(data->memory);
    free(data->stream);
}

/* Overlapping types may be sent but not received: unpacking them has no single result. */
static bool overlaps(const struct data *data)
{
    bool *seen = calloc(data->memory_bytes, 1), twice = false;
    for (size_t i = 0; i < data->bytes; i++) {
        twice = twice || seen[place_of(data, i)];
        seen[place_of(data, i)] = true;
    }
    free(seen);
    return twice;
}

static void check_description(struct data *data)
{
    MPI_Aint low, extent;
    EXPECT(data, sb_type_describe(data->map.type, &data->description), "not described");
    EXPECT(data, data->description.layout != NULL, "has no layout");
    EXPECT(data, data->description.size == data->map.bytes, "another size");
    CALL(MPI_Type_get_extent(data->map.type, &low, &extent));
    EXPECT(data, data->description.extent == extent, "another extent");
    bool plain = extent == (MPI_Aint)data->map.bytes;
    for (size_t i = 0; i < data->map.bytes; i++)
        plain = plain && data->map.at[i] == (MPI_Aint)i;
    EXPECT(data, data->map.bytes == 0 || data->description.contiguous == plain,
           "contiguous or not");
}

static void open_stream(struct data *data, unsigned char *memory, sb_packer_t *packer,
                        sb_stream_t *stream)
{
    sb_packer_open(packer, stream, memory + data->shift, data->count, data->map.type,
                   &data->description, MPI_COMM_WORLD);
    EXPECT(data, stream->bytes == data->bytes, "another length of the stream");
}

static size_t draw_fragment(uint64_t *random, size_t most)
{
    return 1 + random_below(random, random_below(random, 3) == 0 || most < 50 ? most : 50);
}

static void check_pack(struct data *data, uint64_t *random, const char *who)
{
    unsigned char *packed = calloc(data->bytes + 1, 1);
    sb_packer_t packer;
    sb_stream_t stream;
    open_stream(data, data->memory, &packer, &stream);
    for (size_t at = 0, some; at < data->bytes; at += some) {
        some = draw_fragment(random, data->bytes - at);
        EXPECT(data, sb_stream_read(&stream, at, packed + at, some) == SB_OK, who);
    }
    EXPECT(data, memcmp(packed, data->stream, data->bytes) == 0, who);
    for (int i = 0; i < 10; i++) {
        size_t at = random_below(random, data->bytes),
               some = draw_fragment(random, data->bytes - at);
        EXPECT(data, sb_stream_read(&stream, at, packed, some) == SB_OK, who);
        EXPECT(data, memcmp(packed, data->stream + at, some) == 0, who);
    }
    EXPECT(data, sb_packer_close(&packer) == MPI_SUCCESS, who);
    free(packed);
}

/* Some pieces of another message, in any order, must change just their own bytes. */
static void check_unpack(struct data *data, uint64_t *random, const char *who)
{
    unsigned char *memory = malloc(data->memory_bytes), *expected = malloc(data->memory_bytes);
    unsigned char *message = malloc(data->bytes);
    bool in_order = random_below(random, 2) == 0;
    sb_packer_t packer;
    sb_stream_t stream;
    memcpy(memory, data->memory, data->memory_bytes);
    memcpy(expected, data->memory, data->memory_bytes);
    fill(message, data->bytes, next_random(random));
    open_stream(data, memory, &packer, &stream);
    for (size_t next = 0, pieces = 0; in_order ? next < data->bytes : pieces < 12; pieces++) {
        size_t at = in_order ? next : random_below(random, data->bytes);
        size_t some = draw_fragment(random, data->bytes - at);
        EXPECT(data, sb_stream_write(&stream, at, message + at, some) == SB_OK, who);
        for (size_t i = at; i < at + some; i++)
            expected[place_of(data, i)] = message[i];
        next = at + some;
    }
    EXPECT(data, sb_packer_close(&packer) == MPI_SUCCESS, who);
    EXPECT(data, memcmp(memory, expected, data->memory_bytes) == 0, who);
    free(memory);
    free(expected);
    free(message);
}

static void check_host(struct data *data)
{
    int bytes = (int)data->bytes, position = 0;
    unsigned char *packed = calloc(data->bytes + 1, 1);
    CALL(MPI_Pack(data->memory + data->shift, (int)data->count, data->map.type, packed, bytes,
                  &position, MPI_COMM_WORLD));
    EXPECT(data, position == bytes, "the host packs another number of bytes");
    EXPECT(data, memcmp(packed, data->stream, data->bytes) == 0, "the host packs otherwise");
    free(packed);
}

static void run_case(long number)
{
    uint64_t random = mix(options.seed, (uint64_t)number);
    struct data data;
    create(&data, number, &random);
    check_description(&data);
    bool own = options.only != NULL;
    if (data.bytes > 0) {
        if (!own)
            check_host(&data);
        check_pack(&data, &random, "packing");
        if (!overlaps(&data))
            check_unpack(&data, &random, "unpacking");
    }
    if (data.bytes > 0 && !own) {
        /* As for a type that has no layout. */
        data.description.layout = NULL;
        check_pack(&data, &random, "packing by the host");
        if (!overlaps(&data))
            check_unpack(&data, &random, "unpacking by the host");
    }
    destroy(&data);
}

/* Duplicates share the layout, which outlives the original. */
static void duplicates(void)
{
    MPI_Datatype vector, first, second;
    sb_type_t of_vector, of_first, of_second;
    CALL(MPI_Type_vector(100, 1, 3, MPI_DOUBLE, &vector));
    CALL(MPI_Type_commit(&vector));
    CHECK(sb_type_describe(vector, &of_vector), "vector not described");
    CALL(MPI_Type_dup(vector, &first));
    CALL(MPI_Type_free(&vector));
    CHECK(sb_type_describe(first, &of_first), "duplicate not described");
    CHECK(of_first.layout == of_vector.layout, "the duplicate was described anew");
    CALL(MPI_Type_dup(first, &second));
    CALL(MPI_Type_free(&first));
    CHECK(sb_type_describe(second, &of_second), "duplicate of a duplicate not described");
    CHECK(of_second.layout == of_vector.layout, "the second duplicate was described anew");
    CHECK(of_second.layout->bytes == 800, "the layout is damaged");
    CALL(MPI_Type_free(&second));
}

/* A type may be freed while a stream over it is open. */
static void freed_in_use(void)
{
    double numbers[30], packed[10];
    MPI_Datatype vector;
    sb_type_t description;
    sb_packer_t packer;
    sb_stream_t stream;
    for (int i = 0; i < 30; i++)
        numbers[i] = i;
    CALL(MPI_Type_vector(10, 1, 3, MPI_DOUBLE, &vector));
    CALL(MPI_Type_commit(&vector));
    CHECK(sb_type_describe(vector, &description), "not described");
    sb_packer_open(&packer, &stream, numbers, 1, vector, &description, MPI_COMM_WORLD);
    CALL(MPI_Type_free(&vector));
    CHECK(sb_stream_read(&stream, 0, packed, sizeof packed) == SB_OK, "not read");
    for (int i = 0; i < 10; i++)
        CHECK(packed[i] == 3.0 * i, "number %d is %f", i, packed[i]);
    CHECK(sb_packer_close(&packer) == MPI_SUCCESS, "not closed");
}

enum { THREADS = 4, SHARED_TYPES = 200 };

static MPI_Datatype shared[SHARED_TYPES];

/* Every thread describes the same new types and packs by them. */
static void *describe_shared(void *unused)
{
    int numbers[64], packed[16];
    (void)unused;
    for (int i = 0; i < 64; i++)
        numbers[i] = i;
    for (int t = 0; t < SHARED_TYPES; t++) {
        sb_type_t description;
        sb_packer_t packer;
        sb_stream_t stream;
        CHECK(sb_type_describe(shared[t], &description), "type %d not described", t);
        sb_packer_open(&packer, &stream, numbers, 1, shared[t], &description, MPI_COMM_WORLD);
        CHECK(sb_stream_read(&stream, 0, packed, sizeof packed) == SB_OK, "type %d", t);
        for (int i = 0; i < 16; i++)
            CHECK(packed[i] == i * (2 + t % 3), "type %d: number %d is %d", t, i, packed[i]);
        sb_packer_close(&packer);
    }
    return NULL;
}

static void threads(void)
{
    pthread_t thread[THREADS];
    for (int t = 0; t < SHARED_TYPES; t++) {
        CALL(MPI_Type_vector(16, 1, 2 + t % 3, MPI_INT, &shared[t]));
        CALL(MPI_Type_commit(&shared[t]));
    }
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&thread[i], NULL, describe_shared, NULL) == 0, "no thread");
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    for (int t = 0; t < SHARED_TYPES; t++)
        CALL(MPI_Type_free(&shared[t]));
}

/* Too many blocks for a layout: the host packs, and nothing else changes. */
static void beyond_the_bounds(void)
{
    enum { MANY = 2200000 };
    int *places = malloc(MANY * sizeof *places), *lengths = malloc(MANY * sizeof *lengths);
    unsigned char *memory = malloc(8 * MANY), *packed = malloc(4 * MANY);
    size_t bytes = 0;
    MPI_Datatype type;
    sb_type_t description;
    sb_packer_t packer;
    sb_stream_t stream;
    for (int i = 0; i < MANY; i++) {
        places[i] = 4 * i + i % 3 % 2;
        lengths[i] = 1 + i % 2;
        bytes += (size_t)lengths[i];
    }
    fill(memory, 8 * MANY, 5);
    CALL(MPI_Type_indexed(MANY, lengths, places, MPI_BYTE, &type));
    CALL(MPI_Type_commit(&type));
    CHECK(sb_type_describe(type, &description), "not described");
    CHECK(description.layout == NULL, "the bound was not kept");
    CHECK(description.size == bytes, "%zu bytes", description.size);
    sb_packer_open(&packer, &stream, memory, 1, type, &description, MPI_COMM_WORLD);
    for (size_t at = 0, some; at < bytes; at += some) {
        some = bytes - at < 8192 ? bytes - at : 8192;
        CHECK(sb_stream_read(&stream, at, packed + at, some) == SB_OK, "not read");
    }
    CHECK(sb_packer_close(&packer) == MPI_SUCCESS, "not closed");
    for (size_t i = 0, at = 0; i < MANY; at += (size_t)lengths[i++])
        CHECK(memcmp(packed + at, memory + places[i], (size_t)lengths[i]) == 0, "block %zu", i);
    CALL(MPI_Type_free(&type));
    free(places);
    free(lengths);
    free(memory);
    free(packed);
}

/* Types that a host makes from a precision are leaves wherever they occur. */
static void fortran_types(void)
{
    MPI_Datatype real, vector;
    sb_type_t description;
    CALL(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    CALL(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    int error = MPI_Type_create_f90_real(15, 307, &real);
    CALL(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    CALL(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
    if (error != MPI_SUCCESS)
        return;
    CALL(MPI_Type_vector(20, 1, 2, real, &vector));
    CALL(MPI_Type_commit(&vector));
    CHECK(sb_type_describe(vector, &description), "vector of a Fortran real not described");
    CHECK(description.layout != NULL && description.size == 160, "another layout");
    CHECK(sb_type_describe(real, &description), "a Fortran real not described");
    CHECK(description.contiguous && description.size == 8, "a Fortran real is no double");
    CALL(MPI_Type_free(&vector));
}

int main(int argc, char **argv)
{
    int provided = test_begin_threads(&argc, &argv, MPI_THREAD_MULTIPLE);
    cases_parse(&options, argc, argv);
    CHECK(sb_host_open(NULL), "the MPI lacks a function");
    sb_types_start();
    for (long number = options.first; number < options.first + options.cases; number++)
        run_case(number);
    duplicates();
    freed_in_use();
    if (provided == MPI_THREAD_MULTIPLE)
        threads();
    beyond_the_bounds();
    fortran_types();
    printf("cases %ld\n", options.cases);
    return test_end();
}
