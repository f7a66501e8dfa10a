/* SPDX-License-Identifier: BSD-3-Clause */
/* What packing and unpacking cost: a loop written by hand for each type, Sobor's engine in
 * fragments as a message takes it, and the MPI's own MPI_Pack and MPI_Unpack. The three take turns.
 * Prints a table; nothing passes or fails by time.
 *
 * usage: pack_speed [ROUNDS [FRAGMENT [BLOCKS]]] */
#include "support.h"

#include "mpi/datatype.h"
#include "mpi/packer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS_MOST = 65536, SIDE = 128, PART = 64, ROUNDS_MOST = 2000, WAYS = 3 };

struct record {
    int number;
    double value;
    short kind;
};

/* Data of one type, and the loop written for it. */
struct item {
    const char *name;
    MPI_Datatype type;
    int count;
    size_t memory_bytes;
    void (*pack)(const char *memory, char *packed);
    void (*unpack)(char *memory, const char *packed);
};

static size_t blocks = BLOCKS_MOST;
static int lengths[BLOCKS_MOST], places[BLOCKS_MOST], single[BLOCKS_MOST];

static void vector_pack(const char *memory, char *packed)
{
    const double *from = (const void *)memory;
    double *to = (void *)packed;
    for (size_t i = 0; i < blocks; i++)
        to[i] = from[2 * i];
}

static void vector_unpack(char *memory, const char *packed)
{
    double *to = (void *)memory;
    const double *from = (const void *)packed;
    for (size_t i = 0; i < blocks; i++)
        to[2 * i] = from[i];
}

static void indexed_pack(const char *memory, char *packed)
{
    const double *from = (const void *)memory;
    double *to = (void *)packed;
    for (size_t i = 0; i < blocks; i++)
        for (int k = 0; k < lengths[i]; k++)
            *to++ = from[places[i] + k];
}

static void indexed_unpack(char *memory, const char *packed)
{
    double *to = (void *)memory;
    const double *from = (const void *)packed;
    for (size_t i = 0; i < blocks; i++)
        for (int k = 0; k < lengths[i]; k++)
            to[places[i] + k] = *from++;
}

static void single_pack(const char *memory, char *packed)
{
    const double *from = (const void *)memory;
    double *to = (void *)packed;
    for (size_t i = 0; i < blocks; i++)
        to[i] = from[single[i]];
}

static void single_unpack(char *memory, const char *packed)
{
    double *to = (void *)memory;
    const double *from = (const void *)packed;
    for (size_t i = 0; i < blocks; i++)
        to[single[i]] = from[i];
}

static void struct_pack(const char *memory, char *packed)
{
    const struct record *from = (const void *)memory;
    for (size_t i = 0; i < blocks; i++, packed += 14) {
        memcpy(packed, &from[i].number, 4);
        memcpy(packed + 4, &from[i].value, 8);
        memcpy(packed + 12, &from[i].kind, 2);
    }
}

static void struct_unpack(char *memory, const char *packed)
{
    struct record *to = (void *)memory;
    for (size_t i = 0; i < blocks; i++, packed += 14) {
        memcpy(&to[i].number, packed, 4);
        memcpy(&to[i].value, packed + 4, 8);
        memcpy(&to[i].kind, packed + 12, 2);
    }
}

static void box_pack(const char *memory, char *packed)
{
    const double *from = (const void *)memory;
    for (size_t i = 0; i < PART; i++)
        for (size_t j = 0; j < PART; j++, packed += PART * sizeof *from)
            memcpy(packed, from + (i * SIDE + j) * SIDE, PART * sizeof *from);
}

static void box_unpack(char *memory, const char *packed)
{
    double *to = (void *)memory;
    for (size_t i = 0; i < PART; i++)
        for (size_t j = 0; j < PART; j++, packed += PART * sizeof *to)
            memcpy(to + (i * SIDE + j) * SIDE, packed, PART * sizeof *to);
}

/* The face of a box where neighbours in memory are farthest apart. */
static void face_pack(const char *memory, char *packed)
{
    const double *from = (const void *)memory;
    double *to = (void *)packed;
    for (size_t i = 0; i < SIDE * SIDE; i++)
        to[i] = from[i * SIDE];
}

static void face_unpack(char *memory, const char *packed)
{
    double *to = (void *)memory;
    const double *from = (const void *)packed;
    for (size_t i = 0; i < SIDE * SIDE; i++)
        to[i * SIDE] = from[i];
}

static MPI_Datatype record_type(void)
{
    MPI_Datatype open, type, types[3] = {MPI_INT, MPI_DOUBLE, MPI_SHORT};
    int ones[3] = {1, 1, 1};
    MPI_Aint at[3] = {offsetof(struct record, number), offsetof(struct record, value),
                      offsetof(struct record, kind)};
    CALL(MPI_Type_create_struct(3, ones, at, types, &open));
    CALL(MPI_Type_create_resized(open, 0, sizeof(struct record), &type));
    CALL(MPI_Type_free(&open));
    return type;
}

static MPI_Datatype subarray_type(int depth, int height, int width)
{
    MPI_Datatype type;
    int whole[3] = {SIDE, SIDE, SIDE}, part[3] = {depth, height, width}, first[3] = {0, 0, 0};
    CALL(MPI_Type_create_subarray(3, whole, part, first, MPI_ORDER_C, MPI_DOUBLE, &type));
    return type;
}

static void draw_places(void)
{
    uint64_t random = 1;
    int place = 0;
    for (size_t i = 0; i < blocks; i++) {
        lengths[i] = 1 + (int)random_below(&random, 3);
        places[i] = single[i] = place;
        place += lengths[i] + 1 + (int)random_below(&random, 2);
    }
}

static double now_ns(void)
{
    return now() * 1e9;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static size_t fragment = 16384;

static void engine(const struct item *item, char *memory, char *packed, bool pack)
{
    sb_type_t description;
    sb_packer_t packer;
    sb_stream_t stream;
    CHECK(sb_type_describe(item->type, &description), "%s: not described", item->name);
    CHECK(description.layout != NULL, "%s: no layout", item->name);
    sb_packer_open(&packer, &stream, memory, (size_t)item->count, item->type, &description,
                   MPI_COMM_WORLD);
    for (size_t at = 0, some; at < stream.bytes; at += some) {
        some = stream.bytes - at < fragment ? stream.bytes - at : fragment;
        if (pack)
            sb_stream_read(&stream, at, packed + at, some);
        else
            sb_stream_write(&stream, at, packed + at, some);
    }
    sb_packer_close(&packer);
}

static void host(const struct item *item, char *memory, char *packed, int bytes, bool pack)
{
    int position = 0;
    if (pack)
        CALL(MPI_Pack(memory, item->count, item->type, packed, bytes, &position, MPI_COMM_WORLD));
    else
        CALL(MPI_Unpack(packed, bytes, &position, memory, item->count, item->type, MPI_COMM_WORLD));
}

static void run_way(int way, const struct item *item, char *memory, char *packed, int bytes,
                    bool pack)
{
    if (way == 1)
        engine(item, memory, packed, pack);
    else if (way == 2)
        host(item, memory, packed, bytes, pack);
    else if (pack)
        item->pack(memory, packed);
    else
        item->unpack(memory, packed);
}

/* All ways leave the same bytes; else a time means nothing. */
static void check_ways(const struct item *item, char *memory, char *packed, int bytes)
{
    char *other = malloc((size_t)bytes);
    for (int way = 1; way < WAYS; way++) {
        memset(other, 0, (size_t)bytes);
        run_way(way, item, memory, other, bytes, true);
        run_way(0, item, memory, packed, bytes, true);
        CHECK(memcmp(other, packed, (size_t)bytes) == 0, "%s: way %d packs otherwise", item->name,
              way);
    }
    free(other);
}

static void measure(struct item *item, int rounds, bool pack)
{
    static double times[WAYS][ROUNDS_MOST];
    int bytes;
    CALL(MPI_Type_size(item->type, &bytes));
    bytes *= item->count;
    char *memory = malloc(item->memory_bytes), *packed = malloc((size_t)bytes);
    fill(memory, item->memory_bytes, 1);
    fill(packed, (size_t)bytes, 2);
    check_ways(item, memory, packed, bytes);
    for (int round = -3; round < rounds; round++) {
        for (int turn = 0; turn < WAYS; turn++) {
            int way = (round + 3 + turn) % WAYS; /* nobody always follows the same one */
            double began = now_ns();
            run_way(way, item, memory, packed, bytes, pack);
            if (round >= 0)
                times[way][round] = now_ns() - began;
        }
    }
    double middle[WAYS];
    for (int way = 0; way < WAYS; way++) {
        qsort(times[way], (size_t)rounds, sizeof(double), by_value);
        middle[way] = times[way][rounds / 2];
    }
    printf("%-14s %-6s %8d", item->name, pack ? "pack" : "unpack", bytes);
    for (int way = 0; way < WAYS; way++)
        printf(" %8.1f [%.1f-%.1f]", middle[way] / 1e3, times[way][rounds / 10] / 1e3,
               times[way][rounds * 9 / 10] / 1e3);
    printf("  %5.2f  %5.2f\n", middle[1] / middle[0], middle[2] / middle[1]);
    free(memory);
    free(packed);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    int rounds = argc > 1 ? atoi(argv[1]) : 200;
    fragment = argc > 2 ? strtoull(argv[2], NULL, 0) : fragment;
    blocks = argc > 3 ? strtoull(argv[3], NULL, 0) : blocks;
    CHECK(blocks > 0 && blocks <= BLOCKS_MOST, "BLOCKS: expected 1 to %d", BLOCKS_MOST);
    rounds = rounds < 1 ? 1 : rounds > ROUNDS_MOST ? ROUNDS_MOST : rounds;
    CHECK(sb_host_open(NULL), "the MPI lacks a function");
    sb_types_start();
    draw_places();
    size_t cube = (size_t)SIDE * SIDE * SIDE * sizeof(double);
    struct item items[] = {
        {"vector", 0, 1, 2 * blocks * sizeof(double), vector_pack, vector_unpack},
        {"indexed", 0, 1, 6 * blocks * sizeof(double), indexed_pack, indexed_unpack},
        {"indexed-block", 0, 1, 6 * blocks * sizeof(double), single_pack, single_unpack},
        {"struct", 0, (int)blocks, blocks * sizeof(struct record), struct_pack, struct_unpack},
        {"subarray", 0, 1, cube, box_pack, box_unpack},
        {"subarray-face", 0, 1, cube, face_pack, face_unpack},
    };
    CALL(MPI_Type_vector((int)blocks, 1, 2, MPI_DOUBLE, &items[0].type));
    CALL(MPI_Type_indexed((int)blocks, lengths, places, MPI_DOUBLE, &items[1].type));
    CALL(MPI_Type_create_indexed_block((int)blocks, 1, single, MPI_DOUBLE, &items[2].type));
    items[3].type = record_type();
    items[4].type = subarray_type(PART, PART, PART);
    items[5].type = subarray_type(SIDE, SIDE, 1);
    printf("%-14s %-6s %8s %8s %8s %8s  %s\n", "type", "", "bytes", "hand us", "Sobor us", "MPI us",
           "[10 %-90 %]  Sobor/hand  MPI/Sobor");
    for (size_t i = 0; i < sizeof items / sizeof *items; i++) {
        CALL(MPI_Type_commit(&items[i].type));
        measure(&items[i], rounds, true);
        measure(&items[i], rounds, false);
        CALL(MPI_Type_free(&items[i].type));
    }
    return test_end();
}
